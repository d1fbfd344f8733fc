"""Deciding (k, ε, l)-anonymity of ratings: against the paper's searches, on large shapes, and on a dense survey."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import polars as pl

import sfumato as sf
from benchmarks.measuring import Cost, run_child, run_here, run_repeatedly
from benchmarks.ratings_data import bootstrapped
from benchmarks.results import Figure, SkippedJob
from benchmarks.settings import Settings

NAME = "ratings"
FASTER_BAR = 100
GROWTH_BAR = 1.5
SURVEY_SECONDS = 60
SURVEY_SIZES = (25_000, 50_000, 100_000, 200_000)
ITEMS = [f"{trait}{number}" for trait in "ACENO" for number in range(1, 6)]

SHAPES = {
    "MovieLens 20M": ((138_493, 26_744, 20_000_000), 10, 4),
    "Netflix": ((480_189, 17_770, 100_000_000), 60, 10),
}
"""Users, issues and ratings; seconds and GB that a decision may take."""

ASKED = sf.ratings.RatingAnonymity(20, 1, 2)
ON_SURVEYS = {"k = 20": sf.ratings.RatingAnonymity(20, 1), "k = 20, l = 0.5": sf.ratings.RatingAnonymity(20, 1, 0.5)}


def run_public(settings: Settings) -> Iterator[Figure]:
    """Measure on public data: MovieLens' small set, and a survey with records drawn from it."""
    movies, survey = _file(settings, "ml-latest-small/ratings.csv.gz"), _file(settings, "bfi/bfi.csv")
    ratings = sf.ratings.read_ratings(movies, sensitive=sf.ratings.SensitiveIssues(share=0.1, seed=1))
    yield from against_the_papers(ratings, ASKED)
    items = pl.read_csv(survey, null_values="NA").select(ITEMS)
    for what, model in ON_SURVEYS.items():
        yield from growth(items, what, model, SURVEY_SIZES)


def run_shapes(settings: Settings) -> Iterator[Figure]:
    """Decide on made-up ratings of known shapes, each in a process of its own."""
    for name, (shape, seconds, gigabytes) in SHAPES.items():
        yield from decide(name, shape, seconds, gigabytes)


def against_the_papers(
    ratings: sf.ratings.Ratings, model: sf.ratings.RatingAnonymity, repeats: int = 15
) -> Iterator[Figure]:
    """Decide with all three searches, ours often: it takes a millisecond."""
    ours, answer = run_repeatedly(lambda: sf.ratings.check_ratings(ratings, model, threads=1), repeats)
    for search in ("pairwise", "slicing"):
        theirs, other = run_repeatedly(
            lambda search=search: sf.ratings.check_ratings(ratings, model, search=search, threads=1),
            max(1, repeats // 5),
        )
        same = "same answer" if answer.failures().equals(other.failures()) else "ANSWERS DIFFER"
        evaluated = f"{answer.evaluations:,} dissimilarities against {other.evaluations:,}"
        ratio = theirs.cpu / ours.cpu
        bar = FASTER_BAR if search == "pairwise" else None
        detail = f"{same}: {answer.satisfied} of {answer.records} records; {ours} against {theirs}; {evaluated}"
        yield Figure(NAME, f"times faster than {search}: {model}", ratio, f"{ratio:,.0f} ×", bar, detail=detail)


def growth(
    survey: pl.DataFrame, what: str, model: sf.ratings.RatingAnonymity, sizes: Sequence[int]
) -> Iterator[Figure]:
    """Decide on ever more records drawn from a survey: the power of their number that the time goes with."""
    costs = [_on_survey(survey, model, size) for size in sizes]
    power = math.log(costs[-1].cpu / costs[0].cpu) / math.log(sizes[-1] / sizes[0])
    told = ", ".join(f"{size:,}: {cost}" for size, cost in zip(sizes, costs, strict=True))
    steps = ", ".join(f"{math.log2(after.cpu / before.cpu):.2f}" for before, after in pairwise(costs))
    about = f"dense survey, {what}"
    # With l, every proximate pair counts, and in drawn records these grow with the square of their number.
    bar = GROWTH_BAR if model.l == 0 else None
    yield Figure(NAME, f"{about}: power of growth", power, f"{power:.2f}", bar, True, f"{told}; powers {steps}")
    share = costs[-1].wall / SURVEY_SECONDS
    text = f"{share:.3f}"
    yield Figure(NAME, f"{about}: {sizes[-1]:,} records, seconds ÷ {SURVEY_SECONDS}", share, text, 1, True, told)


def decide(name: str, shape: tuple[int, int, int], seconds: float, gigabytes: float) -> Iterator[Figure]:
    """Decide on made-up ratings of a shape; the memory is that of the whole process, making them included."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cost.json"
        process = run_child(["-m", "benchmarks.rating_decision", *map(str, shape), str(file)])
        told = json.loads(file.read_text(encoding="utf-8"))
    cost = Cost(**told["cost"])
    users, issues, _ = shape
    detail = f"{told['ratings']:,} ratings, {users:,} users, {issues:,} issues; {cost}; {told['satisfied']} satisfied"
    time, memory = cost.wall / seconds, process.peak / 1e9
    yield Figure(NAME, f"{name}'s shape: seconds ÷ {seconds:g}", time, f"{time:.3f}", 1, True, detail)
    yield Figure(NAME, f"{name}'s shape: GB at most", memory, f"{memory:.2f}", gigabytes, True, detail)


def _on_survey(survey: pl.DataFrame, model: sf.ratings.RatingAnonymity, size: int) -> Cost:
    drawn = bootstrapped(survey, size)
    ratings = sf.ratings.read_ratings(drawn, form="wide", scale=(1, 6), sensitive=["N*"])
    sf.ratings.check_ratings(ratings, sf.ratings.RatingAnonymity(model.k, 0, model.l))
    costs = (run_here(lambda: sf.ratings.check_ratings(ratings, model))[0] for _ in range(3))
    return min(costs, key=lambda cost: cost.cpu)


def _file(settings: Settings, path: str) -> Path:
    if settings.data is None or not (settings.data / path).is_file():
        raise SkippedJob(f"{path} is not here; put it into FOLDER/{path} and set SFUMATO_DATA=FOLDER")
    return settings.data / path

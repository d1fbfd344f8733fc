"""The paper on (k, ε, l)-anonymity of survey ratings: deciding it pair by pair and by slicing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

import numpy as np
import polars as pl

from sfumato.errors import InputError
from sfumato.kinds.ratings.check import Satisfaction, SearchName, check_ratings
from sfumato.kinds.ratings.ratings import Ratings, SensitiveIssues
from sfumato.kinds.ratings.reading import read_ratings
from sfumato.models.of_kinds import RatingAnonymity
from sfumato.numbers import figure
from sfumato.papers.datasets import movie_ratings
from sfumato.papers.reproduction import (
    Claim,
    Curve,
    Panel,
    Reproduction,
    Setting,
    beside_paper,
    curve_of,
    ends,
    headline,
    lies_below,
    rises,
    run_all,
)
from sfumato.randomness import permutation

_TITLE = "X. Sun, H. Wang, J. Li, survey rating data: (k, ε, l)-anonymity and the satisfaction problem"
_K, _EPSILON, _SPREAD = 20, 1.0, 2.0
"""The paper's usual parameters."""

_PERCENTS = tuple(range(10, 101, 10))
_EPSILONS = (1.0, 2.0, 3.0, 4.0, 5.0)
_SENSITIVE_SHARE = 0.1
_SCALE = (0.5, 5, 0.5)
_MASKS, _SLICING, _PAIRWISE = "masks", "slicing", "pairwise"
SPARSE, DENSE = "films", "survey (synthetic)"

_TABLE_1 = pl.DataFrame(
    [("t1", 6, 1, None, 6), ("t2", 1, 6, None, 1), ("t3", 2, 5, None, 1), ("t4", 1, None, 5, 1), ("t5", 2, None, 6, 5)],
    schema=["who", "issue 1", "issue 2", "issue 3", "issue 4"],
    orient="row",
)
"""The paper's table 1 (a); issue 4 is sensitive."""

_NOTES = (
    "Every search decides the same; they differ in what they have to evaluate. Evaluations are dissimilarities of "
    "single issues. 'masks' is this program's own search, which compares only records that rated the same issues.",
    "The paper does not say which issues are sensitive; here a tenth of them, drawn at random.",
    "Nearly nobody rated the same films as somebody else. With ε below r hardly any record has another around "
    "it. The survey, in which everybody rates everything, shows searches at work.",
    "What a search evaluates hangs neither on k nor on l. It finds what is around every record before it answers. With "
    "the paper's k = 20 and l = 2 the answer is no at every size. Beside it stands how many records are satisfied.",
    "Seconds are of the processor on one thread.",
    "The films are those of another edition of MovieLens than the paper's.",
)


def ratings(setting: Setting) -> Reproduction:
    """Decide the model with every search on growing parts of the ratings and for growing ε."""
    films, source = _films(setting)
    survey = _survey(200 if setting.quick else 2000, setting.seed)
    dense = f"survey (SYNTHETIC): {survey['user'].n_unique():,} people who rate all of 8 issues from 1 to 6"
    tables = {SPARSE: (films, _SCALE), DENSE: (survey, (1, 6))}
    percents = (20, 60, 100) if setting.quick else _PERCENTS
    epsilons = _EPSILONS[::2] if setting.quick else _EPSILONS
    parts = {
        (data, percent): _part(frame, percent, scale, setting.seed)
        for data, (frame, scale) in tables.items()
        for percent in percents
    }
    setting.progress("ratings: warming up", 0, 1)
    for data in tables:
        _warm_up(parts[data, percents[0]])
    growing = [
        partial(_run, parts[data, percent], data, search, percent, _EPSILON)
        for (data, percent) in reversed(parts)
        for search in get_args(SearchName)
    ]
    by_size = run_all(growing, setting, "ratings: parts").sort("data", "method", "percent", maintain_order=True)
    widening = [
        partial(_run, parts[data, 100], data, search, 100, epsilon)
        for data in tables
        for search in get_args(SearchName)
        for epsilon in epsilons
    ]
    by_epsilon = run_all(widening, setting, "ratings: epsilon")
    groups = pl.DataFrame(list(_table_1()))
    return Reproduction(
        "ratings", _TITLE, (source, dense), {"by_size": by_size, "by_epsilon": by_epsilon, "table_1": groups},
        claims_of(by_size, by_epsilon, groups), tuple(_panels()), _NOTES,
    )  # fmt: skip


def claims_of(by_size: pl.DataFrame, by_epsilon: pl.DataFrame, groups: pl.DataFrame) -> tuple[Claim, ...]:
    """Judge the paper's claims; tables have data, method, percent, epsilon, evaluations, trimming."""
    return (
        *_about_table_1(groups),
        *(claim.on_a_stand_in() for data in (SPARSE, DENSE) for claim in _on(by_size, by_epsilon, data)),
        Claim.judged(
            "The same is seen on Netflix' ratings", "5, figure 1", None, "these ratings are no longer published"
        ),
    )


def _on(by_size: pl.DataFrame, by_epsilon: pl.DataFrame, data: str) -> Iterator[Claim]:
    sizes, widths = _Costs.of(by_size, "percent", data), _Costs.of(by_epsilon, "epsilon", data)
    yield Claim.judged(
        f"{data}: the cost of deciding rises with the part of the data that is used",
        "5, figure 1 (a)",
        rises(sizes.most),
        f"evaluations of slicing: {_ends(sizes.most)} %",
    )
    yield sizes.judged(f"{data}: slicing costs less than pairwise at every size", "5, figure 2 (a)", "percentages")
    yield _gap_grows(sizes, data)
    yield _falls_then_rises(widths.most, data)
    yield widths.judged(f"{data}: slicing costs less than pairwise at every ε", "5, figure 2 (b)", "values of ε")


@dataclass(frozen=True)
class _Costs:
    """Evaluations of both searches, counted alike.

    The printed pairwise algorithm looks at each pair once, slicing anew from each record, and then trims what it found.
    `least` counts its pairs once, too, and leaves the trimming out; `most` counts all.
    """

    least: Curve
    most: Curve
    pairwise: Curve

    @classmethod
    def of(cls, costs: pl.DataFrame, across: str, data: str) -> _Costs:
        """Take the curves out of a table with data, method, evaluations and trimming."""
        counted = costs.with_columns(least=pl.col("evaluations") / 2, most=pl.col("evaluations") + pl.col("trimming"))
        least, most = (curve_of(counted, across, up, data=data, method=_SLICING) for up in ("least", "most"))
        return cls(least, most, curve_of(counted, across, "evaluations", data=data, method=_PAIRWISE))

    def judged(self, text: str, where: str, places: str) -> Claim:
        """Judge whether slicing costs less; it is open where that hangs on how pairs are counted."""
        surely, possibly = (lies_below(curve, [self.pairwise]) for curve in (self.most, self.least))
        told = [f"{beside_paper(curve, self.pairwise, places)}" for curve in (self.most, self.least)]
        return Claim.judged(
            text,
            where,
            True if surely else False if possibly is False else None,
            f"evaluations, slicing for pairwise: {told[0]}; with each pair counted once and without trimming {told[1]}",
        )


def _ends(curve: Curve) -> str:
    return ends(curve) if curve else "–"


def _gap_grows(sizes: _Costs, data: str) -> Claim:
    gap = {place: sizes.pairwise[place] - sizes.most[place] for place in sorted({*sizes.most} & {*sizes.pairwise})}
    return Claim.judged(
        f"{data}: the gap between the two grows with the data",
        "5, figure 2 (a)",
        rises(gap),
        f"pairwise less slicing: {_ends(gap)} %",
    )


def _falls_then_rises(widths: Curve, data: str) -> Claim:
    places = sorted(widths)
    holds = None
    if len(places) > 2:
        lowest = min(places, key=widths.__getitem__)
        holds = places[0] < lowest < places[-1]
    told = ", ".join(f"{figure(widths[place], 3)} at {figure(place)}" for place in places)
    return Claim.judged(
        f"{data}: the cost of slicing falls with ε at first and rises later",
        "5, figure 1 (b)",
        holds,
        f"evaluations: {told or '–'}",
    )


def _about_table_1(groups: pl.DataFrame) -> Iterator[Claim]:
    """Judge the paper's example; `groups` has who, around, spread: records around each, and their deviation."""
    found = {row["who"]: row for row in groups.to_dicts()}
    yield Claim.judged(
        "Table 1: t1 is unique, t2 and t3 lie in one group, t4 and t5 in another (ε = 1)",
        "1 and 3",
        [found[who]["around"] for who in ("t1", "t2", "t3", "t4", "t5")] == [1, 2, 2, 2, 2],
        "records around each: " + ", ".join(f"{who} {row['around']}" for who, row in found.items()),
    )
    yield Claim.judged(
        "Table 1: the sensitive ratings of t2 and t3 do not differ, those of t4 and t5 do",
        "1 and 3",
        found["t2"]["spread"] == found["t3"]["spread"] == 0 < min(found["t4"]["spread"], found["t5"]["spread"]),
        ", ".join(f"{who} {figure(row['spread'])}" for who, row in found.items()),
    )


def _table_1() -> Iterator[dict[str, Any]]:
    """Measure the groups of table 1; an impossible model makes every record a reported failure."""
    rated = read_ratings(_TABLE_1, form="wide", user="who", sensitive=["issue 4"], scale=(1, 6))
    answer = check_ratings(rated, RatingAnonymity(9, 1, 9), threads=1)
    for row in answer.failures().to_dicts():
        yield {"who": _TABLE_1["who"][row["record"] - 1], "around": row["around"], "spread": row["spread"]}


def _run(part: Ratings, data: str, search: SearchName, percent: int, epsilon: float) -> dict[str, Any]:
    began = time.thread_time()
    answer = check_ratings(part, RatingAnonymity(_K, epsilon, _SPREAD), search=search, threads=1)
    seconds = time.thread_time() - began
    return {
        "data": data,
        "method": search,
        "percent": percent,
        "epsilon": epsilon,
        "records": part.height,
        "satisfied": answer.satisfied / part.height,
        "evaluations": answer.evaluations,
        "trimming": _trimming(part, answer) if search == _SLICING else 0,
        "seconds": seconds,
    }


def _trimming(part: Ratings, answer: Satisfaction) -> int:
    """Return the dissimilarities of issues that trimming looks at: of each two records around each record."""
    starts, _, _ = answer.question.public
    sizes = answer.measures.sizes
    return int((sizes * (sizes - 1) // 2 * np.diff(starts)).sum())


def _warm_up(part: Ratings) -> None:
    for search in get_args(SearchName):
        check_ratings(part, RatingAnonymity(_K, _EPSILON, _SPREAD), search=search, threads=1)


def _part(frame: pl.DataFrame, percent: int, scale: Sequence[float], seed: int) -> Ratings:
    """Draw a percentage of the people at random."""
    people = frame["user"].unique(maintain_order=True)
    part = people.gather(np.sort(permutation(len(people), seed)[: max(2, len(people) * percent // 100)]))
    chosen = SensitiveIssues(share=_SENSITIVE_SHARE, seed=seed)
    return read_ratings(frame.filter(pl.col("user").is_in(part.implode())), sensitive=chosen, scale=tuple(scale))


def _films(setting: Setting) -> tuple[pl.DataFrame, str]:
    path = movie_ratings(setting.data)
    if path is None:
        frame = _made_up_films(setting.seed)
        return frame, f"films (SYNTHETIC; MovieLens is not here): {_sizes(frame)}"
    try:
        frame = pl.read_csv(path).select(pl.nth(0, 1, 2))
        frame.columns = ["user", "issue", "rating"]
    except (OSError, pl.exceptions.PolarsError):
        raise InputError(f"{path}: is not the table of MovieLens' ratings") from None
    if setting.quick:
        frame = frame.filter(pl.col("user") <= 100)
    return frame, f"films (MovieLens ml-latest-small, not the paper's edition): {_sizes(frame)}"


def _sizes(frame: pl.DataFrame) -> str:
    return f"{frame['user'].n_unique():,} people, {frame['issue'].n_unique():,} issues, {frame.height:,} ratings"


def _made_up_films(seed: int, people: int = 200, issues: int = 1000) -> pl.DataFrame:
    """Make ratings, most of them of a few issues, from half a star to five."""
    drawn = np.random.default_rng(seed)
    chance = 1 / (np.arange(issues) + issues / 40)
    counts = drawn.lognormal(3.4, 0.8, people).astype(int) + 5
    user = np.repeat(np.arange(1, people + 1), counts)
    issue = drawn.choice(issues, len(user), p=chance / chance.sum())
    rating = np.clip(np.round(drawn.normal(7, 2, len(user))), 1, 10) / 2
    return pl.DataFrame({"user": user, "issue": issue, "rating": rating}).unique(["user", "issue"], maintain_order=True)


def _survey(people: int, seed: int, issues: int = 8) -> pl.DataFrame:
    """Make a survey in which everybody rates everything, and opinions are correlated."""
    drawn = np.random.default_rng(seed)
    taste = drawn.normal(3.5, 1.2, (people, 1))
    rating = np.clip(np.round(taste + drawn.normal(0, 1.2, (people, issues))), 1, 6).astype(np.int64)
    user, issue = np.indices(rating.shape)
    return pl.DataFrame({"user": user.ravel() + 1, "issue": issue.ravel() + 1, "rating": rating.ravel()})


def _panels() -> Iterator[Panel]:
    percent, epsilon = "part of the data (%)", "ε (steps between ratings)"
    evaluations, seconds, satisfied = (
        "dissimilarities of issues evaluated", "time of the processor (s)", "share of records satisfied"
    )  # fmt: skip
    for data, short in ((SPARSE, "films"), (DENSE, "survey")):
        only = {"data": data}
        for name, up, axis in (("evaluations", "evaluations", evaluations), ("seconds", "seconds", seconds)):
            yield Panel(
                f"{name}-by-size-{short}", f"{headline(axis)} against the part of the data, {data} (figures 1 a, 2 a)",
                "by_size", "percent", up, (percent, axis), only, logarithmic=True,
            )  # fmt: skip
            yield Panel(
                f"{name}-by-epsilon-{short}", f"{headline(axis)} against ε, {data} (figures 1 b, 2 b)",
                "by_epsilon", "epsilon", up, (epsilon, axis), only, logarithmic=True,
            )  # fmt: skip
        yield Panel(
            f"satisfied-{short}", f"{headline(satisfied)} against ε, {data}", "by_epsilon", "epsilon", "satisfied",
            (epsilon, satisfied), only,
        )  # fmt: skip

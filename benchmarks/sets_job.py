"""k^m-anonymity of a million market baskets, and of the films that people rated: time, memory and loss."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import polars as pl

import sfumato as sf
from benchmarks.baskets import write_baskets
from benchmarks.measuring import Cost, run_child, run_here
from benchmarks.results import Figure, SkippedJob
from benchmarks.settings import Settings
from sfumato.hierarchy import HierarchyTable

NAME = "sets"
BASKETS = 1_000_000
MAKE_SECONDS, MAKE_GIGABYTES, VERIFY_SECONDS = 60, 3, 20
PROMISE = ("-k", "5", "-m", "2")


def run(settings: Settings) -> Iterator[Figure]:
    """Publish and recount baskets, with a hierarchy and without, on the command line."""
    settings.folder.mkdir(parents=True, exist_ok=True)
    count = BASKETS if settings.is_whole else settings.rows // 10
    bought, shelves = write_baskets(settings.folder, count)
    yield from published("generalized", bought, ["--hierarchy", str(shelves)], settings.folder / "baskets-release")
    yield from published("left out", bought, [], settings.folder / "baskets-release")


def published(what: str, bought: Path, options: list[str], out: Path) -> Iterator[Figure]:
    """Give seconds and memory of a release and of its recount, as shares of the bars; kernels are compiled before."""
    words = ["-m", "sfumato", "sets", "anonymize", str(bought), *options, *PROMISE, "--out", str(out), "--overwrite"]
    run_child([*words, "--quiet"])
    made, checked = run_child([*words, "--quiet"]), run_child(["-m", "sfumato", "verify", str(out)])
    yield from _shares(f"baskets, items {what}", made, MAKE_SECONDS, MAKE_GIGABYTES)
    yield from _shares(f"baskets, items {what}: recount", checked, VERIFY_SECONDS, None)
    shutil.rmtree(out)


def _shares(what: str, cost: Cost, seconds: float, gigabytes: float | None) -> Iterator[Figure]:
    told = f"{cost}, {cost.peak / 1e9:.2f} GB"
    yield Figure(NAME, f"{what}: seconds ÷ {seconds}", cost.wall / seconds, f"{cost.wall / seconds:.3f}", 1, True, told)
    if gigabytes is not None:
        share = cost.peak / 1e9 / gigabytes
        yield Figure(NAME, f"{what}: GB ÷ {gigabytes}", share, f"{share:.3f}", 1, True, told)


def run_films(settings: Settings) -> Iterator[Figure]:
    """Publish which films people rated in MovieLens' small set, generalized by genre and left out."""
    folder = None if settings.data is None else settings.data / "ml-latest-small"
    if folder is None or not (folder / "movies.csv").is_file():
        raise SkippedJob("movies.csv is not here; put it into FOLDER/ml-latest-small and set SFUMATO_DATA=FOLDER")
    tree = by_genre(folder / "movies.csv")
    for k, m in ((2, 1), (2, 2), (5, 2)):
        for what, hierarchy, method in (
            ("generalized by genre", tree, "apriori"),
            ("generalized or left out", tree, "mixed"),
            ("left out", None, "suppress"),
        ):
            sets = sf.sets.read_sets(folder / "ratings.csv.gz", person="userId", item="movieId", hierarchy=hierarchy)
            job = partial(sf.sets.anonymize_sets, sets, sf.sets.KmAnonymity(k, m), method=method, seed=1)
            cost, release = run_here(job)
            told = f"{release.loss}; {len(release.published.names):,} items published; {cost}"
            kept = release.loss.published / release.loss.held
            yield Figure(NAME, f"films, k = {k}, m = {m}, {what}: share kept", kept, f"{kept:.3f}", detail=told)


def by_genre(movies: Path) -> HierarchyTable:
    """Return a hierarchy of films, their first genre in a decade, their first genre, and everything."""
    found = pl.read_csv(movies, schema_overrides={"movieId": pl.String})
    genre = pl.col("genres").str.split("|").list.first()
    decade = pl.col("title").str.extract(r"\((\d{3})\d\)\s*$").fill_null("???")
    rows = found.select("movieId", pl.format("{} {}0s", genre, decade).alias("decade"), genre.alias("genre"))
    return HierarchyTable(tuple(rows.rows()))

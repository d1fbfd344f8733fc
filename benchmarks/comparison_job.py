"""Six anonymizers at six values of k on Adult: are the cores busy, and is anything done twice?"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

import sfumato as sf
from benchmarks.adult import QUASI_IDENTIFYING, read_adult
from benchmarks.measuring import Cost, run_here
from benchmarks.results import Figure
from benchmarks.settings import Settings

NAME = "comparison"
ANONYMIZERS = ("mondrian", "global-mondrian", "value-generalization", "datafly", "mdav", "sbc")
VALUES = (2, 5, 10, 20, 50, 100)
QUERIES = 100
BUSY_BAR, TWICE_BAR = 0.8, 0.05


def run(settings: Settings) -> Iterator[Figure]:
    """Compare in two goes, as after an interruption, and once more when all is done."""
    yield from compared(read_adult(settings.adult_file()), ANONYMIZERS, VALUES)


def compared(adult: pl.DataFrame, anonymizers: Sequence[str], values: Sequence[int]) -> Iterator[Figure]:
    """Do half of the values, then all, then all again, in one folder; then the same in another one."""
    table = sf.read_table(adult, sf.Schema(quasi_identifying=list(QUASI_IDENTIFYING), others="drop"))
    with TemporaryDirectory() as place:
        folder = Path(place) / "runs"
        fresh = _two_goes(table, anonymizers, values, folder)
        again, found = _go(table, anonymizers, values, folder)
        written = len((folder / "runs.jsonl").read_text(encoding="utf-8").splitlines())
        both = _two_goes(table, anonymizers, values, Path(place) / "once more")
    cores = len(os.sched_getaffinity(0))
    busy = both.cpu / both.wall / cores
    twice = again.cpu / both.cpu
    about = f"{table.frame.height:,} records, {found.frame.height} releases in two goes"
    yield Figure(NAME, f"share of {cores} cores that worked", busy, f"{busy:.1%}", BUSY_BAR, False, f"{about}; {both}")
    share = fresh.cpu / fresh.wall / cores
    yield Figure(
        NAME, "the same with all that is imported and loaded at first use", share, f"{share:.0%}", detail=f"{fresh}"
    )  # fmt: skip
    yield Figure(
        NAME, "runs written ÷ runs, after an interruption", written / found.frame.height,
        f"{written} of {found.frame.height}", 1.0, True, "finished runs are kept and not done again",
    )  # fmt: skip
    yield Figure(NAME, "CPU of the same call again ÷ CPU before", twice, f"{twice:.2%}", TWICE_BAR, True, str(again))


def _two_goes(table: sf.Table, anonymizers: Sequence[str], values: Sequence[int], folder: Path) -> Cost:
    """Do half of the values, then all, as after an interruption."""
    first, _ = _go(table, anonymizers, values[: len(values) // 2], folder)
    second, _ = _go(table, anonymizers, values, folder)
    return Cost(first.wall + second.wall, first.cpu + second.cpu)


def _go(
    table: sf.Table, anonymizers: Sequence[str], values: Sequence[int], folder: Path
) -> tuple[Cost, sf.results.Comparison]:
    return run_here(
        lambda: sf.compare(
            table, anonymizers=anonymizers, vary={"k": values}, figures=sf.Figures(QUERIES), folder=folder, seed=1
        )
    )

"""Slicing of Adult's complete records, made and verified, and how its time grows with the number of records.

Times are CPU seconds, from the encoded table on for the growth: Adult's records are drawn with replacement, so that the
combinations of values stay as many while records and buckets double.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.adult import read_adult
from benchmarks.lattice_job import YARDSTICK, YARDSTICKS
from benchmarks.measuring import Cost, run_here, run_repeatedly
from benchmarks.results import Figure, SkippedJob
from benchmarks.settings import Settings

NAME = "slicing"
QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
SENSITIVE = "occupation"
L, COLUMNS = 5, 5
SECONDS = 5.0
GROWTH_BAR = 2.5
SIZES = (45_000, 90_000, 180_000, 360_000, 720_000)
PROTECTIONS = ("buckets", "matching")


def run(settings: Settings) -> Iterator[Figure]:
    """Measure both checks on the complete records of both files."""
    yield from measure(adult_records(settings), SIZES, settings.repeats)


def adult_records(settings: Settings) -> pl.DataFrame:
    """Return the 45 222 complete records of ``adult.data`` and ``adult.test``."""
    training = settings.adult_file()
    test = training.with_name("adult.test")
    if not test.is_file():
        raise SkippedJob(f"{test.name} is not beside {training.name}; put it there")
    return pl.concat([_complete(training), _complete(test)])


def measure(frame: pl.DataFrame, sizes: Sequence[int], repeats: int) -> Iterator[Figure]:
    """Slice the records once as they are, and drawn ever more often."""
    yardstick = run_repeatedly(lambda: frame.group_by(frame.columns).len(), YARDSTICKS)[0]
    for protection in PROTECTIONS:
        cost, release = _sliced(frame, protection, repeats)
        buckets = release.report.figures["buckets"]
        detail = (
            f"{cost}, {buckets:,.0f} buckets; a yardstick {yardstick}; bar {SECONDS:g} s at {YARDSTICK:g} s a yardstick"
        )
        ratio = cost.cpu / yardstick.cpu
        what = f"read, sliced and verified, protection {protection}, yardsticks"
        yield Figure(NAME, what, ratio, f"{ratio:.0f}", round(SECONDS / YARDSTICK, 1), True, detail)
    for protection in PROTECTIONS:
        costs = [_sliced(drawn(frame, rows), protection, 1)[0] for rows in sizes]
        worst = max(after.cpu / before.cpu for before, after in pairwise(costs))
        detail = ", ".join(f"{rows:,}: {cost}" for rows, cost in zip(sizes, costs, strict=True))
        what = f"largest growth for twice the records, protection {protection}"
        yield Figure(NAME, what, worst, f"{worst:.2f} ×", GROWTH_BAR, True, detail)


def drawn(frame: pl.DataFrame, rows: int, seed: int = 2026) -> pl.DataFrame:
    """Draw records with replacement."""
    return frame[np.random.default_rng(seed).integers(0, frame.height, rows)]


def _complete(path: Path) -> pl.DataFrame:
    return read_adult(path).select(*QUASI, SENSITIVE)


def _sliced(frame: pl.DataFrame, protection: str, repeats: int) -> tuple[Cost, sf.Release]:
    schema = sf.Schema(quasi_identifying=list(QUASI), sensitive=[SENSITIVE])
    slicing = sf.Slicing(columns=COLUMNS, protection=protection, bucket_size="smallest")

    def action() -> sf.Release:
        table = sf.read_table(frame, schema)
        return sf.anonymize(table, sf.ProbabilisticLDiversity(L), anonymizer=slicing, seed=1)

    action()  # kernels may be compiled in it
    runs = [run_here(action) for _ in range(repeats)]
    return min((cost for cost, _ in runs), key=lambda cost: cost.cpu), runs[-1][1]

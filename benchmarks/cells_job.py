"""Cell suppression on Adult, five keys, k = 5, beside what sdcMicro suppresses.

sdcMicro's localSuppression takes 83 s and stars 7 883 cells; which five keys that was measured on is not known. On the
first five columns a plain imitation of its rule stars 8 153, so these are taken. It counts a star as equal to every
value, the weakest way to count (decision record 4). That is not measured: four rows of stars serve everybody, and the
number of cells then says nothing. Its place is taken by attackers who know three keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

import sfumato as sf
from benchmarks.lattice_job import YARDSTICK, YARDSTICKS, adult_with_hierarchies
from benchmarks.measuring import Cost, run_repeatedly
from benchmarks.results import Figure
from benchmarks.settings import Settings
from sfumato.anonymizers.protocol import Problem
from sfumato.metrics import changed_cells
from sfumato.models.protocol import PrivacyModel
from sfumato.recoding import recode
from sfumato.table.encoding import EncodedTable, encode

NAME = "cells"
KEYS = ("sex", "age", "race", "marital-status", "education")
K = 5
CELLS, SECONDS = 7883, 2.0


@dataclass(frozen=True)
class Counting:
    """What a star counts as, and the model that says so; `bar` where the promise is no stronger than sdcMicro's."""

    what: str
    model: PrivacyModel
    bar: float | None


COUNTINGS = (
    Counting("a star is a value of its own (k-anonymity)", sf.KAnonymity(K), None),
    Counting("a star is unknown to an attacker (subset k-anonymity)", sf.SubsetKAnonymity(K, m=len(KEYS)), CELLS - 1),
    Counting("an attacker knows three keys at most (subset k-anonymity)", sf.SubsetKAnonymity(K, m=3), None),
)


def run(settings: Settings) -> Iterator[Figure]:
    """Measure everything on the complete Adult records."""
    frame, _ = adult_with_hierarchies(settings)
    yield from compare(frame)


def compare(frame: pl.DataFrame, repeats: int = 3) -> Iterator[Figure]:
    """Star the keys of a table of strings in each way of counting."""
    yardstick = run_repeatedly(lambda: frame.group_by(frame.columns).len(), YARDSTICKS)[0]
    keys = list(KEYS)
    table = encode(sf.read_table(frame.select(keys), sf.Schema(quasi_identifying=keys)))
    for counting in COUNTINGS:
        yield from _starred(table, counting, yardstick, repeats)


def _starred(table: EncodedTable, counting: Counting, yardstick: Cost, repeats: int) -> Iterator[Figure]:
    problem = Problem(table, (counting.model,), 0, 1)
    cost, solution = run_repeatedly(lambda: sf.CellSuppression().solve(problem), repeats)
    cells = sum(changed_cells(recode(table, solution)).values())
    detail = f"{cost}; {' '.join(solution.notes[1:])} sdcMicro {CELLS:,} in 83 s"
    yield Figure(NAME, f"cells starred: {counting.what}", cells, f"{cells:,}", counting.bar, True, detail)
    ratio = cost.cpu / yardstick.cpu
    detail = f"{cost}; a yardstick {yardstick}; bar {SECONDS:g} s at {YARDSTICK:g} s CPU a yardstick"
    bar = round(SECONDS / YARDSTICK, 1)
    yield Figure(NAME, f"the same, yardsticks: {counting.what}", ratio, f"{ratio:.1f}", bar, True, detail)

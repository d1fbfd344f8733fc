"""Bucketization of a large table, verified, against sorting it with polars."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

import sfumato as sf
from benchmarks.census import QUASI_IDENTIFYING, SENSITIVE, census
from benchmarks.measuring import Cost, run_here
from benchmarks.results import Figure
from benchmarks.settings import Settings

NAME = "bucketization"
BAR = 2
L = 3
REPEATS = 7


def run(settings: Settings) -> Iterator[Figure]:
    """Bucketize the synthetic census with its income bands as the sensitive attribute."""
    yield from compare(census(settings.checked_rows), REPEATS)


def compare(frame: pl.DataFrame, repeats: int) -> Iterator[Figure]:
    """Take turns: ours, a sort of the whole rows, a sort by the sensitive column alone; least times of each."""
    columns = [*QUASI_IDENTIFYING, SENSITIVE]
    schema = sf.Schema(
        quasi_identifying=list(QUASI_IDENTIFYING), sensitive=[SENSITIVE], publish=["region"], others="drop"
    )
    table = sf.read_table(frame, schema)
    rows = table.frame.select(columns)
    actions = {
        "ours": lambda: sf.anonymize(table, sf.ProbabilisticLDiversity(L), anonymizer=sf.Bucketization()),
        "rows": lambda: rows.sort(columns),
        "values": lambda: rows.sort(SENSITIVE),
    }
    actions["ours"]()  # kernels may be compiled in it
    rounds = [{name: run_here(action)[0] for name, action in actions.items()} for _ in range(repeats)]
    least = {name: _least([costs[name] for costs in rounds]) for name in actions}
    about = f"{rows.height:,} records, l = {L}; encoded, published and verified"
    yield _figure("rows by all columns", least["ours"], least["rows"], about, BAR)
    yield _figure("rows by the sensitive column alone", least["ours"], least["values"], about)


def _least(costs: list[Cost]) -> Cost:
    return Cost(min(cost.wall for cost in costs), min(cost.cpu for cost in costs))


def _figure(what: str, ours: Cost, floor: Cost, about: str, bar: float | None = None) -> Figure:
    ratio = ours.cpu / floor.cpu
    detail = f"{about}: {ours} against {floor}; by wall {ours.wall / floor.wall:.2f} ×"
    return Figure(NAME, f"CPU time ÷ a polars sort of the {what}", ratio, f"{ratio:.2f} ×", bar, True, detail)

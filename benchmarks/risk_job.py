"""Every risk measure of a large table, special uniques of Adult, and all combinations of many columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import polars as pl

import sfumato as sf
from benchmarks.adult import QUASI_IDENTIFYING as ADULT_COLUMNS
from benchmarks.adult import read_adult
from benchmarks.census import QUASI_IDENTIFYING, census
from benchmarks.measuring import Cost, run_repeatedly
from benchmarks.results import Figure, SkippedJob
from benchmarks.settings import Settings

NAME = "risk"
ALL_BAR, SPECIAL_BAR, COMBINATIONS_BAR = 10.0, 2.0, 20.0
"""Seconds."""

COMBINED = 30_000
FRACTION = 0.05


def run(settings: Settings) -> Iterator[Figure]:
    """Measure the census with everything that one call measures, then Adult where it is there."""
    yield from all_measures(census(settings.checked_rows), settings.repeats)
    try:
        adult = read_adult(settings.adult_file())
    except SkippedJob:
        return
    yield from searches(adult, settings.repeats)


def all_measures(frame: pl.DataFrame, repeats: int) -> Iterator[Figure]:
    """Measure all risks of a table of one weight for all, with its usual sizes of combinations."""
    schema = sf.Schema(quasi_identifying=list(QUASI_IDENTIFYING), insensitive=["weight"], others="drop")
    table = sf.read_table(frame.with_columns(weight=pl.lit(1 / FRACTION)), schema)
    cost, report = run_repeatedly(lambda: sf.risk(table, weights="weight", sampling_fraction=FRACTION), repeats)
    about = f"{table.height:,} records in {report.keys.count:,} classes, {len(report.combinations)} combinations"
    yield _figure("all risk measures on 8 columns", cost, ALL_BAR, about)


def searches(frame: pl.DataFrame, repeats: int) -> Iterator[Figure]:
    """Find special uniques of up to four of Adult's keys, and compare all combinations of up to five of its columns."""
    found = _report(frame, ADULT_COLUMNS, special_uniques=4, combinations=0)
    cost, report = run_repeatedly(found, repeats)
    about = f"{frame.height:,} records, {len(report.special_uniques.record):,} minimal uniques"
    yield _figure("special uniques of up to 4 of Adult's 8 keys", cost, SPECIAL_BAR, about)
    found = _report(frame.head(COMBINED), frame.columns, special_uniques=0, combinations=5)
    cost, report = run_repeatedly(found, repeats)
    about = f"{report.keys.height:,} records, {len(report.combinations):,} combinations of {frame.width} columns"
    yield _figure("distinction and separation of all combinations of up to 5 columns", cost, COMBINATIONS_BAR, about)


def _report(frame: pl.DataFrame, columns: Any, **sizes: int) -> Callable[[], Any]:
    table = sf.read_table(frame, sf.Schema(quasi_identifying=list(columns), others="drop"))
    return lambda: sf.risk(table, **sizes)


def _figure(what: str, cost: Cost, bar: float, about: str) -> Figure:
    share = cost.wall / bar
    return Figure(
        NAME, f"share of {bar:g} s: {what}", share, f"{share:.1%}", 1.0, at_most=True, detail=f"{about}; {cost}"
    )

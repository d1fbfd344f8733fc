"""A risk report as a notebook shows it: figures of the whole table, and no row number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sfumato.notebook import BAD, PLAIN, Cell, Markup, bar, lines, section, table
from sfumato.numbers import counted, percent

if TYPE_CHECKING:
    from sfumato.evaluation.risk.risk_report import RiskReport

SIZES = (1, 2, 3, 5, 10, 20, 50, 100)
"""Where ranges of class sizes begin."""
MOST_COMBINATIONS = 5


def risk_parts(report: RiskReport) -> tuple[Markup, ...]:
    """Return what a report says, as parts of a card."""
    combinations = report.combinations
    ranked = [] if combinations is None else combinations.ranked()[:MOST_COMBINATIONS]
    told = [(", ".join(one.columns), bar(one.separation), one.uniques) for one in ranked]
    return (
        section("Records that look alike", table(("class of", "records"), list(_sizes(report)))),
        section("Risk", table(("adversary", "highest", "average"), list(_risks(report)))),
        section("Records above a threshold", table(("threshold", "adversary", "records"), list(_above(report)))),
        section(
            "Columns that give people away",
            table(("columns", "pairs of records told apart", "unique records"), told, (2,)),
        ),
        lines(report.people_lines),
    )


def _sizes(report: RiskReport) -> Iterator[tuple[Cell, Cell]]:
    records = report.keys.records
    ranges = np.searchsorted(SIZES, records, side="right") - 1
    held = np.bincount(ranges, weights=records, minlength=len(SIZES))
    for place, first in enumerate(SIZES):
        if held[place]:
            last = SIZES[place + 1] - 1 if place + 1 < len(SIZES) else None
            size = f"{first} or more" if last is None else f"{first}" if last == first else f"{first} to {last}"
            share = held[place] / max(1, report.keys.height)
            yield size, bar(share, f"{int(held[place]):,} ({percent(share, 3)})", kind=BAD if first == 1 else PLAIN)


def _risks(report: RiskReport) -> Iterator[tuple[Cell, Cell, Cell]]:
    for one in report.adversaries:
        yield one.name, bar(one.highest), bar(one.average)
    yield "marketer", "", bar(report.marketer)
    if report.household is not None:
        yield "household", bar(float(report.household.max())), bar(float(report.household.mean()))


def _above(report: RiskReport) -> Iterator[tuple[Cell, Cell, Cell]]:
    for threshold in report.thresholds:
        for one in report.adversaries:
            found = one.above(threshold)
            yield str(threshold), one.name, bar(found.share, f"{found.records:,} ({percent(found.share, 3)})")


def counts(report: RiskReport) -> str:
    """Count records, classes and columns."""
    keys = report.keys
    return f"{counted(keys.height, 'record')} in {counted(keys.count, 'class')} of {counted(len(keys.names), 'column')}"

"""Plain twins of what masking did to numbers: lists of columns, cell after cell."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, pstdev

Column = Sequence[float | None]


def pairs_of(before: Column, after: Column) -> list[tuple[float, float]]:
    return [(one, two) for one, two in zip(before, after, strict=True) if one is not None and two is not None]


def deviation(column: Column) -> float:
    return pstdev([value for value in column if value is not None])


def il1(before: Sequence[Column], after: Sequence[Column]) -> float:
    pairs = [pair for columns in zip(before, after, strict=True) for pair in pairs_of(*columns)]
    return fmean(abs(one - two) / abs(one) for one, two in pairs if one != 0)


def il1s(before: Sequence[Column], after: Sequence[Column]) -> float:
    return fmean(
        abs(one - two) / sqrt(2) / deviation(columns[0])
        for columns in zip(before, after, strict=True)
        for one, two in pairs_of(*columns)
    )


def staying(before: Sequence[Column], after: Sequence[Column], widths: Sequence[float]) -> float:
    """Share of the complete records of which each number stayed within so many deviations; one width a record."""
    scale = [deviation(column) for column in before]
    rows = zip(zip(*before, strict=True), zip(*after, strict=True), widths, strict=True)
    whole = [(one, two, width) for one, two, width in rows if None not in (*one, *two)]
    near = [
        all(abs(a - b) <= width * s + 1e-12 for a, b, s in zip(one, two, scale, strict=True))
        for one, two, width in whole
    ]
    return fmean(near)

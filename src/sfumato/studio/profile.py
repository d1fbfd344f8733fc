"""What the page shows of each column before anybody decides: counts, a small drawing, and what it looks like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from sfumato.errors import SfumatoError
from sfumato.evaluation.preview import Preview
from sfumato.table.distinct import Distinct
from sfumato.table.schema import Kind, is_measured, text_of

BARS = 12
FEWEST = 20
"""Records from which on it says something that all values are different."""
MOST_DRAFTED = 2_000
"""Values from which on a hierarchy of listed values is not offered: nobody would group them by hand."""

Looks = Literal["identifier", "code"]


@dataclass(frozen=True)
class ColumnProfile:
    """One column at a glance; it holds no value."""

    name: str
    kind: Kind | None  # None where it cannot be read at all; `problem` then says why
    # `distinct`, `missing`: different values, and records without one
    distinct: int = 0
    missing: int = 0
    # heights from 0 to 1: how many records lie in each part of the range, or have each of the most frequent values
    bars: tuple[float, ...] = ()
    # ``"identifier"``: all values are different. ``"code"``: numbers that are written with the same number of digits,
    # so that they probably name something and measure nothing.
    looks: Looks | None = None
    digits: int = 0  # how many those are
    problem: str = ""  # what is wrong with it


def profiled(preview: Preview, name: str, kind: Kind | None = None) -> ColumnProfile:
    """Look at one column, read as a kind; None reads the kind off it.

    Cost O(d) for d distinct values once the preview knows them.
    """
    try:
        distinct = preview.distinct(name, kind)
        found = preview.kind(name, kind)
    except SfumatoError as error:
        return ColumnProfile(name, None, problem=" ".join(error.problems))
    values = len(distinct.values)
    known = int(distinct.counts.sum())
    digits = _digits(distinct) if found is Kind.NUMERIC else 0
    looks: Looks | None = None
    if values == known >= FEWEST and not distinct.values.dtype.is_float():
        looks = "identifier"
    elif digits:
        looks = "code"
    return ColumnProfile(name, found, values, distinct.missing, _bars(distinct, found), looks, digits)


def _digits(distinct: Distinct) -> int:
    """Return the number of digits of whole numbers that all have as many, three at least; 0 for others."""
    if not distinct.values.dtype.is_integer() or len(distinct.values) < 2:
        return 0
    lengths = text_of(distinct.values).str.len_chars().unique()
    low = distinct.values[0]
    is_code = len(lengths) == 1 and lengths[0] >= 3 and low >= 0
    # Years have four digits, too, and are quantities.
    is_year = is_code and lengths[0] == 4 and low >= 1800 and distinct.values[-1] <= 2100
    return 0 if is_year or not is_code else int(lengths[0])


def _bars(distinct: Distinct, kind: Kind) -> tuple[float, ...]:
    if not len(distinct.values):
        return ()
    if is_measured(kind):
        numbers = distinct.values.to_physical().cast(pl.Float64).to_numpy()
        finite = np.isfinite(numbers)
        heights = np.histogram(numbers[finite], BARS, weights=distinct.counts[finite])[0]
    else:
        heights = np.sort(distinct.counts)[::-1][:BARS]
    top = float(heights.max(initial=0))
    return tuple(float(height / top) for height in heights) if top else ()

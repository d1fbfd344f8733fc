"""Intervals whose ends are nobody's values: borders between the values of the data, and the ends of the domain."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.recoding.ends import FIRST_DAY, LAST_DAY, exactly_numbered
from sfumato.recoding.notation import STAR, exact_texts, range_texts
from sfumato.table.encoding import EncodedAttribute
from sfumato.table.kinds import text_of
from sfumato.table.schema import Kind

Numbers = NDArray[np.float64]

_DIGITS = 17


def border_texts(attribute: EncodedAttribute, low: NDArray[np.int32], high: NDArray[np.int32]) -> pl.Series:
    """Write ranges of codes of a number or date as adjacent intervals.

    Between two neighbouring values the border is the roundest number above the lower one, up to the higher one; between
    dates the day in the middle. Whole numbers and dates are written closed, ``[a..b]``, the next interval beginning at
    ``b + 1``; other numbers ``[a..b)``. The outermost intervals reach to the ends of the declared domain; where a value
    of the data lies at the end, or no domain is declared, they are rounded outward.

    Parameters
    ----------
    attribute
        A number or date without a hierarchy.
    low, high
        int32 (g,): first and last code of each range; one code is written exactly, and as ``*`` if `high` is the
        missing value's. From 2⁵³ on, where numbers are not exact, the ends stay values of the data.
    """
    assert attribute.numbers is not None
    texts = exact_texts(attribute, low)
    if not exactly_numbered(attribute):
        return range_texts(attribute, low, high)
    several = np.flatnonzero((low < high) & (high < attribute.size))
    if len(several):
        texts = texts.scatter(several, _intervals(attribute, low[several], high[several]))
    return texts.scatter(np.flatnonzero((low < high) & (high == attribute.size)), STAR)


def _intervals(attribute: EncodedAttribute, low: NDArray[np.int32], high: NDArray[np.int32]) -> pl.Series:
    numbers = attribute.numbers
    assert numbers is not None
    whole = attribute.kind is Kind.DATE or bool((numbers == np.floor(numbers)).all())
    between = _middles(numbers) if attribute.kind is Kind.DATE else roundest(numbers[:-1], numbers[1:])
    bottom, top = _ends(attribute)
    starts, stops = np.append(bottom, between), np.append(between, top)
    outermost = high == attribute.size - 1
    ends = stops[high] - (whole & ~outermost)
    first, last = _texts(attribute, starts[low], whole), _texts(attribute, ends, whole)
    closing = pl.Series(np.where(outermost | whole, "]", ")"))
    return pl.select(pl.concat_str(pl.lit("["), first, pl.lit(".."), last, closing)).to_series()


def roundest(below: Numbers, above: Numbers) -> Numbers:
    """Return for each pair the number with most zeros at its end that is above `below` and not above `above`."""
    found = above.copy()
    open_pairs = np.ones(len(found), dtype=np.bool_)
    top = int(np.ceil(np.log10(max(1.0, np.abs(np.append(below, above)).max(initial=1.0)))))
    for exponent in range(top, top - _DIGITS, -1):
        unit = 10.0 ** abs(exponent)
        with np.errstate(over="ignore"):
            candidate = np.floor(above / unit) * unit if exponent >= 0 else np.floor(above * unit) / unit
        fits = open_pairs & (below < candidate) & (candidate <= above)
        found[fits] = candidate[fits]
        open_pairs &= ~fits
    return found


def _middles(days: Numbers) -> Numbers:
    middles: Numbers = np.floor((days[:-1] + days[1:] + 1) / 2)
    return middles


def _ends(attribute: EncodedAttribute) -> tuple[float, float]:
    """Return the ends of the domain, rounded outward to a digit of its width if a value of the data is there."""
    numbers = attribute.numbers
    assert numbers is not None
    low, high = attribute.domain_low, attribute.domain_low + attribute.domain_width
    unit = 10.0 ** np.floor(np.log10(attribute.domain_width or 1.0))
    if low >= numbers[0]:
        low = float(min(np.floor(numbers[0] / unit) * unit, numbers[0]))
    if high <= numbers[-1]:
        high = float(max(np.ceil(numbers[-1] / unit) * unit, numbers[-1]))
    if attribute.kind is Kind.DATE:
        return max(low, FIRST_DAY), min(high, LAST_DAY)
    return low, high


def _texts(attribute: EncodedAttribute, values: Numbers, whole: bool) -> pl.Series:
    if attribute.kind is Kind.DATE:
        return text_of(pl.Series(values.astype(np.int32)).cast(pl.Date))
    return text_of(pl.Series(values.astype(np.int64) if whole else values))

"""Columns of a sheet as they were loaded, and what they mean: whole numbers, days, codes with leading zeros."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import polars as pl

from sfumato.numbers import counted
from sfumato.table.sources.whole_numbers import is_whole, whole_where_whole
from sfumato.table.sources.workbook_signs import Signs

_EXACT = 10**15
"""Excel keeps fifteen digits of a number."""
_FIRST_DAY = datetime.datetime(1900, 1, 1)
"""Times of day are stored as the day before it."""
_MOMENT = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?$"
_MIDNIGHT = r"^(\d{4}-\d\d-\d\d) 00:00:00(\.0+)?$"
_SAMPLE = 10_000


def column_problems(name: str, column: pl.Series, place: int, signs: Signs) -> Iterator[str]:
    """Say what a column holds that would be misread, with counts and the row of the sheet where it begins."""
    for found, what, cure in (
        (signs.errors, "with an error such as #N/A", "correct the formulas, or clear the cells"),
        (signs.uncalculated, "with a formula that was never calculated", "open the file in Excel and save it"),
    ):
        if place in found or -1 in found:
            count, row = found.get(place) or found[-1]
            where = f", first in row {row + 1} of the sheet" if row >= 0 else ""
            yield f"column {name!r}: {counted(count, 'cell')} {what}{where}; {cure}"
    if column.dtype == pl.String:
        yield from _dates_beside_others(name, column)
    if isinstance(column.dtype, pl.Datetime) and bool((column < _FIRST_DAY).any()):
        yield f"column {name!r} holds times of day; write them as text or numbers"
    if column.dtype.is_float() and _has_rounded(column):
        yield (
            f"column {name!r} holds whole numbers of sixteen digits or more, of which Excel keeps fifteen; write them "
            "as text"
        )
    widths = signs.padded.get(place, {})
    if widths and (
        len(widths) > 1 or sum(widths.values()) != len(column) - column.null_count() or not is_whole(column)
    ):
        padded = sum(widths.values())
        yield (
            f"column {name!r}: {counted(padded, 'cell')} of {len(column):,} with leading zeros that only their "
            "format shows; give all cells one format, or write the codes as text"
        )


def read_column(column: pl.Series, place: int, signs: Signs) -> pl.Series:
    """Return a column without problems as what it means."""
    if place in signs.padded:
        width = next(iter(signs.padded[place]))
        return column.cast(pl.Int64).cast(pl.String).str.zfill(width)
    if column.dtype == pl.String:
        return column.str.replace(_MIDNIGHT, "$1") if column.str.contains(_MIDNIGHT).any() else column
    return whole_where_whole(column)


def _has_rounded(column: pl.Series) -> bool:
    """Tell whether all numbers are whole, and one has more digits than Excel keeps."""
    known = column.drop_nulls()
    return bool((known.abs() >= _EXACT).any() and (known == known.round()).all())


def _dates_beside_others(name: str, column: pl.Series) -> Iterator[str]:
    """Find cells that are dates in a column with numbers or texts that may be dates which Excel did not understand."""
    known = column.drop_nulls()
    dates = known.str.contains(_MOMENT)
    others = known.filter(~dates).str.contains(r"\d")
    if dates.any() and others.any():
        moments = counted(int(dates.sum()), "cell")
        yield (
            f"column {name!r}: {moments} with a date beside {others.sum():,} with a number or a text that has digits; "
            "Excel may have taken days for months: give all cells one type"
        )

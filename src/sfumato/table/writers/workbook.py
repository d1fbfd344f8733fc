"""Excel workbooks."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from sfumato.errors import InputError, raise_all
from sfumato.numbers import counted
from sfumato.table.sources.protocol import library

_MOST_ROWS, _MOST_COLUMNS, _LONGEST = 1_048_576, 16_384, 32_767
_EXACT = 10**15
"""Excel keeps fifteen digits of a number."""
_FIRST_DAY = datetime.date(1900, 3, 1)
_ALWAYS = datetime.datetime(1980, 1, 1)
"""The time that every file says, so that equal tables make equal files."""


def write_workbook(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame as the only sheet of a workbook, names first; no text ever becomes a formula, number or link.

    Raises
    ------
    InputError
        When a sheet cannot hold the frame, with the reason; when a library is not installed.
    """
    raise_all(InputError, _problems(frame))
    writer = library("xlsxwriter", extra="excel", what="Excel workbooks")
    options = {
        "constant_memory": True,
        "tmpdir": str(path.parent),
        "strings_to_formulas": False,
        "strings_to_numbers": False,
        "strings_to_urls": False,
        "default_date_format": "yyyy-mm-dd",
    }
    try:
        with writer.Workbook(path, options) as book:
            book.set_properties({"created": _ALWAYS})
            sheet = book.add_worksheet(path.stem[:31])
            sheet.write_row(0, 0, frame.columns)
            for number, record in enumerate(_cells(frame).iter_rows(), 1):
                sheet.write_row(number, 0, record)
    except writer.exceptions.XlsxWriterException:
        raise OSError from None


def _problems(frame: pl.DataFrame) -> Iterator[str]:
    if frame.height >= _MOST_ROWS or frame.width > _MOST_COLUMNS:
        yield f"a sheet holds {_MOST_ROWS - 1:,} records of {_MOST_COLUMNS:,} columns at most; write csv or parquet"
    empty = frame.filter(pl.all_horizontal(pl.all().is_null())).height if frame.width else 0
    if empty:
        yield f"{counted(empty, 'record')} without any value would be lost in a sheet; write csv or parquet"
    for column in frame:
        if column.dtype.is_float() and not column.drop_nulls().is_finite().all():
            yield f"column {column.name!r} has infinite values or none that are numbers; write csv or parquet"
        if column.dtype.is_temporal() and not _has_days(column):
            yield f"column {column.name!r} has times, or days before March 1900; write csv or parquet"
        if column.dtype == pl.String and (column.str.len_chars() > _LONGEST).any():
            yield f"column {column.name!r} has texts longer than a cell may be; write csv or parquet"


def _has_days(column: pl.Series) -> bool:
    """Tell whether all are days that Excel counts; it takes 1900 for a leap year."""
    return column.dtype == pl.Date and not (column < _FIRST_DAY).any()


def _cells(frame: pl.DataFrame) -> pl.DataFrame:
    """Return values as cells hold them: labels and numbers of too many digits are text."""
    return pl.DataFrame([column.cast(pl.String) if _as_text(column) else column for column in frame])


def _as_text(column: pl.Series) -> bool:
    if column.dtype.is_integer():
        # A column of few bits cannot be compared with a number of many.
        smallest, largest = column.min(), column.max()
        return any(isinstance(end, int) and abs(end) >= _EXACT for end in (smallest, largest))
    return isinstance(column.dtype, (pl.Enum, pl.Categorical))

"""A column of ratings: numbers, and empty where nothing was rated."""

from __future__ import annotations

import polars as pl

from sfumato.errors import InputError
from sfumato.table.columns import ValueReading, typed_column
from sfumato.table.header import Header
from sfumato.table.schema import Kind
from sfumato.table.texts import parse


def rating_column(column: pl.Series, reading: ValueReading, header: Header) -> pl.Series:
    """Return the ratings of a column as Int64 or Float64, null where there is none; `header` is that of its source.

    Raises
    ------
    InputError
        Counting cells that hold no number, with the row of the first.
    """
    if not isinstance(column.dtype, (pl.String, pl.Categorical, pl.Enum)):
        return typed_column(column, Kind.NUMERIC, reading)[0]
    texts = column.cast(pl.String) if isinstance(column.dtype, pl.Enum) else column
    parsed = parse(texts, Kind.NUMERIC, reading.missing, strip=reading.strip)
    strangers = int(parsed.strangers.sum())
    if strangers:
        row = int(parsed.strangers.arg_max() or 0) + 1
        raise InputError(
            f"{header.column(column.name)} should hold ratings, but {strangers} row(s) hold no number, first in row "
            f"{row}; correct them, or list their text as missing"
        )
    return parsed.values

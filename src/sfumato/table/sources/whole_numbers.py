"""Whole numbers of programs that store every number as a float."""

from __future__ import annotations

import polars as pl

EXACT = 2**53
"""Up to here a float tells whole numbers apart."""


def whole_where_whole(column: pl.Series) -> pl.Series:
    """Turn a column of floats into whole numbers if all of them are: 31.0 is 31. Cost O(n)."""
    return column.cast(pl.Int64) if is_whole(column) else column


def is_whole(column: pl.Series) -> bool:
    """Tell whether a column of floats holds whole numbers alone, none so large that it may have been rounded."""
    if not column.dtype.is_float():
        return False
    known = column.drop_nulls()
    return bool(((known == known.round()) & (known.abs() < EXACT)).all())

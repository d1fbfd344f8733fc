"""Frames as every database keeps them, so that what is read back is what was written."""

from __future__ import annotations

import polars as pl

from sfumato.hierarchy.specification import text_of


def storable(frame: pl.DataFrame, *, texts_only: bool) -> pl.DataFrame:
    """Return a frame with whole numbers, floating-point numbers, texts, booleans, dates and times to the microsecond.

    Texts may be categories. Numbers that 64 bits cannot distinguish, times of day and the like become texts. NaN is
    a missing value, as everywhere here, and -0.0 becomes 0.0.

    Parameters
    ----------
    frame
        Of plain values.
    texts_only
        Write booleans, dates and times as text, too.
    """
    return pl.DataFrame([_stored(column, texts_only) for column in frame])


def _stored(column: pl.Series, texts_only: bool) -> pl.Series:
    dtype = column.dtype
    if dtype.is_integer():
        whole = column.cast(pl.Int64, strict=False)
        return whole if whole.null_count() == column.null_count() else column.cast(pl.String)
    if dtype.is_float():
        # Convert by way of text, so that 0.1 stays 0.1.
        exact = column.cast(pl.String).cast(pl.Float64) if dtype == pl.Float32 else column.cast(pl.Float64)
        return exact.fill_nan(None) + 0.0
    if isinstance(dtype, pl.Decimal):
        number = column.cast(pl.Float64)
        return number if number.n_unique() == column.n_unique() else column.cast(pl.String)
    if dtype in (pl.Boolean, pl.Date, pl.Datetime) and not texts_only:
        return column.cast(pl.Datetime("us")) if dtype == pl.Datetime else column
    if isinstance(dtype, (pl.Enum, pl.Categorical)):
        return column
    return text_of(column)


def as_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a storable frame with texts in the place of categories."""
    return frame.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String))

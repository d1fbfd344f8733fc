"""Writing frames as CSV or Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import polars as pl

from sfumato.errors import InputError

Format = Literal["csv", "parquet"]
Quotes = Literal["never", "necessary"]

_SPECIAL = r"""[",\r\n]"""
"""Characters that a CSV cell may hold only inside quotes."""


def write_data(frame: pl.DataFrame, path: Path, format: Format) -> None:
    """Write a frame; missing values become empty cells of CSV, nulls of Parquet.

    Parameters
    ----------
    frame
        Any frame of plain values; the empty text is quoted in CSV, so that it differs from a missing value.
    path
        Written over where it exists.
    format
        ``"csv"`` (UTF-8, comma, header) or ``"parquet"``.

    Raises
    ------
    InputError
        When the format is unknown, or the file cannot be written (a full disk, a missing folder, permissions).
    """
    if format not in ("csv", "parquet"):
        raise InputError("format must be 'csv' or 'parquet'")
    try:
        if format == "csv":
            # An empty line would be no record to most readers, so a lone missing value is written as empty text.
            quotes: Quotes = "never" if _is_plain(frame) else "necessary"
            frame.write_csv(path, null_value='""' if frame.width == 1 else "", quote_style=quotes)
        else:
            _portable(frame).write_parquet(path)
    except (pl.exceptions.PolarsError, OSError):
        raise InputError(
            f"{path.name}: the file cannot be written; check the folder, the disk and permissions"
        ) from None


def _is_plain(frame: pl.DataFrame) -> bool:
    """Whether no cell needs quotes, as far as the lists of labels tell; each label is looked at once."""
    names = pl.Series(frame.columns, dtype=pl.String)
    return _need_no_quotes(names) and all(
        _need_no_quotes(column.dtype.categories) if isinstance(column.dtype, pl.Enum) else _is_bare(column.dtype)
        for column in frame
    )


def _is_bare(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype in (pl.Boolean, pl.Date)


def _need_no_quotes(texts: pl.Series) -> bool:
    return not (texts.str.contains(_SPECIAL) | (texts == "")).any()


def _portable(frame: pl.DataFrame) -> pl.DataFrame:
    # Categories carry the name of their private register into the file; text does not, and packs as well.
    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))

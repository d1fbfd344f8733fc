"""Reading back what was written for another program: whatever would be changed by it is refused."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from sfumato.errors import InputError, SfumatoError
from sfumato.table.csv_format import CsvFormat
from sfumato.table.sources import open_source


def check_read_back(frame: pl.DataFrame, path: Path) -> None:
    """Compare a frame with the file that was made of it, value by value; a missing text is an empty one.

    Raises
    ------
    InputError
        Naming the columns that the format cannot hold as they are. Cost: one reading of the file.
    """
    try:
        source = open_source(path, CsvFormat(strip=False))
        columns = {
            column.name: column for column in source.read([name for name in frame.columns if name in source.names])
        }
    except SfumatoError as error:
        raise InputError(*(f"cannot be written in this format: {problem}" for problem in error.problems)) from None
    changed = [
        repr(column.name)
        for column in frame
        if column.name not in columns or not _is_same(column, columns[column.name])
    ]
    if changed:
        raise InputError(
            f"column(s) {', '.join(changed)} would be changed by this format, which cannot hold their names or values "
            "as they are; write csv or parquet"
        )


def _is_same(written: pl.Series, read: pl.Series) -> bool:
    if len(written) != len(read):
        return False
    if written.dtype.is_numeric() and read.dtype.is_numeric():
        return bool(written.cast(pl.Float64).eq_missing(read.cast(pl.Float64)).all())
    if written.dtype == pl.Date and isinstance(read.dtype, pl.Datetime):
        return bool(written.eq_missing(read.cast(pl.Date)).all())
    texts = written.cast(pl.String).fill_null(""), read.cast(pl.String).fill_null("")
    return bool((texts[0] == texts[1]).all())

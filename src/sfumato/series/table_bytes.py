"""The file of a table as bytes: read without taking a cell for anything, and mixed with another one row by row.

Letters: n rows of both files together.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import VerificationError
from sfumato.kernels.series import flows
from sfumato.table.schema import text_of
from sfumato.table.writing import Format

Flags = NDArray[np.bool_]

_OTHERS = "the table of the release before has other columns or rows than its release.json says; nothing was published"


def bytes_of(rows: pl.DataFrame, format: Format) -> bytes:
    """Return the file of a table, as :func:`~sfumato.table.writing.write_data` would write it."""
    buffer = io.BytesIO()
    if format == "csv":
        rows.write_csv(buffer, null_value='""' if rows.width == 1 else "")
    else:
        # Categories carry the name of their private register into the file.
        rows.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)).write_parquet(buffer)
    return buffer.getvalue()


def byte_rows(content: bytes, format: Format, labels: Sequence[str]) -> pl.DataFrame:
    """Read a file just as it was written: every cell of CSV as its text, and every label as text."""
    if format == "csv":
        rows = pl.read_csv(io.BytesIO(content), infer_schema=False)
        # There a missing value is written like an empty text, as an empty line would be no record to most readers.
        return rows if rows.width > 1 else rows.with_columns(pl.all().replace({"": None}))
    return labels_as_text(pl.read_parquet(io.BytesIO(content)), labels)


def labels_as_text(rows: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Return rows without categories, and with labels of any type as text."""
    written = rows.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    return written.with_columns(text_of(written[name]).alias(name) for name in labels)


def as_written(rows: pl.DataFrame, format: Format, labels: Sequence[str]) -> pl.DataFrame:
    """Return a table as :func:`byte_rows` will read it."""
    return byte_rows(bytes_of(rows, format), format, labels) if format == "csv" else labels_as_text(rows, labels)


def mixed(older: bytes, newer: bytes, is_new: Flags, format: Format) -> memoryview:
    """Put the rows of two files with the same columns into one; each keeps the order of its own.

    Parameters
    ----------
    older, newer
    is_new
        bool (n,): from which file each row is.
    format

    Raises
    ------
    VerificationError
        When the older file has other columns, or not as many rows.

    Notes
    -----
    Cost O(bytes); of CSV no cell is read.
    """
    if format != "csv":
        return memoryview(_mixed_parquet(older, newer, is_new))
    header = _header(newer)
    if not older.startswith(header):
        raise VerificationError(_OTHERS)
    content = np.empty(len(older) + len(newer) - len(header), dtype=np.uint8)
    content[: len(header)] = np.frombuffer(header, dtype=np.uint8)
    first, second = _records(older, header), _records(newer, header)
    if flows.interleave(first, second, is_new, content[len(header) :]) < 0:
        raise VerificationError(_OTHERS)
    return content.data


def _mixed_parquet(older: bytes, newer: bytes, is_new: Flags) -> bytes:
    before, new = (pl.read_parquet(io.BytesIO(each)) for each in (older, newer))
    if before.columns != new.columns or before.height != np.count_nonzero(~is_new):
        raise VerificationError(_OTHERS)
    place = np.where(is_new, before.height + np.cumsum(is_new), np.cumsum(~is_new)) - 1
    buffer = io.BytesIO()
    pl.concat([before, new], how="vertical_relaxed")[place].write_parquet(buffer)
    return buffer.getvalue()


def holds_both(content: memoryview, older: bytes, newer: bytes, is_new: Flags, format: Format) -> bool:
    """Tell whether a file holds the rows of two others and nothing else; see :func:`mixed`."""
    if format != "csv":
        rows, before, new = (pl.read_parquet(io.BytesIO(each)) for each in (content, older, newer))
        chosen = pl.Series(is_new, dtype=pl.Boolean)
        return rows.filter(~chosen).equals(before.cast(rows.schema)) and rows.filter(chosen).equals(
            new.cast(rows.schema)
        )
    header = _header(newer)
    if content[: len(header)] != header or not older.startswith(header):
        return False
    merged, first, second = (_records(each, header) for each in (content, older, newer))
    return bool(flows.has_both(merged, is_new, first, second))


def _records(content: bytes | memoryview, header: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(content, dtype=np.uint8)[len(header) :]


def _header(content: bytes) -> bytes:
    """Return the first record of a CSV file; one between quotes does not end it."""
    end = content.find(b"\n") + 1
    while content.count(b'"', 0, end) % 2:
        end = content.find(b"\n", end) + 1
    return content[:end]

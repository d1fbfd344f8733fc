"""What a table of a database holds, whatever the order of its rows: their canonical order, and a hash of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

_MOST = 1 << 63
_SORTS = {pl.Int64: "whole", pl.Float64: "float", pl.Boolean: "boolean", pl.Date: "date", pl.Datetime: "time"}


@dataclass(frozen=True, eq=False, repr=False)
class Content:
    """What a table holds.

    Attributes
    ----------
    order : numpy.ndarray
        int64 (n,): the rows in canonical order. Rows that are equal are interchangeable, and stand as they came.
    sha256 : str
        In hexadecimal. Two tables have the same one if they have the same columns and, as a multiset, the same rows.
    """

    order: NDArray[np.int64]
    sha256: str


def content_of(frame: pl.DataFrame) -> Content:
    """Put the rows of a table into canonical order, and hash them.

    Each column is coded by its distinct values in rising order, 0 standing for missing ones, and rows are sorted by
    their codes. What is hashed are the names, the distinct values and the sorted codes.

    Parameters
    ----------
    frame
        As :func:`sfumato.table.databases.storable.storable` returns it.

    Notes
    -----
    Cost O(n c + n log n) for n rows of c columns.
    """
    digest = hashlib.sha256(json.dumps([frame.height, frame.columns]).encode())
    codes = []
    for column in frame:
        values = _comparable(column)
        distinct = values.drop_nulls().unique().sort()
        codes.append(_codes(values, distinct))
        digest.update(_described(distinct, _SORTS.get(column.dtype.base_type(), "text")))
    order = _sorted(codes, frame.height)
    for code in codes:
        digest.update(code[order].astype("<u4").tobytes())
    return Content(order, digest.hexdigest())


def _comparable(column: pl.Series) -> pl.Series:
    """Return texts as they are, and all else as numbers of 64 bits."""
    if column.dtype == pl.String or column.dtype.is_float():
        return column
    return (column if column.dtype == pl.Boolean else column.to_physical()).cast(pl.Int64)


def _codes(values: pl.Series, distinct: pl.Series) -> NDArray[np.uint32]:
    """Give the values of a column numbers from 1, in their order, and missing ones 0."""
    if distinct.is_empty():
        return np.zeros(len(values), dtype=np.uint32)
    if values.dtype == pl.String:
        numbers = values.cast(pl.Enum(distinct)).to_physical()
    else:
        numbers = distinct.search_sorted(values.fill_null(distinct[0]))
        numbers = numbers.set(values.is_null(), None)
    return (numbers.cast(pl.UInt32) + 1).fill_null(0).to_numpy()


def _described(distinct: pl.Series, sort: str) -> bytes:
    """Write the distinct values of a column and their sort; a column without values has none."""
    if distinct.is_empty():
        return b"nothing;"
    # JSON, so that no text runs over into the next.
    texts = distinct.dtype == pl.String
    written = json.dumps(distinct.to_list()).encode() if texts else distinct.to_numpy().tobytes()
    return f"{sort} {len(distinct)} {len(written)};".encode() + written


def _sorted(codes: Sequence[NDArray[np.uint32]], height: int) -> NDArray[np.int64]:
    """Sort rows by their codes, as many columns as 63 bits hold at a time."""
    keys, room = list[NDArray[np.int64]](), 0
    for code in codes:
        width = int(code.max(initial=0)) + 1
        if not keys or room * width >= _MOST:
            keys.append(code.astype(np.int64))
            room = width
        else:
            keys[-1] = keys[-1] * width + code
            room *= width
    return np.lexsort(keys[::-1]).astype(np.int64) if keys else np.arange(height)

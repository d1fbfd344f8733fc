"""What a table of a database holds, whatever the order of its rows: their canonical order, and a hash of them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.table.row_order import hash_order

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


def content_of(frame: pl.DataFrame, records: NDArray[np.int64] | None = None) -> Content:
    """Put the rows of a table into canonical order, and hash them.

    Each column is coded by its distinct values in rising order, 0 standing for missing ones, and rows are put in the
    order of a hash of their codes. What is hashed are the names, the distinct values and the sorted codes.

    Parameters
    ----------
    frame
        As :func:`sfumato.table.databases.protocol.storable` returns it.
    records
        int64 (n,): how many rows of the table each stands for; None: one. The hash is that of all these.

    Notes
    -----
    Cost O(n c + n log n) for n rows of c columns.
    """
    height = frame.height if records is None else int(records.sum())
    digest = hashlib.sha256(json.dumps([height, frame.columns]).encode())
    codes = np.empty((frame.height, frame.width), dtype=np.uint32, order="F")
    for place, column in enumerate(frame):
        distinct, codes[:, place] = _coded(column)
        digest.update(_described(distinct, _SORTS.get(column.dtype.base_type(), "text")))
    order = hash_order(codes)
    for code in codes.T:
        # Equal rows stand together, so that each may be repeated where it stands.
        every = code[order] if records is None else np.repeat(code[order], records[order])
        digest.update(every.astype("<u4").tobytes())
    return Content(order, digest.hexdigest())


def _coded(column: pl.Series) -> tuple[pl.Series, NDArray[np.uint32]]:
    """Return the distinct values of a column in rising order, and the number of each value in it, from 1."""
    if isinstance(column.dtype, (pl.Enum, pl.Categorical)):
        return _coded_categories(column)
    values = _comparable(column)
    if values.dtype.is_float():
        return _coded_floats(values)
    distinct = values.drop_nulls().unique().sort()
    if distinct.is_empty():
        return distinct, np.zeros(len(values), dtype=np.uint32)
    if values.dtype == pl.String:
        numbers = values.cast(pl.Enum(distinct)).to_physical()
    else:
        numbers = distinct.search_sorted(values.fill_null(distinct[0])).set(values.is_null(), None)
    return distinct, (numbers.cast(pl.UInt32) + 1).fill_null(0).to_numpy()


def _coded_floats(column: pl.Series) -> tuple[pl.Series, NDArray[np.uint32]]:
    """Do the same by the bits, as whole numbers that rise with the values: to polars −0.0 and 0.0 are one value.

    Which of the two it keeps hangs on their order.
    """
    known = column.is_not_null().to_numpy()
    values = column.drop_nulls().fill_nan(np.nan).to_numpy()
    bits = values.view(f"i{values.itemsize}")
    distinct, number = np.unique(np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits), return_inverse=True)
    codes = np.zeros(len(column), dtype=np.uint32)
    codes[known] = number + 1
    back = np.where(distinct < 0, distinct ^ np.iinfo(bits.dtype).max, distinct)
    return pl.Series(column.name, back.view(values.dtype), dtype=column.dtype), codes


def _coded_categories(column: pl.Series) -> tuple[pl.Series, NDArray[np.uint32]]:
    """Do the same without looking at the text of every row."""
    used = column.drop_nulls().unique()
    texts, places = used.cast(pl.String), used.to_physical().to_numpy()
    rank = np.zeros(int(places.max(initial=0)) + 2, dtype=np.uint32)
    rank[places[texts.arg_sort().to_numpy()]] = np.arange(1, len(used) + 1)
    # Behind the last category stands the number of missing ones.
    return texts.sort(), rank[column.to_physical().cast(pl.UInt32).fill_null(len(rank) - 1).to_numpy()]


def _comparable(column: pl.Series) -> pl.Series:
    """Return texts as they are, and all else as numbers of 64 bits."""
    if column.dtype == pl.String or column.dtype.is_float():
        return column
    return (column if column.dtype == pl.Boolean else column.to_physical()).cast(pl.Int64)


def _described(distinct: pl.Series, sort: str) -> bytes:
    """Write the distinct values of a column and their sort; a column without values has none."""
    if distinct.is_empty():
        return b"nothing;"
    # JSON, so that no text runs over into the next.
    texts = distinct.dtype == pl.String
    written = json.dumps(distinct.to_list()).encode() if texts else distinct.to_numpy().tobytes()
    return f"{sort} {len(distinct)} {len(written)};".encode() + written

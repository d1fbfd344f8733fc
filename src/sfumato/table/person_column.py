"""The column that says who a record is about: its values are forgotten, and only who is the same person is kept."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.table.distinct import distinct_of


def number_people(column: pl.Series) -> NDArray[np.int32]:
    """Give everybody a number, int32 (n,); who has no key is a person of its own. Cost O(n log n)."""
    plain = column if column.dtype.is_integer() or column.dtype.is_float() else column.cast(pl.String)
    distinct = distinct_of(plain)
    numbers = distinct.rank_of[distinct.raw]
    missing = numbers == len(distinct.values)
    # The missing value has the number after the last.
    people: NDArray[np.int32] = np.where(missing, numbers + np.cumsum(missing) - 1, numbers).astype(np.int32)
    return people

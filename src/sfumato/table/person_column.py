"""The column that says who a record is about: its values are forgotten, and only who is the same person is kept."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray


def number_people(column: pl.Series) -> NDArray[np.int32]:
    """Give everybody a number, int32 (n,); who has no key is a person of its own."""
    numbers = column.rank("dense").cast(pl.Int64)
    missing = numbers.is_null().to_numpy()
    known = numbers.fill_null(0).to_numpy().astype(np.int64) - 1
    own = int(known.max(initial=-1)) + np.cumsum(missing)
    return np.where(missing, own, known).astype(np.int32)

"""Distinct texts in text order."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

FEW = 1 << 14
"""Up to this many texts, plain Python costs less than the fixed costs of the frame library."""


def text_order(texts: pl.Series) -> NDArray[np.int64]:
    """Order distinct texts, none missing, by code points, and return their places; int64 (d,).

    Cost O(d log d).
    """
    if len(texts) > FEW:
        # The bytes of UTF-8 have the same order as code points.
        return texts.arg_sort().to_numpy().astype(np.int64)
    known: list[str] = texts.to_list()
    return np.array(sorted(range(len(known)), key=known.__getitem__), dtype=np.int64)

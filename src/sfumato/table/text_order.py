"""Texts in text order."""

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


def dense_ranks(texts: pl.Series) -> NDArray[np.int64]:
    """Return numbers of texts in text order: 0 for the missing one, 1 for the first, equal ones alike; int64 (n,).

    Cost O(n log n).
    """
    if len(texts) > FEW:
        return texts.rank("dense").fill_null(0).to_numpy().astype(np.int64)
    known: list[str | None] = texts.to_list()
    rank_of = {text: rank for rank, text in enumerate(sorted({text for text in known if text is not None}), start=1)}
    return np.array([0 if text is None else rank_of[text] for text in known], dtype=np.int64)

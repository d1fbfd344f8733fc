"""Sums of numbers by code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def added(codes: NDArray[np.integer], numbers: NDArray[np.generic], size: int) -> NDArray[np.float64]:
    """Add up the numbers under each code ``0 .. size-1``: float64 (size,). Cost O(codes + size)."""
    sums: NDArray[np.float64] = np.bincount(codes, numbers, size).astype(np.float64, copy=False)
    return sums

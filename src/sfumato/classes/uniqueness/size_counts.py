"""How many classes there are of each size: all that models of population uniqueness use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

_FEW = 1 << 17
"""Sizes up to which counting them in places is faster than sorting."""


@dataclass(frozen=True, eq=False)
class SizeCounts:
    """Sizes of classes, and how often each occurs.

    Attributes
    ----------
    sizes : numpy.ndarray
        int64 (z,), rising.
    classes : numpy.ndarray
        int64 (z,): classes of each size.
    """

    sizes: NDArray[np.int64]
    classes: NDArray[np.int64]

    @classmethod
    def of(cls, records: NDArray[np.int64]) -> SizeCounts:
        """Count classes of `records` each, int64 (c,)."""
        if not len(records) or records.max() > _FEW:
            sizes, classes = np.unique(records, return_counts=True)
            return cls(sizes, classes.astype(np.int64, copy=False))
        counts = np.bincount(records).astype(np.int64, copy=False)
        sizes = np.flatnonzero(counts).astype(np.int64, copy=False)
        return cls(sizes, counts[sizes])

    @cached_property
    def total(self) -> int:
        """Number of classes."""
        return int(self.classes.sum())

    @cached_property
    def records(self) -> int:
        """Number of records."""
        return int((self.sizes * self.classes).sum())

    @cached_property
    def larger_than(self) -> list[int]:
        """Number of classes larger than 1, 2, 3 and so on, as far as there are any; up to 16."""
        most = min(16, int(self.sizes.max(initial=1)) - 1)
        return [int(self.classes[self.sizes > size].sum()) for size in range(1, most + 1)]

    def above(self, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the sizes above one, int64, and the number of classes of each."""
        first = int(np.searchsorted(self.sizes, size, side="right"))
        return self.sizes[first:], self.classes[first:]

    def of_size(self, size: int) -> int:
        """Return the number of classes of a size."""
        return int(self.classes[self.sizes == size].sum())

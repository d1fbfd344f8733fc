"""How many classes there are of each size: all that models of population uniqueness use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


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
        sizes, classes = np.unique(records, return_counts=True)
        return cls(sizes, classes.astype(np.int64, copy=False))

    @cached_property
    def total(self) -> int:
        """Number of classes."""
        return int(self.classes.sum())

    @cached_property
    def records(self) -> int:
        """Number of records."""
        return int((self.sizes * self.classes).sum())

    def of_size(self, size: int) -> int:
        """Return the number of classes of a size."""
        return int(self.classes[self.sizes == size].sum())

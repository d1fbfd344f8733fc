"""The solution of a local-recoding anonymizer: which class each record belongs to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class Partition:
    """Disjoint classes of records; it holds no published value.

    Attributes
    ----------
    class_of : numpy.ndarray
        int32 (n,): class of each record, ``0 .. count-1``; −1 marks a suppressed record.
    count : int
        Number of classes c; every one has at least one record.
    """

    class_of: NDArray[np.int32]
    count: int

    @property
    def height(self) -> int:
        """Number of records n, suppressed ones included."""
        return len(self.class_of)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Records in each class, int64 (c,). Cost O(n)."""
        return np.bincount(self.class_of[self.class_of >= 0], minlength=self.count)

    @property
    def suppressed(self) -> int:
        """Number of suppressed records."""
        return int(np.count_nonzero(self.class_of < 0))

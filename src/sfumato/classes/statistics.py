"""Class statistics: sizes and sensitive counts per class. Privacy models are pure functions of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.hierarchy.tree import Hierarchy
from sfumato.table.schema import Kind


@dataclass(frozen=True, eq=False)
class SensitiveCounts:
    """How often each sensitive value occurs in each class (compressed rows) and in the whole table.

    Letters: c classes, v values of the attribute that occur in the table, z non-zero (class, value) pairs.

    Attributes
    ----------
    name : str
    kind : Kind
        Numeric and date values are numbered in rising order, so that codes are ranks (ordered distance).
    starts : numpy.ndarray
        int64 (c + 1,): class ``i`` owns entries ``starts[i] .. starts[i+1]-1`` of the next two arrays.
    values : numpy.ndarray
        int32 (z,): value codes ``0 .. v-1``, rising inside a class.
    counts : numpy.ndarray
        int64 (z,): records of the class that have the value, ≥ 1.
    totals : numpy.ndarray
        int64 (v,): records of the whole table that have the value, ≥ 1 each.
    hierarchy : Hierarchy or None
        For the hierarchical distance; leaf codes are given by `leaf_of`.
    leaf_of : numpy.ndarray or None
        int32 (v,): leaf of each value in `hierarchy`, −1 for the missing value (a leaf right under the root).
    """

    name: str
    kind: Kind
    starts: NDArray[np.int64]
    values: NDArray[np.int32]
    counts: NDArray[np.int64]
    totals: NDArray[np.int64]
    hierarchy: Hierarchy | None = None
    leaf_of: NDArray[np.int32] | None = None


@dataclass(frozen=True, eq=False)
class ClassStatistics:
    """All that a privacy model may look at.

    Attributes
    ----------
    sizes : numpy.ndarray
        int64 (c,): records in each class.
    sensitive : mapping of str to SensitiveCounts
        One entry per sensitive attribute.
    """

    sizes: NDArray[np.int64]
    sensitive: Mapping[str, SensitiveCounts]

    @property
    def count(self) -> int:
        """Number of classes c."""
        return len(self.sizes)

    @property
    def height(self) -> int:
        """Number of records in all classes."""
        return int(self.sizes.sum())

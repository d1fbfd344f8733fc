"""The nearest records of every record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.distinct import DistinctRecords
from sfumato.kernels.clustering.record_tree import near_records
from sfumato.parallel import each

LONGEST = 64
"""Neighbours that are looked for at most."""

_BLOCK = 1024


@dataclass(frozen=True, eq=False, repr=False)
class Neighbours:
    """The nearest distinct records of every distinct record.

    Letters: m distinct records, g neighbours.

    Attributes
    ----------
    near : numpy.ndarray
        int32 (m, g): nearest first, equally near ones in tree order; filled up with −1.
    reach : numpy.ndarray
        float64 (m,): distance within which k records lie, the record itself among them; the furthest neighbour's where
        all neighbours together are fewer.
    """

    near: NDArray[np.int32]
    reach: NDArray[np.float64]


def neighbours_of(records: DistinctRecords, size: int, k: int) -> Neighbours:
    """Find the `size` nearest records of each, 64 at most. Blocks of records are searched on several threads."""
    size = max(1, min(size, LONGEST, len(records.weights) - 1))
    total = len(records.weights)

    def search(low: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        high = min(total, low + _BLOCK)
        near, distances, reach = near_records(
            records.codes, records.weights, records.tree, records.loss, low, high, size, k
        )
        furthest = np.where(np.isfinite(distances), distances, 0.0).max(axis=1)
        return near, np.where(np.isfinite(reach), reach, furthest)

    parts = each(search, range(0, total, _BLOCK), records.start.problem.threads)
    return Neighbours(np.concatenate([near for near, _ in parts]), np.concatenate([reach for _, reach in parts]))

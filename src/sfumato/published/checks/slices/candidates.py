"""Who may be in a bucket: every combination of values in its columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.slices.matching import SliceIndex

MOST_CANDIDATES = 1 << 20
"""Most combinations that are tried."""


@dataclass(frozen=True, eq=False, repr=False)
class Candidates:
    """Combinations of values that a person may have.

    Attributes
    ----------
    vectors : numpy.ndarray
        int32 (y, w): parts in each column.
    group_of : numpy.ndarray
        int64 (y,): which of the requested groups each belongs to.
    listed : numpy.ndarray
        bool (requested groups,): which of them were tried, the smallest first.
    """

    vectors: NDArray[np.int32]
    group_of: NDArray[np.int64]
    listed: NDArray[np.bool_]


def candidates_of(
    index: SliceIndex, buckets: NDArray[np.int64], home: int, parts: NDArray[np.int32], most: int = MOST_CANDIDATES
) -> Candidates:
    """List everybody who may be in some groups.

    Parameters
    ----------
    index
        The sliced table.
    buckets, parts
        Bucket of each group, and its part in column `home`.
    home
        Column beside the sensitive attribute; −1 for none, when the group is the bucket.
    most
        How many to list; groups that do not fit any more are left out.
    """
    columns = np.arange(len(index.starts))
    held = index.starts[:, buckets + 1] - index.starts[:, buckets]
    numbers = np.prod(np.where((columns == home)[:, None], 1, held).astype(np.float64), axis=0)
    order = np.argsort(numbers, kind="stable")
    listed = np.zeros(len(buckets), dtype=np.bool_)
    listed[order] = np.cumsum(numbers[order]) <= most
    chosen = np.flatnonzero(listed)
    combined = [_combinations(index, int(buckets[group]), home, int(parts[group])) for group in chosen]
    sizes = [len(vectors) for vectors in combined]
    nobody = np.zeros((0, len(columns)), dtype=np.int32)
    return Candidates(np.concatenate([nobody, *combined]), np.repeat(chosen, sizes), listed)


def _combinations(index: SliceIndex, bucket: int, home: int, part: int) -> NDArray[np.int32]:
    choices = [
        np.array([part], dtype=np.int32) if column == home else index.parts[column, starts[bucket] : starts[bucket + 1]]
        for column, starts in enumerate(index.starts)
    ]
    return np.stack(np.meshgrid(*choices, indexing="ij"), axis=-1).reshape(-1, len(choices))

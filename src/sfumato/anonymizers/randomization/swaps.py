"""Which records change places: data swapping inside classes, rank swapping along a column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.randomization.draws import draw_bits, draw_uniform
from sfumato.randomness import another, permutation

Records = NDArray[np.int64]


def swapped_records(class_of: NDArray[np.integer], share: float, seed: int | None) -> Records:
    """Exchange random pairs of records of one class.

    Parameters
    ----------
    class_of
        Integers (n,) from 0: records change places with others of their class alone.
    share
        Share of the records of each class that change places, 0 to 1, on average: the number of pairs is rounded up or
        down at random, and of an odd class one record stays at least.
    seed
        As :func:`sfumato.randomness.permutation` takes it.

    Returns
    -------
    numpy.ndarray
        int64 (n,): the record whose values each record gets; an involution. Cost O(n log n).
    """
    order = permutation(len(class_of), another(seed, 0))
    order = order[np.argsort(class_of[order], kind="stable")]
    sizes = np.bincount(class_of)
    starts = np.cumsum(sizes) - sizes
    pairs = np.minimum(sizes // 2, np.floor(share * sizes / 2 + draw_uniform(len(sizes), another(seed, 1))))
    place = np.arange(len(order)) - starts[class_of[order]]
    first = np.flatnonzero((place < 2 * pairs[class_of[order]]) & (place % 2 == 0))
    source = np.arange(len(class_of), dtype=np.int64)
    source[order[first]] = order[first + 1]
    source[order[first + 1]] = order[first]
    return source


def rank_swapped(values: NDArray[np.generic], share: float, seed: int | None) -> Records:
    """Permute records inside short stretches of their ranks.

    Ranks are cut into stretches of as many records as may lie between two that change places, from a random first cut,
    and each stretch is permuted at random; equal values get ranks in random order.

    Parameters
    ----------
    values
        Sortable (n,), none missing.
    share
        How far a value may move, as a share of the n ranks; at least one rank.
    seed
        As :func:`sfumato.randomness.permutation` takes it.

    Returns
    -------
    numpy.ndarray
        int64 (n,): the record whose value each record gets. Cost O(n log n).
    """
    count = len(values)
    tie_order = permutation(count, another(seed, 0))
    by_rank = tie_order[np.argsort(values[tie_order], kind="stable")]
    stretch = max(1, int(share * count + 1e-9)) + 1
    shift = int(draw_bits(1, another(seed, 1))[0] % np.uint64(stretch))
    random_order = permutation(count, another(seed, 2))
    stretch_of = (random_order + shift) // stretch
    mixed = random_order[np.argsort(stretch_of, kind="stable")]
    source = np.empty(count, dtype=np.int64)
    source[by_rank] = by_rank[mixed]
    return source

"""Counts of a class, summed up: the measures that several models share. Letters: c classes, z (class, value) pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import SensitiveCounts


def largest_counts(counts: SensitiveCounts) -> NDArray[np.int64]:
    """Return how often the most frequent value of each class occurs in it; int64 (c,)."""
    return np.maximum.reduceat(counts.counts, counts.starts[:-1])


def distinct_values(counts: SensitiveCounts) -> NDArray[np.int64]:
    """Return the number of distinct values of each class; int64 (c,)."""
    return np.diff(counts.starts)


def class_of_pairs(counts: SensitiveCounts) -> NDArray[np.int64]:
    """Return the class of each (class, value) pair; int64 (z,)."""
    return np.repeat(np.arange(len(counts.starts) - 1), np.diff(counts.starts))


def ratios(counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of each value in its class over its share in the whole table; float64 (z,).

    Products of integers are divided once, so that a ratio which is a short fraction is hit exactly.
    """
    total = counts.height
    shares: NDArray[np.float64] = counts.counts * total / (counts.totals[counts.values] * sizes[class_of_pairs(counts)])
    return shares

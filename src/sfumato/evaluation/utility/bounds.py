"""Certain bounds of counts, sums and averages from a release with permuted sensitive numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError


@dataclass(frozen=True)
class Bounds:
    """Closed intervals that hold the exact answers.

    Attributes
    ----------
    count : int
        Records that satisfy the predicate; exact.
    sum_low, sum_high : float
    average_low, average_high : float
        NaN if no record does.
    """

    count: int
    sum_low: float
    sum_high: float
    average_low: float
    average_high: float


def permutation_bounds(values: NDArray[np.floating], bucket: NDArray[np.integer], hits: NDArray[np.bool_]) -> Bounds:
    """Bound the count, sum and average of sensitive numbers over the records that satisfy a predicate.

    Of a bucket with p records, q of which satisfy it, these q may have the q smallest or the q largest values; the sum
    is exact if q is 0 or p (Zhang, Koudas, Srivastava and Yu, *Aggregate query answering on anonymized tables*, ICDE
    2007).

    Parameters
    ----------
    values
        float (n,): sensitive numbers, in any order inside each bucket; not missing.
    bucket
        Integers (n,): bucket of each row, for the numbers and the other columns alike.
    hits
        bool (n,): rows whose other columns satisfy the predicate.

    Raises
    ------
    InputError
        When the three differ in length, or a number is missing.

    Notes
    -----
    Cost O(n log n).

    Examples
    --------
    >>> import numpy as np
    >>> permutation_bounds(np.array([10.0, 20.0, 40.0]), np.zeros(3, dtype=int), np.array([True, True, False]))
    Bounds(count=2, sum_low=30.0, sum_high=60.0, average_low=15.0, average_high=30.0)
    """
    if not len(values) == len(bucket) == len(hits):
        raise InputError("bounds: values, buckets and hits must have the same length")
    if not np.all(np.isfinite(values)):
        raise InputError("bounds: sensitive numbers must not be missing")
    order = np.lexsort((values, bucket))
    ranked = values[order]
    _, group = np.unique(bucket[order], return_inverse=True)
    hit = np.bincount(group, hits[order]).astype(np.int64)
    sizes = np.bincount(group)
    place = np.arange(len(ranked)) - (np.cumsum(sizes) - sizes)[group]
    count = int(hits.sum())
    low = float(ranked[place < hit[group]].sum())
    high = float(ranked[place >= (sizes - hit)[group]].sum())
    averages = (low / count, high / count) if count else (float("nan"), float("nan"))
    return Bounds(count, low, high, *averages)

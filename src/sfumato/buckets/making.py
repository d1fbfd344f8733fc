"""Ways to put records into buckets by their sensitive values.

Letters: n records, v values, l values that a bucket takes, b buckets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.bucket_making import largest_first, sorted_by_value
from sfumato.shuffle import another, permutation


@dataclass(frozen=True, eq=False, repr=False)
class SortedRecords:
    """Records sorted by the code of their sensitive value; those of one value in random order.

    Attributes
    ----------
    records : numpy.ndarray
        int64 (n,): record at each place.
    starts : numpy.ndarray
        int64 (v + 1,): where each value begins; values that do not occur are empty.
    """

    records: NDArray[np.int64]
    starts: NDArray[np.int64]

    @property
    def height(self) -> int:
        """Number of records n."""
        return len(self.records)

    @property
    def most_frequent(self) -> int:
        """How often the most frequent value occurs."""
        return int(np.diff(self.starts).max(initial=0))


@dataclass(frozen=True, eq=False, repr=False)
class Buckets:
    """Which bucket each record is in.

    Attributes
    ----------
    bucket_of : numpy.ndarray
        int32 (n,), ``0 .. b-1``; every bucket has a record.
    count : int
        Number of buckets b.
    joined : int
        Records that were left over, and joined buckets without their value.
    dealt : bool
        Whether the values were dealt out evenly, so that a bucket may have a value more than once.
    """

    bucket_of: NDArray[np.int32]
    count: int
    joined: int = 0
    dealt: bool = False


def sort_records(codes: NDArray[np.unsignedinteger], cardinality: int, seed: int | None) -> SortedRecords:
    """Sort records by value. `codes` is unsigned (n,), below `cardinality`; O(n + v) but for drawing the order."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=cardinality))]).astype(np.int64)
    return SortedRecords(sorted_by_value(permutation(len(codes), seed), codes, starts), starts)


def distinct_buckets(sorted_records: SortedRecords, size: int, seed: int | None) -> Buckets | None:
    """Make buckets of `size` different values or more: Anatomy's algorithm.

    As long as `size` values have records left, a bucket takes a random record of each of the `size` values of which
    most are left, ties by code. Then fewer than `size` values have one record left each, and each of these joins a
    random bucket that lacks its value.

    Returns
    -------
    Buckets or None
        None where some value occurs more often than there can be buckets, ``n // size``.

    Notes
    -----
    Cost O(n log v + l b).
    """
    if not 0 < sorted_records.most_frequent <= sorted_records.height // size:
        return None
    bucket_at, count = largest_first(sorted_records.starts, size)
    left = np.flatnonzero(bucket_at < 0)
    for number, place in enumerate(left):
        bucket_at[place] = _joined(sorted_records, bucket_at, count, int(place), another(seed, 3 + number))
    return Buckets(_by_record(sorted_records, bucket_at), count, len(left))


def dealt_buckets(sorted_records: SortedRecords, count: int) -> Buckets:
    """Deal the records out in the order of their values, one to each bucket in turn.

    So every bucket has each value nearly as often as its share of the table, and the values of ordered attributes
    evenly spread. A value that occurs at most `count` times is in no bucket twice.
    """
    bucket_at = (np.arange(sorted_records.height) % count).astype(np.int32)
    return Buckets(_by_record(sorted_records, bucket_at), count, dealt=True)


def _joined(
    sorted_records: SortedRecords, bucket_at: NDArray[np.int32], count: int, place: int, seed: int | None
) -> int:
    """Draw a bucket that lacks the value at `place`."""
    value = int(np.searchsorted(sorted_records.starts, place, side="right")) - 1
    taken = bucket_at[sorted_records.starts[value] : sorted_records.starts[value + 1]]
    lacking = np.ones(count, dtype=np.bool_)
    lacking[taken[taken >= 0]] = False
    free = np.flatnonzero(lacking)
    return int(free[permutation(len(free), seed)[0]])


def _by_record(sorted_records: SortedRecords, bucket_at: NDArray[np.int32]) -> NDArray[np.int32]:
    bucket_of = np.empty_like(bucket_at)
    bucket_of[sorted_records.records] = bucket_at
    return bucket_of

"""Ways to put records into buckets by their sensitive values.

Letters: n records, p parts of them, v values of all parts together, l values that a bucket takes, b buckets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.slices.bucket_making import join_left, largest_first, sorted_by_value
from sfumato.randomness import another, permutation


@dataclass(frozen=True, eq=False, repr=False)
class BucketGroups:
    """Parts of a table whose records do not share buckets.

    Attributes
    ----------
    part_of : numpy.ndarray
        int32 (n,), ``0 .. p-1``; every part has a record.
    count : int
        Number of parts p.
    """

    part_of: NDArray[np.int32]
    count: int


@dataclass(frozen=True, eq=False, repr=False)
class SortedRecords:
    """Records sorted by part and by sensitive value; those of one value in random order.

    Attributes
    ----------
    records : numpy.ndarray
        int64 (n,): record at each place.
    starts : numpy.ndarray
        int64 (v + 1,): where each value of each part begins; values that do not occur may be empty.
    parts : numpy.ndarray
        int64 (p + 1,): first value of each part.
    """

    records: NDArray[np.int64]
    starts: NDArray[np.int64]
    parts: NDArray[np.int64]

    @property
    def height(self) -> int:
        """Number of records n."""
        return len(self.records)

    @property
    def most_frequent(self) -> int:
        """How often the most frequent value of a part occurs there."""
        return int(np.diff(self.starts).max(initial=0))

    def eligible(self, size: int) -> bool:
        """Tell whether no value of any part has more than one record in `size` there."""
        largest = np.maximum.reduceat(np.diff(self.starts), self.parts[:-1])
        return bool((largest <= np.diff(self.starts[self.parts]) // size).all())


@dataclass(frozen=True, eq=False, repr=False)
class BucketAssignment:
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
    parts : int
        Number of parts whose records do not share buckets.
    """

    bucket_of: NDArray[np.int32]
    count: int
    joined: int = 0
    dealt: bool = False
    parts: int = 1


def sort_records(
    codes: NDArray[np.unsignedinteger], cardinality: int, seed: int | None, parts: BucketGroups | None = None
) -> SortedRecords:
    """Sort records by part, if there are any, and value.

    `codes` is unsigned (n,), below `cardinality`. Cost O(n + v) but for drawing the order.
    """
    starts = _starts(codes, cardinality)
    records = sorted_by_value(permutation(len(codes), seed), codes, starts)
    if parts is None:
        return SortedRecords(records, starts, np.array([0, cardinality]))
    part_starts = _starts(parts.part_of, parts.count)
    records = sorted_by_value(records, parts.part_of, part_starts)
    changes = (np.diff(codes[records].astype(np.int64)) != 0) | (np.diff(parts.part_of[records]) != 0)
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1, [len(codes)]])
    return SortedRecords(records, starts, np.searchsorted(starts, part_starts))


def distinct_buckets(sorted_records: SortedRecords, size: int, seed: int | None) -> BucketAssignment | None:
    """Make buckets of `size` different values or more: Anatomy's algorithm, in every part.

    As long as `size` values have records left, a bucket takes a random record of each of the `size` values of which
    most are left, ties by code. Then fewer than `size` values have one record left each, and each of these joins a
    random bucket that lacks its value.

    Returns
    -------
    Buckets or None
        None where some value occurs more often in a part of n records than there can be buckets, ``n // size``.

    Notes
    -----
    Cost O(n log v + l b).
    """
    if not sorted_records.height or not sorted_records.eligible(size):
        return None
    starts, parts = sorted_records.starts, sorted_records.parts
    bucket_at, buckets = largest_first(starts, parts, size)
    left = int((bucket_at < 0).sum())
    if left:
        join_left(bucket_at, starts, parts, buckets, permutation(len(bucket_at), another(seed, 3)))
    return BucketAssignment(_by_record(sorted_records, bucket_at), int(buckets[-1]), left, parts=len(parts) - 1)


def dealt_buckets(sorted_records: SortedRecords, count: int) -> BucketAssignment:
    """Deal the records out in the order of their values, one to each bucket in turn.

    So every bucket has each value nearly as often as its share of the table, and the values of ordered attributes
    evenly spread. A value that occurs at most `count` times is in no bucket twice.
    """
    bucket_at = (np.arange(sorted_records.height) % count).astype(np.int32)
    return BucketAssignment(_by_record(sorted_records, bucket_at), count, dealt=True)


def merged_buckets(distinct: BucketAssignment, count: int) -> BucketAssignment:
    """Merge buckets of different values into `count` by putting one into each in turn.

    Where all of them keep shares of at most 1/l, so do the merged ones, however little room the table leaves.
    """
    return BucketAssignment(
        distinct.bucket_of % np.int32(count), count, distinct.joined, dealt=True, parts=distinct.parts
    )


def _starts(codes: NDArray[np.integer], count: int) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=count))]).astype(np.int64)


def _by_record(sorted_records: SortedRecords, bucket_at: NDArray[np.int32]) -> NDArray[np.int32]:
    bucket_of = np.empty_like(bucket_at)
    bucket_of[sorted_records.records] = bucket_at
    return bucket_of

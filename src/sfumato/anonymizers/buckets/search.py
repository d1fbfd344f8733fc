"""The smallest buckets that satisfy every model, and the ways to put records into buckets by their sensitive values.

Letters: n records, p parts of them, v values of all parts together, l values that a bucket takes, b buckets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, class_statistics
from sfumato.kernels.slices.bucket_making import join_left, largest_first, sorted_by_value
from sfumato.models.protocol import TOLERANCE, PrivacyModel
from sfumato.randomness import another, permutation
from sfumato.table.encoding import EncodedTable

Members = Literal["dealt", "alike", "random"]
"""Who shares a bucket; see :class:`sfumato.anonymizers.buckets.bucketization.Bucketization`."""

_MOST_TIMES = 16
"""Buckets are dealt no larger than that many times what the models' `l` asks for, unless the models need it."""


def search_buckets(
    table: EncodedTable, models: Sequence[PrivacyModel], seed: int | None, members: Members, cut: Cut
) -> CheckedBuckets:
    """Find buckets for a table with one sensitive attribute whose records as one bucket satisfy every model.

    For a size, buckets of as many different values are tried first, in the whole table or in parts of it, then values
    dealt out evenly. With ``members="dealt"`` these are tried first, then buckets of different values merged into
    buckets of that size. The size starts at what the models' `l` asks for, or at :func:`telling_little`, and rises
    until every model holds; one bucket of all records always satisfies them. Sizes are doubled and then halved, so that
    a smaller size which would do as well may be passed over where larger ones do not. Cost O(n log v) for each size
    that is tried, and that of `cut`; models of l-diversity mostly take one.
    """
    records = sort_records(table.sensitive_codes[:, 0], table.sensitive[0].cardinality, seed)
    asked = largest_l(models)
    least = min(math.ceil(asked - TOLERANCE), table.height)
    search = _SizeSearch(table, models, seed, records, least, cut if members == "alike" else None)
    if members == "dealt":
        low = min(telling_little(records.most_frequent / records.height, asked), table.height)
        return _smallest(partial(search.satisfying, search.large), low, table.height)
    return _smallest(partial(search.satisfying, search.small), least, table.height)


@dataclass(frozen=True, eq=False, repr=False)
class CheckedBuckets:
    """Buckets that satisfy every model, with the counts of their sensitive values."""

    buckets: BucketAssignment
    statistics: ClassStatistics


@dataclass(frozen=True, eq=False, repr=False)
class _SizeSearch:
    """What there is to try for a size. `least` is what the models' `l` asks for."""

    table: EncodedTable
    models: Sequence[PrivacyModel]
    seed: int | None
    records: SortedRecords
    least: int
    cut: Cut | None

    def satisfying(self, candidates: Callable[[int], Iterator[BucketAssignment]], size: int) -> CheckedBuckets | None:
        """Return the first candidate whose buckets satisfy every model."""
        table = self.table
        for buckets in candidates(size):
            statistics = class_statistics(buckets.bucket_of, buckets.count, table.sensitive_codes, table.sensitive)
            if all(bool(model.holds(statistics).all()) for model in self.models):
                return CheckedBuckets(buckets, statistics)
        return None

    def small(self, size: int) -> Iterator[BucketAssignment]:
        """Buckets of different values before dealt ones."""
        distinct = self._distinct(size)
        if distinct is not None:
            yield distinct
        yield dealt_buckets(self.records, self.records.height // size)

    def large(self, size: int) -> Iterator[BucketAssignment]:
        """Dealt buckets before merged ones."""
        yield dealt_buckets(self.records, self.records.height // size)
        distinct = self._distinct(self.least)
        if distinct is not None:
            yield _merged_buckets(distinct, max(1, distinct.count // (size // self.least)))

    def _distinct(self, size: int) -> BucketAssignment | None:
        if not self.records.eligible(size):
            return None
        if self.cut is None:
            return distinct_buckets(self.records, size, self.seed)
        codes, values = self.table.sensitive_codes[:, 0], self.table.sensitive[0].cardinality
        return distinct_buckets(sort_records(codes, values, self.seed, self.cut(size)), size, self.seed)


def _smallest(satisfying: Callable[[int], CheckedBuckets | None], low: int, high: int) -> CheckedBuckets:
    """Find the smallest size by doubling the distance from `low`, then halving; `high` always satisfies."""
    failing, size = low - 1, low
    while (found := satisfying(size)) is None:
        failing, size = size, min(size + max(1, size - low) * 2, high)
    while size - failing > 1:
        middle = (failing + size) // 2
        better = satisfying(middle)
        if better is None:
            failing = middle
        else:
            size, found = middle, better
    return found


def largest_l(models: Sequence[PrivacyModel]) -> float:
    """Return the largest `l` that a model asks for, 1 where none does."""
    return max([1.0, *(float(model.parameters().get("l", 1)) for model in models)])


def telling_little(most_frequent: float, l: float) -> int:  # noqa: E741 - the letter of the literature
    """Return the size from which attackers may learn from buckets with evenly spread values and stay within 1/l.

    A bucket of g records has at most ``g p + 1`` of a value with share p of the table, a share of ``p + 1/g``. What is
    learnt from comparing buckets, too, is of the order of 1/g, as they differ by no more than one record of each value;
    it counts twice here, as more is learnt from more records. So ``3/g`` goes into the room ``1/l - p`` above the most
    frequent value. Where there is hardly any, the size is `MOST_TIMES` times l; without an l it is 1.
    """
    if l <= 1:
        return 1
    most = _MOST_TIMES * l
    room = 1 / l - most_frequent
    return math.ceil((most if room * most <= 3 else 3 / room) - TOLERANCE)


@dataclass(frozen=True, eq=False, repr=False)
class BucketGroups:
    """Parts that share no bucket. `part_of`, int32 (n,): ``0 .. p-1``, none empty; `count`: number of parts p."""

    part_of: NDArray[np.int32]
    count: int


@dataclass(frozen=True, eq=False, repr=False)
class SortedRecords:
    """Records sorted by part and by sensitive value; those of one value in random order.

    `records`, int64 (n,): record at each place. `starts`, int64 (v + 1,): where each value of each part begins; values
    that do not occur may be empty. `parts`, int64 (p + 1,): first value of each part.
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

    * `bucket_of`, int32 (n,): ``0 .. b-1``; every bucket has a record.
    * `count`: number of buckets b.
    * `joined`: records that were left over, and joined buckets without their value.
    * `dealt`: whether the values were dealt out evenly, so that a bucket may have a value more than once.
    * `parts`: number of parts whose records do not share buckets.
    """

    bucket_of: NDArray[np.int32]
    count: int
    joined: int = 0
    dealt: bool = False
    parts: int = 1


def sort_records(
    codes: NDArray[np.unsignedinteger], cardinality: int, seed: int | None, parts: BucketGroups | None = None
) -> SortedRecords:
    """Sort records by part, if any, and value. `codes`: unsigned (n,), below `cardinality`. O(n + v) but for draws."""
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
    random bucket that lacks its value. Returns: None where some value occurs more often in a part of n records than
    there can be buckets, ``n // size``. Cost O(n log v + l b).
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


def _merged_buckets(distinct: BucketAssignment, count: int) -> BucketAssignment:
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


Cut = Callable[[int], BucketGroups]
"""Parts of alike people for a size of bucket: no value has more than one record in that many, in any of them."""

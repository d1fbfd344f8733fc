"""The smallest buckets that satisfy every model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from sfumato.anonymizers.buckets.making import (
    BucketAssignment,
    BucketGroups,
    SortedRecords,
    dealt_buckets,
    distinct_buckets,
    merged_buckets,
    sort_records,
)
from sfumato.classes.statistics import ClassStatistics, class_statistics
from sfumato.models.protocol import TOLERANCE, PrivacyModel
from sfumato.table.encoding import EncodedTable

Members = Literal["dealt", "alike", "random"]
"""Who shares a bucket; see :class:`sfumato.anonymizers.buckets.bucketization.Bucketization`."""

Cut = Callable[[int], BucketGroups]
"""Parts of alike people for a size of bucket: no value has more than one record in that many, in any of them."""

MOST_TIMES = 16
"""Buckets are dealt no larger than that many times what the models' `l` asks for, unless the models need it."""


@dataclass(frozen=True, eq=False, repr=False)
class CheckedBuckets:
    """Buckets that satisfy every model, with the counts of their sensitive values."""

    buckets: BucketAssignment
    statistics: ClassStatistics


def search_buckets(
    table: EncodedTable, models: Sequence[PrivacyModel], seed: int | None, members: Members, cut: Cut
) -> CheckedBuckets:
    """Find buckets for a table with one sensitive attribute whose records as one bucket satisfy every model.

    For a size, buckets of as many different values are tried first, in the whole table or in parts of it, then values
    dealt out evenly. With ``members="dealt"`` these are tried first, then buckets of different values merged into
    buckets of that size. The size starts at what the models' `l` asks for, or at :func:`telling_little`, and rises
    until every model holds; one bucket of all records always satisfies them. Sizes are doubled and then halved, so
    that a smaller size which would do as well may be passed over where larger ones do not.

    Notes
    -----
    Cost O(n log v) for each size that is tried, and that of `cut`; models of l-diversity mostly take one.
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
            yield merged_buckets(distinct, max(1, distinct.count // (size // self.least)))

    def _distinct(self, size: int) -> BucketAssignment | None:
        if not self.records.eligible(size):
            return None
        if self.cut is None:
            return distinct_buckets(self.records, size, self.seed)
        codes, values = self.table.sensitive_codes[:, 0], self.table.sensitive[0].cardinality
        return distinct_buckets(sort_records(codes, values, self.seed, self.cut(size)), size, self.seed)


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
    most = MOST_TIMES * l
    room = 1 / l - most_frequent
    return math.ceil((most if room * most <= 3 else 3 / room) - TOLERANCE)


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

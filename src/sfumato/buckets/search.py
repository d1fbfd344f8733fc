"""The smallest buckets that satisfy every model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sfumato.buckets.making import Buckets, SortedRecords, dealt_buckets, distinct_buckets, sort_records
from sfumato.classes.statistics import ClassStatistics, class_statistics
from sfumato.models.protocol import TOLERANCE, PrivacyModel
from sfumato.table.encoding import EncodedTable


@dataclass(frozen=True, eq=False, repr=False)
class Bucketed:
    """Buckets that satisfy every model, with the counts of their sensitive values."""

    buckets: Buckets
    statistics: ClassStatistics


def search_buckets(table: EncodedTable, models: Sequence[PrivacyModel], seed: int | None) -> Bucketed:
    """Find buckets for a table with one sensitive attribute whose records as one bucket satisfy every model.

    For a size, buckets of as many different values are tried first, then values dealt out evenly. The size starts at
    what the models' `l` asks for, and rises until every model holds; one bucket of all records always satisfies them.
    Sizes are doubled and then halved, so that a smaller size which would do as well may be passed over where larger
    ones do not.

    Notes
    -----
    Cost O(n log v) for each size that is tried; models of l-diversity mostly take one.
    """
    attribute = table.sensitive[0]
    records = sort_records(table.sensitive_codes[:, 0], attribute.cardinality, seed)

    def satisfying(size: int) -> Bucketed | None:
        for buckets in _candidates(records, size, seed):
            statistics = class_statistics(buckets.bucket_of, buckets.count, table.sensitive_codes, table.sensitive)
            if all(bool(model.holds(statistics).all()) for model in models):
                return Bucketed(buckets, statistics)
        return None

    return _smallest(satisfying, min(_asked_for(models), table.height), table.height)


def _candidates(records: SortedRecords, size: int, seed: int | None) -> Iterator[Buckets]:
    distinct = distinct_buckets(records, size, seed)
    if distinct is not None:
        yield distinct
    yield dealt_buckets(records, records.height // size)


def _asked_for(models: Sequence[PrivacyModel]) -> int:
    return max([1, *(math.ceil(float(model.parameters().get("l", 1)) - TOLERANCE) for model in models)])


def _smallest(satisfying: Callable[[int], Bucketed | None], low: int, high: int) -> Bucketed:
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

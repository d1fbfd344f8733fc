"""Recounting bucketized tables: the sensitive values of every bucket, from the published counts alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts, counts_of, number_values
from sfumato.models.checks import Check, Outcome, promise_words
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import says
from sfumato.numbers import counted
from sfumato.published.bucketized import COUNT, BucketizedTables
from sfumato.published.sliced import BUCKET
from sfumato.table.distinct import distinct_of
from sfumato.table.encoding import EncodedAttribute, encode
from sfumato.table.reading import read_written
from sfumato.table.schema import Attribute, Schema

IntArray = NDArray[np.int64]


def check_buckets(
    published: BucketizedTables, models: Sequence[PrivacyModel], sensitive: Mapping[str, Attribute]
) -> list[Check]:
    """Recount every model, one check each.

    `published`: both tables; they count the same records in every bucket, or they could not have been built. `models`:
    what was promised. Models of equivalence classes are undecidable: quasi-identifying values are published unchanged,
    and nothing was promised about them. `sensitive`: kind and hierarchy of the sensitive attribute. Cost O(z log z) for
    z pairs of a bucket and a value.
    """
    statistics = bucket_statistics(published, sensitive[published.sensitive])
    return [check_of_buckets(model, statistics) for model in models]


def bucket_statistics(published: BucketizedTables, attribute: Attribute) -> ClassStatistics:
    """Return the sizes of the buckets and the counts of their sensitive values; a value named twice counts summed."""
    schema = Schema(quasi_identifying={published.sensitive: attribute}, others="drop")
    encoded = encode(read_written(published.counts, schema), order="name")
    numbers = distinct_of(published.counts[BUCKET])
    bucket_of, codes, counts = _pairs(
        numbers.rank_of[numbers.raw], encoded.codes[:, 0].astype(np.int64), published.counts[COUNT].to_numpy()
    )
    sizes = np.bincount(bucket_of, weights=counts).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(np.bincount(bucket_of))]).astype(np.int64)
    sensitive = _sensitive(encoded.attributes[0], starts, codes, counts)
    return ClassStatistics(sizes, {published.sensitive: sensitive})


def _pairs(buckets: IntArray, codes: IntArray, counts: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Sort pairs of a bucket and a value, and sum the counts of equal ones; most tables are sorted and summed."""
    counts = counts.astype(np.int64)
    keys = buckets * (codes.max(initial=0) + 1) + codes
    if bool((np.diff(keys) > 0).all()):
        return buckets, codes, counts
    order = np.argsort(keys, kind="stable")
    first = np.flatnonzero(np.append(True, np.diff(keys[order]) != 0))
    return buckets[order][first], codes[order][first], np.add.reduceat(counts[order], first)


def _sensitive(attribute: EncodedAttribute, starts: IntArray, codes: IntArray, counts: IntArray) -> SensitiveCounts:
    occurrences = np.bincount(codes, weights=counts, minlength=attribute.cardinality).astype(np.int64)
    value_of, code_of = number_values(attribute, occurrences)
    return counts_of(attribute, code_of, starts, value_of[codes], counts, occurrences[code_of])


def check_of_buckets(model: PrivacyModel, statistics: ClassStatistics) -> Check:
    """Judge a model by the counts of all buckets."""
    if "buckets" not in says(model).speaks_of:
        return Check(promise_words(model), Outcome.UNDECIDABLE, detail="buckets have no equivalence classes")
    holds = model.holds(statistics)
    achieved = tuple(model.achieved(statistics))
    failing = int((~holds).sum())
    if failing == 0:
        return Check(promise_words(model), Outcome.HOLDS, achieved)
    records = int(statistics.sizes[~holds].sum())
    detail = f"{failing:,} of {counted(statistics.count, 'bucket')} with {counted(records, 'record')} break it"
    return Check(promise_words(model), Outcome.BROKEN, achieved, detail)

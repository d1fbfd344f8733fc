"""From buckets to the two tables that are published."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.buckets.making import BucketAssignment
from sfumato.classes.statistics import class_statistics, number_values
from sfumato.models.shares import class_of_pairs
from sfumato.published.bucketized import COUNT, BucketizedTables
from sfumato.published.sliced import BUCKET
from sfumato.randomness import another, permutation
from sfumato.table.encoding import EncodedTable
from sfumato.table.exact_names import columns_of
from sfumato.table.table import Table


def publish_buckets(
    buckets: BucketAssignment, encoded: EncodedTable, table: Table, seed: int | None
) -> BucketizedTables:
    """Write the tables: buckets get random numbers, and rows a random order.

    Parameters
    ----------
    buckets
        Which bucket each record is in.
    encoded, table
        The same records; the only sensitive attribute is the first of `encoded`.
    seed
        As :func:`sfumato.randomness.permutation` takes it.
    """
    number_of = permutation(buckets.count, another(seed, 1)).astype(np.int32)[buckets.bucket_of]
    order = permutation(encoded.height, another(seed, 2))
    names = tuple(attribute.name for attribute in encoded.attributes)
    numbers = pl.Series(BUCKET, number_of[order].astype(np.int64))
    quasi = columns_of(table.frame, names)[order].with_columns(numbers)
    return BucketizedTables(quasi, _counts(number_of, buckets.count, encoded, table), names, encoded.sensitive[0].name)


def _counts(number_of: NDArray[np.int32], count: int, encoded: EncodedTable, table: Table) -> pl.DataFrame:
    attribute = encoded.sensitive[0]
    codes = encoded.sensitive_codes[:, 0]
    counted = class_statistics(number_of, count, encoded.sensitive_codes, (attribute,)).sensitive[attribute.name]
    _, code_of = number_values(attribute, np.bincount(codes, minlength=attribute.cardinality))
    example = np.zeros(attribute.cardinality, dtype=np.int64)
    example[codes] = np.arange(len(codes))
    values = table.frame[attribute.name][example[code_of]][counted.values]
    return pl.DataFrame(
        {BUCKET: class_of_pairs(counted).astype(np.int64), attribute.name: values, COUNT: counted.counts}
    )

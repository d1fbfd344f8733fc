"""From buckets to the two tables that are published."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.buckets.search import CheckedBuckets
from sfumato.anonymizers.dealt import BucketCounts, CountedTable, Dealing, DealtColumn, DealtTable
from sfumato.classes.statistics import class_statistics, number_values
from sfumato.models.shares import class_of_pairs
from sfumato.published.bucketized import COUNT, BucketizedTables
from sfumato.published.sliced import BUCKET
from sfumato.randomness import another, permutation
from sfumato.table.encoding import EncodedTable
from sfumato.table.exact_names import columns_of
from sfumato.table.table import Table


def dealt_buckets_of(
    found: CheckedBuckets, encoded: EncodedTable, names: tuple[str, ...], seed: int | None
) -> tuple[DealtTable, CountedTable]:
    """Say what both tables hold: buckets get random numbers, and rows a random order.

    Parameters
    ----------
    found
        Which bucket each record is in.
    encoded
        The same records; the only sensitive attribute is the first.
    names
        The quasi-identifying attributes.
    seed
        As :func:`sfumato.randomness.permutation` takes it.
    """
    count, sensitive = found.buckets.count, encoded.sensitive[0].name
    number_of = permutation(count, another(seed, 1)).astype(np.int32)[found.buckets.bucket_of]
    order = partial(permutation, encoded.height, another(seed, 2))
    pairs = len(found.statistics.sensitive[sensitive].values)
    rows = DealtTable((DealtColumn(names, names, order),), number_of, leading=False)
    return rows, CountedTable(sensitive, pairs, partial(_counts, number_of, count, encoded))


def tables_of(dealing: Dealing, encoded: EncodedTable, table: Table) -> BucketizedTables:
    """Look up the values of both tables; `encoded` and `table` are the records that were dealt."""
    (column,), counts_of = dealing.rows.columns, dealing.counts
    assert counts_of is not None
    order = column.order()
    numbers = pl.Series(BUCKET, dealing.rows.bucket_of[order].astype(np.int64))
    quasi = columns_of(table.frame, column.names)[order].with_columns(numbers)
    counted, attribute = counts_of.counted(), encoded.sensitive[0]
    codes = encoded.sensitive_codes[:, 0]
    example = np.zeros(attribute.cardinality, dtype=np.int64)
    example[codes] = np.arange(len(codes))
    values = table.frame[attribute.name][example[counted.codes]]
    counts = pl.DataFrame({BUCKET: counted.buckets, attribute.name: values, COUNT: counted.counts})
    return BucketizedTables(quasi, counts, column.names, attribute.name)


def _counts(number_of: NDArray[np.int32], count: int, encoded: EncodedTable) -> BucketCounts:
    attribute = encoded.sensitive[0]
    codes = encoded.sensitive_codes[:, 0]
    counted = class_statistics(number_of, count, encoded.sensitive_codes, (attribute,)).sensitive[attribute.name]
    _, code_of = number_values(attribute, np.bincount(codes, minlength=attribute.cardinality))
    return BucketCounts(class_of_pairs(counted).astype(np.int64), code_of[counted.values], counted.counts)

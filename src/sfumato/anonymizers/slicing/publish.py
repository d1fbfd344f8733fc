"""From columns and buckets to the sliced table that is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.published.sliced import BUCKET, Columns, SlicedTable, labels_of
from sfumato.randomness import another, permutation
from sfumato.recoding.publish import carried_over
from sfumato.table.exact_names import columns_of
from sfumato.table.table import Table


def publish_slices(
    table: Table,
    columns: Columns,
    bucket_of: NDArray[np.int64],
    seed: int | None,
    recoded: Mapping[int, pl.DataFrame] | None = None,
) -> SlicedTable:
    """Write the table: every column is permuted in every bucket by itself.

    Parameters
    ----------
    table
        The original records.
    columns
        Attributes of each column.
    bucket_of
        int64 (n,), ``0 .. count-1``; published under random numbers, so that they say nothing of where a bucket lay.
    seed
        As :func:`sfumato.randomness.permutation` takes it.
    recoded
        Published values of columns that are generalized, by place; rows are records.

    Notes
    -----
    For each column the records are put in a random order of their own and sorted by bucket, stably: all orders inside
    a bucket are equally likely, and those of different columns have nothing to do with each other. O(n log n) a column.
    """
    count = int(bucket_of.max()) + 1
    numbers = permutation(count, another(seed, 0))[bucket_of]
    parts = [pl.DataFrame({BUCKET: np.sort(numbers)})]
    for place, (column, labels) in enumerate(zip(columns, labels_of(columns), strict=True)):
        values = columns_of((recoded or {}).get(place, table.frame), column)
        order = _permuted(numbers, permutation(table.height, another(seed, place + 1)))
        parts.append(_taken(values, order, labels))
    sensitive = [name for name in table.schema.sensitive if any(name in column for column in columns)]
    insensitive = tuple(name for name in table.schema.insensitive if any(name in column for column in columns))
    return SlicedTable(pl.concat(parts, how="horizontal"), columns, tuple(sensitive), insensitive)


def _permuted(numbers: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    return order[np.argsort(numbers[order], kind="stable")]


def _taken(values: pl.DataFrame, order: NDArray[np.int64], labels: Sequence[str]) -> pl.DataFrame:
    taken = values[order]
    return pl.DataFrame(
        [carried_over(series).alias(label) for series, label in zip(taken.get_columns(), labels, strict=True)]
    )

"""From columns and buckets to the sliced table that is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.dealt import DealtColumn, DealtTable
from sfumato.classes.generalized import GeneralizedTable
from sfumato.published.sliced import BUCKET, Columns, SlicedTable, labels_of
from sfumato.randomness import another, permutation
from sfumato.recoding.publish import carried_over, publish
from sfumato.table.exact_names import columns_of
from sfumato.table.schema import Schema
from sfumato.table.table import Table


def publish_slices(
    table: Table,
    columns: Columns,
    bucket_of: NDArray[np.int64],
    seed: int | None,
    recoded: Mapping[int, GeneralizedTable] | None = None,
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
        What columns that are generalized publish, by place; classes are those of the records.

    Notes
    -----
    For each column the records are put in a random order of their own and sorted by bucket, stably: all orders inside
    a bucket are equally likely, and those of different columns have nothing to do with each other. O(n log n) a column.
    """
    return sliced_table(dealt_slices(columns, bucket_of, seed, recoded), table)


def dealt_slices(
    columns: Columns,
    bucket_of: NDArray[np.integer],
    seed: int | None,
    recoded: Mapping[int, GeneralizedTable] | None = None,
) -> DealtTable:
    """Say which records stand in each row of each column; see :func:`publish_slices`."""
    numbers = permutation(int(bucket_of.max()) + 1, another(seed, 0))[bucket_of].astype(np.int32)
    dealt = [
        DealtColumn(column, labels, partial(_permuted, numbers, another(seed, place + 1)), (recoded or {}).get(place))
        for place, (column, labels) in enumerate(zip(columns, labels_of(columns), strict=True))
    ]
    return DealtTable(tuple(dealt), numbers, leading=True)


def sliced_table(dealt: DealtTable, table: Table) -> SlicedTable:
    """Look up the values of a sliced table; `table` has the records that were dealt."""
    parts = [pl.DataFrame({BUCKET: np.sort(dealt.bucket_of).astype(np.int64)})]
    for column in dealt.columns:
        everybody = np.arange(table.height)
        frame = table.frame if column.generalized is None else publish(column.generalized, table, everybody)
        parts.append(_taken(columns_of(frame, column.names), column.order(), column.labels))
    structure = structure_of(tuple(column.names for column in dealt.columns), table.schema)
    return SlicedTable.assemble({"data": pl.concat(parts, how="horizontal")}, structure)


def structure_of(columns: Columns, schema: Schema) -> dict[str, list[Any]]:
    """Return what a reader must know of a sliced table."""
    held = {name for column in columns for name in column}
    return {
        "columns": [list(column) for column in columns],
        "sensitive": [name for name in schema.sensitive if name in held],
        "insensitive": [name for name in schema.insensitive if name in held],
    }


def with_insensitive(columns: Columns, schema: Schema) -> Columns:
    """Return all columns: insensitive attributes stand in one of their own."""
    return (*columns, tuple(schema.insensitive)) if schema.insensitive else columns


def _permuted(numbers: NDArray[np.int32], seed: int | None) -> NDArray[np.int64]:
    order = permutation(len(numbers), seed)
    return order[np.argsort(numbers[order], kind="stable")]


def _taken(values: pl.DataFrame, order: NDArray[np.int64], labels: Sequence[str]) -> pl.DataFrame:
    taken = values[order]
    return pl.DataFrame(
        [carried_over(series).alias(label) for series, label in zip(taken.get_columns(), labels, strict=True)]
    )

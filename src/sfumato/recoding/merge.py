"""Classes that publish the same labels are one class, to every reader of the release."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.generalized import GeneralizedColumn, GeneralizedTable
from sfumato.classes.grouping import group_records
from sfumato.classes.partition import Partition
from sfumato.recoding.choice import Recoding
from sfumato.recoding.recode import recode
from sfumato.table.encoding import EncodedTable


def recode_as_published(
    encoded: EncodedTable, partition: Partition, recoding: Recoding | None = None, *, threads: int = 1
) -> GeneralizedTable:
    """Recode a partition, merging classes whose published labels are all equal.

    Two classes of a solution may cover the same values, or have the same mean. A recipient sees one class then, and so
    must every figure in the report.

    Returns
    -------
    GeneralizedTable
        No two classes publish the same labels.

    Notes
    -----
    Cost of :func:`recode`, once more for each round of merging. A round ends with fewer classes, and a second one is
    needed only where merging changes a mean.
    """
    while True:
        generalized = recode(encoded, partition, recoding, threads=threads)
        labels = np.column_stack([_distinct_labels(column) for column in generalized.columns])
        merged, count = group_records(labels)
        if count == partition.count:
            return generalized
        # The last entry stands for −1, the suppressed records.
        number = np.append(merged, np.int32(-1))
        cover = None if partition.cover is None else number[partition.cover]
        partition = Partition(number[partition.class_of], count, cover)


def _distinct_labels(column: GeneralizedColumn) -> NDArray[np.int64]:
    """Return a number for each class that is equal where the published text is; int64 (c,)."""
    rank_of = column.labels.rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
    numbers: NDArray[np.int64] = rank_of[column.per_class]
    return numbers

"""Merge classes that publish the same labels: every reader of the release sees one class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.generalized import GeneralizedColumn, GeneralizedTable
from sfumato.classes.grouping import group_records
from sfumato.classes.partition import Partition
from sfumato.parallel import each, worth_starting
from sfumato.recoding.choice import Recoding
from sfumato.recoding.recode import recode
from sfumato.table.encoding import EncodedTable
from sfumato.table.text_order import dense_ranks


def recode_as_published(
    encoded: EncodedTable,
    partition: Partition,
    recoding: Recoding | None = None,
    *,
    threads: int = 1,
    by_column: bool = False,
) -> GeneralizedTable:
    """Recode a partition, merging classes whose published labels are all equal.

    Two classes of a solution may cover the same values, or have the same mean. A recipient then sees one class, and so
    must every figure in the report.

    Parameters
    ----------
    encoded, partition, recoding, threads
        As :func:`recode` takes them.
    by_column
        Recode one attribute after the other, which takes memory for one at a time; not for solutions with regions.

    Returns
    -------
    GeneralizedTable
        No two classes publish the same labels.

    Notes
    -----
    Cost of :func:`recode`, once more for each round of merging. A round ends with fewer classes, and a second one is
    needed only where merging changes a mean.
    """
    threads = worth_starting(threads, encoded.height)
    while True:
        if by_column:
            generalized = _recode_by_column(encoded, partition, recoding or Recoding())
        else:
            generalized = recode(encoded, partition, recoding, threads=threads)
        labels = np.column_stack(each(_distinct_labels, generalized.columns, threads))
        merged, count = group_records(labels)
        if count == partition.count:
            return generalized
        partition = partition.renumbered(merged, count)


def _recode_by_column(encoded: EncodedTable, partition: Partition, recoding: Recoding) -> GeneralizedTable:
    columns: list[GeneralizedColumn] = []
    for index, attribute in enumerate(encoded.attributes):
        codes = np.ascontiguousarray(encoded.codes[:, index : index + 1])
        forms = {name: form for name, form in recoding.forms.items() if name == attribute.name}
        alone = replace(encoded, attributes=(attribute,), codes=codes)
        columns += recode(alone, partition, replace(recoding, forms=forms)).columns
    return GeneralizedTable(encoded, tuple(columns), partition.class_of, partition.sizes.astype(np.int64, copy=False))


def _distinct_labels(column: GeneralizedColumn) -> NDArray[np.int32]:
    """Return a number for each class that is equal where the published text is; int32 (c,)."""
    if column.labels.n_unique() == column.count:
        return column.per_class
    numbers: NDArray[np.int32] = dense_ranks(column.labels).astype(np.int32)[column.per_class]
    return numbers

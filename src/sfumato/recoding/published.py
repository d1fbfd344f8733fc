"""From a published frame back to generalized columns, for measuring and attacking a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.generalized import Form, GeneralizedColumn, GeneralizedTable, known, stars
from sfumato.classes.partition import class_sizes, group_records
from sfumato.errors import InputError, raise_all
from sfumato.kernels.grouping import first_records
from sfumato.recoding.choice import Recoding
from sfumato.recoding.parsing import Coverage, parse
from sfumato.table.encoding import EncodedTable
from sfumato.table.schema import text_of


def generalize_published(
    frame: pl.DataFrame, encoded: EncodedTable, recoding: Recoding | None = None
) -> GeneralizedTable:
    """Group equal published rows into classes and read what their labels cover.

    `frame`: m published rows with every quasi-identifying column; other columns are ignored. `encoded`: the original
    table, n ≥ m records. `recoding`: how `frame` was published; None takes the defaults. With ``suppressed = "star"``
    rows of nothing but ``*`` count as suppressed records. Returns: not aligned: the first m entries of `class_of`
    belong to the rows of `frame`, the other n − m to the records that were suppressed. Metrics and attacks that need to
    know whose row is whose refuse it. Raises ``InputError`` with every column that is absent or has cells that cannot
    be read, counted, never shown. Raises ``PolicyError`` when a form does not fit its attribute.

    Cost O(m · q); labels are read once per distinct label. For a column published as means, see
    :func:`~sfumato.recoding.parsing.parse`.
    """
    chosen = recoding or Recoding()
    forms = chosen.forms_of(encoded.attributes)
    raise_all(InputError, _shape_problems(frame, encoded))
    labels, label_of = _numbered_labels(frame, encoded)
    coverages = [parse(*each) for each in zip(labels, encoded.attributes, forms, strict=True)]
    raise_all(InputError, _unreadable(coverages, label_of, encoded))
    rows_in, count = group_records(label_of)
    firsts = first_records(rows_in, count)
    columns = tuple(
        _column(encoded, index, forms[index], labels[index], label_of[firsts, index], coverages[index])
        for index in range(len(forms))
    )
    if chosen.suppressed == "star":
        rows_in, columns = _without_stars(rows_in, columns)
    class_of = np.full(encoded.height, -1, dtype=np.int32)
    class_of[: len(rows_in)] = rows_in
    sizes = class_sizes(rows_in, len(columns[0].per_class))
    return GeneralizedTable(encoded, columns, class_of, sizes, aligned=False)


def _shape_problems(frame: pl.DataFrame, encoded: EncodedTable) -> list[str]:
    problems = [
        f"the published table has no column {attribute.name!r}; it needs every quasi-identifying column"
        for attribute in encoded.attributes
        if attribute.name not in frame.columns
    ]
    if frame.height > encoded.height:
        problems.append(
            f"the published table has {frame.height} rows, the original only {encoded.height}; "
            "give the original that it was made from"
        )
    if not frame.height:
        problems.append("the published table has no rows")
    return problems


def _numbered_labels(frame: pl.DataFrame, encoded: EncodedTable) -> tuple[list[pl.Series], NDArray[np.int32]]:
    """Return the distinct labels of each column, and which one each cell has; int32 (m, q)."""
    labels = []
    label_of = np.empty((frame.height, len(encoded.attributes)), dtype=np.int32)
    for index, attribute in enumerate(encoded.attributes):
        series = frame[attribute.name]
        if isinstance(series.dtype, (pl.Categorical, pl.Enum)):
            series = series.cast(pl.String)
        distinct = series.unique(maintain_order=True)
        numbers = pl.int_range(len(distinct), eager=True, dtype=pl.Int32)
        label_of[:, index] = series.replace_strict(distinct, numbers, return_dtype=pl.Int32).to_numpy()
        labels.append(text_of(distinct))
    return labels, label_of


def _unreadable(coverages: Sequence[Coverage], label_of: NDArray[np.int32], encoded: EncodedTable) -> list[str]:
    problems = []
    for coverage, numbers, attribute in zip(coverages, label_of.T, encoded.attributes, strict=True):
        rows = np.flatnonzero(~coverage.readable[numbers])
        if len(rows):
            problems.append(
                f"column {attribute.name!r}: {len(rows)} published cell(s), first in row {rows[0] + 1}, cannot be read "
                "or cover no original value; check the form of the column and that the original is the right one"
            )
    return problems


def _column(
    encoded: EncodedTable,
    index: int,
    form: Form,
    labels: pl.Series,
    per_class: NDArray[np.int32],
    coverage: Coverage,
) -> GeneralizedColumn:
    return GeneralizedColumn(
        encoded.attributes[index],
        form,
        per_class,
        known(labels),
        coverage.low,
        coverage.high,
        coverage.leaves,
        coverage.level,
        coverage.members,
    )


def _without_stars(
    rows_in: NDArray[np.int32], columns: tuple[GeneralizedColumn, ...]
) -> tuple[NDArray[np.int32], tuple[GeneralizedColumn, ...]]:
    """Turn the class that publishes nothing but `*`, if there is one, into suppressed rows."""
    starred = np.logical_and.reduce([stars(column.labels)[column.per_class] for column in columns])
    number = np.where(starred, -1, np.cumsum(~starred) - 1).astype(np.int32)
    kept = tuple(replace(column, per_class=column.per_class[~starred]) for column in columns)
    return number[rows_in], kept

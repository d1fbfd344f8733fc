"""From generalized columns to the published frame."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.generalized import GeneralizedColumn, GeneralizedTable
from sfumato.errors import InputError, raise_all
from sfumato.parallel import each, worth_starting
from sfumato.recoding.notation import STAR
from sfumato.table.distinct import FEW
from sfumato.table.schema import Kind, is_measured
from sfumato.table.table import Table


def publish(
    generalized: GeneralizedTable, table: Table, order: NDArray[np.integer], *, threads: int = 1
) -> pl.DataFrame:
    """Write the frame that a recipient gets.

    Quasi-identifying columns hold published labels as an Enum; a column of numbers, dates or booleans in which no cell
    was changed keeps its type. Sensitive and insensitive columns are carried over, categories as an Enum. Every Enum
    lists the values that occur, sorted, so that neither dropped values nor the input order can be read off its list.

    `generalized`: the recoded table, aligned with `table`. `table`: the original table, n records. `order`: integers
    (m,): the records to publish, in the order of publishing. Suppressed records among them get ``*`` in every
    quasi-identifying column; leave them out to remove them. The caller shuffles: this function adds no randomness.
    `threads`: most columns that are written at a time. Returns: the columns of ``table.frame`` in their order, m rows.
    Raises ``InputError`` when `order` names records that the table does not have, or the two tables differ in height.

    Cost O(m) per column, by gathering.
    """
    raise_all(InputError, _problems(generalized, table, order))
    classes = generalized.class_of[order]
    complete, records = not np.any(classes < 0), pl.Series(order)
    published = {column.attribute.name: column for column in generalized.columns}

    def written(series: pl.Series) -> pl.Series:
        if series.name not in published:
            return carried_over(series[records])
        return _quasi_identifying(series, published[series.name], records, classes, complete)

    return pl.DataFrame(each(written, table.frame, worth_starting(threads, len(order))))


def _problems(generalized: GeneralizedTable, table: Table, order: NDArray[np.integer]) -> list[str]:
    problems = []
    if generalized.height != table.height:
        problems.append(
            f"publish: the solution has {generalized.height} records, the table {table.height}; "
            "give the table that it was made from"
        )
    if len(order) and (order.min() < 0 or order.max() >= generalized.height):
        problems.append("publish: the order names records that the table does not have")
    return problems


def _quasi_identifying(
    series: pl.Series,
    column: GeneralizedColumn,
    records: pl.Series,
    classes: NDArray[np.int32],
    complete: bool,
) -> pl.Series:
    kind = column.attribute.kind
    if complete and not column.level.any() and (is_measured(kind) or kind is Kind.BOOLEAN):
        return series[records]
    # One more label for the class −1, which indexing from the end finds.
    labels = column.labels if complete else column.labels.extend_constant(STAR, 1)
    label_of = np.append(column.per_class, np.int32(column.count)).astype(np.uint32)[classes]
    occurs = np.zeros(len(labels), dtype=np.bool_)
    occurs[label_of] = True
    occurring = labels if occurs.all() else labels.filter(pl.Series(occurs))
    return labels.cast(_enum_of(occurring), strict=False)[pl.Series(label_of)].alias(series.name)


def carried_over(series: pl.Series) -> pl.Series:
    """Return a column as it is published unchanged: categories as an Enum that lists those that occur, sorted."""
    if not isinstance(series.dtype, (pl.Categorical, pl.Enum)):
        return series
    return series.cast(_enum_of(series if len(series) <= FEW else series.unique().cast(pl.String)))


def _enum_of(labels: pl.Series) -> pl.Enum:
    """Return a type that lists the texts that occur, sorted, so that neither others nor an order can be read off it."""
    if len(labels) <= FEW:
        return pl.Enum(sorted({label for label in labels.to_list() if label is not None}))
    known = labels.drop_nulls() if labels.null_count() else labels
    return pl.Enum((known if known.n_unique() == len(known) else known.unique()).sort())

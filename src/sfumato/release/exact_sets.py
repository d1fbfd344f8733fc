"""Columns in which most values differ and that have no order: a set of their values hides nothing.

They are published in sets where somebody said so (`sfumato.release.passing`), or where the table is too small to ask.
"""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.classes.generalized import Form, GeneralizedTable
from sfumato.metrics.losses import Losses
from sfumato.numbers import percent
from sfumato.table.encoding import EncodedAttribute
from sfumato.table.schema import Kind


def exact_set_notes(generalized: GeneralizedTable, losses: Losses) -> Iterator[str]:
    """Tell of nearly distinct values that are published in sets, and charge them as lost wholly, which they are.

    Parameters
    ----------
    generalized
        What is published.
    losses
        As they are measured: a set of ten among a thousand values loses nearly nothing.
    """
    height, weights = losses.records, {column.attribute.name: column.attribute.weight for column in generalized.columns}
    exact = [
        column.attribute
        for column in generalized.columns
        if column.form is Form.SET and _is_nearly_distinct(column.attribute, height)
    ]
    for attribute in exact:
        yield (
            f"Column {attribute.name!r}: {attribute.size:,} different values in {height:,} records are published as "
            "sets of exact values. Who knows somebody's value finds their class by this column alone."
        )
    if exact:
        shares = {**losses.attribute_ncp, **{each.name: losses.changed[each.name] / height for each in exact}}
        charged = sum(weights[name] * share for name, share in shares.items()) / sum(weights.values())
        yield (
            f"The information loss of {percent(losses.normalized_ncp, 3)} takes such sets for small parts of all "
            f"values. With every cell that shows one counted as lost, it is {percent(charged, 3)}."
        )


def _is_nearly_distinct(attribute: EncodedAttribute, height: int) -> bool:
    return attribute.kind is Kind.CATEGORICAL and attribute.hierarchy is None and 2 * attribute.size > height

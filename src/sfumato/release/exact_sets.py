"""Columns in which most values differ and that have no order: a set of their values hides nothing."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.classes.generalized import Form, GeneralizedTable
from sfumato.errors import PolicyError, raise_all
from sfumato.metrics.losses import Losses
from sfumato.numbers import percent
from sfumato.table.encoding import EncodedAttribute, EncodedTable
from sfumato.table.schema import Kind
from sfumato.table.table import Table

FEWEST = 100
"""Records of a table from which on such a column has to be declared; below, it is told of."""


def refuse_exact_sets(encoded: EncodedTable, table: Table) -> None:
    """Refuse to publish nearly distinct values in sets, unless somebody declared that they are categories.

    Raises
    ------
    PolicyError
        Naming every quasi-identifying column without a hierarchy or declared kind in which more than half of the
        records have a value of their own.
    """
    if encoded.height < FEWEST:
        return
    declared = table.schema.quasi_identifying
    raise_all(
        PolicyError,
        [
            f"column {attribute.name!r} is text with {attribute.size:,} different values in {encoded.height:,} "
            "records, and classes would be published as sets of exact values. Give it a hierarchy, say how its numbers "
            "or dates are written, or make it identifying; to publish the sets all the same, declare its kind "
            f"categorical, or say --publish {attribute.name} (in Python publish=[{attribute.name!r}])"
            for attribute in encoded.attributes
            if _is_nearly_distinct(attribute, encoded.height)
            and attribute.name in declared
            and declared[attribute.name].kind is None
            and attribute.name not in table.schema.publish
        ],
    )


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

"""How categories are counted: by the leaves of their hierarchy, or by the values that occur in a class."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl

from sfumato.classes.generalized import Form, GeneralizedColumn, GeneralizedTable, ValueSets, known
from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.kernels.valuesets import class_starts, group_by_class, value_sets
from sfumato.table.encoding import EncodedAttribute

Rule = Literal["auto", "tree", "set"]


def under_rule(generalized: GeneralizedTable, rule: Rule = "auto") -> GeneralizedTable:
    """Return the table as a rule sees it, for any metric of cells.

    Parameters
    ----------
    generalized
        A recoded table.
    rule
        ``"auto"`` counts leaves under the common ancestor where an attribute has a hierarchy, members of the value set
        where it has none. ``"tree"`` does the same but insists that every category has a hierarchy. ``"set"`` counts
        the distinct values of a class everywhere, over the distinct values of the column, as if there were no
        hierarchy. Numbers and dates without a hierarchy are measured by their range under every rule.

    Raises
    ------
    PolicyError
        For another rule, or under ``"tree"`` naming every categorical attribute without a hierarchy.
    InputError
        Under ``"set"``, when ancestors were read back from a published frame: the values of a class are not known.

    Notes
    -----
    Under ``"set"`` a class that mixes missing and present values still publishes, and loses, the whole domain. Cost
    O(n) for each attribute with a hierarchy under ``"set"``, else nothing.
    """
    if rule == "auto":
        return generalized
    if rule == "tree":
        raise_all(PolicyError, _without_tree(generalized))
        return generalized
    if rule != "set":
        raise PolicyError("the rule for losses must be 'auto', 'tree' or 'set'")
    columns = tuple(
        column if column.attribute.hierarchy is None else _as_sets(generalized, index, column)
        for index, column in enumerate(generalized.columns)
    )
    return replace(generalized, columns=columns)


def _without_tree(generalized: GeneralizedTable) -> list[str]:
    return [
        f"column {column.attribute.name!r} has no hierarchy, which the rule 'tree' needs; give one, or choose 'auto'"
        for column in generalized.columns
        if column.attribute.hierarchy is None and not column.attribute.is_numeric
    ]


def _as_sets(generalized: GeneralizedTable, index: int, column: GeneralizedColumn) -> GeneralizedColumn:
    attribute = replace(
        column.attribute,
        hierarchy=None,
        numbers=None,
        domain_size=int(np.count_nonzero(generalized.frequencies[index])),
    )
    if column.form is Form.SET:
        level = (column.low < column.high).astype(np.int32)
        return replace(column, attribute=attribute, level=level)
    if not generalized.aligned:
        raise InputError("the rule 'set' needs the values of every class, which published ancestors do not show")
    starts = class_starts(generalized.sizes)
    codes = group_by_class(generalized.class_of, generalized.original.codes, np.array([index]), starts)[:, 0]
    per_class, bounds, members = value_sets(codes, starts, attribute.size + 1)
    return _set_column(attribute, per_class, ValueSets(bounds, members))


def _set_column(
    attribute: EncodedAttribute, per_class: np.ndarray[tuple[int], np.dtype[np.int32]], members: ValueSets
) -> GeneralizedColumn:
    low, high = members.codes[members.starts[:-1]], members.codes[members.starts[1:] - 1]
    mixed = (low < high) & (high == attribute.size)
    leaves = np.where(mixed, attribute.domain_size, np.diff(members.starts)).astype(np.int32)
    written = known(pl.Series(["*" if each else None for each in mixed.tolist()], dtype=pl.String))
    level = (low < high).astype(np.int32)
    return GeneralizedColumn(attribute, Form.SET, per_class, written, low, high, leaves, level, members, mixed)

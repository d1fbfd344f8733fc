"""The order in which the values of one attribute are numbered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import HierarchyError
from sfumato.hierarchy.specification import HierarchySpecification
from sfumato.hierarchy.tree import Hierarchy
from sfumato.table.distinct import Distinct
from sfumato.table.kinds import is_measured, text_of
from sfumato.table.schema import Kind

Order = Literal["frequency", "name"]


@dataclass(frozen=True, eq=False, repr=False)
class Numbering:
    """Codes of the distinct values of one attribute.

    Letters: d distinct values, v codes (more than d where a hierarchy has leaves that do not occur).

    Attributes
    ----------
    labels : polars.Series of String
        Text behind each code, length v.
    codes : numpy.ndarray
        int64 (d,): code of each distinct value.
    numbers : numpy.ndarray or None
        float64 (v,): number behind each code, rising; None for categories, booleans and under a hierarchy.
    hierarchy : Hierarchy or None
    """

    labels: pl.Series
    codes: NDArray[np.int64]
    numbers: NDArray[np.float64] | None = None
    hierarchy: Hierarchy | None = None


def number_values(
    name: str, kind: Kind, specification: HierarchySpecification | None, distinct: Distinct, order: Order
) -> Numbering:
    """Assign codes to the values of an attribute: by leaf, by size, or as categories by `order`.

    Raises
    ------
    HierarchyError
        When the hierarchy does not cover every value.
    """
    values = distinct.values
    # A column of nothing but missing values has nothing to build a hierarchy from.
    if specification is not None and len(values):
        return _by_leaf(name, specification, distinct)
    if is_measured(kind):
        numbers = values.to_physical().cast(pl.Float64).to_numpy()
        return Numbering(text_of(values), np.arange(len(values)), numbers)
    if kind is Kind.CATEGORICAL and order == "frequency":
        return _by_frequency(distinct)
    return Numbering(text_of(values), np.arange(len(values)))


def _by_frequency(distinct: Distinct) -> Numbering:
    # A stable sort keeps the text order among equally frequent values.
    ranking = np.argsort(-distinct.counts, kind="stable")
    codes = np.empty(len(ranking), dtype=np.int64)
    codes[ranking] = np.arange(len(ranking))
    return Numbering(distinct.values[ranking], codes)


def _by_leaf(name: str, specification: HierarchySpecification, distinct: Distinct) -> Numbering:
    hierarchy = specification.build(distinct.values, name=name)
    leaf_of = {label: leaf for leaf, label in enumerate(hierarchy.leaves)}
    codes = np.array([leaf_of.get(text, -1) for text in text_of(distinct.values)], dtype=np.int64)
    strangers = codes < 0
    if strangers.any():
        raise HierarchyError(
            f"{name}: {np.count_nonzero(strangers)} original value(s) are not in the hierarchy, first in row "
            f"{distinct.first_record(strangers)}; add them to its level 0"
        )
    labels = pl.Series(name, hierarchy.leaves, dtype=pl.String)
    return Numbering(labels, codes, hierarchy=hierarchy)

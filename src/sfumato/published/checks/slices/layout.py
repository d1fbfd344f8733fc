"""Columns and models of a sliced table as the arrays that kernels read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.grouping import distinct_records
from sfumato.errors import PolicyError
from sfumato.kernels.slices.groups import SlicingArrays
from sfumato.models.compiled import compile_rules
from sfumato.models.protocol import Achieved, PrivacyModel
from sfumato.models.rule_traits import TRAITS, mixing, shares
from sfumato.models.sensitive import SensitiveModel
from sfumato.published.sliced import Columns, column_of
from sfumato.table.encoding import EncodedTable


@dataclass(frozen=True, eq=False, repr=False)
class SliceLayout:
    """The part of a table that slicing uses.

    Letters: n records, w parts, V distinct vectors of parts, a sensitive attributes that some model looks at.

    Attributes
    ----------
    arrays : Slicing
        Parts, sensitive values and rules.
    attributes : tuple of str
        The sensitive attributes that some model looks at, length a.
    vectors : numpy.ndarray
        int32 (V, w): the distinct vectors of parts, in rising order.
    weights : numpy.ndarray
        int64 (V,): records that have each vector.
    vector_of : numpy.ndarray
        int32 (n,): vector of each record.
    """

    arrays: SlicingArrays
    attributes: tuple[str, ...]
    vectors: NDArray[np.int32]
    weights: NDArray[np.int64]
    vector_of: NDArray[np.int32]

    @property
    def part_sizes(self) -> NDArray[np.int64]:
        """How many distinct values each part has; int64 (w,)."""
        sizes: NDArray[np.int64] = self.vectors.max(axis=0, initial=-1).astype(np.int64) + 1
        return sizes


def layout_of(
    table: EncodedTable,
    columns: Columns,
    models: Sequence[PrivacyModel],
    recoded: Mapping[int, NDArray[np.int32]] | None = None,
) -> SliceLayout:
    """Lay out the columns of an encoded table.

    Parameters
    ----------
    table
        The original table.
    columns
        Attributes of each column; those that are neither quasi-identifying nor sensitive are ignored.
    models
        Models of slices.
    recoded
        For columns whose values are generalized, by place: number of the published value of each record, int32 (n,).

    Notes
    -----
    The part of a column is what an attacker knows of it: its quasi-identifying attributes. Cost O(n q).
    """
    place_of = {attribute.name: place for place, attribute in enumerate(table.attributes)}
    part_of: dict[int, int] = {}
    parts: list[NDArray[np.int32]] = []
    for place, column in enumerate(columns):
        own = [place_of[name] for name in column if name in place_of]
        if own:
            part_of[place] = len(parts)
            known = (recoded or {}).get(place)
            parts.append(number_rows(table.codes[:, own]) if known is None else known)
    stacked = np.ascontiguousarray(np.column_stack(parts), dtype=np.int32)
    rules = compile_rules(models, table)
    if not mixing(rules.arrays):
        raise PolicyError("models: some have rules that cannot be measured over several buckets; leave them out")
    names = [attribute.name for attribute in table.sensitive]
    looked_at = {rule.attribute for model in models for rule in model.rules(names)}
    attributes = tuple(name for name in names if name in looked_at)
    homes = [part_of.get(column_of(columns, name), -1) for name in attributes]
    first = rules.arrays.first
    bounds = np.divide(1.0, first, out=first.copy(), where=shares(rules.arrays))
    arrays = SlicingArrays(
        stacked, np.array(homes, np.int64), rules.codes.astype(np.int32), rules.arrays, bounds.astype(np.float64)
    )
    return SliceLayout(arrays, attributes, *_vectors(stacked))


def reached(model: SensitiveModel, worst: float, name: str) -> Achieved:
    """Return the parameter that a model reaches at this worst share or distance."""
    # A parameter that must be reached from below is 1 over a share.
    value = worst if not model.at_least else 1 / worst if worst else math.inf
    return Achieved(model.bounded, value, name)


def models_of_rules(models: Sequence[PrivacyModel], names: Sequence[str]) -> list[SensitiveModel]:
    """Return the model of each rule; slices are checked for models of sensitive attributes only, and keep no wishes."""
    return [
        model
        for model in models
        if isinstance(model, SensitiveModel)
        for rule in model.rules(names)
        if not TRAITS[rule.code].wished_l
    ]


def number_rows(codes: NDArray[np.integer]) -> NDArray[np.int32]:
    """Give equal rows the same number, by rising value: numbers must not depend on the order of the records."""
    rows, _, number_of = distinct_records(np.ascontiguousarray(codes, dtype=np.uint32))
    rank = np.empty(len(rows), dtype=np.int32)
    rank[np.lexsort(rows.T[::-1])] = np.arange(len(rows), dtype=np.int32)
    return rank[number_of]


def _vectors(parts: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    vectors, weights, vector_of = distinct_records(parts.astype(np.uint32))
    order = np.lexsort(vectors.T[::-1])
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return np.ascontiguousarray(vectors[order].astype(np.int32)), weights[order], rank[vector_of]

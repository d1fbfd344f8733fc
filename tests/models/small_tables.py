# ruff: noqa: E741 - l is the letter of the literature
"""Small tables for the tests of models: plain values, their encoding, and every model beside its plain twin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

from naive import models as naive
from sfumato import models
from sfumato.classes.statistics import ClassStatistics, class_statistics
from sfumato.hierarchy.tree import Hierarchy, hierarchy_from_paths
from sfumato.models.protocol import PrivacyModel
from sfumato.table.encoding import EncodedAttribute, EncodedTable
from sfumato.table.schema import Kind

# Ragged below the root, so that nodes with one child are among them.
TREE = {
    "gu": ("gu", "acid", "stomach", "*"),
    "ga": ("ga", "acid", "stomach", "*"),
    "sc": ("sc", "growth", "stomach", "*"),
    "fl": ("fl", "viral", "lungs", "*"),
    "pn": ("pn", "other", "lungs", "*"),
    "br": ("br", "other", "lungs", "*"),
}
HIERARCHY = hierarchy_from_paths(list(TREE.values()))


@dataclass(frozen=True)
class Column:
    """A sensitive attribute in plain values and how they are encoded."""

    name: str
    kind: Kind
    values: tuple[Any, ...]
    hierarchy: Hierarchy | None = None

    def attribute(self) -> EncodedAttribute:
        labels = self._labels()
        return EncodedAttribute(
            name=self.name,
            kind=self.kind,
            labels=pl.Series([str(label) for label in labels], dtype=pl.String),
            numbers=np.array(labels, dtype=float) if self.kind is Kind.NUMERIC and self.hierarchy is None else None,
            hierarchy=self.hierarchy,
            has_missing=None in self.values,
            domain_width=0.0,
            domain_size=len(labels),
        )

    def codes(self) -> np.ndarray:
        place = {label: code for code, label in enumerate(self._labels())} | {None: len(self._labels())}
        return np.array([place[value] for value in self.values], dtype=np.uint8)

    def _labels(self) -> list[Any]:
        if self.hierarchy is None:
            return sorted({value for value in self.values if value is not None})
        return list(self.hierarchy.leaves)


def encode(*columns: Column) -> EncodedTable:
    codes = np.column_stack([column.codes() for column in columns])
    quasi = np.zeros((len(codes), 1), dtype=np.uint8)
    return EncodedTable((), quasi, tuple(column.attribute() for column in columns), codes)


def statistics_of(class_of: Sequence[int], *columns: Column) -> ClassStatistics:
    count = max(class_of, default=-1) + 1
    attributes = [column.attribute() for column in columns]
    codes = (
        np.column_stack([column.codes() for column in columns]) if columns else np.zeros((len(class_of), 0), np.uint8)
    )
    return class_statistics(np.array(class_of, dtype=np.int32), count, codes, attributes)


def from_histograms(*histograms: Sequence[int], kind: Kind = Kind.CATEGORICAL) -> ClassStatistics:
    """Classes given by how often each value 0, 1, 2, ... occurs."""
    class_of = [owner for owner, histogram in enumerate(histograms) for _ in range(sum(histogram))]
    values = [value for histogram in histograms for value, count in enumerate(histogram) for _ in range(count)]
    return statistics_of(class_of, Column("s", kind, tuple(values)))


@dataclass(frozen=True)
class Case:
    """A model, its plain twin, and the kind of column that both look at."""

    model: PrivacyModel
    twin: str
    twin_parameters: dict[str, Any]
    kind: Kind = Kind.CATEGORICAL
    tree: bool = False

    def column(self, picks: Sequence[int | None]) -> Column:
        pool: list[Any] = [5, 10, 20, 100, 101, 7] if self.kind is Kind.NUMERIC else list(TREE)
        values = tuple(None if pick is None else pool[pick] for pick in picks)
        return Column("s", self.kind, values, HIERARCHY if self.tree else None)

    def expected(self, class_of: Sequence[int], values: Sequence[Any]) -> list[bool]:
        return naive.holds_per_class(self.twin, members(class_of), values, **self.twin_parameters)

    def expected_worst(self, class_of: Sequence[int], values: Sequence[Any]) -> float:
        classes = members(class_of)
        whole = naive.published_only(classes, values)
        twin = naive.MODELS[self.twin]
        shape = {name: self.twin_parameters[name] for name in ("distance", "tree") if name in self.twin_parameters}
        if self.twin == "guarded":
            shape["values"] = self.twin_parameters["values"]
        if self.twin == "k-map":
            shape = {name: value for name, value in self.twin_parameters.items() if name != "k"}
        if self.twin == "recursive":
            shape["l"] = self.twin_parameters["l"]
        return twin.worst(twin.achieves(own, whole, **shape) for own in naive.sensitive_by_class(classes, values))


def members(class_of: Sequence[int]) -> list[list[int]]:
    return [[i for i, owner in enumerate(class_of) if owner == c] for c in range(max(class_of, default=-1) + 1)]


@st.composite
def memberships(draw: st.DrawFn) -> tuple[list[int], list[int | None]]:
    """Class of each record (−1: suppressed, no class empty) and a pick from six values or a missing one."""
    size = draw(st.integers(1, 30))
    raw = draw(st.lists(st.integers(-1, 5), min_size=size, max_size=size))
    number = {owner: place for place, owner in enumerate(sorted({owner for owner in raw if owner >= 0}))}
    few = draw(st.integers(1, 6))
    pick = st.one_of(st.integers(0, few - 1), st.integers(0, few - 1), st.none())
    picks = draw(st.lists(pick, min_size=size, max_size=size))
    return [number.get(owner, -1) for owner in raw], picks


def _t(t: float, distance: str, kind: Kind = Kind.CATEGORICAL, tree: bool = False) -> Case:
    shape = {"distance": distance, **({"tree": TREE} if distance == "hierarchical" else {})}
    return Case(models.TCloseness(t, distance), "t-closeness", {"t": t, **shape}, kind, tree)  # type: ignore[arg-type]


def _guarded(values: tuple[str, ...], p: float) -> Case:
    model = models.GuardedValues(values, p)
    return Case(model, "guarded", {"values": values, "p": p, "tree": TREE}, tree=True)


LABELS = st.lists(st.sampled_from(sorted({label for path in TREE.values() for label in path})), min_size=1, unique=True)
SHARES = st.integers(1, 12).map(lambda twelfths: twelfths / 12)
REALS = st.sampled_from([1.0, 1.5, 2.0, 2.5, 3.0, 4.0])
WHOLE = st.integers(1, 4)
BOUNDS = st.sampled_from([0.1, 0.25, 0.5, math.log(2), 1.0, 1.5, 2.0, 3.0])

CASES: dict[str, st.SearchStrategy[Case]] = {
    "k": WHOLE.map(lambda k: Case(models.KAnonymity(k), "k-anonymity", {"k": k})),
    "k-map": st.builds(
        lambda k, e, f: Case(models.KMap(k, e, f), "k-map", {"k": k, "estimate": e, "fraction": f}),  # type: ignore[arg-type]
        WHOLE,
        st.sampled_from(["poisson", "zero-truncated-poisson"]),
        st.sampled_from([0.05, 0.3, 1.0]),
    ),
    "alpha-k": st.builds(
        lambda a, k: Case(models.AlphaKAnonymity(a, k), "alpha-k", {"alpha": a, "k": k}), SHARES, WHOLE
    ),
    "distinct": WHOLE.map(lambda l: Case(models.DistinctLDiversity(l), "distinct", {"l": l})),
    "probabilistic": REALS.map(lambda l: Case(models.ProbabilisticLDiversity(l), "probabilistic", {"l": l})),
    "entropy": REALS.map(lambda l: Case(models.EntropyLDiversity(l), "entropy", {"l": l})),
    "recursive": st.builds(
        lambda c, l: Case(models.RecursiveLDiversity(c, l), "recursive", {"c": c, "l": l}), BOUNDS, WHOLE
    ),
    "t-equal": SHARES.map(lambda t: _t(t, "equal")),
    "t-ordered": SHARES.map(lambda t: _t(t, "ordered", Kind.NUMERIC)),
    "t-hierarchical": SHARES.map(lambda t: _t(t, "hierarchical", tree=True)),
    "basic-beta": BOUNDS.map(lambda b: Case(models.BasicBetaLikeness(b), "basic-beta", {"beta": b})),
    "enhanced-beta": BOUNDS.map(lambda b: Case(models.EnhancedBetaLikeness(b), "enhanced-beta", {"beta": b})),
    "guarded": st.builds(_guarded, LABELS.map(tuple), st.sampled_from([1 / 12, 0.25, 1 / 3, 0.5, 0.75, 11 / 12])),
    "delta": BOUNDS.map(lambda d: Case(models.DeltaDisclosure(d), "delta", {"delta": d})),
}

"""A hierarchy of one attribute, and how it is described: leaves lie in depth-first order, so every node is a range."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import HierarchyError, raise_all

ROOT = "*"
"""Published label of the whole domain."""


@dataclass(frozen=True)
class Level:
    """One level of a hierarchy: the label of each node, depth first, and where its leaves start, last their number."""

    labels: tuple[str, ...]
    starts: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Hierarchy:
    """A checked hierarchy. Level 0 holds the original values, the top level one node (usually ``*``).

    Build it with :func:`hierarchy_from_paths` or one of the builders. A label names one set of original values, on
    whatever level it stands: a published cell has one meaning.

    Attributes
    ----------
    levels : tuple of Level
        From the leaves (level 0) to the root.

    Raises
    ------
    HierarchyError
        When the levels do not nest, or when a label is empty or ambiguous.
    """

    levels: tuple[Level, ...]

    def __post_init__(self) -> None:
        """Check the levels against each other. Cost O(nodes)."""
        raise_all(HierarchyError, _nesting_problems(self.levels))
        raise_all(HierarchyError, _label_problems(self.levels))

    def __repr__(self) -> str:
        """Count values and levels; no value is shown."""
        return f"Hierarchy({self.size} values, height {self.height})"

    def _repr_html_(self) -> str:
        """Show notebooks the shape of the tree; no value is shown."""
        from sfumato.notebook import card, notebook_table, tree

        rows = [(number, len(level.labels)) for number, level in enumerate(self.levels)]
        counts = notebook_table(("level", "values"), rows[::-1], (0, 1))
        note = f"{self.size:,} values, height {self.height}"
        return card("Hierarchy", note, tree([level.starts for level in self.levels]), counts)

    @property
    def leaves(self) -> tuple[str, ...]:
        """Labels of the original values in code order."""
        return self.levels[0].labels

    @property
    def size(self) -> int:
        """Number of leaves."""
        return len(self.leaves)

    @property
    def height(self) -> int:
        """Number of generalization steps from a leaf to the root."""
        return len(self.levels) - 1

    @property
    def paths(self) -> list[tuple[str, ...]]:
        """Labels from each leaf to the root, in code order: the rows of a hierarchy file. Cost O(height · leaves)."""
        columns = [
            [level.labels[node] for node in nodes.tolist()]
            for level, nodes in zip(self.levels, self.node_of, strict=True)
        ]
        return list(zip(*columns, strict=True))

    @cached_property
    def node_of(self) -> NDArray[np.int32]:
        """Node index of every leaf at every level, int32 (height + 1, leaves)."""
        notebook_table = np.empty((len(self.levels), self.size), dtype=np.int32)
        for level, row in zip(self.levels, notebook_table, strict=True):
            row[:] = np.repeat(np.arange(len(level.labels), dtype=np.int32), np.diff(level.starts))
        return notebook_table

    @cached_property
    def leaf_counts(self) -> NDArray[np.int32]:
        """Leaves under the node that holds each leaf at each level, int32 (height + 1, leaves)."""
        notebook_table = np.empty((len(self.levels), self.size), dtype=np.int32)
        for level, row in zip(self.levels, notebook_table, strict=True):
            sizes = np.diff(level.starts)
            row[:] = np.repeat(sizes, sizes)
        return notebook_table

    def common_ancestor(self, low: NDArray[np.integer], high: NDArray[np.integer]) -> NDArray[np.int32]:
        """Lowest level at which the leaves `low` and `high` share a node, elementwise.

        Since leaves are numbered depth first this node covers every leaf between them.
        Cost O(height · len(low)).
        """
        nodes = self.node_of
        level = np.zeros(len(low), dtype=np.int32)
        for step in range(self.height):
            level[nodes[step, low] != nodes[step, high]] = step + 1
        return level


def hierarchy_from_paths(paths: Sequence[Sequence[str]], *, name: str = "hierarchy") -> Hierarchy:
    """Build a hierarchy from one path per leaf, each from the leaf (level 0) to the root; O(height · n log n).

    Leaves are renumbered depth first; siblings keep the order in which they first appear. A node may repeat on several
    levels (so a ragged tree is padded), but always for the same leaves. Refused with every defect.
    """
    raise_all(HierarchyError, _named(name, _shape_problems(paths)))
    columns = list(zip(*paths, strict=True))
    raise_all(HierarchyError, _named(name, _column_problems(columns)))
    # lexsort takes its last key first: the root, then each level below it.
    order = np.lexsort([_first_seen(column) for column in columns]).tolist()
    try:
        return Hierarchy(tuple(_level([column[row] for row in order]) for column in columns))
    except HierarchyError as error:
        raise HierarchyError(*_named(name, error.problems)) from None


def _named(name: str, problems: Sequence[str]) -> list[str]:
    return [f"{name}: {problem}" for problem in problems]


def _first_seen(column: Sequence[str]) -> NDArray[np.int64]:
    """Give each label of one level the rank of its first appearance; under one parent, a label names one node."""
    numbers: dict[str, int] = {}
    return np.fromiter((numbers.setdefault(label, len(numbers)) for label in column), np.int64, len(column))


def _level(column: Sequence[str]) -> Level:
    starts = [index for index, label in enumerate(column) if index == 0 or column[index - 1] != label]
    return Level(tuple(column[index] for index in starts), (*starts, len(column)))


def _shape_problems(paths: Sequence[Sequence[str]]) -> list[str]:
    if not paths:
        return ["no rows; give one row per original value, level 0 first"]
    odd = [row for row, path in enumerate(paths, 1) if len(path) != len(paths[0])]
    if odd:
        return [
            f"{len(odd)} row(s) have a different number of levels than row 1, first in row {odd[0]}; "
            "give every row the same number"
        ]
    return [] if paths[0] else ["rows without levels; give one row per original value, level 0 first"]


def _column_problems(columns: Sequence[Sequence[str]]) -> list[str]:
    problems = []
    for level, column in enumerate(columns):
        empty = [row for row, label in enumerate(column, 1) if not label]
        if empty:
            problems.append(f"{len(empty)} label(s) of level {level} are empty, first in row {empty[0]}; name them")
    problems.extend(_repeated_leaves(columns[0]))
    for level, (below, above) in enumerate(pairwise(columns)):
        problems.extend(_torn_nodes(below, above, level))
    if len(set(columns[-1])) > 1:
        problems.append(f"the last level has more than one value; end every row with '{ROOT}'")
    return problems


def _repeated_leaves(column: Sequence[str]) -> list[str]:
    first: dict[str, int] = {}
    repeats = [row for row, label in enumerate(column, 1) if first.setdefault(label, row) != row]
    if not repeats:
        return []
    return [f"{len(repeats)} row(s) repeat an original value, first in row {repeats[0]}; give one row per value"]


def _torn_nodes(below: Sequence[str], above: Sequence[str], level: int) -> list[str]:
    parents: dict[str, str] = {}
    torn = [
        (row, label)
        for row, (label, parent) in enumerate(zip(below, above, strict=True), 1)
        if parents.setdefault(label, parent) != parent
    ]
    # Level 0 repeats only if an original value is given twice, which has its own message.
    if not torn or level == 0:
        return []
    return [
        f"{len({label for _, label in torn})} value(s) of level {level} have two parents, first in row "
        f"{torn[0][0]}; every level must be coarser than the one before it"
    ]


def _nesting_problems(levels: Sequence[Level]) -> list[str]:
    if not levels or not levels[0].labels:
        return ["no original values"]
    size = len(levels[0].labels)
    finer = set(range(size + 1))
    for number, level in enumerate(levels):
        starts = level.starts
        rising = all(before < after for before, after in pairwise(starts))
        if len(starts) != len(level.labels) + 1 or starts[0] != 0 or starts[-1] != size or not rising:
            return [f"level {number} does not cover the original values in order"]
        if not finer.issuperset(starts):
            return [f"level {number} is not coarser than the one before it"]
        finer = set(starts)
    if len(levels[-1].labels) > 1:
        return ["the top level has more than one node"]
    return []


def _label_problems(levels: Sequence[Level]) -> list[str]:
    problems = []
    ranges: dict[str, tuple[int, int]] = {ROOT: (0, len(levels[0].labels))}
    for number, level in enumerate(levels):
        repeated = len(level.labels) - len(set(level.labels))
        if repeated:
            problems.append(f"{repeated} label(s) of level {number} stand for several nodes; rename them")
            continue
        spans = zip(level.labels, pairwise(level.starts), strict=True)
        clashing = {label for label, span in spans if ranges.setdefault(label, span) != span}
        problems.extend(_clash_problems(clashing, number))
        if "" in level.labels:
            problems.append(f"a label of level {number} is empty; name it")
    return problems


def _clash_problems(clashing: set[str], number: int) -> list[str]:
    problems = []
    if ROOT in clashing:
        problems.append(
            f"level {number} has the label '{ROOT}', reserved for the whole domain; rename it, or read it as missing"
        )
    if clashing - {ROOT}:
        problems.append(
            f"{len(clashing - {ROOT})} label(s) of level {number} stand on a lower level for other values; a published "
            "label would be ambiguous; rename them"
        )
    return problems


@runtime_checkable
class HierarchySpecification(Protocol):
    """What describes a hierarchy before it is bound to a column: frozen, equal by value, checked when it is made."""

    def build(self, values: pl.Series, *, name: str) -> Hierarchy:
        """Build the hierarchy for the original `values` of an attribute, whose text (:func:`text_of`) is a leaf.

        Descriptions that list values also keep the leaves that the column lacks: the tree is the declared domain.
        Errors name the attribute and count the offending values, never show one.
        """
        ...

    def to_policy(self) -> Mapping[str, Any]:
        """Return the same description as plain TOML-writable values, with its ``kind``."""
        ...


_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_LONGEST_NUMBER = 400


def value_text(value: object) -> str:
    """Write one original value as text: whole numbers without a point, floats as short as exact, dates in ISO form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        whole = value.is_integer() and -(2.0**63) <= value < 2.0**63
        return str(int(value)) if whole else repr(float(value))
    return value.isoformat() if isinstance(value, date) else str(value)


def text_of(values: pl.Series) -> pl.Series:
    """Write original values as text, nulls staying null: :func:`value_text` for a whole series."""
    if values.dtype == pl.Boolean or values.dtype.is_float():
        texts = [None if value is None else value_text(value) for value in values.to_list()]
        return pl.Series(values.name, texts, dtype=pl.String)
    return values.cast(pl.String)


def number_of(text: str) -> int | float | None:
    """Read a plain decimal number; None for any other text. Whole numbers stay exact."""
    plain = text.strip()
    if len(plain) > _LONGEST_NUMBER or not _NUMBER.fullmatch(plain):
        return None
    return int(plain) if plain.lstrip("+-").isdigit() else float(plain)


def listed_values(values: pl.Series, name: str) -> pl.Series:
    """Sort the values, once each, without missing ones; categories as strings. ``HierarchyError`` when none is left."""
    if isinstance(values.dtype, (pl.Categorical, pl.Enum)):
        values = values.cast(pl.String)
    distinct = values.drop_nulls().unique().sort()
    if distinct.is_empty():
        raise HierarchyError(f"{name}: the column has only missing values; leave it out of the hierarchies")
    return distinct

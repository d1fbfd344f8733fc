"""A hierarchy of one attribute: leaves in depth-first order, so that every node is a contiguous range of codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import HierarchyError


@dataclass(frozen=True)
class Level:
    """One level of a hierarchy.

    Attributes
    ----------
    labels : tuple of str
        Published label of each node, in depth-first order.
    starts : tuple of int
        First leaf code of each node, then the number of leaves: node ``i`` covers ``starts[i] .. starts[i+1]-1``.
    """

    labels: tuple[str, ...]
    starts: tuple[int, ...]


@dataclass(frozen=True)
class Hierarchy:
    """A checked hierarchy. Level 0 holds the original values, the top level one node (usually ``*``).

    Build it with :func:`hierarchy_from_paths` or one of the builders; the constructor expects consistent levels.

    Attributes
    ----------
    levels : tuple of Level
        From the leaves (level 0) to the root.
    """

    levels: tuple[Level, ...]

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

    @cached_property
    def node_of(self) -> NDArray[np.int32]:
        """Node index of every leaf at every level, int32 (height + 1, leaves)."""
        table = np.empty((len(self.levels), self.size), dtype=np.int32)
        for level, row in zip(self.levels, table, strict=True):
            row[:] = np.repeat(np.arange(len(level.labels), dtype=np.int32), np.diff(level.starts))
        return table

    @cached_property
    def leaf_counts(self) -> NDArray[np.int32]:
        """Leaves under the node that holds each leaf at each level, int32 (height + 1, leaves)."""
        table = np.empty((len(self.levels), self.size), dtype=np.int32)
        for level, row in zip(self.levels, table, strict=True):
            sizes = np.diff(level.starts)
            row[:] = np.repeat(sizes, sizes)
        return table

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
    """Build a hierarchy from one path per leaf, each from the leaf (level 0) to the root.

    Leaves are renumbered depth first; siblings keep the order in which they first appear.

    Parameters
    ----------
    paths
        All of equal length; the last entry is the same for all.
    name
        What error messages call this hierarchy.

    Raises
    ------
    HierarchyError
        Listing every defect: no rows, rows of unequal length, a leaf given twice, a value under two parents, more than
        one root.
    """
    problems = _path_problems(paths, name)
    if problems:
        raise HierarchyError(*problems)
    height = len(paths[0]) - 1
    # A node is named by its path from the root, so equal labels under different parents would be different nodes.
    first_seen: dict[tuple[str, ...], int] = {}
    for path in paths:
        for level in range(height + 1):
            first_seen.setdefault(tuple(reversed(path[level:])), len(first_seen))
    ordered = sorted(
        paths, key=lambda path: [first_seen[tuple(reversed(path[level:]))] for level in range(height, -1, -1)]
    )
    return Hierarchy(tuple(_level([path[level] for path in ordered]) for level in range(height + 1)))


def _level(column: Sequence[str]) -> Level:
    starts = [index for index, label in enumerate(column) if index == 0 or column[index - 1] != label]
    return Level(tuple(column[index] for index in starts), (*starts, len(column)))


def _path_problems(paths: Sequence[Sequence[str]], name: str) -> list[str]:
    if not paths:
        return [f"{name}: no rows; give one row per original value, level 0 first"]
    lengths = {len(path) for path in paths}
    if len(lengths) > 1 or 0 in lengths:
        odd = next(row for row, path in enumerate(paths, 1) if len(path) != len(paths[0]))
        return [f"{name}: row {odd} has another number of levels than row 1; every row needs the same number"]
    problems = []
    if len({path[0] for path in paths}) < len(paths):
        problems.append(f"{name}: {len(paths) - len({path[0] for path in paths})} original value(s) are given twice")
    for level in range(len(paths[0]) - 1):
        parents: dict[str, str] = {}
        torn = {path[level] for path in paths if parents.setdefault(path[level], path[level + 1]) != path[level + 1]}
        if torn:
            problems.append(f"{name}: {len(torn)} value(s) of level {level} stand under two parents")
    if len({path[-1] for path in paths}) > 1:
        problems.append(f"{name}: the last level has more than one value; end every row with '*'")
    return problems

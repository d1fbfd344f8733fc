"""The tree over the items, as arrays: which node is published for an item, what that costs, what lies above it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.hierarchy.tree import Level
from sfumato.table.sets.sets import Sets


@dataclass(frozen=True, eq=False, repr=False)
class ItemTree:
    """Items and the nodes above them. Letters: d items, h + 1 levels.

    A node that is the same on several levels is that of the lowest one. Nodes have numbers: those of level 0 first.

    Attributes
    ----------
    levels : tuple of Level
        One level alone where items have no hierarchy.
    """

    levels: tuple[Level, ...]

    @classmethod
    def of(cls, sets: Sets) -> ItemTree:
        """Return the tree of the items of sets."""
        tree = sets.hierarchy
        return cls((_leaves(sets.names),) if tree is None else tree.levels)

    @property
    def size(self) -> int:
        """D."""
        return len(self.levels[0].labels)

    @property
    def height(self) -> int:
        """H."""
        return len(self.levels) - 1

    @cached_property
    def counts(self) -> list[int]:
        """Nodes on each level."""
        return [len(level.labels) for level in self.levels]

    @cached_property
    def node_of(self) -> NDArray[np.int32]:
        """Index on its level of the node above each item; int32 (h + 1, d)."""
        return np.stack(
            [np.repeat(np.arange(len(at.labels), dtype=np.int32), np.diff(at.starts)) for at in self.levels]
        )

    @cached_property
    def number_of(self) -> NDArray[np.int64]:
        """Number of the node above each item; int64 (h + 1, d)."""
        offsets = np.cumsum([0, *self.counts[:-1]])
        numbers: NDArray[np.int64] = self.node_of.astype(np.int64) + offsets[:, None]
        return numbers

    @cached_property
    def first_of(self) -> NDArray[np.int32]:
        """First item under the node above each item; int32 (h + 1, d)."""
        firsts = [np.array(at.starts[:-1], dtype=np.int32)[nodes] for at, nodes in self._by_level]
        return np.stack(firsts)

    @cached_property
    def leaves_of(self) -> NDArray[np.int64]:
        """Items under the node above each item; int64 (h + 1, d)."""
        return np.stack([np.diff(np.array(at.starts))[nodes] for at, nodes in self._by_level]).astype(np.int64)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Published name of each node."""
        return tuple(label for level in self.levels for label in level.labels)

    def labels(self, levels: NDArray[np.int64]) -> NDArray[np.int32]:
        """Write a cut as a label for each item: the first item under its node, −1 where it is left out."""
        return np.where(levels < 0, np.int32(-1), self._at(self.first_of, levels)).astype(np.int32)

    def numbers_at(self, levels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Write a cut as the number of the node of each item on its level; −1 where it is left out."""
        return np.where(levels < 0, -1, self._at(self.number_of, levels))

    def numbers(self, levels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Write a cut as the number of the node of each item, of its lowest level; −1 where it is left out."""
        lowest = np.argmax(self.leaves_of == self._at(self.leaves_of, levels), axis=0)
        return np.where(levels < 0, -1, self._at(self.number_of, lowest))

    def penalties(self, levels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return d times the certainty penalty of each item: the items under its node, 0 for itself, d if left out."""
        leaves = self._at(self.leaves_of, levels)
        return np.where(levels < 0, self.size, np.where(leaves == 1, 0, leaves))

    def above(self, item: int, level: int) -> list[int]:
        """Return the levels from `level` on at which the node above an item grows, `level` itself first."""
        leaves = self.leaves_of[level:, item]
        return [level, *(level + 1 + np.flatnonzero(np.diff(leaves))).tolist()]

    def span(self, item: int, level: int) -> tuple[int, int]:
        """Return the first item under the node above an item, and the one behind its last."""
        first = int(self.first_of[level, item])
        return first, first + int(self.leaves_of[level, item])

    @property
    def _by_level(self) -> list[tuple[Level, NDArray[np.int32]]]:
        return list(zip(self.levels, self.node_of, strict=True))

    def _at(self, table: NDArray[np.integer], levels: NDArray[np.int64]) -> NDArray[np.int64]:
        return table[np.maximum(levels, 0), np.arange(self.size)].astype(np.int64)


def _leaves(names: tuple[str, ...]) -> Level:
    return Level(names, tuple(range(len(names) + 1)))

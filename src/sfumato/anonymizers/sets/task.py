"""What a method is asked that makes sets anonymous, what it answers, and the tree over the items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.hierarchy.tree import Level
from sfumato.kernels.sets.rare import rare_combinations
from sfumato.kernels.sets.support import postings, relabelled_rows
from sfumato.progress import Progress, silent
from sfumato.published.checks.sets.check import refuse_too_many
from sfumato.table.sets.sets import Sets

Method = Literal["mixed", "apriori", "optimal", "suppress"]
"""How sets are made anonymous: items generalized or left out; generalized, step by step or at least loss; left out."""

Levels = NDArray[np.int64]
"""A cut: for each item the level of the node that is published for it; :data:`REMOVED` where none is. int64 (d,)."""

REMOVED = -1

_MOST_RARE = 1_000_000
"""Rare combinations that are looked for at once."""


@dataclass(frozen=True, eq=False, repr=False)
class SetTask:
    """Sets of one class of records, and what is to hold for them.

    `starts`, `items`: int64 (n + 1,) and int32 (z,), as of :class:`~sfumato.table.sets.sets.Sets`.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    tree: ItemTree
    k: int
    m: int
    progress: Progress = field(default=silent)

    @cached_property
    def holders(self) -> NDArray[np.int64]:
        """How many records hold each item; int64 (d,)."""
        return np.bincount(self.items, minlength=self.tree.size).astype(np.int64)

    @cached_property
    def node_records(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The records of every node of the tree: bounds and rising records, as kernels take them."""
        found = [
            postings(*relabelled_rows(self.starts, self.items, nodes), count)
            for nodes, count in zip(self.tree.node_of, self.tree.counts, strict=True)
        ]
        ends = np.cumsum([0, *(len(records) for _, records in found)])
        bounds = [of_level[:-1] + end for (of_level, _), end in zip(found, ends, strict=False)]
        return np.concatenate([*bounds, ends[-1:]]), np.concatenate([records for _, records in found])

    @property
    def filled(self) -> int:
        """Number of sets that are not empty."""
        return int(np.count_nonzero(np.diff(self.starts)))

    def rare(self, levels: Levels, size: int, most: int = _MOST_RARE) -> NDArray[np.int32]:
        """Return combinations of `size` nodes of a cut that occur in fewer than k records, of which no smaller ones do.

        Each node stands as its first item; int32 (found, size). Raises ``InputError`` when there are too many
        combinations to count.
        """
        rows = relabelled_rows(self.starts, self.items, self.tree.labels(levels))
        refuse_too_many(rows[0], size)
        return rare_combinations(*rows, self.tree.size, self.tree.size, size, self.k, most)

    def loss(self, levels: Levels) -> int:
        """Return the loss of a cut: its NCP × items in all sets × items of the domain."""
        return int((self.holders * self.tree.penalties(levels)).sum())


Solver = Callable[[SetTask], Levels]
"""A method: from a task to a cut under which it holds."""


@dataclass(frozen=True, eq=False, repr=False)
class ItemTree:
    """Items and the nodes above them. Letters: d items, h + 1 levels.

    A node that is the same on several levels is that of the lowest one. Nodes have numbers: those of level 0 first.
    `levels`: one level alone where items have no hierarchy.
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

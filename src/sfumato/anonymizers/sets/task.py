"""What a method is asked that makes sets anonymous, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.sets.tree import ItemTree
from sfumato.kernels.sets.rare import rare_combinations
from sfumato.kernels.sets.rows import postings, relabelled_rows
from sfumato.progress import Progress, silent
from sfumato.published.checks.sets.counting import refuse_too_many

Method = Literal["mixed", "apriori", "optimal", "suppress"]
"""How sets are made anonymous: items generalized or left out; generalized, step by step or at least loss; left out."""

Levels = NDArray[np.int64]
"""A cut: for each item the level of the node that is published for it; :data:`REMOVED` where none is. int64 (d,)."""

REMOVED = -1

MOST_RARE = 1_000_000
"""Rare combinations that are looked for at once."""


@dataclass(frozen=True, eq=False, repr=False)
class SetTask:
    """Sets of one class of records, and what is to hold for them.

    Attributes
    ----------
    starts, items : numpy.ndarray
        int64 (n + 1,) and int32 (z,), as of :class:`~sfumato.table.sets.sets.Sets`.
    tree : ItemTree
    k, m : int
    progress : callable
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

    def rare(self, levels: Levels, size: int, most: int = MOST_RARE) -> NDArray[np.int32]:
        """Return combinations of `size` nodes of a cut that occur in fewer than k records, of which no smaller ones do.

        Each node stands as its first item; int32 (found, size).

        Raises
        ------
        InputError
            When there are too many combinations to count.
        """
        rows = relabelled_rows(self.starts, self.items, self.tree.labels(levels))
        refuse_too_many(rows[0], size)
        return rare_combinations(*rows, self.tree.size, self.tree.size, size, self.k, most)

    def loss(self, levels: Levels) -> int:
        """Return the loss of a cut: its NCP × items in all sets × items of the domain."""
        return int((self.holders * self.tree.penalties(levels)).sum())


Solver = Callable[[SetTask], Levels]
"""A method: from a task to a cut under which it holds."""

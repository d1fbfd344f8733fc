"""What making sets anonymous cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sfumato.anonymizers.sets.task import REMOVED, Levels, SetTask
from sfumato.numbers import counted, percent


@dataclass(frozen=True)
class SetLoss:
    """Items that are published as something coarser, or not at all.

    An occurrence is an item in the set of one record. The *penalty* of an occurrence is 0 where the item is published
    itself, the share of all items that lie under its node where it is generalized, and 1 where it is left out.

    Attributes
    ----------
    records : int
    emptied : int
        Records that held an item and hold none now.
    held, published : int
        Occurrences before and after; items that became one count once.
    generalized, removed : int
        Occurrences that are published as something coarser, and that are not published.
    penalty : int
        Sum of all penalties, times `items`.
    items : int
        Items of the domain.
    items_generalized, items_removed : int
        Items that somebody holds and that are generalized, or left out, for somebody.
    """

    records: int
    emptied: int
    held: int
    published: int
    generalized: int
    removed: int
    penalty: int
    items: int
    items_generalized: int
    items_removed: int

    @property
    def ncp(self) -> float:
        """The normalized certainty penalty: the mean penalty of an occurrence, from 0 to 1."""
        return self.penalty / (self.items * self.held) if self.held else 0.0

    def to_dict(self) -> dict[str, float]:
        """Return plain values, for JSON."""
        counts = {name: int(value) for name, value in vars(self).items() if name != "penalty"}
        return {"ncp": self.ncp, **counts}

    def __str__(self) -> str:
        """Return the totals in a line."""
        parts = [
            f"{percent(self.generalized / max(self.held, 1), 3)} of {self.held:,} occurrences generalized",
            f"{percent(self.removed / max(self.held, 1), 3)} left out",
        ]
        parts += [f"{counted(self.emptied, 'set')} emptied"] if self.emptied else []
        return f"information loss (NCP) {percent(self.ncp)}: {', '.join(parts)}"


def loss_of_sets(parts: Iterable[tuple[SetTask, Levels, int, int]]) -> SetLoss:
    """Add up what cuts cost; each with its task, its published occurrences and the sets that it emptied."""
    records = emptied = held = published = generalized = removed = penalty = items = 0
    coarser, gone = np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.bool_)
    for task, levels, kept, empty in parts:
        if not items:
            items = task.tree.size
            coarser, gone = np.zeros(items, dtype=np.bool_), np.zeros(items, dtype=np.bool_)
        penalties = task.tree.penalties(levels)
        left, moved = levels == REMOVED, (levels >= 0) & (penalties > 0)
        records += len(task.starts) - 1
        emptied += empty
        held += len(task.items)
        published += kept
        generalized += int(task.holders[moved].sum())
        removed += int(task.holders[left].sum())
        penalty += int((task.holders * penalties).sum())
        coarser |= moved & (task.holders > 0)
        gone |= left & (task.holders > 0)
    return SetLoss(
        records, emptied, held, published, generalized, removed, penalty, items, int(coarser.sum()), int(gone.sum())
    )

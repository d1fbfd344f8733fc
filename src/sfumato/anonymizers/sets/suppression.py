"""Leaving items out everywhere until nothing rare is left, for items without a hierarchy."""

from __future__ import annotations

import numpy as np

from sfumato.anonymizers.sets.refining import with_items_back
from sfumato.anonymizers.sets.task import REMOVED, Levels, SetTask
from sfumato.kernels.sets.cover import covering_items


def suppressed_levels(task: SetTask) -> Levels:
    """Choose items to leave out so that every combination of at most m of the others occurs in k records, or in none.

    Leaving items out changes no other combination. So the rare combinations are counted once for each size, and items
    are chosen until each has lost one: each time the item in most of those left, per record that holds it. In the end
    items come back, those that most records hold first, where nothing becomes rare by it.

    Notes
    -----
    **Ours**: the paper generalizes only. Least loss would be a smallest hitting set, which is hard; this one is greedy.
    """
    levels = np.zeros(task.tree.size, dtype=np.int64)
    weights = np.maximum(task.holders, 1)
    for size in range(1, task.m + 1):
        task.progress("leaving items out", size - 1, task.m + 1)
        while len(rare := task.rare(levels, size)):
            levels[covering_items(rare, weights)] = REMOVED
    return with_items_back(task, levels)

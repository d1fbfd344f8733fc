"""The cut of least loss, proven, for small domains."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.sets.apriori import refuse_too_few
from sfumato.anonymizers.sets.task import Levels, SetTask
from sfumato.errors import PolicyError

MOST_CUTS = 20_000
"""Cuts that are tried before the search gives up."""


def optimal_levels(task: SetTask) -> Levels:
    """Find the cut of least loss under which every combination of at most m nodes occurs in k records, or in none.

    Cuts are tried by rising loss, from the items themselves up. A cut that does not hold has a rare combination, which
    stays rare until one of its nodes is generalized: these are the cuts to try next, m at most. So the first cut that
    holds loses least of all.

    Raises
    ------
    UnsatisfiableError
        When fewer than k sets hold anything.
    PolicyError
        When no cut was found among the first 20,000.

    Notes
    -----
    *Source.* The paper's optimal anonymization (Terrovitis, Mamoulis, Kalnis, PVLDB 1(1), 2008) looks through the
    lattice of all cuts. *Departures.* Only cuts that a rare combination asks for are looked at, so that domains of some
    hundred items can be solved where few of them are rare; the loss is the same. Ties are settled by the levels of the
    items, in their order.
    """
    refuse_too_few(task)
    start = np.zeros(task.tree.size, dtype=np.int64)
    waiting = [(task.loss(start), tuple(start.tolist()))]
    seen = {waiting[0][1]}
    for tried in range(MOST_CUTS):
        if tried % 100 == 0:
            task.progress("trying cuts", tried, MOST_CUTS)
        levels = np.array(heapq.heappop(waiting)[1], dtype=np.int64)
        rare = _rare(task, levels)
        if rare is None:
            return levels
        for item in rare.tolist():
            further = _raised(task, levels, item)
            key = tuple(further.tolist())
            if key not in seen:
                seen.add(key)
                heapq.heappush(waiting, (task.loss(further), key))
    raise PolicyError(
        f"the best cut is not among the first {MOST_CUTS:,} that were tried; take method 'apriori', or lower k or m"
    )


def _rare(task: SetTask, levels: Levels) -> NDArray[np.int32] | None:
    """Return a rare combination of a cut, as small as there is one, each node as its first item; None if it holds."""
    for size in range(1, task.m + 1):
        found = task.rare(levels, size, 1)
        if len(found):
            return found.reshape(-1)
    return None


def _raised(task: SetTask, levels: Levels, item: int) -> Levels:
    """Return the cut in which the node of an item is generalized by one step; the root is never rare."""
    level = task.tree.above(item, int(levels[item]))[1]
    first, end = task.tree.span(item, level)
    raised = levels.copy()
    raised[first:end] = np.maximum(raised[first:end], level)
    return raised

"""Generalizing items until nothing rare is left: first single items, then pairs, up to combinations of m."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.sets.refining import refined, with_items_back
from sfumato.anonymizers.sets.task import REMOVED, Levels, SetTask
from sfumato.errors import UnsatisfiableError
from sfumato.kernels.sets.support import common_records, still_rare
from sfumato.numbers import counted


def apriori_levels(task: SetTask) -> Levels:
    """Find a cut under which every combination of at most m nodes occurs in k records, or in none.

    For i = 1 ... m, combinations of i items, as they are generalized by then, are counted. For each rare one the
    ancestors of its items are tried, by rising loss, until together they occur in k records; they are published
    everywhere from then on. A combination that is frequent stays so, however items are generalized: what a smaller i
    has reached is not lost.

    Raises
    ------
    UnsatisfiableError
        When fewer than k sets hold anything, so that even one item for all of them would be rare.

    Notes
    -----
    *Source.* M. Terrovitis, N. Mamoulis, P. Kalnis, "Privacy-preserving anonymization of set-valued data", PVLDB 1(1),
    2008, the apriori-based anonymization. *Departures.* Ancestors are not put into the count tree; how often they occur
    together is found from lists of their records, when it is asked. In the end nodes are split again wherever nothing
    becomes rare by it (:func:`~sfumato.anonymizers.sets.refining.refined`), so that no cut just below holds as well.
    """
    refuse_too_few(task)
    return refined(task, _without_rare(task, leave_out=False))


def mixed_levels(task: SetTask) -> Levels:
    """Do the same, and leave a node out wherever that loses less than any ancestors that would be frequent.

    One rare item need not drag all others up to the root then. In the end items that were left out come back where
    nothing becomes rare by it, those that most records hold first, before nodes are split.

    Notes
    -----
    **Ours**: the paper generalizes only. An item that is left out is charged as one that is generalized to the root. A
    node that is published stands for all items under it, also for those that had been left out before.
    """
    return refined(task, with_items_back(task, _without_rare(task, leave_out=True)))


def _without_rare(task: SetTask, *, leave_out: bool) -> Levels:
    """Find a cut under which no combination is rare."""
    levels = np.zeros(task.tree.size, dtype=np.int64)
    is_changed = True
    while is_changed:
        # What was left out and comes back under another node may be rare with less than what it comes back with.
        is_changed = False
        for size in range(1, task.m + 1):
            task.progress("generalizing", size - 1, task.m)
            while len(rare := task.rare(levels, size)):
                _settle(task, levels, rare, leave_out=leave_out)
                is_changed = leave_out
    return levels


def refuse_too_few(task: SetTask) -> None:
    """Raise UnsatisfiableError when no cut can hold."""
    if 0 < task.filled < task.k:
        held = counted(task.filled, "set")
        raise UnsatisfiableError(
            f"there are {held} with any item, fewer than k = {task.k}, so that even the coarsest item would be rare; "
            "lower k, add records, or take method 'suppress'"
        )


def _settle(task: SetTask, levels: Levels, rare: NDArray[np.int32], *, leave_out: bool) -> None:
    """Raise levels, or leave items out, in place, until none of these combinations is rare."""
    place = 0
    while True:
        place = still_rare(rare, place, task.tree.numbers_at(levels), *task.node_records, task.k)
        if place == len(rare):
            return
        items = sorted({int(task.tree.labels(levels)[item]) for item in rare[place]})
        nodes, cost = _cheapest_ancestors(task, levels, items)
        lost = min(items, key=lambda item: (_cost_of_leaving_out(task, levels, item), item)) if leave_out else None
        if lost is not None and (cost is None or _cost_of_leaving_out(task, levels, lost) < cost):
            first, end = task.tree.span(lost, int(levels[lost]))
            levels[first:end] = REMOVED
            continue
        assert cost is not None, "all sets that are not empty hold the root"
        for item, level in nodes:
            first, end = task.tree.span(item, level)
            levels[first:end] = np.maximum(levels[first:end], level)


def _cheapest_ancestors(
    task: SetTask, levels: Levels, items: list[int]
) -> tuple[tuple[tuple[int, int], ...], int | None]:
    """Return the ancestors of some items that lose least among those that occur together in k records, and that loss.

    Without any, the loss is None.
    """
    tree = task.tree
    choices = [tree.above(item, int(levels[item])) for item in items]
    options = {_largest(task, list(zip(items, chosen, strict=True))) for chosen in product(*choices)}
    costs = {nodes: _cost(task, levels, nodes) for nodes in options}
    for nodes in sorted(options, key=lambda nodes: (costs[nodes], nodes)):
        numbers = np.array([tree.number_of[level, item] for item, level in nodes], dtype=np.int64)
        if common_records(numbers, *task.node_records, task.k) >= task.k:
            return nodes, costs[nodes]
    return (), None


def _cost_of_leaving_out(task: SetTask, levels: Levels, item: int) -> int:
    """Return by how much the loss grows when the node of an item is left out."""
    first, end = task.tree.span(item, int(levels[item]))
    now = task.tree.penalties(levels)[first:end]
    return int((task.holders[first:end] * (task.tree.size - now)).sum())


def _largest(task: SetTask, nodes: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return nodes, as pairs of their first item and level, without those that lie under another one."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for item, level in nodes:
        first, end = task.tree.span(item, level)
        found[first, end] = (first, level)
    kept = [found[span] for span in found if not any(o != span and o[0] <= span[0] and span[1] <= o[1] for o in found)]
    return tuple(sorted(kept))


def _cost(task: SetTask, levels: Levels, nodes: tuple[tuple[int, int], ...]) -> int:
    """Return by how much the loss grows when these nodes are published; less than nothing where items come back."""
    tree, grown = task.tree, 0
    penalties = tree.penalties(levels)
    for item, level in nodes:
        first, end = tree.span(item, level)
        now = penalties[first:end]
        is_finer = levels[first:end] < level
        then = np.where(is_finer, end - first if end - first > 1 else 0, now)
        grown += int((task.holders[first:end] * (then - now)).sum())
    return grown

"""Taking back what was not needed: nodes split again, items put back, where nothing becomes rare by it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.sets.task import REMOVED, Levels, SetTask
from sfumato.kernels.sets.rare import rare_combinations
from sfumato.kernels.sets.rows import rows_led_by


def refined(task: SetTask, levels: Levels) -> Levels:
    """Split the nodes of a cut into their children wherever the cut holds all the same, costliest nodes first.

    Afterwards no single node can be split. Children of a node that was split are tried as well. Cost: for each node the
    combinations in the sets that hold it.
    """
    tree, levels = task.tree, levels.copy()
    waiting = _nodes(task, levels)
    while waiting:
        waiting.sort(key=lambda node: _weight(task, node))
        item, level = waiting.pop()
        first, end = tree.span(item, level)
        below = level - 1
        while below > 0 and tree.leaves_of[below, first] == end - first:
            below -= 1
        tried = levels.copy()
        tried[first:end] = below
        if _holds_for(task, tried, first, end, _records(task, int(tree.number_of[level, item]))):
            levels = tried
            waiting += [node for node in _nodes(task, levels) if first <= node[0] < end]
    return levels


def with_items_back(task: SetTask, levels: Levels) -> Levels:
    """Put items back that were left out, those that most records hold first, wherever the cut holds all the same."""
    levels = levels.copy()
    removed = np.flatnonzero(levels == REMOVED)
    for item in removed[np.argsort(-task.holders[removed], kind="stable")].tolist():
        levels[item] = 0
        if not _holds_for(task, levels, item, item + 1, _records(task, item)):
            levels[item] = REMOVED
    return levels


def _nodes(task: SetTask, levels: Levels) -> list[tuple[int, int]]:
    """Return the nodes of a cut that can be split, as pairs of their first item and level."""
    firsts = np.unique(task.tree.labels(levels))
    nodes = [(item, int(levels[item])) for item in firsts.tolist() if item >= 0]
    return [(item, level) for item, level in nodes if task.tree.leaves_of[level, item] > 1]


def _weight(task: SetTask, node: tuple[int, int]) -> tuple[int, int]:
    """Return the loss of a node; of equals the one with the larger first item counts as larger."""
    first, end = task.tree.span(*node)
    return int(task.holders[first:end].sum()) * (end - first), first


def _records(task: SetTask, number: int) -> NDArray[np.int32]:
    bounds, records = task.node_records
    return records[bounds[number] : bounds[number + 1]]


def _holds_for(task: SetTask, levels: Levels, first: int, end: int, records: NDArray[np.int32]) -> bool:
    """Tell whether combinations with a node under the items `first` to `end` occur in k records, or in none.

    records : those that hold any of these items.
    """
    rows = rows_led_by(task.starts, task.items, task.tree.labels(levels), records, first, end)
    return not any(
        len(rare_combinations(*rows, task.tree.size, end - first, size, task.k, 1)) for size in range(1, task.m + 1)
    )

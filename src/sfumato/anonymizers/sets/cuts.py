"""From sets to published items: one cut of the items' tree for all records, or one for each class.

Items are generalized until nothing rare is left, first single items, then pairs, up to m (apriori); or proven to lose
least, for small domains; or left out. What was not needed is taken back.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.sets.loss import SetLoss, loss_of_sets
from sfumato.anonymizers.sets.task import REMOVED, ItemTree, Levels, Method, SetTask, Solver
from sfumato.errors import PolicyError, UnsatisfiableError
from sfumato.kernels.sets.rare import rare_combinations
from sfumato.kernels.sets.support import common_records, covering_items, relabelled_rows, rows_led_by, still_rare
from sfumato.models.km_anonymity import KmAnonymity
from sfumato.numbers import counted
from sfumato.progress import Progress, silent
from sfumato.table.sets.sets import Sets

_MOST_CUTS = 20_000
"""Cuts that are tried before the search gives up."""


def solve_sets(
    sets: Sets,
    model: KmAnonymity,
    method: Method,
    class_of: NDArray[np.int64] | None = None,
    progress: Progress = silent,
) -> SolvedSets:
    """Choose what is published of every item, so that the model holds in every class.

    `class_of`, int64 (n,): the class of each record, from 0; None where all records are one. In a class of which fewer
    than k records hold anything, nothing is published. Raises ``UnsatisfiableError`` when all records are one class,
    and fewer than k of them hold anything to generalize. Raises ``PolicyError`` when the optimal cut is not found.
    """
    tree = ItemTree.of(sets)
    whole = SetTask(sets.starts, sets.items, tree, model.k, model.m, progress)
    if class_of is None:
        parts = [_solved(np.arange(sets.height), whole, _SOLVERS[method](whole))]
    else:
        parts = list(_solved_classes(sets, whole, class_of, method))
    starts, nodes = _joined(sets.height, parts)
    loss = loss_of_sets((part.task, part.levels, len(part.nodes), _emptied(part)) for part in parts)
    return SolvedSets(starts, nodes, tree, loss)


@dataclass(frozen=True, eq=False, repr=False)
class SolvedSets:
    """What is published of every record. Letters: n records, z published items in all sets.

    `starts`, int64 (n + 1,). `nodes`, int32 (z,): number in `tree` of each published item, in no particular order
    inside a record.
    """

    starts: NDArray[np.int64]
    nodes: NDArray[np.int32]
    tree: ItemTree
    loss: SetLoss


@dataclass(frozen=True, eq=False, repr=False)
class _Part:
    """The solution of one class: its records, its task, the cut, and what is published."""

    records: NDArray[np.int64]
    task: SetTask
    levels: Levels
    starts: NDArray[np.int64]
    nodes: NDArray[np.int32]


def _solved_classes(sets: Sets, whole: SetTask, class_of: NDArray[np.int64], method: Method) -> Iterator[_Part]:
    order = np.argsort(class_of, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(class_of))[:-1])
    bare = replace(sets, beside=None)
    for number, records in enumerate(members):
        if number % 100 == 0:
            whole.progress("making sets alike in classes", number, len(members))
        own = bare.take(records)
        task = replace(whole, starts=own.starts, items=own.items, progress=silent)
        # Even the coarsest item would be rare.
        is_lost = 0 < task.filled < task.k and method in ("apriori", "optimal")
        levels = np.full(task.tree.size, REMOVED) if is_lost else _SOLVERS[method](task)
        yield _solved(records, task, levels)


def _solved(records: NDArray[np.int64], task: SetTask, levels: Levels) -> _Part:
    starts, firsts = relabelled_rows(task.starts, task.items, task.tree.labels(levels))
    nodes = task.tree.numbers(levels)[firsts].astype(np.int32)
    return _Part(records, task, levels, starts, nodes)


def _emptied(part: _Part) -> int:
    return int(np.count_nonzero((np.diff(part.task.starts) > 0) & (np.diff(part.starts) == 0)))


def _joined(height: int, parts: list[_Part]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Put what classes publish back into the order of the records."""
    sizes = np.zeros(height, dtype=np.int64)
    for part in parts:
        sizes[part.records] = np.diff(part.starts)
    starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
    nodes = np.empty(starts[-1], dtype=np.int32)
    for part in parts:
        own = np.diff(part.starts)
        places = np.arange(len(part.nodes)) + np.repeat(starts[part.records] - part.starts[:-1], own)
        nodes[places] = part.nodes
    return starts, nodes


def _apriori_levels(task: SetTask) -> Levels:
    """Find a cut under which every combination of at most m nodes occurs in k records, or in none.

    For i = 1 ... m, combinations of i items, as they are generalized by then, are counted. For each rare one the
    ancestors of its items are tried, by rising loss, until together they occur in k records; they are published
    everywhere from then on. A combination that is frequent stays so, however items are generalized: what a smaller i
    has reached is not lost. Raises ``UnsatisfiableError`` when fewer than k sets hold anything, so that even one item
    for all of them would be rare.

    *Source.* M. Terrovitis, N. Mamoulis, P. Kalnis, "Privacy-preserving anonymization of set-valued data", PVLDB 1(1),
    2008, the apriori-based anonymization. *Departures.* Ancestors are not put into the count tree; how often they occur
    together is found from lists of their records, when it is asked. In the end nodes are split again wherever nothing
    becomes rare by it (:func:`~sfumato.anonymizers.sets.cuts.refined`), so that no cut just below holds as well.
    """
    _refuse_too_few(task)
    return _refined(task, _without_rare(task, leave_out=False))


def _mixed_levels(task: SetTask) -> Levels:
    """Do the same, and leave a node out wherever that loses less than any ancestors that would be frequent.

    One rare item need not drag all others up to the root then. In the end items that were left out come back where
    nothing becomes rare by it, those that most records hold first, before nodes are split.

    **Ours**: the paper generalizes only. An item that is left out is charged as one that is generalized to the root. A
    node that is published stands for all items under it, also for those that had been left out before.
    """
    return _refined(task, _with_items_back(task, _without_rare(task, leave_out=True)))


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


def _refuse_too_few(task: SetTask) -> None:
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


def _refined(task: SetTask, levels: Levels) -> Levels:
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


def _with_items_back(task: SetTask, levels: Levels) -> Levels:
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


def _suppressed_levels(task: SetTask) -> Levels:
    """Choose items to leave out so that every combination of at most m of the others occurs in k records, or in none.

    Leaving items out changes no other combination. So the rare combinations are counted once for each size, and items
    are chosen until each has lost one: each time the item in most of those left, per record that holds it. In the end
    items come back, those that most records hold first, where nothing becomes rare by it.

    **Ours**: the paper generalizes only. Least loss would be a smallest hitting set, which is hard; this one is greedy.
    """
    levels = np.zeros(task.tree.size, dtype=np.int64)
    weights = np.maximum(task.holders, 1)
    for size in range(1, task.m + 1):
        task.progress("leaving items out", size - 1, task.m + 1)
        while len(rare := task.rare(levels, size)):
            levels[covering_items(rare, weights)] = REMOVED
    return _with_items_back(task, levels)


def _optimal_levels(task: SetTask) -> Levels:
    """Find the cut of least loss under which every combination of at most m nodes occurs in k records, or in none.

    Cuts are tried by rising loss, from the items themselves up. A cut that does not hold has a rare combination, which
    stays rare until one of its nodes is generalized: these are the cuts to try next, m at most. So the first cut that
    holds loses least of all. Raises ``UnsatisfiableError`` when fewer than k sets hold anything. Raises ``PolicyError``
    when no cut was found among the first 20,000.

    *Source.* The paper's optimal anonymization (Terrovitis, Mamoulis, Kalnis, PVLDB 1(1), 2008) looks through the
    lattice of all cuts. *Departures.* Only cuts that a rare combination asks for are looked at, so that domains of some
    hundred items can be solved where few of them are rare; the loss is the same. Ties are settled by the levels of the
    items, in their order.
    """
    _refuse_too_few(task)
    start = np.zeros(task.tree.size, dtype=np.int64)
    waiting = [(task.loss(start), tuple(start.tolist()))]
    seen = {waiting[0][1]}
    for tried in range(_MOST_CUTS):
        if tried % 100 == 0:
            task.progress("trying cuts", tried, _MOST_CUTS)
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
        f"the best cut is not among the first {_MOST_CUTS:,} that were tried; take method 'apriori', or lower k or m"
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


_SOLVERS: dict[Method, Solver] = {
    "mixed": _mixed_levels,
    "apriori": _apriori_levels,
    "optimal": _optimal_levels,
    "suppress": _suppressed_levels,
}

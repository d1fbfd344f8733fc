"""Making sets anonymous: cuts through the items' hierarchy, and items left out."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.protocol import Anonymizer
from sfumato.errors import PolicyError, UnsatisfiableError, VerificationError, raise_all
from sfumato.hierarchy.tree import Level
from sfumato.kernels.sets import (
    common_records,
    covering_items,
    postings,
    rare_combinations,
    relabelled_rows,
    rows_led_by,
    still_rare,
)
from sfumato.kinds.sets.check import RECORD, PublishedSets, refuse_too_many, set_classes, set_verification
from sfumato.kinds.sets.policy import Method, SetPolicy
from sfumato.kinds.sets.release import SetRelease
from sfumato.kinds.sets.sets import Sets, order_sets
from sfumato.metrics import measure_losses
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.of_kinds import KmAnonymity
from sfumato.numbers import counted, percent
from sfumato.options import Count, Seed, check_arguments
from sfumato.progress import Progress, shown, silent, thread_count
from sfumato.randomness import permutation
from sfumato.release.anonymize import own_types, solved_task
from sfumato.release.task import Arguments, Task, policy_of_call

Levels = NDArray[np.int64]
"""A cut: for each item the level of the node that is published for it; :data:`REMOVED` where none is. int64 (d,)."""
REMOVED = -1
_MOST_RARE = 1_000_000
"""Rare combinations that are looked for at once."""


@dataclass(frozen=True, eq=False, repr=False)
class SetTask:
    """Sets of one class: `starts`, `items`, int64 (n + 1,) and int32 (z,), and what is to hold for them."""

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
        """Return combinations of `size` nodes that fewer than k records hold, all smaller ones k, as first items."""
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
    """Items and the nodes above, those of level 0 first; a node is that of its lowest level. d items, h + 1 levels."""

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


_MOST_CUTS = 20_000
"""Cuts that are tried before the search gives up."""


def solve_sets(
    sets: Sets,
    model: KmAnonymity,
    method: Method,
    class_of: NDArray[np.int64] | None = None,
    progress: Progress = silent,
) -> SolvedSets:
    """Choose what is published of every item, so that the model holds in every class, or in all records as one.

    In a class of which fewer than k records hold anything, nothing is published; all records as one class are refused
    then.
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
    """What is published of n records: `nodes`, int32 (z,), of `tree`, in no order inside a record."""

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
    """Find a cut under which every combination of at most m nodes occurs in k records, or in none."""
    # For i = 1 ... m, combinations of i items, as they are generalized by then, are counted. For each rare one the
    # ancestors of its items are tried, by rising loss, until together they occur in k records; they are published
    # everywhere from then on. A combination that is frequent stays so, however items are generalized: what a smaller i
    # has reached is not lost. Raises ``UnsatisfiableError`` when fewer than k sets hold anything, so that even one item
    # for all of them would be rare.
    #
    # *Source.* M. Terrovitis, N. Mamoulis, P. Kalnis, "Privacy-preserving anonymization of set-valued data", PVLDB
    # 1(1), 2008, the apriori-based anonymization. *Departures.* Ancestors are not put into the count tree; how often
    # they occur together is found from lists of their records, when it is asked. In the end nodes are split again
    # wherever nothing becomes rare by it (:func:`~sfumato.kinds.sets.make.refined`), so that no cut just below holds as
    # well.
    _refuse_too_few(task)
    return _refined(task, _without_rare(task, leave_out=False))


def _mixed_levels(task: SetTask) -> Levels:
    """Do the same, and leave a node out wherever that loses less than any ancestors that would be frequent."""
    # One rare item need not drag all others up to the root then. In the end items that were left out come back where
    # nothing becomes rare by it, those that most records hold first, before nodes are split. **Ours**: the paper
    # generalizes only. An item that is left out is charged as one that is generalized to the root. A node that is
    # published stands for all items under it, also for those that had been left out before.
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
    """Return the ancestors of least loss that occur together in k records, and that loss, or None without any."""
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
    largest = [
        found[span] for span in found if not any(o != span and o[0] <= span[0] and span[1] <= o[1] for o in found)
    ]
    return tuple(sorted(largest))


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
    """Split nodes of a cut into their children, costliest first, wherever it holds all the same, until none can be."""
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
    """Tell whether combinations with a node under the items `first` to `end` occur in k of `records`, or in none."""
    rows = rows_led_by(task.starts, task.items, task.tree.labels(levels), records, first, end)
    return not any(
        len(rare_combinations(*rows, task.tree.size, end - first, size, task.k, 1)) for size in range(1, task.m + 1)
    )


def _suppressed_levels(task: SetTask) -> Levels:
    """Choose items to leave out so that every combination of at most m others occurs in k records, or in none."""
    # Leaving items out changes no other combination. So the rare ones are counted once for each size, and each time the
    # item in most of those left goes, per record that holds it. In the end items come back, those that most records
    # hold first. **Ours**: the paper generalizes only. Least loss is a smallest hitting set, which is hard.
    levels = np.zeros(task.tree.size, dtype=np.int64)
    weights = np.maximum(task.holders, 1)
    for size in range(1, task.m + 1):
        task.progress("leaving items out", size - 1, task.m + 1)
        while len(rare := task.rare(levels, size)):
            levels[covering_items(rare, weights)] = REMOVED
    return _with_items_back(task, levels)


def _optimal_levels(task: SetTask) -> Levels:
    """Find the cut of least loss under which every combination of at most m nodes occurs in k records, or in none."""
    # Cuts are tried by rising loss, from the items themselves up. A cut that does not hold has a rare combination,
    # which stays rare until one of its nodes is generalized: these are the cuts to try next, m at most. So the first
    # cut that holds loses least of all. Raises ``UnsatisfiableError`` when fewer than k sets hold anything. Raises
    # ``PolicyError`` when no cut was found among the first 20,000.
    #
    # *Source.* The paper's optimal anonymization (Terrovitis, Mamoulis, Kalnis, PVLDB 1(1), 2008) looks through the
    # lattice of all cuts. *Departures.* Only cuts that a rare combination asks for are looked at, so that domains of
    # some hundred items can be solved where few of them are rare; the loss is the same. Ties are settled by the levels
    # of the items, in their order.
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


# Sets in an order that nothing can be read off, and the classes of the columns beside them.


@dataclass(frozen=True, eq=False, repr=False)
class ArrangedSets:
    """Sets in random order."""

    sets: Sets
    origin: NDArray[np.int64]  # (n,): the number of each record in the input, from 0
    labels: pl.DataFrame | None = None  # what is published of the columns beside each set, as text
    columns_ncp: float | None = None  # what that cost


def arranged(sets: Sets, model: KmAnonymity, policy: SetPolicy, seed: int | None, threads: int) -> ArrangedSets:
    """Bring records into random order, which a seed repeats, and make classes where columns stand beside the sets."""
    ordered, by_content = (sets, np.arange(sets.height)) if seed is None else order_sets(sets)
    if ordered.beside is None:
        order = permutation(sets.height, seed)
        return ArrangedSets(ordered.take(order), by_content[order])
    way = policy.to_anonymizer() or Mondrian()
    promised = [KAnonymity(policy.change.class_size or model.k)]
    meant = policy_of_call(ordered.beside, Arguments(promised, way, None, None, None, None), None, seed)
    task = Task(ordered.beside, meant, seed=seed, threads=threads)
    solved = solved_task(task, way)
    order = solved.order.astype(np.int64)
    written = own_types(task.engine.write(solved.generalized, ordered.beside, order, threads=threads), ordered.beside)
    names = list(ordered.beside.schema.quasi_identifying)
    labels = written.published.data.select(pl.col(names).cast(pl.String))
    losses = measure_losses(solved.generalized, k=model.k)
    shown = replace(ordered.take(order), beside=None)
    return ArrangedSets(shown, by_content[order], labels, float(losses.normalized_ncp))


@check_arguments
def anonymize_sets(
    sets: Sets,
    model: SetPolicy | KmAnonymity,
    *,
    method: Method | None = None,
    class_size: Count | None = None,
    anonymizer: Anonymizer | None = None,
    seed: Seed = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> SetRelease:
    """Publish items as coarser ones, or not at all, so that k^m-anonymity holds.

    Parameters
    ----------
    sets
        As :func:`sfumato.read_sets` returns them. With columns beside the sets, classes of at least k records are made
        of these columns first, and the model holds in each class: (k, k^m)-anonymity.
    model
        What is to hold; or the policy that says it with all of `method` to `anonymizer`, which are left out then.
    method
        ``"mixed"`` generalizes items step by step, or leaves them out where that loses less; ``"apriori"`` generalizes
        them step by step, ``"optimal"`` at the least loss, for small domains; ``"suppress"`` leaves items out. None
        takes ``"mixed"`` where items have a hierarchy, else ``"suppress"``. An item is published alike in all records,
        or in all of a class.
    class_size
        Records that each class is to have at least; None is k. Larger classes lose more of the columns, and less of
        the sets.
    anonymizer
        The algorithm that makes the classes; None is :class:`sfumato.Mondrian`.
    seed
        For tests and studies: the same sets, in any order, and seed give the same release. None draws the order of the
        records from the operating system's randomness.
    threads
        Upper bound; None takes ``SFUMATO_THREADS``, or all cores. Never changes the result.
    progress
        Called with what is being done, how much is done and the total.

    Returns
    -------
    SetRelease
        Recounted from what is published.

    Raises
    ------
    PolicyError
        With every setting that is none, or that a policy says otherwise, or when the optimal cut is not found.
    InputError
        When the sets hold more than 4 billion combinations of m items, which nobody could recount.
    UnsatisfiableError
        When there are fewer records than k, fewer sets with items than k, or no item could be published.

    Notes
    -----
    Guarantee: that of :class:`sfumato.KmAnonymity`, for records that are of different people. No record is left out.
    """
    said: dict[str, Any] = {"method": method, "class_size": class_size, "anonymizer": anonymizer}
    if isinstance(model, SetPolicy):
        raise_all(PolicyError, _contradictions(model, said))
        policy = model
    elif anonymizer is not None and (isinstance(anonymizer, type) or not isinstance(anonymizer, Anonymizer)):
        raise PolicyError("anonymizer makes no classes; give one such as Mondrian(), or leave it out")
    else:
        policy = SetPolicy.of(model, sets, **said)
    meant = {**policy.change.model_dump(), "anonymizer": policy.to_anonymizer()}
    wanted = policy.to_model()
    problems = [*_unfitting(sets, wanted, **meant), *_misfits(sets, policy)]
    too_few = _too_few(sets, wanted, policy.change.class_size)
    raise_all(PolicyError, [*problems, *too_few] if problems else [])
    raise_all(UnsatisfiableError, too_few)
    told, used = progress or shown, thread_count(policy.threads if threads is None else threads)
    return _released(arranged(sets, wanted, policy, seed, used), wanted, policy, used, told)


def _released(
    order: ArrangedSets, model: KmAnonymity, policy: SetPolicy, threads: int, progress: Progress
) -> SetRelease:
    """Solve, publish and recount."""
    sets = order.sets
    method = policy.change.method or ("suppress" if sets.hierarchy is None else "mixed")
    class_of = None if order.labels is None else set_classes(order.labels)
    solved = solve_sets(sets, model, method, class_of, progress)
    if not len(solved.nodes):
        raise UnsatisfiableError("no item could be published; lower k or m, add records, or give items a hierarchy")
    published = _published(solved, order.labels)
    progress("verifying", model.m + 1, model.m + 1)
    verification = set_verification(published, [model], threads)
    if not verification.ok:
        raise VerificationError("the sets break their promise; nothing is published. Please report this")
    notes = _notes(sets, solved)
    return SetRelease(
        published, model, verification, solved.loss, order.columns_ncp, method, order.origin, notes, policy
    )


def _published(solved: SolvedSets, labels: pl.DataFrame | None) -> PublishedSets:
    """Write nodes by name; items sorted by name, so that nothing is told by their order."""
    numbers = np.unique(solved.nodes)
    names = sorted(solved.tree.names[number] for number in numbers.tolist())
    place_of = {name: place for place, name in enumerate(names)}
    code_of = np.zeros(len(solved.tree.names), dtype=np.int32)
    code_of[numbers] = [place_of[solved.tree.names[number]] for number in numbers.tolist()]
    records = np.repeat(np.arange(len(solved.starts) - 1), np.diff(solved.starts))
    items = np.sort(records * len(names) + code_of[solved.nodes]) - records * len(names)
    return PublishedSets(
        solved.starts, items.astype(np.int32), tuple(names), labels, _broader(solved.tree, set(numbers.tolist()))
    )


def _broader(tree: ItemTree, published: set[int]) -> dict[str, str]:
    """Return the next coarser item of every published one and of all above it: no item that is not published below."""
    found: dict[str, str] = {}
    paths = np.unique(tree.number_of.T, axis=0)
    for path in paths.tolist():
        known = next((step for step, number in enumerate(path) if number in published), None)
        above = [tree.names[number] for number in path[known:]] if known is not None else []
        found |= {low: high for low, high in pairwise(above) if low != high}
    return dict(sorted(found.items()))


def _notes(sets: Sets, solved: SolvedSets) -> tuple[str, ...]:
    loss, found = solved.loss, []
    if not loss.penalty:
        found.append("no item was changed: the sets hold the promise as they are")
    if loss.items_generalized:
        found.append(f"{counted(loss.items_generalized, 'item')} of {loss.items:,} generalized for somebody")
    if loss.items_removed:
        found.append(f"{counted(loss.items_removed, 'item')} of {loss.items:,} left out for somebody")
    empty = int(np.count_nonzero(sets.sizes == 0))
    if empty:
        found.append(f"{counted(empty, 'set')} of {sets.height:,} {'was' if empty == 1 else 'were'} empty before")
    root = solved.tree.number_of[-1, 0]
    if solved.tree.height and np.any(solved.nodes == root):
        share = percent(np.count_nonzero(solved.nodes == root) / len(solved.nodes), 3)
        found.append(f"{share} of what is published is the coarsest item, which says no more than that there was one")
    return tuple(found)


def _contradictions(policy: SetPolicy, said: Mapping[str, Any]) -> list[str]:
    """Name every setting that a call says otherwise than its policy; None says nothing."""
    meant = {**policy.change.model_dump(), "anonymizer": policy.to_anonymizer()}
    return [
        f"{name}: the policy says another one than the call; say it in one place"
        for name, given in said.items()
        if given is not None and given != meant[name]
    ]


def _unfitting(
    sets: Sets, model: KmAnonymity, method: Method | None, class_size: int | None, anonymizer: Anonymizer | None
) -> list[str]:
    """Return a sentence for every pair of settings that do not go together."""
    if not len(sets.items):
        return ["every set is empty; check the column of items and what stands between them"]
    found = []
    largest = int(sets.sizes.max())
    if model.m > largest:
        found.append(f"m is {model.m}, but the largest set has {counted(largest, 'item')}; lower m")
    if method in ("mixed", "apriori", "optimal") and sets.hierarchy is None:
        found.append(f"method '{method}' generalizes items, which have no hierarchy; give one, or take 'suppress'")
    if sets.beside is None:
        beside = {"class_size": class_size, "anonymizer": anonymizer}
        found += [
            f"{name} is about columns beside the sets, and there are none; leave it out, or read some with schema"
            for name, given in beside.items()
            if given is not None
        ]
    elif RECORD in sets.beside.schema.quasi_identifying:
        found.append(f"a column beside the sets is named {RECORD!r}, as the numbers of records are; rename it")
    if class_size is not None and class_size < model.k:
        found.append(f"class_size is {class_size}, less than k = {model.k}; raise it, or leave it out")
    return found


def _misfits(sets: Sets, policy: SetPolicy) -> list[str]:
    read = [] if sets.beside is None else list(sets.beside.schema.quasi_identifying)
    if list(policy.columns.quasi_identifying) != read:
        return ["columns: the policy names other columns beside the sets than were read; read them with the policy"]
    return []


def _too_few(sets: Sets, model: KmAnonymity, class_size: int | None) -> list[str]:
    least = max(model.k, class_size or 0)
    if sets.height >= least:
        return []
    wanted = f"k = {model.k}" if least == model.k else f"class_size = {least}"
    return [f"there are {counted(sets.height, 'record')}, fewer than {wanted}; lower it, or add records"]

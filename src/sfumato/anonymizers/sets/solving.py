"""From sets to published items: one cut for all records, or one for each class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.sets.apriori import apriori_levels, mixed_levels
from sfumato.anonymizers.sets.loss import SetLoss, loss_of
from sfumato.anonymizers.sets.optimal import optimal_levels
from sfumato.anonymizers.sets.suppression import suppressed_levels
from sfumato.anonymizers.sets.task import REMOVED, Levels, Method, SetTask, Solver
from sfumato.anonymizers.sets.tree import ItemTree
from sfumato.kernels.sets.rows import relabelled_rows
from sfumato.models.km_anonymity import KmAnonymity
from sfumato.progress import Progress, silent
from sfumato.table.sets.sets import Sets

SOLVERS: dict[Method, Solver] = {
    "mixed": mixed_levels,
    "apriori": apriori_levels,
    "optimal": optimal_levels,
    "suppress": suppressed_levels,
}


@dataclass(frozen=True, eq=False, repr=False)
class SolvedSets:
    """What is published of every record. Letters: n records, z published items in all sets.

    Attributes
    ----------
    starts : numpy.ndarray
        int64 (n + 1,).
    nodes : numpy.ndarray
        int32 (z,): number in `tree` of each published item, in no particular order inside a record.
    tree : ItemTree
    loss : SetLoss
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


def solve_sets(
    sets: Sets,
    model: KmAnonymity,
    method: Method,
    class_of: NDArray[np.int64] | None = None,
    progress: Progress = silent,
) -> SolvedSets:
    """Choose what is published of every item, so that the model holds in every class.

    Parameters
    ----------
    sets
    model
    method
    class_of
        int64 (n,): the class of each record, from 0; None where all records are one. In a class of which fewer than k
        records hold anything, nothing is published.
    progress

    Raises
    ------
    UnsatisfiableError
        When all records are one class, and fewer than k of them hold anything to generalize.
    PolicyError
        When the optimal cut is not found.
    """
    tree = ItemTree.of(sets)
    whole = SetTask(sets.starts, sets.items, tree, model.k, model.m, progress)
    if class_of is None:
        parts = [_solved(np.arange(sets.height), whole, SOLVERS[method](whole))]
    else:
        parts = list(_solved_classes(sets, whole, class_of, method))
    starts, nodes = _joined(sets.height, parts)
    loss = loss_of((part.task, part.levels, len(part.nodes), _emptied(part)) for part in parts)
    return SolvedSets(starts, nodes, tree, loss)


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
        levels = np.full(task.tree.size, REMOVED) if is_lost else SOLVERS[method](task)
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

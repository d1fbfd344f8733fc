"""Local recoding: each class on levels of its own, taken from nodes of the lattice in rising order of their cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.full_domain.lattice_boxes import SearchLimit
from sfumato.anonymizers.full_domain.node_suppression import SuppressionRule
from sfumato.anonymizers.full_domain.objective import CellObjective
from sfumato.anonymizers.full_domain.weighted_records import Grouping, LevelTables, Numbers, WeightedRecords, grouped
from sfumato.hierarchy.lattice import Lattice, Levels

ALL = 1 << 15
"""Largest lattice all of whose nodes are visited."""

WORK = 1 << 31
"""Records times nodes that a round may look at; of a larger product, every other node is visited, or every third."""

SLACK = 1.25
"""How much dearer than its node a class may be to be taken in the first round."""


@dataclass(frozen=True, eq=False, repr=False)
class LocalLevelClasses:
    """Classes that were taken from nodes of their own.

    Attributes
    ----------
    class_of : numpy.ndarray
        int32 (m,): class of each weighted record, −1 for those that are in none.
    count : int
        Number of classes c.
    visited : int
        Nodes that were visited.
    """

    class_of: Numbers
    count: int
    visited: int


def local_classes(
    records: WeightedRecords,
    tables: LevelTables,
    rule: SuppressionRule,
    objective: CellObjective,
    budget: SearchLimit,
    progress: Callable[[str, int, int], None],
) -> LocalLevelClasses:
    """Visit nodes in rising order of what a cell costs there on average, and take every class that holds.

    A class is a set of records that no cheaper node has taken and that are equal on this node. In the first round
    dear classes of a node are left for dearer nodes, in the second they are taken, too. Models that compare with the
    whole table compare with all records. Cost O(records left · q) for each node.
    """
    class_of = np.full(records.height, -1, dtype=np.int32)
    left = np.arange(records.height)
    nodes, costs = _rising_nodes(Lattice(tables.heights), objective, records.height)
    started, count, visited = time.monotonic(), 0, 0
    most = np.concatenate([costs * SLACK, np.full(len(nodes), np.inf)])
    last = 2 * len(nodes) - 1
    for turn in range(last + 1):
        if not _enough(records, left, rule):
            break
        # At its limit the search still visits the top, which takes nearly everything that is left.
        if turn < last and _exhausted(budget, visited, started):
            continue
        levels = nodes[turn % len(nodes)]
        here = records if len(left) == records.height else records.take(left, records.weights[left], records.levels)
        groups = grouped(here, tables, levels)
        kept = _taken(here, tables, rule, objective, groups, levels, float(most[turn]))
        visited += 1
        progress("recoding locally", visited, 2 * len(nodes))
        if kept.any():
            numbers = (np.cumsum(kept) - 1 + count).astype(np.int32)
            mine = kept[groups.class_of]
            class_of[left[mine]] = numbers[groups.class_of[mine]]
            left, count = left[~mine], count + int(kept.sum())
    return LocalLevelClasses(class_of, count, visited)


def _enough(records: WeightedRecords, left: NDArray[np.int64], rule: SuppressionRule) -> bool:
    return len(left) >= rule.smallest or int(records.weights[left].sum()) >= rule.smallest


def _exhausted(budget: SearchLimit, visited: int, started: float) -> bool:
    nodes, seconds = budget.nodes, budget.seconds
    return (nodes is not None and visited >= nodes) or (seconds is not None and time.monotonic() - started >= seconds)


def _taken(
    records: WeightedRecords,
    tables: LevelTables,
    rule: SuppressionRule,
    objective: CellObjective,
    groups: Grouping,
    levels: Levels,
    most: float,
) -> NDArray[np.bool_]:
    """Tell which classes of a node hold and cost at most so much per record, bool (c,)."""
    kept = groups.sizes >= rule.smallest
    candidates = np.flatnonzero(kept)
    if len(candidates) and np.isfinite(most):
        entries = tables.at(levels) + records.codes[groups.firsts[candidates]]
        kept[candidates] = objective.cell_shares[entries].sum(axis=1) <= most + 1e-9
    return rule.holding(records, groups, kept) if kept.any() else kept


def _rising_nodes(lattice: Lattice, objective: CellObjective, records: int) -> tuple[list[Levels], NDArray[np.float64]]:
    """Return nodes in rising order of the mean cost of a record, the top last.

    All of them, or chains through a large lattice; fewer where they are too many for so many records.
    """
    means = objective.level_means
    nodes = list(lattice.nodes()) if lattice.size <= ALL else sorted(set(_chains(lattice.heights, means)))
    costs = means[np.arange(means.shape[0]), np.array(nodes)].sum(axis=1)
    # The top costs most; counted from there, it is always among those that are visited.
    order = np.argsort(costs, kind="stable")[:: -max(1, -(-len(nodes) * records // WORK))][::-1]
    return [nodes[number] for number in order.tolist()], costs[order]


def _chains(heights: Levels, means: NDArray[np.float64]) -> Iterator[Levels]:
    """Yield chains of cheapest steps from the bottom to the top; also ones that raise one attribute first, or last."""
    steps = [
        (float(means[place, level + 1] - means[place, level]), place)
        for place, height in enumerate(heights)
        for level in range(height)
    ]
    path = [place for _, place in sorted(steps)]
    yield from _walk(heights, path)
    for chosen in range(len(heights)):
        others = [place for place in path if place != chosen]
        own = [chosen] * heights[chosen]
        yield from _walk(heights, [*own, *others])
        yield from _walk(heights, [*others, *own])


def _walk(heights: Levels, path: Sequence[int]) -> Iterator[Levels]:
    levels = [0] * len(heights)
    yield tuple(levels)
    for place in path:
        levels[place] += 1
        yield tuple(levels)

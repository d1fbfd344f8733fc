"""Local recoding: each class on levels of its own, taken from nodes of the lattice in rising order of their cost.

Records that no class has taken join the class that they make dearer by the least.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.full_domain.lattice_boxes import SearchLimit, SearchProblem
from sfumato.anonymizers.full_domain.levels import (
    DomainLevels,
    Grouping,
    LevelTables,
    Numbers,
    WeightedRecords,
    group_weighted,
    regions_at,
)
from sfumato.anonymizers.full_domain.losses import CellLoss, CellObjective
from sfumato.anonymizers.full_domain.suppression import SuppressionRule
from sfumato.anonymizers.protocol import Progress
from sfumato.classes.partition import Partition, group_records
from sfumato.hierarchy.lattice_search import Lattice, Levels
from sfumato.kernels.boxes import class_boxes
from sfumato.numbers import figure

_ALL = 1 << 15
"""Largest lattice all of whose nodes are visited."""

WORK = 1 << 31
"""Records times nodes that a round may look at; of a larger product, every other node is visited, or every third."""

_SLACK = 1.25
"""How much dearer than its node a class may be to be taken in the first round."""

_TRIED = 32
"""Classes that a record is tried in before the cheapest of them is widened further."""

SINGLY = 256
"""Records that are placed one by one; more of them are taken together."""

Codes = NDArray[np.int64]


def local_solution(
    ground: SearchProblem,
    record_of: Numbers,
    domains: Sequence[DomainLevels],
    budget: SearchLimit,
    measure: str,
    progress: Progress,
) -> tuple[Partition, float] | None:
    """Recode locally, within a budget, and return the loss; None when no node has a class that holds."""
    loss, tables = ground.loss, ground.tables
    assert isinstance(loss, CellLoss)
    taken = _local_classes(ground.records, tables, ground.rule, loss.objective, budget, progress)
    if not taken.count:
        return None
    boxes = _join_or_suppress(_Boxes(ground.records, taken.class_of, taken.count), ground, loss.objective, domains)
    value = _value(boxes, loss.objective, tables, domains)
    partition = _partition(boxes, record_of, domains)
    note = (
        f"Local recoding: {partition.count:,} classes on levels of their own, after {taken.visited:,} visits of nodes. "
        f"They were visited in rising order of cost ({measure}: {figure(value)}), not proven to be the best."
    )
    return replace(partition, notes=(note,)), value


@dataclass(frozen=True, eq=False, repr=False)
class _LocalLevelClasses:
    """Classes from nodes of their own: `class_of`, int32 (m,), −1 for none; `count` of them; nodes `visited`."""

    class_of: Numbers
    count: int
    visited: int


def _local_classes(
    records: WeightedRecords,
    tables: LevelTables,
    rule: SuppressionRule,
    objective: CellObjective,
    budget: SearchLimit,
    progress: Callable[[str, int, int], None],
) -> _LocalLevelClasses:
    """Visit nodes in rising order of what a cell costs there, and take every class that holds."""
    # A class is what no cheaper node has taken and is equal here. In the first round dear classes are left for dearer
    # nodes. Models that compare with the whole table compare with all records. Cost O(records left · q) for each node.
    class_of = np.full(records.height, -1, dtype=np.int32)
    left = np.arange(records.height)
    nodes, costs = _rising_nodes(Lattice(tables.heights), objective, records.height)
    started, count, visited = time.monotonic(), 0, 0
    most = np.concatenate([costs * _SLACK, np.full(len(nodes), np.inf)])
    last = 2 * len(nodes) - 1
    for turn in range(last + 1):
        if not _enough(records, left, rule):
            break
        # At its limit the search still visits the top, which takes nearly everything that is left.
        if turn < last and _exhausted(budget, visited, started):
            continue
        levels = nodes[turn % len(nodes)]
        here = records if len(left) == records.height else records.take(left, records.weights[left], records.levels)
        groups = group_weighted(here, tables, levels)
        kept = _taken(here, tables, rule, objective, groups, levels, float(most[turn]))
        visited += 1
        progress("recoding locally", visited, 2 * len(nodes))
        if kept.any():
            numbers = (np.cumsum(kept) - 1 + count).astype(np.int32)
            mine = kept[groups.class_of]
            class_of[left[mine]] = numbers[groups.class_of[mine]]
            left, count = left[~mine], count + int(kept.sum())
    return _LocalLevelClasses(class_of, count, visited)


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
    """Return nodes in rising order of mean cost, the top last: all, or chains through a lattice too large."""
    means = objective.level_means
    nodes = list(lattice.nodes()) if lattice.size <= _ALL else sorted(set(_chains(lattice.heights, means)))
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


def _join_or_suppress(
    taken: _Boxes, ground: SearchProblem, objective: CellObjective, domains: Sequence[DomainLevels]
) -> _Boxes:
    """Let what is left join the classes, or suppress it where that is allowed and costs less."""
    rule, records = ground.rule, ground.records
    left = int(records.weights[taken.class_of < 0].sum())
    boxes = _Boxes(records, taken.class_of, len(taken.sizes))
    _place_leftovers(boxes, domains, ground.tables, objective, rule)
    if rule.relative or not rule.smallest <= left <= rule.limit:
        return boxes
    before, after = (_total(each, objective, ground.tables, domains) for each in (taken, boxes))
    return taken if before + left * float(objective.shares.sum()) < after else boxes


def _place_leftovers(
    boxes: _Boxes, domains: Sequence[DomainLevels], tables: LevelTables, objective: CellObjective, rule: SuppressionRule
) -> None:
    """Put every record that is in no class into one, in the order of their codes."""
    # It joins the class that costs least more and still satisfies every model. Where none of the cheapest does, the
    # cheapest is taken in, and the search goes on for both. When all records satisfy the models, so do the classes.
    # Cost O(c · q · heights) a record.
    left = np.flatnonzero(boxes.class_of < 0)
    ordered = left[np.lexsort((*boxes.records.values[left].T[::-1], *boxes.records.codes[left].T[::-1]))].tolist()
    search = _ClassFinder(boxes, domains, tables, objective, rule)
    if len(ordered) <= SINGLY:
        for record in ordered:
            search.place(record)
        return
    owner = int(search.cheapest(ordered[0])[0])
    for record in ordered:
        boxes.join(record, owner)
    search.widen(owner)


@dataclass(frozen=True, eq=False, repr=False)
class _ClassFinder:
    """What it takes to find a class for a record."""

    boxes: _Boxes
    domains: Sequence[DomainLevels]
    tables: LevelTables
    objective: CellObjective
    rule: SuppressionRule

    def cheapest(self, record: int) -> NDArray[np.int64]:
        """Order the classes by what they cost more with a record."""
        records = self.boxes.records
        return self._order(records.codes[record].astype(np.int64), int(records.weights[record]))

    def place(self, record: int) -> None:
        """Put a record into a class, the cheapest that holds with it."""
        order = self.cheapest(record)
        for owner in order[:_TRIED].tolist():
            if self._holds(np.append(np.flatnonzero(self.boxes.class_of == owner), record)):
                self.boxes.join(record, owner)
                return
        self.boxes.join(record, int(order[0]))
        self.widen(int(order[0]))

    def widen(self, owner: int) -> None:
        """Let a class take others in until it holds: the cheapest one, then two, then four."""
        batch = 1
        while not self._holds(np.flatnonzero(self.boxes.class_of == owner)):
            ends = np.stack([self.boxes.low[owner], self.boxes.high[owner]])
            order = self._order(ends, int(self.boxes.sizes[owner]))
            others = order[order != owner][:batch].tolist()
            if not others:
                return
            for other in others:
                self.boxes.absorb(owner, other)
            batch *= 2

    def _order(self, codes: Codes, weight: int) -> NDArray[np.int64]:
        return _cheapest(self.boxes, codes, weight, self.domains, self.tables, self.objective)

    def _holds(self, members: NDArray[np.int64]) -> bool:
        """Tell whether records satisfy every model as one class."""
        if not self.rule.ruled:
            return True
        records = self.boxes.records.take(members, self.boxes.records.weights[members], self.boxes.records.levels)
        nobody = np.zeros(len(members), np.int32)
        one = Grouping(nobody, nobody[:1], np.array([records.weights.sum()]))
        return bool(self.rule.holding(records, one, np.ones(1, dtype=np.bool_))[0])


def _cheapest(
    boxes: _Boxes,
    codes: Codes,
    weight: int,
    domains: Sequence[DomainLevels],
    tables: LevelTables,
    objective: CellObjective,
) -> NDArray[np.int64]:
    """Order the classes by what they cost more with `weight` records of these codes."""
    owners = np.flatnonzero(boxes.sizes)
    low, high = boxes.low[owners], boxes.high[owners]
    ends = np.atleast_2d(codes)
    wide_low, wide_high = np.minimum(low, ends.min(axis=0)), np.maximum(high, ends.max(axis=0))
    now = _record_costs(domains, tables, objective, low, high)
    then = _record_costs(domains, tables, objective, wide_low, wide_high)
    sizes = boxes.sizes[owners]
    added = then * (sizes + weight) - now * sizes
    return owners[np.lexsort((sizes, *high.T[::-1], *low.T[::-1], added))]


class _Boxes:
    """Classes of weighted records by their smallest and largest codes; one of size 0 was taken in by another."""

    def __init__(self, records: WeightedRecords, class_of: Numbers, count: int) -> None:
        """Find the corners of all classes. O(m · q)."""
        low, high = class_boxes(class_of, records.codes, count)
        self.records = records
        self.class_of = class_of.copy()
        self.low, self.high = low.astype(np.int64), high.astype(np.int64)
        kept = class_of >= 0
        self.sizes = np.bincount(class_of[kept], weights=records.weights[kept], minlength=count).astype(np.int64)

    def join(self, record: int, owner: int) -> None:
        """Add a record to a class."""
        self.class_of[record] = owner
        codes = self.records.codes[record].astype(np.int64)
        self.low[owner] = np.minimum(self.low[owner], codes)
        self.high[owner] = np.maximum(self.high[owner], codes)
        self.sizes[owner] += self.records.weights[record]

    def absorb(self, owner: int, other: int) -> None:
        """Let a class take another one in."""
        self.class_of[self.class_of == other] = owner
        self.low[owner] = np.minimum(self.low[owner], self.low[other])
        self.high[owner] = np.maximum(self.high[owner], self.high[other])
        self.sizes[owner] += self.sizes[other]
        self.sizes[other] = 0


def _lowest_levels(domains: Sequence[DomainLevels], low: Codes, high: Codes) -> NDArray[np.int64]:
    """Return the lowest level of each attribute on which the ends of each class share a node; int64 (c, q)."""
    levels = np.zeros(low.shape, dtype=np.int64)
    for place, domain in enumerate(domains):
        for level in range(domain.height):
            apart = domain.node_of[level, low[:, place]] != domain.node_of[level, high[:, place]]
            levels[apart, place] = level + 1
    return levels


def _record_costs(
    domains: Sequence[DomainLevels], tables: LevelTables, objective: CellObjective, low: Codes, high: Codes
) -> NDArray[np.float64]:
    """Return what a record of each class costs on the lowest levels that its class can have; float64 (c,)."""
    levels = _lowest_levels(domains, low, high)
    costs: NDArray[np.float64] = objective.cell_shares[tables.starts + levels * tables.widths + low].sum(axis=1)
    return costs


def _total(boxes: _Boxes, objective: CellObjective, tables: LevelTables, domains: Sequence[DomainLevels]) -> float:
    owners = np.flatnonzero(boxes.sizes)
    costs = _record_costs(domains, tables, objective, boxes.low[owners], boxes.high[owners])
    # Summed exactly enough: the numbers of classes follow the order of the records.
    return float(np.sort(costs * boxes.sizes[owners]).sum())


def _value(boxes: _Boxes, objective: CellObjective, tables: LevelTables, domains: Sequence[DomainLevels]) -> float:
    owners = np.flatnonzero(boxes.sizes)
    low = boxes.low[owners]
    levels = _lowest_levels(domains, low, boxes.high[owners])
    entries = tables.starts + levels * tables.widths + low
    suppressed = int(boxes.records.weights.sum()) - int(boxes.sizes.sum())
    return objective.value(boxes.sizes[owners] @ objective.costs[entries] + suppressed * objective.full)


def _partition(boxes: _Boxes, record_of: Numbers, domains: Sequence[DomainLevels]) -> Partition:
    """Put classes together that publish the same values."""
    owners = np.flatnonzero(boxes.sizes)
    low = boxes.low[owners]
    levels = _lowest_levels(domains, low, boxes.high[owners])
    regions = regions_at(low.astype(np.uint32), domains, list(levels.T))
    same, count = group_records(np.column_stack([regions.low, regions.high, regions.level]))
    firsts = np.empty(count, dtype=np.int64)
    firsts[same[::-1]] = np.arange(len(same))[::-1]
    # The last entry stands for −1, the suppressed records.
    number = np.full(len(boxes.sizes) + 1, -1, dtype=np.int32)
    number[owners] = same
    return Partition(number[boxes.class_of][record_of], count, regions=regions.take(firsts))

"""Value generalization: top-down specialization (Fung, Wang, Yu, ICDE 2005) and its bottom-up counterpart.

Bottom-up, subtrees are generalized from the leaves until every class satisfies the models. The trees are hierarchies as
they are; numbers are halved where that saves most.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import FeasibleProblem, feasible
from sfumato.anonymizers.full_domain.levels import two_level_notes
from sfumato.anonymizers.protocol import ModelsApart, Problem
from sfumato.anonymizers.single_dimensional.search import (
    WORK,
    CutGrid,
    TableCut,
    best_solution,
    grid_of,
    partition_of,
    with_suppression,
    with_two_levels,
)
from sfumato.classes.partition import Partition, group_records
from sfumato.classes.people import statistics_of
from sfumato.kernels.global_cuts.global_cuts import BEST, LEAF, ROOT, Nodes, region_count, tree_part
from sfumato.kernels.global_cuts.product_cells import SortedAttributes, cell_range_loss
from sfumato.kernels.global_cuts.subtree_merging import CHOSEN, MERGES, PRIME, HierarchyForest, merge, start_merging
from sfumato.kernels.types import TREE, Space
from sfumato.numbers import counted
from sfumato.options import Checked
from sfumato.table.encoding import EncodedAttribute

_Direction = Literal["top-down", "bottom-up"]

INTERVALS = 256
"""Intervals that the values of a number start from, at most."""

_Parts = dict[tuple[int, int], list[tuple[int, int]]]
"""The parts that a range of codes has as a node: range (low, stop) → ranges."""

_Ranges = tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]


@dataclass(frozen=True)
class ValueGeneralization(Checked):
    """Generalize the values of each attribute by subtrees of its hierarchy, the same way in the whole table.

    A subtree may be generalized while its sibling is not; full-domain generalization climbs with all of a level.

    Parameters
    ----------
    direction
        ``"top-down"``: start with ``*`` everywhere and replace one node at a time by its children, the one that saves
        most loss per lost anonymity, as long as every class satisfies the models. ``"bottom-up"``: start with the
        original values and replace all children of a node by the node, where that costs least loss per gained
        anonymity, until every class satisfies the models; what can be specialized again then is, as top-down does.

    Raises
    ------
    PolicyError
        When the direction is unknown.

    Notes
    -----
    *What is published.* A node of the hierarchy for all values below it. Numbers and dates without a hierarchy grow
    intervals of their own, each cut in two where that saves most; the ends are values of the data, taken from the whole
    column. Categories without a hierarchy are published as they are or as ``*``, all of them. The missing value is a
    child of ``*``.

    *Guarantee.* Every class satisfies every model of the problem, which must be monotone under merging, as all models
    of the library are. Equal values of an attribute are published equally. Without suppression no further
    specialization is allowable in the end.

    *Suppression.* Where the limit allows it, a search that may also suppress the records of classes which break a model
    is made beside the one that may not, and what loses less in the end is taken; a suppressed record is charged as
    ``*`` in all attributes. Anonymity that a specialization loses then is the share of the records that it suppresses.

    *Complexity.* O(q n + m · weighed nodes of a record) for m distinct records: a specialization touches the records
    below its node alone, and nodes that cannot be the next are not weighed. Memory O(q n).

    *Sources.* B. C. M. Fung, K. Wang and P. S. Yu, "Top-down specialization for information and privacy preservation",
    ICDE 2005; K. Wang, P. S. Yu and S. Chakraborty, "Bottom-up generalization", ICDM 2004. Departures: both score by
    the information gain about a class attribute, we by the loss (NCP), for whatever the table is used; every model
    counts, not k alone; gained anonymity is the number of classes that break a model and vanish, plus 1, as the
    smallest class hardly ever grows by one generalization; records may be suppressed; only the best allowable place of
    an interval is scored, whereas Fung takes the best place and gives the interval up when it is not allowable;
    bottom-up ends with specializations, and starts numbers from at most 256 intervals.
    """

    name: ClassVar[str] = "value-generalization"
    decides_regions: ClassVar[bool] = True
    people_apart: ClassVar[ModelsApart] = "merging models"
    order_free: ClassVar[bool] = True
    shares_nobody: ClassVar[bool] = True

    direction: _Direction = "top-down"

    def solve(self, problem: Problem) -> Partition:
        """Partition the records.

        Raises
        ------
        UnsatisfiableError
            When not even all records together satisfy the models, and leaving some of the most frequent sensitive
            values out within the suppression limit does not change that.
        """
        return best_solution(problem, (found for start in feasible(problem) for found in self._solutions(start)))

    def _solutions(self, start: FeasibleProblem) -> Iterator[Partition]:
        attributes = start.problem.table.attributes
        grid = grid_of(start, [with_two_levels(attribute) for attribute in attributes])
        return with_suppression(start, lambda limit: self._solve(grid, limit, _made_hierarchies(attributes)))

    def _solve(self, grid: CutGrid, limit: int, notes: tuple[str, ...]) -> Partition:
        begun: TableCut | None = _climb(grid, limit) if self.direction == "bottom-up" else None
        found = grid.search(grid.cutting(place=BEST, per_anonymity=not limit), limit, begun)
        merges = begun.cuts if begun is not None else 0
        steps = [counted(merges, "generalization")] if begun is not None else []
        steps.append(counted(found.cuts - merges, "specialization"))
        return partition_of(grid, found, [f"Value generalization made {', then '.join(steps)}.", *notes])


def _made_hierarchies(attributes: tuple[EncodedAttribute, ...]) -> tuple[str, ...]:
    return two_level_notes(
        attribute
        for attribute in attributes
        if attribute.hierarchy is None and not attribute.is_numeric and attribute.size > 1
    )


def _climb(grid: CutGrid, limit: int) -> TableCut:
    """Replace the children of a node by the node, where that costs least loss per gained anonymity.

    `grid`: the problem. `limit`: records that may be suppressed. Returns: the state with the least loss among those
    whose failing cells hold at most `limit` records; these records are suppressed. Without a limit the first state in
    which every cell holds. Gained anonymity is the number of failing cells that there are less, plus 1. What a merge
    gains is weighed again when its turn comes, and not before. Cost O(records of the nodes that are weighed), as a rule
    about O(q · height · m).
    """
    forest = _forest_of(grid.layout, grid.space, grid.nodes)
    leaves = np.flatnonzero(forest.children == 0)
    cell_of, count = _cells(grid, _ranges(grid, forest, leaves))
    start, rules = grid.start, grid.start.rules.arrays
    merging = start_merging(
        start.smallest, start.ruled, limit, grid.scale, cell_of, count, grid.layout, grid.space, rules, forest
    )
    possible, done = int(np.count_nonzero(forest.children)), False
    while not done:
        done = merge(WORK, grid.layout, grid.space, rules, forest, merging)
        start.problem.progress("generalizing", possible if done else int(merging.counters[MERGES]), possible)
    merges = int(merging.counters[CHOSEN])
    low, stop = ranges = _ranges(grid, forest, np.concatenate([leaves, merging.merged[:merges]]))
    cell_of, _ = _cells(grid, ranges)
    cut = TableCut(tuple(low), tuple(stop), cell_of, merges)
    return _without_failing(grid, cut) if limit else cut


def _ranges(grid: CutGrid, forest: HierarchyForest, published: NDArray[np.int64]) -> _Ranges:
    """Return the first code and the end of what each code is published as; later nodes go before earlier ones."""
    widths = grid.layout.cardinalities.tolist()
    low = [np.zeros(width, dtype=np.int64) for width in widths]
    stop = [np.zeros(width, dtype=np.int64) for width in widths]
    for node in published.tolist():
        attribute, first, end = forest.attribute[node], forest.low[node], forest.stop[node]
        low[attribute][first:end], stop[attribute][first:end] = first, end
    return low, stop


def _cells(grid: CutGrid, ranges: _Ranges) -> tuple[NDArray[np.int32], int]:
    codes = grid.layout.codes
    firsts = [low[codes[attribute]] for attribute, low in enumerate(ranges[0])]
    return group_records(np.column_stack(firsts).astype(np.int32))


def _without_failing(grid: CutGrid, cut: TableCut) -> TableCut:
    """Suppress the cells that break a model."""
    problem = grid.start.problem
    class_of = grid.records.spread(cut.cell_of)
    count = int(cut.cell_of.max(initial=-1)) + 1
    statistics = statistics_of(problem.table, class_of, count)
    holding = np.logical_and.reduce([model.holds(statistics) for model in problem.models])
    number = np.where(holding, np.cumsum(holding) - 1, -1).astype(np.int32)
    return TableCut(cut.low, cut.stop, number[cut.cell_of], cut.cuts)


def _forest_of(layout: SortedAttributes, space: Space, nodes: Nodes) -> HierarchyForest:
    """Build the trees of all attributes. Cost O(nodes + codes · depth of the trees of numbers)."""
    rows: list[tuple[int, int, int, int, int]] = []
    for attribute, cardinality in enumerate(layout.cardinalities.tolist()):
        parts = _tree_parts(attribute, layout, space, nodes)
        rows.extend(_rows(attribute, cardinality, parts, len(rows)))
    owner, low, stop, parent, children = np.array(rows, dtype=np.int64).reshape(-1, 5).T.copy()
    loss = np.array([cell_range_loss(*row[:3], layout, space) for row in rows], dtype=np.float64)
    records = _records(layout, space)
    charged = (records[space.offsets[owner] + owner + stop] - records[space.offsets[owner] + owner + low]) * loss
    cost = np.where(children > 0, charged, 0.0)
    inner = parent >= 0
    np.subtract.at(cost, parent[inner], charged[inner])
    hashes = np.random.default_rng(0).integers(0, PRIME, len(rows), dtype=np.int64)
    return HierarchyForest(owner, low, stop, parent, children, loss, cost, hashes)


def _records(layout: SortedAttributes, space: Space) -> NDArray[np.int64]:
    """Count the original records below each place of ``layout.starts``, int64 (M + q,)."""
    counts = []
    for attribute, row in enumerate(layout.rows):
        first = space.offsets[attribute] + attribute
        starts = layout.starts[first : first + layout.cardinalities[attribute] + 1]
        counts.append(np.append(0, np.cumsum(layout.weights[row]))[starts])
    return np.concatenate(counts)


def _rows(attribute: int, cardinality: int, parts: _Parts, first: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield (attribute, low, stop, parent, number of children), level by level."""
    level, count = [(0, cardinality, -1)], first
    while level:
        below: list[tuple[int, int, int]] = []
        for low, stop, parent in level:
            children = parts.get((low, stop), [])
            yield attribute, low, stop, parent, len(children)
            below.extend((*child, count) for child in children)
            count += 1
        level = below


def _tree_parts(attribute: int, layout: SortedAttributes, space: Space, nodes: Nodes) -> _Parts:
    size, cardinality = int(layout.sizes[attribute]), int(layout.cardinalities[attribute])
    parts: _Parts = {}
    if space.kinds[attribute] != TREE:
        if 0 < size < cardinality:
            parts[0, cardinality] = [(0, size), (size, cardinality)]
        return parts | _halves(attribute, size, layout, space)
    waiting = [(0, cardinality, ROOT)] if cardinality > 1 else []
    while waiting:
        low, stop, node = waiting.pop()
        count = region_count(attribute, node, stop, layout, nodes)
        found = [tree_part(attribute, node, child, layout, nodes) for child in range(count)]
        parts[low, stop] = [(int(part[0]), int(part[1])) for part in found]
        waiting.extend((int(part[0]), int(part[1]), int(part[2])) for part in found if part[2] != LEAF)
    return parts


def _halves(attribute: int, size: int, layout: SortedAttributes, space: Space) -> _Parts:
    """Cut the numbers in two where that saves most, the interval that gains most first, and so on."""
    first = int(space.offsets[attribute]) + attribute
    below = _records(layout, space)[first : first + size + 1]
    positions = space.positions[space.offsets[attribute] : space.offsets[attribute] + size]
    parts: _Parts = {}
    waiting = [_best_half(0, size, below, positions)] if size > 1 else []
    while waiting and len(parts) < INTERVALS - 1:
        _, low, middle, stop = heapq.heappop(waiting)
        parts[low, stop] = [(low, middle), (middle, stop)]
        for begin, end in parts[low, stop]:
            if end - begin > 1:
                heapq.heappush(waiting, _best_half(begin, end, below, positions))
    return parts


def _best_half(
    low: int, stop: int, below: NDArray[np.int64], positions: NDArray[np.float64]
) -> tuple[float, int, int, int]:
    """Return minus what the best cut saves, times the width of the domain, and first code, cut and end."""
    middles = np.arange(low + 1, stop)
    left = (below[middles] - below[low]) * (positions[middles - 1] - positions[low])
    right = (below[stop] - below[middles]) * (positions[stop - 1] - positions[middles])
    lost = left + right
    best = int(np.argmin(lost))
    whole = (below[stop] - below[low]) * (positions[stop - 1] - positions[low])
    return float(lost[best] - whole), low, int(middles[best]), stop

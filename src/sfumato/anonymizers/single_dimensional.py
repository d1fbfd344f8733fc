"""Single-dimensional recoding: every attribute is cut once for the whole table.

What single-dimensional anonymizers share: the table as kernels cut it, and the solution that cuts amount to.

Value generalization: top-down specialization (Fung, Wang, Yu, ICDE 2005) and its bottom-up counterpart.

Bottom-up, subtrees are generalized from the leaves until every class satisfies the models. The trees are hierarchies as
they are; numbers are halved where that saves most.

Global Mondrian: greedy cuts that go across the whole table (LeFevre, DeWitt, Ramakrishnan, ICDE 2006).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import FeasibleProblem, feasible
from sfumato.anonymizers.full_domain.levels import two_level_notes
from sfumato.anonymizers.layout import Records, lay_out_records, space_of
from sfumato.anonymizers.parts import least_loss_solution
from sfumato.anonymizers.protocol import ModelsApart, Problem
from sfumato.classes.partition import Partition, Regions, group_records
from sfumato.classes.statistics import statistics_of
from sfumato.hierarchy.tree import Hierarchy, Level
from sfumato.kernels.global_cuts.global_cuts import (
    BEST,
    FALLBACK,
    LEAF,
    MEDIAN,
    ROOT,
    Cutting,
    Nodes,
    add_region,
    new_regions,
    new_sweep,
    region_count,
    region_of_codes,
    specialize,
    tree_part,
)
from sfumato.kernels.global_cuts.product_cells import (
    CUTS,
    REGIONS,
    SETTLED,
    SortedAttributes,
    cell_range_loss,
    sorted_rows,
    start_cells,
)
from sfumato.kernels.global_cuts.subtree_merging import CHOSEN, MERGES, PRIME, HierarchyForest, merge, start_merging
from sfumato.kernels.types import TREE, Space
from sfumato.models.protocol import smallest_allowed
from sfumato.numbers import counted
from sfumato.options import Checked
from sfumato.table.encoding import EncodedAttribute

WORK = 20_000_000
"""Records that a kernel looks at between two reports of progress."""

_THRIFT = 64.0
"""What a cut saves is divided by 1 plus this times the share of the records that it suppresses."""


@dataclass(frozen=True, eq=False, repr=False)
class TableCut:
    """A table cut into regions: the codes ``low .. stop-1`` published with each, and each record's cell, or −1."""

    low: tuple[NDArray[np.int64], ...]
    stop: tuple[NDArray[np.int64], ...]
    cell_of: NDArray[np.int32]
    cuts: int = 0

    def regions(self) -> Iterator[tuple[int, int, int]]:
        """Yield attribute, first code and end of every region."""
        for attribute, (lows, stops) in enumerate(zip(self.low, self.stop, strict=True)):
            for low in np.unique(lows).tolist():
                yield attribute, low, int(stops[low])


@dataclass(frozen=True, eq=False, repr=False)
class CutGrid:
    """A problem laid out for cutting."""

    start: FeasibleProblem
    records: Records
    layout: SortedAttributes
    space: Space
    nodes: Nodes

    @property
    def roots(self) -> TableCut:
        """Every attribute as one region, and all records in one cell."""
        widths = self.layout.cardinalities.tolist()
        lows = tuple(np.zeros(width, dtype=np.int64) for width in widths)
        stops = tuple(np.full(width, width, dtype=np.int64) for width in widths)
        return TableCut(lows, stops, np.zeros(self.records.height, dtype=np.int32))

    @property
    def scale(self) -> float:
        """A power of 2 so that the loss of the whole table, times it, fits into 60 bits."""
        total = float(self.layout.weights.sum()) * float(self.space.weights.sum())
        return float(2.0 ** np.floor(60 - np.log2(max(1.0, total))))

    def cutting(self, *, place: int, widest: bool = False, per_anonymity: bool = False) -> Cutting:
        """Return the options of a search."""
        smallest, ruled = self.start.smallest, self.start.ruled
        thrift = 0.0 if widest else _THRIFT / max(1, int(self.layout.weights.sum()))
        return Cutting(smallest, ruled, place, widest, per_anonymity, thrift, self.scale)

    def search(self, cutting: Cutting, limit: int, begun: TableCut | None = None) -> TableCut:
        """Cut until no cut is allowable.

        `cutting`: how. `limit`: records that may be suppressed, those that `begun` suppresses among them. `begun`:
        where to start; None: from the roots.
        """
        begun = self.roots if begun is None else begun
        layout, space, nodes, rules = self.layout, self.space, self.nodes, self.start.rules.arrays
        count = int(begun.cell_of.max(initial=-1)) + 1
        spent = int(layout.weights[begun.cell_of < 0].sum())
        low, stop = np.concatenate(begun.low), np.concatenate(begun.stop)
        cells = start_cells(begun.cell_of.copy(), count, limit - spent, low, stop, layout, space, rules)
        regions = new_regions(layout, space, nodes)
        for attribute, first, end in begun.regions():
            node = self._node(attribute, first, end)
            add_region(attribute, first, end, node, layout, space, nodes, cutting, cells, regions)
        sweep = new_sweep(space)
        is_final, done = 0, False
        while not done:
            done = specialize(WORK, layout, space, nodes, rules, cutting, cells, regions, sweep)
            is_final = max(is_final, int(cells.counters[SETTLED]))
            self.start.problem.progress("cutting", is_final, max(is_final, int(cells.counters[REGIONS])))
        own = np.split(region_of_codes(layout, space, cells, regions), space.offsets[1:-1])
        return TableCut(
            tuple(regions.low[part] for part in own),
            tuple(regions.stop[part] for part in own),
            cells.of_record,
            begun.cuts + int(cells.counters[CUTS]),
        )

    def _node(self, attribute: int, low: int, stop: int) -> int:
        """Find the node that a region is; ROOT for the root and for what is no node, LEAF where nothing can be cut."""
        if self.space.kinds[attribute] != TREE:
            return ROOT
        if low == 0 and stop == self.layout.cardinalities[attribute]:
            return ROOT
        begin, end = self.space.tree_starts[attribute], self.space.tree_starts[attribute + 1]
        found = np.flatnonzero((self.nodes.low[begin:end] == low) & (self.nodes.stop[begin:end] == stop))
        node = int(begin + found[0]) if len(found) else LEAF
        return node if node != LEAF and self.nodes.last[node] > self.nodes.first[node] else LEAF


def grid_of(start: FeasibleProblem, attributes: Sequence[EncodedAttribute]) -> CutGrid:
    """Lay a problem out: distinct records that satisfy the models as one, sorted by each attribute. Cost O(q n)."""
    table = start.problem.table
    records = lay_out_records(table, start.rules, collapse=True, kept=start.kept)
    q, s = len(attributes), start.rules.codes.shape[1]
    columns = np.ascontiguousarray(records.codes[:, : q + s].T).astype(np.int32)
    cardinalities = np.array([attribute.cardinality for attribute in attributes], dtype=np.int64)
    codes = np.ascontiguousarray(columns[:q])
    rows, starts = sorted_rows(codes, cardinalities)
    sizes = np.array([attribute.size for attribute in attributes], dtype=np.int64)
    sensitive = np.ascontiguousarray(columns[q:])
    weights = records.weights.astype(np.int64)
    layout = SortedAttributes(codes, sensitive, weights, rows, starts, sizes, cardinalities)
    space = space_of(attributes)
    return CutGrid(start, records, layout, space, _nodes_of(space))


def _nodes_of(space: Space) -> Nodes:
    """Find the children of every node: neighbours, as nodes are listed level by level. Cost O(nodes)."""
    count = len(space.tree_low)
    first, last = np.zeros((2, count), dtype=np.int64)
    root_first, root_last = space.tree_starts[:-1].copy(), space.tree_starts[:-1].copy()
    for attribute, (begin, end) in enumerate(zip(space.tree_starts, space.tree_starts[1:], strict=False)):
        parents = space.tree_parent[begin:end]
        root_last[attribute] += int(np.count_nonzero(parents < 0))
        inner = np.flatnonzero(parents >= 0)
        above, places, counts = np.unique(parents[inner], return_index=True, return_counts=True)
        first[above] = begin + inner[places]
        last[above] = first[above] + counts
    return Nodes(space.tree_low, space.tree_high, first, last, root_first, root_last)


def with_two_levels(attribute: EncodedAttribute) -> EncodedAttribute:
    """Give a category without a hierarchy one of two levels, for the search alone: its labels say nothing."""
    if attribute.hierarchy is not None or attribute.is_numeric or not attribute.size:
        return attribute
    codes = tuple(range(attribute.size + 1))
    levels = (Level(tuple(str(code) for code in codes[:-1]), codes), Level(("*",), (0, attribute.size)))
    return replace(attribute, hierarchy=Hierarchy(levels))


def partition_of(grid: CutGrid, cut: TableCut, notes: Sequence[str] = ()) -> Partition:
    """Turn a cut table into a solution: classes, and what each one publishes.

    Classes are numbered by what they publish, so that their numbers do not depend on the order of the records. Cost O(q
    n + q c log c) for c classes.
    """
    table = grid.start.problem.table
    used = np.flatnonzero(np.bincount(cut.cell_of[cut.cell_of >= 0]))
    member = np.zeros(int(cut.cell_of.max(initial=-1)) + 1, dtype=np.int64)
    kept = np.flatnonzero(cut.cell_of >= 0)
    member[cut.cell_of[kept]] = kept
    firsts = [low[grid.layout.codes[index, member[used]]] for index, low in enumerate(cut.low)]
    used = used[np.lexsort(firsts[::-1])]
    number = np.full(len(member) + 1, -1, dtype=np.int32)
    number[used] = np.arange(len(used), dtype=np.int32)
    cover = grid.records.spread(number[cut.cell_of])
    regions = _regions(table.attributes, cut, grid.layout.codes[:, member[used]])
    return replace(grid.start.partition(cover, len(used)), regions=regions, notes=tuple(notes))


def _regions(attributes: Sequence[EncodedAttribute], cut: TableCut, codes: NDArray[np.int32]) -> Regions:
    """Look up what each class publishes, from the codes of one of its records, int32 (q, c)."""
    low, high, level = np.empty((3, codes.shape[1], len(attributes)), dtype=np.int32)
    for index, attribute in enumerate(attributes):
        first, last, steps = _published_ranges(attribute, cut.low[index], cut.stop[index] - 1)
        own = codes[index]
        low[:, index], high[:, index], level[:, index] = first[own], last[own], steps[own]
    return Regions(low, high, level)


def _published_ranges(
    attribute: EncodedAttribute, low: NDArray[np.int64], high: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return first code, last code and level as they are published: the lowest node of a range, ``*`` for everything.

    Several categories without a hierarchy that are all there are become ``*``, too.
    """
    size = attribute.size
    whole = (high == size) & (low < high)
    if attribute.numbers is None and attribute.hierarchy is None:
        whole |= (low == 0) & (high == size - 1) & (size > 1)
    level = np.zeros(len(low), dtype=np.int64)
    if attribute.hierarchy is not None:
        inner = np.flatnonzero(high < size)
        fits = attribute.hierarchy.leaf_counts[:, low[inner]] == high[inner] - low[inner] + 1
        level[inner] = np.argmax(fits, axis=0)
        level[whole] = attribute.hierarchy.height
    return np.where(whole, 0, low), np.where(whole, size, high), level


def _suppress_until_all_hold(partition: Partition, problem: Problem) -> Partition | None:
    """Suppress classes until those left satisfy the models, judged anew, and are suppressed enough, smallest first."""
    smallest = smallest_allowed(problem.models)
    while 0 < partition.suppressed <= problem.suppression_limit and partition.count:
        statistics = statistics_of(problem.table, partition.class_of, partition.count)
        fails = ~np.logical_and.reduce([model.holds(statistics) for model in problem.models])
        if not fails.any():
            if partition.suppressed >= smallest:
                return partition
            fails[np.argmin(partition.sizes)] = True
        number = np.where(fails, -1, np.cumsum(~fails) - 1).astype(np.int32)
        partition = partition.renumbered(number, int(np.count_nonzero(~fails)))
    return partition if partition.suppressed == 0 else None


def best_solution(problem: Problem, solutions: Iterable[Partition]) -> Partition:
    """Return the solution that loses least; they must not be none."""
    found = list(solutions)
    return found[0] if len(found) == 1 else least_loss_solution(problem.table, found)


def with_suppression(start: FeasibleProblem, solve: Callable[[int], Partition]) -> Iterator[Partition]:
    """Solve without suppression, and with it where nothing is left out yet, and the limit and models allow it."""
    yield solve(0)
    if start.kept is None and start.problem.suppression_limit:
        found = _suppress_until_all_hold(solve(start.problem.suppression_limit), start.problem)
        if found is not None:
            yield found


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
    """Replace the children of a node by the node, where that costs least loss per gained anonymity."""
    # The state of least loss among those whose failing cells, suppressed, hold at most `limit`; without a limit the
    # first without any. Gained are the failing cells that there are less, plus 1, weighed again when a merge's turn
    # comes. Cost about O(q · height · m).
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


_SplitRule = Literal["median", "median+fallback", "anywhere"]
_AttributeChoice = Literal["least-loss", "widest"]

_PLACES = {"median": MEDIAN, "median+fallback": FALLBACK, "anywhere": BEST}


@dataclass(frozen=True)
class GlobalMondrian(Checked):
    """Cut the values of one attribute for the whole table, then again, until no cut is allowable.

    Every attribute is cut into ranges of values, the same for all records; the classes are the non-empty combinations
    of ranges. Mondrian, in contrast, cuts every part by itself.

    Parameters
    ----------
    split_rule
        Where a range is cut. ``"median"``: values up to the lower median go left (the paper's rule).
        ``"median+fallback"``: the cut below the median is also tried, and the allowable one that is closer to half is
        made. ``"anywhere"``: every place is weighed, and the allowable one that lowers the loss most is taken.
    attribute_choice
        Which range of which attribute is cut. ``"least-loss"``: the one whose allowable cut lowers the loss of the
        table most. ``"widest"``: the one with the largest width, normalized by the domain's (the paper's rule);
        equally wide ones in declared order of the attributes, low values first.

    Raises
    ------
    PolicyError
        With every option that is unknown.

    Notes
    -----
    *What is published.* Numbers and dates: the interval of the range, its ends being values of the data, taken from the
    whole column. Attributes with a hierarchy: a node; it is cut into all its children at once, so that every range is
    published as one node. Categories without a hierarchy: the set of the values in the range, ordered by falling
    frequency, or ``*`` for all. The missing value becomes a range of its own when the whole domain is cut.

    *Guarantee.* Every class satisfies every model of the problem: a cut is allowable when all classes do that it
    leaves. This needs models that are monotone under merging, as all models of the library are. Equal values of an
    attribute are published equally. Without suppression no cut of the split rule is allowable in the end.

    *Suppression.* Where the limit allows it, a search that may also suppress the records of classes which break a model
    is made beside the one that may not, and what loses less in the end is taken; a suppressed record is charged as
    ``*`` in all attributes. There, what a cut saves is divided by 1 plus 64 times the share of records it suppresses.

    *Complexity.* O(q n + m · weighed ranges of a record) for m distinct records: a cut touches the records of its range
    alone, and ranges that cannot be the next are not weighed. Memory O(q n).

    *Sources.* K. LeFevre, D. J. DeWitt, R. Ramakrishnan, "Mondrian multidimensional k-anonymity", ICDE 2006:
    single-dimensional partitioning, which they define without a greedy algorithm of its
    own. Departures: ``"least-loss"``, ``"anywhere"``, the fallback and suppression are ours; every model counts, not k
    alone; widths of attributes with a hierarchy or without order are numbers of values.
    """

    name: ClassVar[str] = "global-mondrian"
    decides_regions: ClassVar[bool] = True
    people_apart: ClassVar[ModelsApart] = "merging models"
    order_free: ClassVar[bool] = True
    shares_nobody: ClassVar[bool] = True

    split_rule: _SplitRule = "median+fallback"
    attribute_choice: _AttributeChoice = "least-loss"

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
        grid = grid_of(start, start.problem.table.attributes)
        return with_suppression(start, lambda limit: self._solve(grid, limit))

    def _solve(self, grid: CutGrid, limit: int) -> Partition:
        widest = self.attribute_choice == "widest"
        found = grid.search(grid.cutting(place=_PLACES[self.split_rule], widest=widest), limit)
        return partition_of(grid, found, [f"Global Mondrian made {counted(found.cuts, 'cut')} across the whole table."])

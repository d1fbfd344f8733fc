"""What single-dimensional anonymizers share: the table as kernels cut it, and the solution that cuts amount to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.anonymizers.layout import Records, lay_out_records, space_of
from sfumato.anonymizers.parts import least_loss_solution
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition, Regions
from sfumato.classes.people import statistics_of
from sfumato.hierarchy.tree import Hierarchy, Level
from sfumato.kernels.global_cuts.global_cuts import (
    LEAF,
    ROOT,
    Cutting,
    Nodes,
    add_region,
    new_regions,
    new_sweep,
    region_of_codes,
    specialize,
)
from sfumato.kernels.global_cuts.product_cells import CUTS, REGIONS, SETTLED, SortedAttributes, sorted_rows, start_cells
from sfumato.kernels.types import TREE, Space
from sfumato.models.says import smallest_allowed
from sfumato.table.encoding import EncodedAttribute

WORK = 20_000_000
"""Records that a kernel looks at between two reports of progress."""

_THRIFT = 64.0
"""What a cut saves is divided by 1 plus this times the share of the records that it suppresses."""


@dataclass(frozen=True, eq=False, repr=False)
class TableCut:
    """A table cut into regions: the range of codes that each code is published as, and the cell of each record.

    Letters: m distinct records, q attributes. `low`, `stop`: int64 (cardinality,) for each attribute: codes ``low ..
    stop-1`` are published together with each code. `cell_of`, int32 (m,): cell of each distinct record, −1 for those
    that are suppressed. `cuts`: how many cuts were made.
    """

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
    """Lay a problem out: distinct records, sorted by each attribute. Cost O(q n).

    `start`: records that satisfy the models as one class. `attributes`: the table's, perhaps with a hierarchy in place
    of none.
    """
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
    """Suppress classes until the published ones satisfy the models and the suppressed records are enough.

    Models that compare with the published table judge it without the suppressed records. Classes that break a model go,
    again and again; then the smallest ones, until the suppressed records are as many as a class needs. Returns: None
    when the suppression limit does not allow it, or nothing would be left.
    """
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
    """Solve without suppression, and again with it where the limit and the models allow what comes out.

    `start`: where records have been left out already, they are all that is suppressed. `solve`: takes how many records
    may be suppressed.
    """
    yield solve(0)
    if start.kept is None and start.problem.suppression_limit:
        found = _suppress_until_all_hold(solve(start.problem.suppression_limit), start.problem)
        if found is not None:
            yield found

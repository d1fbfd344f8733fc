"""What single-dimensional anonymizers share: the table as kernels cut it, and the solution that cuts amount to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import Feasible
from sfumato.anonymizers.protocol import Problem
from sfumato.anonymizers.records import Records, records_of
from sfumato.anonymizers.space import space_of
from sfumato.classes.partition import Partition
from sfumato.classes.regions import Regions
from sfumato.classes.statistics import class_statistics
from sfumato.hierarchy.tree import Hierarchy, Level
from sfumato.kernels.global_cuts import ROOT, Cutting, Nodes, new_sweep
from sfumato.kernels.product_cells import CUTS, REGIONS, SETTLED, Cells, Layout, one_cell, range_loss, sorted_rows
from sfumato.kernels.space import Space
from sfumato.kernels.specialization import add_region, new_regions, region_of_codes, specialize
from sfumato.table.encoding import EncodedAttribute, EncodedTable

WORK = 20_000_000
"""Records that a kernel looks at between two reports of progress."""


@dataclass(frozen=True, eq=False, repr=False)
class Cut:
    """A table cut into regions: the range of codes that each code is published as, and the cell of each record.

    Letters: n records, q attributes.

    Attributes
    ----------
    low, stop : tuple of numpy.ndarray
        int64 (cardinality,) for each attribute: codes ``low .. stop-1`` are published together with each code.
    cell_of : numpy.ndarray
        int32 (n,): −1 for records that are suppressed.
    cuts : int
        How many cuts were made.
    """

    low: tuple[NDArray[np.int64], ...]
    stop: tuple[NDArray[np.int64], ...]
    cell_of: NDArray[np.int32]
    cuts: int


@dataclass(frozen=True, eq=False, repr=False)
class Grid:
    """A problem laid out for cutting.

    Attributes
    ----------
    start : Feasible
    records : Records
    layout : Layout
    space : Space
    nodes : Nodes
    """

    start: Feasible
    records: Records
    layout: Layout
    space: Space
    nodes: Nodes

    def cutting(self, *, limit: int, place: int, widest: bool = False, per_anonymity: bool = False, thrift: float = 0.0) -> Cutting:
        """Return the options of a search; `limit` is the number of records that may be suppressed."""
        total = float(self.layout.weights.sum()) * float(self.space.weights.sum())
        scale = 2.0 ** np.floor(60 - np.log2(max(1.0, total)))
        start = self.start
        return Cutting(start.smallest, start.ruled, place, widest, limit > 0, per_anonymity, thrift, float(scale))

    def search(self, cutting: Cutting, limit: int) -> Cut:
        """Cut from the roots down until no cut is allowable."""
        rules = self.start.rules.arrays
        cells = one_cell(self.layout, rules, limit)
        regions = new_regions(self.layout, self.space, self.nodes)
        for attribute, cardinality in enumerate(self.layout.cardinalities.tolist()):
            cells.loss[0] += range_loss(attribute, 0, cardinality, self.layout, self.space)
            add_region(
                attribute, 0, cardinality, ROOT, self.layout, self.space, self.nodes, cutting, cells, regions
            )  # fmt: skip
        sweep = new_sweep(self.space)
        progress = self.start.problem.progress
        settled, done = 0, False
        while not done:
            done = specialize(
                WORK, self.layout, self.space, self.nodes, rules, cutting, cells, regions, sweep
            )  # fmt: skip
            settled = max(settled, int(cells.counters[SETTLED]))
            progress("cutting", settled, max(settled, int(cells.counters[REGIONS])))
        return self._cut(cells, regions)

    def _cut(self, cells: Cells, regions: Any) -> Cut:
        region_of = region_of_codes(self.layout, self.space, cells, regions)
        own = np.split(region_of, self.space.offsets[1:-1])
        of_record = cells.of_record if self.records.record_of is None else cells.of_record[self.records.record_of]
        return Cut(
            tuple(regions.low[part] for part in own),
            tuple(regions.stop[part] for part in own),
            of_record,
            int(cells.counters[CUTS]),
        )


def grid_of(start: Feasible, attributes: Sequence[EncodedAttribute]) -> Grid:
    """Lay a problem out: distinct records, sorted by each attribute. Cost O(q n).

    Parameters
    ----------
    start
        Records that satisfy the models as one class.
    attributes
        The table's, perhaps with a hierarchy in place of none.
    """
    table = start.problem.table
    records = records_of(table, start.rules, collapse=True, kept=start.kept)
    q, s = len(attributes), start.rules.codes.shape[1]
    columns = np.ascontiguousarray(records.codes[:, : q + s].T).astype(np.int32)
    cardinalities = np.array([attribute.cardinality for attribute in attributes], dtype=np.int64)
    codes = np.ascontiguousarray(columns[:q])
    rows, starts = sorted_rows(codes, cardinalities)
    sizes = np.array([attribute.size for attribute in attributes], dtype=np.int64)
    sensitive = np.ascontiguousarray(columns[q:])
    weights = records.weights.astype(np.int64)
    layout = Layout(codes, sensitive, weights, rows, starts, sizes, cardinalities)
    space = space_of(attributes)
    return Grid(start, records, layout, space, nodes_of(space))


def nodes_of(space: Space) -> Nodes:
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


def partition_of(start: Feasible, cut: Cut, notes: Sequence[str] = ()) -> Partition:
    """Turn a cut table into a solution: classes, and what each one publishes. Cost O(q n)."""
    table = start.problem.table
    used, cover = np.unique(cut.cell_of, return_inverse=True)
    dropped = int(len(used) > 0 and used[0] < 0)
    cover = (cover - dropped).astype(np.int32)
    count = len(used) - dropped
    member = np.zeros(count, dtype=np.int64)
    member[cover[cover >= 0]] = np.flatnonzero(cover >= 0)
    return replace(start.partition(cover, count), regions=_regions(table, cut, member), notes=tuple(notes))


def _regions(table: EncodedTable, cut: Cut, member: NDArray[np.int64]) -> Regions:
    """Look up what each class publishes, from one of its records."""
    low, high, level = np.empty((3, len(member), len(table.attributes)), dtype=np.int32)
    for index, attribute in enumerate(table.attributes):
        first, last, steps = published_ranges(attribute, cut.low[index], cut.stop[index] - 1)
        codes = table.codes[member, index]
        low[:, index], high[:, index], level[:, index] = first[codes], last[codes], steps[codes]
    return Regions(low, high, level)


def published_ranges(
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


def settled(partition: Partition, problem: Problem) -> Partition | None:
    """Suppress classes until what is published satisfies the models, however suppressed records are published.

    Models that compare with the published table judge it without the suppressed records; where those are published as
    ``*`` they are a class of their own, and the table is all records. Both have to hold. Classes that break a model go;
    when only the suppressed ones do as a class, the smallest class goes too.

    Returns
    -------
    Partition or None
        None when the suppression limit does not allow it, or nothing would be left.
    """
    table = problem.table
    while 0 < partition.suppressed <= problem.suppression_limit and partition.count:
        removed = _holding(partition.class_of, partition.count, problem)
        starred = _holding(partition.class_of + np.int32(1), partition.count + 1, problem)
        fails = ~(removed & starred[1:])
        if not fails.any():
            if starred[0] and partition.suppressed >= _smallest(problem):
                return partition
            fails[np.argmin(partition.sizes)] = True
        number = np.where(fails, -1, np.cumsum(~fails) - 1).astype(np.int32)
        partition = partition.renumbered(number, int(np.count_nonzero(~fails)))
    return partition if partition.suppressed == 0 and table.height else None


def _holding(class_of: NDArray[np.int32], count: int, problem: Problem) -> NDArray[np.bool_]:
    statistics = class_statistics(class_of, count, problem.table.sensitive_codes, problem.table.sensitive)
    return np.logical_and.reduce([model.holds(statistics) for model in problem.models])


def _smallest(problem: Problem) -> int:
    return max([1, *(int(model.parameters().get("k", 1)) for model in problem.models)])

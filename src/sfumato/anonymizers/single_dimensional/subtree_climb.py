"""Bottom-up generalization of subtrees: from the leaves until every class satisfies the models."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.single_dimensional.search import WORK, CutGrid, TableCut
from sfumato.anonymizers.single_dimensional.subtree_forest import forest_of
from sfumato.classes.grouping import group_records
from sfumato.classes.people import statistics_of
from sfumato.kernels.global_cuts.subtree_merging import CHOSEN, MERGES, HierarchyForest, merge, start_merging

Ranges = tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]


def climb(grid: CutGrid, limit: int) -> TableCut:
    """Replace the children of a node by the node, where that costs least loss per gained anonymity.

    Parameters
    ----------
    grid
        The problem.
    limit
        Records that may be suppressed.

    Returns
    -------
    Cut
        The state with the least loss among those whose failing cells hold at most `limit` records; these records are
        suppressed. Without a limit the first state in which every cell holds.

    Notes
    -----
    Gained anonymity is the number of failing cells that there are less, plus 1. What a merge gains is weighed again
    when its turn comes, and not before.

    Cost O(records of the nodes that are weighed), as a rule about O(q · height · m).
    """
    forest = forest_of(grid.layout, grid.space, grid.nodes)
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


def _ranges(grid: CutGrid, forest: HierarchyForest, published: NDArray[np.int64]) -> Ranges:
    """Return the first code and the end of what each code is published as; later nodes go before earlier ones."""
    widths = grid.layout.cardinalities.tolist()
    low = [np.zeros(width, dtype=np.int64) for width in widths]
    stop = [np.zeros(width, dtype=np.int64) for width in widths]
    for node in published.tolist():
        attribute, first, end = forest.attribute[node], forest.low[node], forest.stop[node]
        low[attribute][first:end], stop[attribute][first:end] = first, end
    return low, stop


def _cells(grid: CutGrid, ranges: Ranges) -> tuple[NDArray[np.int32], int]:
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

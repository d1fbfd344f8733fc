"""The trees that bottom-up generalization climbs: hierarchies as they are, numbers halved where that saves most."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.global_cuts.global_cuts import LEAF, ROOT, Nodes, part_count, tree_part
from sfumato.kernels.global_cuts.product_cells import SortedAttributes, range_loss
from sfumato.kernels.global_cuts.subtree_merging import PRIME, HierarchyForest
from sfumato.kernels.space import TREE, Space

INTERVALS = 256
"""Intervals that the values of a number start from, at most."""

Parts = dict[tuple[int, int], list[tuple[int, int]]]
"""The parts that a range of codes has as a node: range (low, stop) → ranges."""


def forest_of(layout: SortedAttributes, space: Space, nodes: Nodes) -> HierarchyForest:
    """Build the trees of all attributes. Cost O(nodes + codes · depth of the trees of numbers)."""
    rows: list[tuple[int, int, int, int, int]] = []
    for attribute, cardinality in enumerate(layout.cardinalities.tolist()):
        parts = _tree_parts(attribute, layout, space, nodes)
        rows.extend(_rows(attribute, cardinality, parts, len(rows)))
    owner, low, stop, parent, children = np.array(rows, dtype=np.int64).reshape(-1, 5).T.copy()
    loss = np.array([range_loss(*row[:3], layout, space) for row in rows], dtype=np.float64)
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


def _rows(attribute: int, cardinality: int, parts: Parts, first: int) -> Iterator[tuple[int, int, int, int, int]]:
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


def _tree_parts(attribute: int, layout: SortedAttributes, space: Space, nodes: Nodes) -> Parts:
    size, cardinality = int(layout.sizes[attribute]), int(layout.cardinalities[attribute])
    parts: Parts = {}
    if space.kinds[attribute] != TREE:
        if 0 < size < cardinality:
            parts[0, cardinality] = [(0, size), (size, cardinality)]
        return parts | _halves(attribute, size, layout, space)
    waiting = [(0, cardinality, ROOT)] if cardinality > 1 else []
    while waiting:
        low, stop, node = waiting.pop()
        count = part_count(attribute, node, stop, layout, nodes)
        found = [tree_part(attribute, node, child, layout, nodes) for child in range(count)]
        parts[low, stop] = [(int(part[0]), int(part[1])) for part in found]
        waiting.extend((int(part[0]), int(part[1]), int(part[2])) for part in found if part[2] != LEAF)
    return parts


def _halves(attribute: int, size: int, layout: SortedAttributes, space: Space) -> Parts:
    """Cut the numbers in two where that saves most, the interval that gains most first, and so on."""
    first = int(space.offsets[attribute]) + attribute
    below = _records(layout, space)[first : first + size + 1]
    positions = space.positions[space.offsets[attribute] : space.offsets[attribute] + size]
    parts: Parts = {}
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

"""Earth mover's distances between the sensitive values of each class and those of the whole table.

Letters: c classes, v values, z (class, value) pairs. All work on the pairs alone, so that the cost does not grow with
c · v.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import SensitiveCounts
from sfumato.models.shares import class_of_pairs
from sfumato.models.value_tree import value_paths


def equal_distance(counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distance when any two values are equally far apart: ``½ Σ |p - q|``; float64 (c,).

    All differences sum to zero, so half their absolute sum is the sum of the positive ones, and only values that a
    class has can be positive. Cost O(z).
    """
    total = counts.totals.sum()
    own = sizes[class_of_pairs(counts)]
    above = np.maximum(counts.counts * total - counts.totals[counts.values] * own, 0)
    return _shared(np.add.reduceat(above, counts.starts[:-1]), sizes * float(total))


def ordered_distance(counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distance over ranks: ``1/(v-1) Σ_i |Σ_{j≤i} (p_j - q_j)|``; float64 (c,).

    Between two values of a class its cumulative share stays level while the table's rises, so that the absolute
    differences have one change of sign there: found by bisection, summed from running sums. Cost O(z log v).
    """
    steps = len(counts.totals) - 1
    if steps == 0:
        return np.zeros(len(sizes))
    total = counts.totals.sum()
    table = np.cumsum(counts.totals)
    running = np.concatenate([[0], np.cumsum(table)])
    owner = class_of_pairs(counts)
    own = sizes[owner].astype(np.float64)
    cumulative = np.cumsum(counts.counts)
    level = (cumulative - (cumulative - counts.counts)[counts.starts[owner]]).astype(np.float64) * total
    begin = counts.values.astype(np.int64)
    end = np.append(begin[1:], steps)
    end[counts.starts[1:] - 1] = steps + 1
    turn = np.clip(np.searchsorted(table, level / own, side="right"), begin, end)
    before = level * (turn - begin) - own * (running[turn] - running[begin])
    after = own * (running[end] - running[turn]) - level * (end - turn)
    ahead = running[begin[counts.starts[:-1]]] * sizes
    moved = np.add.reduceat(before + after, counts.starts[:-1]) + ahead
    return _shared(moved, sizes * (float(total) * steps))


def hierarchical_distance(counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distance when two leaves are ``level(lowest common ancestor) / H`` apart; float64 (c,).

    Level by level from the leaves, each node moves what its children have too much to those that have too little. A
    node without a value of the class has no surplus and moves nothing, so only nodes above the pairs count. The
    children's deficit is their surplus less the surplus of the node. Cost O(z log z + H · z).
    """
    paths = value_paths(counts)
    height = len(paths) - 1
    total = counts.totals.sum()
    owner = class_of_pairs(counts)
    order = np.lexsort((*paths[:, counts.values], owner))
    owner, values, own = owner[order], counts.values[order], counts.counts[order]
    extra = own * total - counts.totals[values] * sizes[owner]
    cost = np.zeros(len(sizes))
    for level in range(1, height + 1):
        nodes = paths[level, values]
        first = np.flatnonzero(np.diff(owner, prepend=-1) | np.diff(nodes, prepend=-1))
        surplus = np.add.reduceat(np.maximum(extra, 0), first)
        owner, values, own = owner[first], values[first], np.add.reduceat(own, first)
        below = np.bincount(paths[level], weights=counts.totals).astype(np.int64)[nodes[first]]
        extra = own * total - below * sizes[owner]
        moved = np.minimum(surplus, surplus - extra)
        cost += np.bincount(owner, weights=moved * (level / height), minlength=len(sizes))
    return _shared(cost, sizes * float(total))


def _shared(moved: NDArray[np.number], scale: NDArray[np.floating]) -> NDArray[np.float64]:
    distance: NDArray[np.float64] = np.divide(moved, scale)
    return distance

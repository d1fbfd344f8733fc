"""Lloyd's iteration for thousands of centres, exact: only centres that moved are looked at where that suffices.

Letters: m distinct points, d coordinates, c centres, t nodes of the tree of the points.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.points.point_tree import DEPTH, PointTree, distance, nearest_point, plant_points
from sfumato.kernels.types import Floats, Int32s, Int64s, int64


@kernel
def assign_points(
    points: Floats, low: int, high: int, centres: PointTree, moved: PointTree, home: Int32s, apart: Floats
) -> None:  # fmt: skip
    """Find the nearest centre of points ``low .. high-1``, the lowest on ties.

    points : float64 (m, d); home : int32 (m,), the centre of each point so far, −1 for none; apart : float64 (m,), its
    squared distance to that centre before the last move. Both are set. `moved` holds the centres that moved last. A
    point whose own centre did not move away from it can only be won by a centre that moved. One that is at no distance
    from any has the first.
    """
    for point in range(low, high):
        own = home[point]
        if own < 0:
            found, least = nearest_point(points[point], np.inf, len(centres.items), centres, -1)
        else:
            now = distance(points[point], centres.points[centres.places[own]])
            tree = moved if now <= apart[point] else centres
            found, least = nearest_point(points[point], now, own, tree, -1)
        home[point] = found if found < len(centres.items) else 0
        apart[point] = least


@kernel
def move_centres(points: Floats, weights: Int64s, home: Int32s, centres: Floats) -> Floats:
    """Move every centre to the mean of its points; one without points stays.

    points : float64 (m, d); weights : int64 (m,); home : int32 (m,); centres : float64 (c, d), set. Returns how far
    each centre moved, as squared distances, float64 (c,).
    """
    sizes = np.zeros(len(centres), np.int64)
    sums = np.zeros_like(centres)
    for point in range(len(points)):
        own = home[point]
        sizes[own] += weights[point]
        for axis in range(points.shape[1]):
            sums[own, axis] += weights[point] * points[point, axis]
    moves = np.zeros(len(centres))
    for number in range(len(centres)):
        if sizes[number] > 0:
            mean = sums[number] / sizes[number]
            moves[number] = distance(mean, centres[number])
            centres[number] = mean
    return moves


@kernel
def spread_start(points: Floats, weights: Int64s, draws: Floats) -> Int64s:
    """Draw the first centres as k-means++ does: each with a chance that grows with the squared distance to the others.

    points : float64 (m, d); weights : int64 (m,); draws : float64 (c,), uniform in [0, 1). Returns int64 points, fewer
    than c when there are fewer that differ. A new centre only visits the part of the tree that it may be nearest to.
    """
    tree = plant_points(points, weights)
    apart = np.full(len(points), np.inf)
    totals = np.zeros(len(tree.bounds))
    largest = np.full(len(tree.bounds), np.inf)
    chosen = np.empty(len(draws), np.int64)
    path = np.empty(len(tree.bounds), np.int64)
    total = 0
    place = _place_of_record(draws[0], tree)
    for count in range(len(draws)):
        if count > 0:
            if not totals[0] > 0.0:
                break
            place = _drawn_place(draws[count] * totals[0], tree, apart, totals)
        chosen[count] = tree.items[place]
        total += 1
        _come_nearer(tree.points[place].copy(), tree, apart, totals, largest, path)
    return chosen[:total]


@inlined
def _place_of_record(draw: float, tree: PointTree) -> int:
    """Place of one record of all, each being as likely as any other."""
    record = min(int64(draw * tree.weights[0]), tree.weights[0] - 1)
    for place in range(len(tree.items)):
        if record < tree.left[place]:
            return place
        record -= tree.left[place]
    return len(tree.items) - 1


@inlined
def _drawn_place(rest: float, tree: PointTree, apart: Floats, totals: Floats) -> int:
    """Find the place that a random number stands for. Ends: each round goes down a level of the tree."""
    node = 0
    while 2 * node + 1 < len(tree.bounds):
        node = 2 * node + 1
        # Rounding must not lead into a branch without any chance.
        if rest >= totals[node] and totals[node + 1] > 0.0:
            rest -= totals[node]
            node += 1
    found = tree.bounds[node, 0]
    for place in range(tree.bounds[node, 0], tree.bounds[node, 1]):
        share = tree.left[place] * apart[place]
        if share > 0.0:
            found = place
            if rest < share:
                break
        rest -= share
    return int64(found)


@inlined
def _come_nearer(point: Floats, tree: PointTree, apart: Floats, totals: Floats, largest: Floats, path: Int64s) -> None:
    """Lower the distance to the nearest centre wherever `point`, a new one, is nearer. Ends: nodes are visited once."""
    waiting = np.empty(DEPTH, np.int64)
    waiting[0] = 0
    count = 1
    visited = 0
    while count > 0:
        count -= 1
        node = waiting[count]
        least = 0.0
        for axis in range(len(point)):
            least += max(tree.low[node, axis] - point[axis], point[axis] - tree.high[node, axis], 0.0) ** 2
        if least >= largest[node]:
            continue
        path[visited] = node
        visited += 1
        if 2 * node + 1 < len(tree.bounds):
            waiting[count] = 2 * node + 1
            waiting[count + 1] = 2 * node + 2
            count += 2
            continue
        for place in range(tree.bounds[node, 0], tree.bounds[node, 1]):
            apart[place] = min(apart[place], distance(tree.points[place], point))
    # Children stand behind their parents on the path.
    for step in range(visited - 1, -1, -1):
        node = path[step]
        if 2 * node + 1 < len(tree.bounds):
            totals[node] = totals[2 * node + 1] + totals[2 * node + 2]
            largest[node] = max(largest[2 * node + 1], largest[2 * node + 2])
            continue
        totals[node] = 0.0
        largest[node] = 0.0
        for place in range(tree.bounds[node, 0], tree.bounds[node, 1]):
            totals[node] += tree.left[place] * apart[place]
            largest[node] = max(largest[node], apart[place])

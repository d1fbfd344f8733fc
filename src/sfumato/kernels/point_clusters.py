"""Classes of points: k-means, MDAV and V-MDAV.

Lloyd's iteration for thousands of centres, exact: only centres that moved are looked at where that suffices.

Letters: m distinct points, d coordinates, c centres, t nodes of the tree of the points.

MDAV and V-MDAV: classes around the records that are farthest out.

Letters: m distinct points, d coordinates, n records. Records stand in the order of their points: those of point ``i``
are ``starts[i] .. starts[i+1]-1``, and they are used up from the first on, as the lowest of equally near ones. The
result is that of looking at every record.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.jit import inlined, kernel, sized
from sfumato.kernels.point_tree import (
    DEPTH,
    PointTree,
    distance,
    farthest,
    nearest_point,
    nearest_records,
    plant_points,
    refit,
)
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
    """Lower the distance to the nearest centre wherever `point`, a new one, is nearer.

    Ends: nodes are visited once. Capacity: two nodes of a depth wait at most; `path` has a place for each node.
    """
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


class Microaggregation(NamedTuple):
    """What is known while classes are made."""

    tree: PointTree  # points of the records that are not in a class yet
    starts: Int64s  # (m + 1,): first record of each point
    class_of: Int32s  # (n,): class of each record, −1 for none yet
    items: Int64s  # (k + 1,): points that are taken next
    distances: Floats  # (k + 1,)


@sized(lambda points, starts, k: 10.0 * points.size * len(points) ** 0.5 / k)
def mdav(points: Floats, starts: Int64s, k: int) -> tuple[Int32s, int]:
    """Partition records by maximum distance to the average vector.

    points : float64 (m, d), m >= 1; starts : int64 (m + 1,). Needs n >= k. Returns the class of each record, int32
    (n,), and how many classes there are. Every class has k records but the last, which has k to 2k − 1. Points are
    finite, so that a search finds one as long as records are left; each class uses up k.
    Ends: each round uses up k records.
    """
    state = _begin(points, starts, k)
    centre = np.empty(points.shape[1])
    rest = starts[-1]
    count = 0
    while rest >= 2 * k:
        pair = rest >= 3 * k
        for axis in range(len(centre)):
            centre[axis] = state.tree.sums[0, axis] / state.tree.weights[0]
        seed = farthest(centre, state.tree)
        _take_around(seed, k, count, state)
        count += 1
        rest -= k
        if pair:
            _take_around(farthest(points[seed], state.tree), k, count, state)
            count += 1
            rest -= k
    for record in range(len(state.class_of)):
        if state.class_of[record] < 0:
            state.class_of[record] = count
    return state.class_of, count + 1


@sized(lambda points, starts, k, gamma: 20.0 * points.size * len(points) ** 0.5 / k)
def v_mdav(points: Floats, starts: Int64s, k: int, gamma: float) -> tuple[Int32s, int]:
    """Partition records as :func:`mdav` does, with classes that go on growing where the next record is close enough.

    Arguments and result are those of :func:`mdav`, but for `gamma` >= 0: a record joins while its distance to the class
    is below `gamma` times its distance to the nearest record outside. Classes have k to 2k − 1 records before those
    that are left over, fewer than k, join the class with the nearest mean. A class has fewer points than records.
    Ends: each round uses up k records.
    """
    state = _begin(points, starts, k)
    m = len(points)
    centre = state.tree.sums[0] / state.tree.weights[0]
    far = np.empty(m)
    for item in range(m):
        far[item] = -distance(points[item], centre)
    rest = starts[-1]
    count = 0
    members = np.empty(2 * k, np.int64)
    near = np.empty(2 * k, np.int64)
    apart = np.empty(2 * k)
    for seed in np.argsort(far, kind="mergesort"):
        while rest >= k and state.tree.left[state.tree.places[seed]] > 0:
            taken = _take_around(seed, k, count, state)
            members[:taken] = state.items[:taken]
            rest -= k + _extend(k, count, gamma, members, taken, near, apart, state)
            count += 1
    _join_nearest_means(points, count, rest, state)
    return state.class_of, count


@kernel
def _begin(points: Floats, starts: Int64s, k: int) -> Microaggregation:
    return Microaggregation(
        plant_points(points, np.diff(starts)),
        starts,
        np.full(starts[-1], np.int32(-1)),
        np.empty(k + 1, np.int64),
        np.empty(k + 1),
    )


@inlined
def _take(item: int, most: int, number: int, state: Microaggregation) -> int:
    """Put up to `most` records of a point into a class; returns how many."""
    place = state.tree.places[item]
    left = state.tree.left[place]
    taken = min(left, most)
    first = state.starts[item + 1] - left
    state.class_of[first : first + taken] = number
    state.tree.left[place] -= taken
    refit(item, state.tree)
    return int64(taken)


@kernel
def _take_around(seed: int, k: int, number: int, state: Microaggregation) -> int:
    """Put the record `seed` and its k − 1 nearest into a class; returns how many points they have, in ``items``.

    The records of the seed itself are nearest to it, but those of a lower point at the same place come first of all
    others. Capacity: k points at most, in k + 1 places.
    """
    point = state.tree.points[state.tree.places[seed]].copy()
    taken = _take(seed, 1, number, state)
    points = 0
    if k > 1:
        points = nearest_records(point, k - 1, state.tree, state.items, state.distances)
    for slot in range(points):
        taken += _take(state.items[slot], k - taken, number, state)
    state.items[points] = seed
    return points + 1


@kernel
def _extend(
    k: int, number: int, gamma: float, members: Int64s, count: int, near: Int64s, apart: Floats, state: Microaggregation
) -> int:
    """Let a class of k records, with `count` points in `members`, grow; returns how many records joined.

    Ends: each round adds a record or is the last. Capacity: arrays have 2 k places, k at first and k − 1 who join.
    """
    tree = state.tree
    nobody = len(tree.items)
    for slot in range(count):
        near[slot], apart[slot] = nearest_point(tree.points[tree.places[members[slot]]], np.inf, nobody, tree, -1)
    joined = 0
    while joined < k - 1 and tree.weights[0] > 0:
        best = 0
        for slot in range(1, count):
            if apart[slot] < apart[best] or (apart[slot] == apart[best] and near[slot] < near[best]):
                best = slot
        item = near[best]
        point = tree.points[tree.places[item]]
        outside = 0.0
        if tree.left[tree.places[item]] == 1:
            outside = nearest_point(point, np.inf, nobody, tree, item)[1]
        if not np.sqrt(apart[best]) < gamma * np.sqrt(outside):
            return joined
        _take(item, 1, number, state)
        joined += 1
        if tree.left[tree.places[item]] == 0:
            for slot in range(count):
                if near[slot] == item:
                    near[slot], apart[slot] = nearest_point(
                        tree.points[tree.places[members[slot]]], np.inf, nobody, tree, -1
                    )
        members[count] = item
        near[count], apart[count] = nearest_point(point, np.inf, nobody, tree, -1)
        count += 1
    return joined


@kernel
def _join_nearest_means(points: Floats, count: int, rest: int, state: Microaggregation) -> None:
    """Put every record that is left into the class whose mean, before any of them joins, is nearest."""
    if rest == 0:
        return
    means = np.zeros((count, points.shape[1]))
    sizes = np.zeros(count, np.int64)
    for item in range(len(points)):
        for record in range(state.starts[item], state.starts[item + 1]):
            number = state.class_of[record]
            if number >= 0:
                sizes[number] += 1
                for axis in range(points.shape[1]):
                    means[number, axis] += points[item, axis]
    for number in range(count):
        means[number] /= sizes[number]
    tree = plant_points(means, np.ones(count, np.int64))
    for item in range(len(points)):
        for record in range(state.starts[item], state.starts[item + 1]):
            if state.class_of[record] < 0:
                state.class_of[record] = nearest_point(points[item], np.inf, count, tree, -1)[0]

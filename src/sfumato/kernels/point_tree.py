"""A tree of boxes over points that are taken away or moved: nearest and farthest points without looking at all.

Letters: m points, d coordinates, t nodes. Node ``i`` has the children ``2i + 1`` and ``2i + 2``; the last
``(t + 1) / 2`` nodes are leaves. Every node knows the tight box of its points that are still there, so that boxes
shrink as points go.

Distances are squared and summed coordinate by coordinate, bounds of boxes in the same way: rounding keeps the order, so
that no bound ever cuts off a point that a look at every point would find. Ties go to the lowest item.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from sfumato.kernels.jit import inlined, kernel, sized
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.store import elements
from sfumato.kernels.types import Codes, Floats, Int32s, Int64s, int64

LEAF = 12
"""Points in a leaf at most."""

DEPTH = 128
"""Nodes that wait during a search at most: one for every level, and one more; trees have as many as log2 of points."""


class PointTree(NamedTuple):
    """Points in the order of the leaves, and the nodes above them."""

    points: Floats  # (m, d), in tree order
    items: Int64s  # (m,): the caller's number of each point
    places: Int64s  # (m,): place of each item
    left: Int64s  # (m,): records at each place that are still there; 0 when the point is gone
    leaves: Int64s  # (m,): leaf of each place
    bounds: Int64s  # (t, 2): places of each node, first and one after the last
    # `low`, `high`: (t, d): box of the points of each node that are there
    low: Floats
    high: Floats
    lowest: Int64s  # (t,): lowest item of each node that is there; one above all items in an empty one
    weights: Int64s  # (t,): records of each node that are there
    sums: Floats  # (t, d): sums of their coordinates


@kernel
def plant_points(points: Floats, weights: Int64s) -> PointTree:
    """Build the tree over points, float64 (m, d), of weights >= 0, int64 (m,). O(d m log² m). Ends: sizes double."""
    m, d = points.shape
    leaves = 1
    while leaves * LEAF < m:
        leaves *= 2
    nodes = 2 * leaves - 1
    order = np.arange(m)
    bounds = np.empty((nodes, 2), np.int64)
    bounds[0, 0] = 0
    bounds[0, 1] = m
    for node in range(leaves - 1):
        first = bounds[node, 0]
        last = bounds[node, 1]
        middle = (first + last) // 2
        axis = _widest_axis(points, order, first, last)
        values = np.empty(last - first, np.float64)
        for place in range(first, last):
            values[place - first] = points[order[place], axis]
        order[first:last] = order[first:last][np.argsort(values, kind="mergesort")]
        bounds[2 * node + 1, 0] = first
        bounds[2 * node + 1, 1] = middle
        bounds[2 * node + 2, 0] = middle
        bounds[2 * node + 2, 1] = last
    places = np.empty(m, np.int64)
    leaf_of = np.empty(m, np.int64)
    for place in range(m):
        places[order[place]] = place
    for node in range(leaves - 1, nodes):
        leaf_of[bounds[node, 0] : bounds[node, 1]] = node
    tree = PointTree(
        points[order], order, places, weights[order], leaf_of, bounds, np.empty((nodes, d)), np.empty((nodes, d)),
        np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty((nodes, d)),
    )  # fmt: skip
    for node in range(nodes - 1, -1, -1):
        _fit(node, tree)
    return tree


@inlined
def _widest_axis(points: Floats, order: Int64s, first: int, last: int) -> int:
    widest = 0
    width = -1.0
    for axis in range(points.shape[1]):
        low = np.inf
        high = -np.inf
        for place in range(first, last):
            low = min(low, points[order[place], axis])
            high = max(high, points[order[place], axis])
        if high - low > width:
            widest = axis
            width = high - low
    return widest


@inlined
def _fit(node: int, tree: PointTree) -> None:
    """Measure a node again, from its points or its children."""
    tree.low[node] = np.inf
    tree.high[node] = -np.inf
    tree.sums[node] = 0.0
    tree.lowest[node] = len(tree.items)
    tree.weights[node] = 0
    if 2 * node + 1 < len(tree.bounds):
        for child in range(2 * node + 1, 2 * node + 3):
            tree.lowest[node] = min(tree.lowest[node], tree.lowest[child])
            tree.weights[node] += tree.weights[child]
            for axis in range(tree.points.shape[1]):
                tree.low[node, axis] = min(tree.low[node, axis], tree.low[child, axis])
                tree.high[node, axis] = max(tree.high[node, axis], tree.high[child, axis])
                tree.sums[node, axis] += tree.sums[child, axis]
        return
    for place in range(tree.bounds[node, 0], tree.bounds[node, 1]):
        weight = tree.left[place]
        if weight == 0:
            continue
        tree.lowest[node] = min(tree.lowest[node], tree.items[place])
        tree.weights[node] += weight
        for axis in range(tree.points.shape[1]):
            value = tree.points[place, axis]
            tree.low[node, axis] = min(tree.low[node, axis], value)
            tree.high[node, axis] = max(tree.high[node, axis], value)
            tree.sums[node, axis] += weight * value


@kernel
def refit(item: int, tree: PointTree) -> None:
    """Measure the nodes above an item whose point or weight has changed. O(d log m). Ends: it climbs to the root."""
    node = tree.leaves[tree.places[item]]
    while True:
        _fit(node, tree)
        if node == 0:
            return
        node = (node - 1) // 2


@inlined
def distance(point: Floats, other: Floats) -> float:
    """Return the squared Euclidean distance."""
    total = 0.0
    for axis in range(len(point)):
        total += (point[axis] - other[axis]) ** 2
    return total


@inlined
def _at_least(point: Floats, node: int, tree: PointTree) -> float:
    """No point of the node is nearer than that."""
    if tree.weights[node] == 0:
        return np.inf
    total = 0.0
    for axis in range(len(point)):
        apart = max(tree.low[node, axis] - point[axis], point[axis] - tree.high[node, axis], 0.0)
        total += apart**2
    return total


@inlined
def _at_most(point: Floats, node: int, tree: PointTree) -> float:
    """No point of the node is farther than that."""
    if tree.weights[node] == 0:
        return -1.0
    total = 0.0
    for axis in range(len(point)):
        apart = max(abs(tree.low[node, axis] - point[axis]), abs(point[axis] - tree.high[node, axis]))
        total += apart**2
    return total


@kernel
def nearest_point(point: Floats, most: float, best: int, tree: PointTree, skipped: int) -> tuple[int, float]:
    """Find the item nearest to a point, float64 (d,), lowest item on ties.

    Only items nearer than the squared distance `most` count, or as near and lower than `best`; when there is none,
    `best` comes back. The item `skipped` does not count (−1: all do). Returns the item and its squared distance.
    Ends: each node is visited once. Capacity: two nodes of a depth wait at most.
    """
    waiting = np.empty(DEPTH, np.int64)
    least = np.empty(DEPTH, np.float64)
    waiting[0] = 0
    least[0] = _at_least(point, 0, tree)
    count = 1
    while count > 0:
        count -= 1
        node = waiting[count]
        if tree.weights[node] == 0:
            continue
        if least[count] > most or (least[count] == most and tree.lowest[node] > best):
            continue
        if 2 * node + 1 < len(tree.bounds):
            one = _at_least(point, 2 * node + 1, tree)
            other = _at_least(point, 2 * node + 2, tree)
            # The nearer child is looked at first, so it is put on top.
            nearer = 1 if one <= other else 2
            waiting[count] = 2 * node + 3 - nearer
            least[count] = max(one, other)
            waiting[count + 1] = 2 * node + nearer
            least[count + 1] = min(one, other)
            count += 2
            continue
        for place in range(tree.bounds[node, 0], tree.bounds[node, 1]):
            item = tree.items[place]
            if tree.left[place] == 0 or item == skipped:
                continue
            found = distance(tree.points[place], point)
            if found < most or (found == most and item < best):
                most = found
                best = item
    return best, most


@kernel
def farthest(point: Floats, tree: PointTree) -> int:
    """Find the farthest item, lowest on ties, if any. Ends: nodes come once. Capacity: two of a depth wait."""
    best = len(tree.items)
    most = -1.0
    waiting = np.empty(DEPTH, np.int64)
    bound = np.empty(DEPTH, np.float64)
    waiting[0] = 0
    bound[0] = np.inf
    count = 1
    while count > 0:
        count -= 1
        node = waiting[count]
        if bound[count] < most or (bound[count] == most and tree.lowest[node] > best):
            continue
        if 2 * node + 1 < len(tree.bounds):
            one = _at_most(point, 2 * node + 1, tree)
            other = _at_most(point, 2 * node + 2, tree)
            farther = 1 if one >= other else 2
            waiting[count] = 2 * node + 3 - farther
            bound[count] = min(one, other)
            waiting[count + 1] = 2 * node + farther
            bound[count + 1] = max(one, other)
            count += 2
            continue
        for place in range(tree.bounds[node, 0], tree.bounds[node, 1]):
            if tree.left[place] == 0:
                continue
            found = distance(tree.points[place], point)
            item = tree.items[place]
            if found > most or (found == most and item < best):
                most = found
                best = item
    return best


@kernel
def nearest_records(point: Floats, wanted: int, tree: PointTree, items: Int64s, distances: Floats) -> int:
    """Find the items that hold the `wanted` nearest records, nearest first, lower items first on ties.

    items : int64 and distances : float64, both (wanted + 1,), are filled. Returns how many items there are; all but the
    last are needed as a whole. Fewer than `wanted` records come back when there are no more.
    Ends: each node is visited once; slots fall, and so does what is found, as long as others are enough. Capacity: two
    nodes of a depth wait at most.
    """
    found = 0
    records = 0
    waiting = np.empty(DEPTH, np.int64)
    least = np.empty(DEPTH, np.float64)
    waiting[0] = 0
    least[0] = _at_least(point, 0, tree)
    count = 1
    while count > 0:
        count -= 1
        node = waiting[count]
        if tree.weights[node] == 0:
            continue
        if records >= wanted:
            most = distances[found - 1]
            if least[count] > most or (least[count] == most and tree.lowest[node] > items[found - 1]):
                continue
        if 2 * node + 1 < len(tree.bounds):
            one = _at_least(point, 2 * node + 1, tree)
            other = _at_least(point, 2 * node + 2, tree)
            nearer = 1 if one <= other else 2
            waiting[count] = 2 * node + 3 - nearer
            least[count] = max(one, other)
            waiting[count + 1] = 2 * node + nearer
            least[count + 1] = min(one, other)
            count += 2
            continue
        for place in range(tree.bounds[node, 0], tree.bounds[node, 1]):
            weight = tree.left[place]
            if weight == 0:
                continue
            apart = distance(tree.points[place], point)
            item = tree.items[place]
            if records >= wanted:
                last = found - 1
                if apart > distances[last] or (apart == distances[last] and item > items[last]):
                    continue
            slot = found
            while slot > 0 and (
                distances[slot - 1] > apart or (distances[slot - 1] == apart and items[slot - 1] > item)
            ):
                distances[slot] = distances[slot - 1]
                items[slot] = items[slot - 1]
                slot -= 1
            distances[slot] = apart
            items[slot] = item
            found += 1
            records += weight
            while records - tree.left[tree.places[items[found - 1]]] >= wanted:
                found -= 1
                records -= tree.left[tree.places[items[found]]]
    return found


@kernel
def nearest_items(points: Floats, tree: PointTree) -> Int32s:
    """Find the item nearest to each point, float64 (m, d); int32 (m,)."""
    found = np.empty(len(points), np.int32)
    for point in range(len(points)):
        found[point] = nearest_point(points[point], np.inf, len(tree.items), tree, -1)[0]
    return found


# Merge classes that break a model into their nearest neighbours, the smallest first, until every class holds.
#
# Letters: n records, m distinct points, d coordinates, c classes, s sensitive attributes that a rule looks at, v
# values.


@sized(lambda *arguments: 3.0 * elements(arguments))
def merge_classes(
    points: Floats, owners: Int64s, values: Codes, class_of: Int32s, count: int, ruled: bool, smallest: int,
    rules: RuleArrays,
) -> int:  # fmt: skip
    """Merge until every class satisfies the rules or one class is left; `class_of` is renumbered in place.

    points : float64 (m, d); owners : int64 (n,), the point of each record; values : unsigned (n, s); class_of : int32
    (n,), none of the `count` classes is empty; smallest : the largest k of the rules; ruled : whether there are others.

    The smallest class that fails (ties: the lowest number) joins the class with the nearest centre, which keeps its
    number and whose centre moves to the mean of all its records. Returns the number of classes left, which are numbered
    in their old order. Every round takes a class away. O(n d + c log c) nodes looked at where sizes
    alone decide; otherwise every merge counts the values of the merged class.
    Ends: each round takes an entry of the heap, to which a merge adds one at most.
    """
    sizes, sums, following, heads, tails = _gather(points, owners, class_of, count)
    centres = np.empty((count, points.shape[1]))
    for number in range(count):
        centres[number] = sums[number] / sizes[number]
    tree = plant_points(centres, np.ones(count, np.int64))
    counts = np.zeros(rules.offsets[-1], np.int64)
    scratch = np.zeros(rules.scratch_size + 1)
    into = np.arange(count)
    failing = [(int64(0), int64(-1))]
    failing.clear()
    for number in range(count):
        if not _satisfied(number, sizes, following, heads, values, ruled, smallest, rules, counts, scratch):
            failing.append((sizes[number], int64(number)))
    heapq.heapify(failing)
    left = count
    while len(failing) > 0 and left > 1:
        size, number = heapq.heappop(failing)
        if into[number] != number or sizes[number] != size:
            continue  # merged or grown since
        place = tree.places[number]
        tree.left[place] = 0
        refit(number, tree)
        target = nearest_point(tree.points[place], np.inf, count, tree, -1)[0]
        if target == count:
            break
        into[number] = target
        left -= 1
        sizes[target] += size
        sums[target] += sums[number]
        following[tails[target]] = heads[number]
        tails[target] = tails[number]
        tree.points[tree.places[target]] = sums[target] / sizes[target]
        refit(target, tree)
        if not _satisfied(target, sizes, following, heads, values, ruled, smallest, rules, counts, scratch):
            heapq.heappush(failing, (sizes[target], int64(target)))
    _renumber(class_of, into)
    return left


@kernel
def _gather(
    points: Floats, owners: Int64s, class_of: Int32s, count: int
) -> tuple[Int64s, Floats, Int64s, Int64s, Int64s]:
    """Sizes, sums and the records of each class as a chain: ``following[record]``, −1 at its end."""
    sizes = np.zeros(count, np.int64)
    sums = np.zeros((count, points.shape[1]))
    following = np.full(len(class_of), -1)
    heads = np.full(count, -1)
    tails = np.full(count, -1)
    for record in range(len(class_of)):
        number = class_of[record]
        sizes[number] += 1
        for axis in range(points.shape[1]):
            sums[number, axis] += points[owners[record], axis]
        if heads[number] < 0:
            heads[number] = record
        else:
            following[tails[number]] = record
        tails[number] = record
    return sizes, sums, following, heads, tails


@inlined
def _satisfied(
    number: int, sizes: Int64s, following: Int64s, heads: Int64s, values: Codes, ruled: bool, smallest: int,
    rules: RuleArrays, counts: Int64s, scratch: Floats,
) -> bool:  # fmt: skip
    """Tell whether a class satisfies the rules. Ends: the list has each record once."""
    if sizes[number] < smallest:
        return False
    if not ruled:
        return True
    record = heads[number]
    counts[:] = 0
    while record >= 0:
        for column in range(values.shape[1]):
            counts[rules.offsets[column] + int64(values[record, column])] += 1
        record = following[record]
    return bool(holds(sizes[number], counts, rules, scratch))


@inlined
def _renumber(class_of: Int32s, into: Int64s) -> None:
    """Follow classes to where they ended, and number those left. Ends: a class joined one that was left then."""
    numbers = np.full(len(into), -1)
    left = 0
    for number in range(len(into)):
        if into[number] == number:
            numbers[number] = left
            left += 1
    for number in range(len(into)):
        last = number
        while into[last] != last:
            last = into[last]
        # Every class on the way is sent straight to the end.
        step = number
        while into[step] != step:
            following = into[step]
            into[step] = last
            step = following
    for record in range(len(class_of)):
        class_of[record] = numbers[into[class_of[record]]]

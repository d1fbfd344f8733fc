"""The nearest of the records that are left in a tree of prefixes, without looking at what is too far.

Letters: q attributes. The distance over the first attributes bounds the whole one from below; numbers are visited from
the own one outwards, so that all beyond the first too far are left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.clustering.prefix_tree import UNITS, Measure, PrefixTree, step, to_the_left, to_the_right
from sfumato.kernels.jit import borrowing, inlined
from sfumato.kernels.types import Flags, Floats, Int64s, int64


class Nearest(NamedTuple):
    """The nearest so far, a heap with the furthest on top.

    Attributes
    ----------
    distances : numpy.ndarray
        int64 (most,): in parts of `UNITS`.
    items : numpy.ndarray
        int64 (most,): places of records, or nodes.
    size : numpy.ndarray
        int64 (1,): how many there are.
    """

    distances: Int64s
    items: Int64s
    size: Int64s


class TreeWalk(NamedTuple):
    """Where a walk through the tree stands on each level, all (q + 1,).

    Attributes
    ----------
    base : numpy.ndarray
        float64: distance over the attributes above.
    low, high, middle, cursor : numpy.ndarray
        int64: children of the present node, where it started among them, and where it is.
    leftward : numpy.ndarray
        bool: whether it has turned to smaller numbers.
    path : numpy.ndarray
        int64: nodes from the root to the record itself.
    """

    base: Floats
    low: Int64s
    high: Int64s
    middle: Int64s
    cursor: Int64s
    leftward: Flags
    path: Int64s


@inlined
def new_nearest(most: int) -> Nearest:
    """Room for the nearest `most`."""
    return Nearest(np.empty(most, np.int64), np.empty(most, np.int64), np.zeros(1, np.int64))


@inlined
def new_walk(levels: int) -> TreeWalk:
    """Room for a walk through a tree of `levels` attributes."""
    size = levels + 1
    return TreeWalk(
        np.zeros(size), np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64),
        np.zeros(size, np.int64), np.zeros(size, np.bool_), np.zeros(size, np.int64),
    )  # fmt: skip


@borrowing
def stand_on(record: int, tree: PrefixTree, measure: Measure, walk: TreeWalk) -> None:
    """Measure from a distinct record: its path and its values."""
    levels = len(measure.own)
    node = len(tree.codes) - len(tree.gone) + record
    for level in range(levels - 1, -1, -1):
        walk.path[level + 1] = node
        measure.own[level] = tree.values[record, level]
        node = int64(tree.parents[node])
    walk.path[0] = 0


@borrowing
def find_nearest(depth: int, tree: PrefixTree, measure: Measure, walk: TreeWalk, nearest: Nearest) -> None:
    """Find the nearest records (`depth` = q), or the nearest nodes of a depth, to the record that `walk` stands on.

    Equally near records come in the order of their places, nodes value by value, the nearer first. As many are found as
    `nearest` has room for, or as are left; they are sorted, the nearest first. Branches whose prefix is already
    further away than the furthest found are left out.
    """
    nearest.size[0] = 0
    _offer(walk.path[depth], 0, depth, tree, measure, nearest)
    for level in range(depth - 1, -1, -1):
        _walk_below(level, depth, tree, measure, walk, nearest)
    _sort(depth, tree, measure, nearest)


@borrowing
def _walk_below(top: int, depth: int, tree: PrefixTree, measure: Measure, walk: TreeWalk, nearest: Nearest) -> None:
    """Visit what branches off the record's own path on one level."""
    own = walk.path[top + 1]
    _open(top, walk.path[top], 0.0, tree, measure, walk)
    level = top
    while level >= top:
        child = _next_child(level, measure.categories, tree, walk)
        if child < 0:
            level -= 1
            continue
        if child == own:
            continue
        distance = walk.base[level] + step(level, int64(tree.codes[child]), measure)
        units = int64(distance * UNITS + 0.5)
        if _full(nearest) and units > nearest.distances[0]:
            if level >= measure.categories:
                _turn(level, walk, tree)
        elif level + 1 == depth:
            _offer(child, units, depth, tree, measure, nearest)
        elif not _full(nearest) or _may_hold(child, units, depth, tree, measure, nearest):
            if depth == len(measure.own) and tree.leaf_high[child] - tree.leaf_low[child] <= tree.few:
                _scan(child, level + 1, distance, tree, measure, nearest)
                continue
            level += 1
            _open(level, child, distance, tree, measure, walk)


@borrowing
def _scan(node: int, level: int, base: float, tree: PrefixTree, measure: Measure, nearest: Nearest) -> None:
    """Offer every record below a node, whose distance over the attributes before `level` is `base`."""
    leaves = len(tree.codes) - len(tree.gone)
    leaf = to_the_right(int64(tree.leaf_low[node]), tree)
    while leaf < tree.leaf_high[node]:
        distance = base
        units = int64(0)
        for place in range(level, len(measure.own)):
            distance += step(place, int64(tree.values[leaf - leaves, place]), measure)
            units = int64(distance * UNITS + 0.5)
            if _full(nearest) and units > nearest.distances[0]:
                break
        else:
            _offer(leaf, units, len(measure.own), tree, measure, nearest)
        leaf = to_the_right(leaf + 1, tree)


@borrowing
def _may_hold(node: int, units: int, depth: int, tree: PrefixTree, measure: Measure, nearest: Nearest) -> bool:
    """Whether some record below a node may come before the furthest found."""
    if units < nearest.distances[0] or depth < len(measure.own):
        return True
    return bool(tree.lowest[node] < nearest.items[0])


@borrowing
def _open(level: int, node: int, base: float, tree: PrefixTree, measure: Measure, walk: TreeWalk) -> None:
    """Start with the children of a node: at the own value or the next where they are numbers, else at the first."""
    low = tree.first[node]
    high = tree.first[node + 1]
    walk.base[level] = base
    walk.low[level] = low
    walk.high[level] = high
    walk.leftward[level] = False
    middle = low
    if level >= measure.categories:
        own = measure.own[level]
        while low < high:
            half = (low + high) // 2
            if tree.codes[half] < own:
                low = half + 1
            else:
                high = half
        middle = low
    walk.middle[level] = middle
    walk.cursor[level] = middle


@borrowing
def _next_child(level: int, categories: int, tree: PrefixTree, walk: TreeWalk) -> int:
    """Next child with somebody left, −1 when there is none."""
    if not walk.leftward[level]:
        child = to_the_right(walk.cursor[level], tree)
        if child < walk.high[level]:
            walk.cursor[level] = child + 1
            return child
        if level < categories:
            return -1
        _turn(level, walk, tree)
    child = to_the_left(walk.cursor[level], tree)
    if child < walk.low[level]:
        return -1
    walk.cursor[level] = child - 1
    return child


@borrowing
def _turn(level: int, walk: TreeWalk, tree: PrefixTree) -> None:
    """All further numbers on this side are too far: go to the other side, or to its end."""
    if walk.leftward[level]:
        walk.cursor[level] = walk.low[level] - 1
    else:
        walk.leftward[level] = True
        walk.cursor[level] = walk.middle[level] - 1


@borrowing
def _offer(node: int, units: int, depth: int, tree: PrefixTree, measure: Measure, nearest: Nearest) -> None:
    if depth < len(measure.own):
        _push(units, node, depth, tree, measure, nearest)
        return
    record = node - (len(tree.codes) - len(tree.gone))
    for place in range(tree.starts[record] + tree.gone[record], tree.starts[record + 1]):
        if not _push(units, tree.places[place], depth, tree, measure, nearest):
            break


@borrowing
def _full(nearest: Nearest) -> bool:
    return bool(nearest.size[0] == len(nearest.items))


@borrowing
def _before(
    units: int, item: int, other_units: int, other: int, depth: int, tree: PrefixTree, measure: Measure
) -> bool:  # fmt: skip
    """Whether an item comes before another: by distance, then records by their place, nodes value by value."""
    if units != other_units:
        return bool(units < other_units)
    if depth == len(measure.own):
        return bool(item < other)
    before = False
    while item != other:
        depth -= 1
        start = measure.offsets[depth]
        one = measure.apart[start + tree.codes[item]]
        two = measure.apart[start + tree.codes[other]]
        if one != two:
            before = bool(one < two)
        item = int64(tree.parents[item])
        other = int64(tree.parents[other])
    return before


@borrowing
def _push(units: int, item: int, depth: int, tree: PrefixTree, measure: Measure, nearest: Nearest) -> bool:
    """Add an item, the furthest making room for it; False when it is further than all."""
    if _full(nearest):
        if not _before(units, item, nearest.distances[0], nearest.items[0], depth, tree, measure):
            return False
        _sink(units, item, len(nearest.items), depth, tree, measure, nearest)
        return True
    place = nearest.size[0]
    nearest.size[0] += 1
    while place > 0:
        above = (place - 1) // 2
        if _before(units, item, nearest.distances[above], nearest.items[above], depth, tree, measure):
            break
        _put(nearest.distances[above], nearest.items[above], place, nearest)
        place = above
    _put(units, item, place, nearest)
    return True


@borrowing
def _sink(
    units: int, item: int, size: int, depth: int, tree: PrefixTree, measure: Measure, nearest: Nearest
) -> None:  # fmt: skip
    """Put an item on top of a heap of `size` items in place of what is there."""
    place = 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        last = below + 1
        if last < size and _before(
            nearest.distances[below], nearest.items[below], nearest.distances[last], nearest.items[last],
            depth, tree, measure,
        ):  # fmt: skip
            below = last
        if not _before(units, item, nearest.distances[below], nearest.items[below], depth, tree, measure):
            break
        _put(nearest.distances[below], nearest.items[below], place, nearest)
        place = below
    _put(units, item, place, nearest)


@borrowing
def _put(units: int, item: int, place: int, nearest: Nearest) -> None:
    nearest.distances[place] = units
    nearest.items[place] = item


@borrowing
def _sort(depth: int, tree: PrefixTree, measure: Measure, nearest: Nearest) -> None:
    for last in range(nearest.size[0] - 1, 0, -1):
        units = nearest.distances[last]
        item = nearest.items[last]
        _put(nearest.distances[0], nearest.items[0], last, nearest)
        _sink(units, item, last, depth, tree, measure, nearest)

"""Similarity-based clustering: distances of categorical values from their frequencies, and classes of the nearest.

Letters: n records, m distinct ones, q attributes of which the first c are categories in the order of the chain, V
values of all attributes together, P pairs of neighbours in the chain, v values of all sensitive attributes together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.jit import borrowing, inlined, kernel
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.types import Codes, Flags, Floats, Int32s, Int64s, int64

# Distinct records as a tree of common prefixes, records that leave it, and how far they are from one of them.
#
# Letters: n records, m distinct ones, q attributes, N nodes, V values of all attributes together.
#
# Level ``d`` of the tree branches by attribute ``d``; a node of depth ``d`` stands for all records with the same first
# ``d`` values. The distance of two records is a sum over attributes, so that the sum over a prefix bounds it from
# below. Distances are compared as whole multiples of 2**-32: sums of the same parts in another order are then equal.


UNITS = 4294967296.0
"""Parts into which a distance of 1 is divided where distances are compared."""


class PrefixTree(NamedTuple):
    """The tree, and who is left in it; `alive`, `right`, `left` and `gone` change in place."""

    few: int  # up to that many distinct records below a node are looked at one by one rather than branch by branch
    # (N,): value by which a node differs from its siblings; rising among siblings. Node 0 is the root; nodes are
    # numbered depth by depth, the last m are the distinct records.
    codes: Int32s
    first: Int64s  # (N + 1,): children of node ``i`` are ``first[i] .. first[i+1]-1``.
    parents: Int32s  # (N,)
    alive: Int64s  # (N,): records left below each node
    # `right`, `left`: (N + 1,): where to look for the next node with somebody left; `left` is shifted by one
    right: Int64s
    left: Int64s
    lowest: Int64s  # (N,): smallest place of a record below each node, before anybody left
    # `leaf_low`, `leaf_high`: (N,): the distinct records below node ``i`` are the nodes ``leaf_low[i] ..
    # leaf_high[i]-1``.
    leaf_low: Int32s
    leaf_high: Int32s
    values: Int32s  # (m, q): all values of each distinct record
    # (m + 1,): the records equal to distinct record ``i`` stand at ``starts[i] .. starts[i+1]-1`` of `places`.
    starts: Int64s
    places: Int64s  # (n,): places of the records in the order in which they have their turn, rising among equal records
    gone: Int64s  # (m,): how many of each distinct record have left; always the first ones
    record_at: Int32s  # (n,): distinct record at each place


class Measure(NamedTuple):
    """Distances from one record; `apart` and `own` change from one to the next."""

    categories: int  # the first attributes, whose distances are in a table; the others are numeric
    offsets: Int64s  # (q + 1,): where the values of each attribute start
    apart: Floats  # (V,): distance of each categorical value
    numbers: Floats  # (V,): number behind each numeric value, rising; NaN for the missing one, which is the last
    widths: Floats  # (q,): what differences of numbers are divided by
    weights: Floats  # (q,)
    own: Int64s  # (q,): values of the record itself


@borrowing
def leave_tree(record: int, tree: PrefixTree) -> None:
    """Take out the first of the equal records that are left. Cost O(q). Ends: it climbs to the root."""
    tree.gone[record] += 1
    node = len(tree.codes) - len(tree.gone) + record
    while node >= 0:
        tree.alive[node] -= 1
        if tree.alive[node] == 0:
            tree.right[node] = node + 1
            tree.left[node + 1] = node
        node = int64(tree.parents[node])


@borrowing
def step(level: int, code: int, measure: Measure) -> float:
    """Weighted distance in one attribute of a value from the record's own."""
    own = measure.own[level]
    if code == own:
        return 0.0
    start = measure.offsets[level]
    if level < measure.categories:
        return float(measure.weights[level] * measure.apart[start + code])
    gap = abs(measure.numbers[start + code] - measure.numbers[start + own])
    share = gap / measure.widths[level] if gap == gap else 1.0
    return float(measure.weights[level] * share)


@borrowing
def to_the_right(node: int, tree: PrefixTree) -> int:
    """Return the node, or the next one with somebody left, else N. Ends: N stands for itself, nothing points back."""
    right = tree.right
    while right[node] != node:
        right[node] = right[right[node]]
        node = right[node]
    return node


@borrowing
def to_the_left(node: int, tree: PrefixTree) -> int:
    """Return the node, or the one before with somebody left, else −1. Ends: slot 0 is its own, nothing points on."""
    left = tree.left
    slot = node + 1
    while left[slot] != slot:
        left[slot] = left[left[slot]]
        slot = left[slot]
    return slot - 1


@borrowing
def units_to(record: int, tree: PrefixTree, measure: Measure) -> int:
    """Distance of a distinct record in parts of `UNITS`."""
    distance = 0.0
    for level in range(len(measure.own)):
        distance += step(level, int64(tree.values[record, level]), measure)
    return int64(distance * UNITS + 0.5)


# The nearest of the records that are left in a tree of prefixes, without looking at what is too far.
#
# Letters: q attributes. The distance over the first attributes bounds the whole one from below; numbers are visited
# from the own one outwards, so that all beyond the first too far are left out.


class Nearest(NamedTuple):
    """The nearest so far, a heap with the furthest on top."""

    distances: Int64s  # (most,): in parts of `UNITS`
    items: Int64s  # (most,): places of records, or nodes
    size: Int64s  # (1,): how many there are


class TreeWalk(NamedTuple):
    """Where a walk through the tree stands on each level, all (q + 1,)."""

    base: Floats  # distance over the attributes above
    # `low`, `high`, `middle`, `cursor`: children of the present node, where it started among them, and where it is
    low: Int64s
    high: Int64s
    middle: Int64s
    cursor: Int64s
    leftward: Flags  # whether it has turned to smaller numbers
    path: Int64s  # nodes from the root to the record itself


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
    `nearest` has room for, or as are left; they are sorted, the nearest first. Branches whose prefix is already further
    away than the furthest found are left out.
    """
    nearest.size[0] = 0
    _offer(walk.path[depth], 0, depth, tree, measure, nearest)
    for level in range(depth - 1, -1, -1):
        _walk_below(level, depth, tree, measure, walk, nearest)
    _sort(depth, tree, measure, nearest)


@borrowing
def _walk_below(top: int, depth: int, tree: PrefixTree, measure: Measure, walk: TreeWalk, nearest: Nearest) -> None:
    """Visit what branches off the record's own path on one level. Ends: each child is visited once."""
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
    """Offer every record below a node, whose distance over attributes before `level` is `base`. Ends: places rise."""
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
    """Start with the children of a node: numbers at the own value or the next, others first. Ends: the range halves."""
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
    """Whether an item comes before another: by distance, place, values. Ends: both climb to the root at most."""
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
    """Add an item, the furthest making room; False when it is further than all. Ends: each round climbs a level."""
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
    """Put an item on top of a heap of `size` items in place of what is there. Ends: each round goes down a level."""
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


NOBODY = -1


class Chain(NamedTuple):
    """Contingency tables of the records that are left; `counts` and `pair_counts` change in place."""

    all_before: bool  # whether an attribute depends on all before it, and not on the last one alone
    k: int  # fewest records that frequencies are taken from
    counts: Int64s  # (V,): records with each value
    pair_starts: Int64s  # (V + 1,): the pairs of a value with values of the next attribute
    pair_values: Int32s  # (P,): the value of the next attribute
    pair_counts: Int64s  # (P,): records with each pair
    pair_of: Int32s  # (m, c): pair of each distinct record with the attribute before; the first column is not used
    order: Int64s  # (V,): scratch; the values of each attribute, the most similar first
    cards: Int64s  # (q,): scratch; how many values are left
    row: Int64s  # (V,): scratch; frequencies that similarity is read from


class Progressed(NamedTuple):
    """How far the clustering is; all change in place."""

    class_at: Int32s  # (n,): class of the record at each place, −1 for none yet
    following: Int64s  # (1,): no record before this place is left
    classes: Int64s  # (1,): classes so far


@kernel
def grow_similar(
    most: int, tree: PrefixTree, measure: Measure, chain: Chain, values: Codes, ruled: bool, rules: RuleArrays,
    done: Progressed,
) -> bool:  # fmt: skip
    """Make up to `most` classes of the first record left and the nearest others; False when no more can be made.

    values : unsigned (n, s), sensitive values at each place. A class has ``chain.k`` records, or as many more of the
    nearest as it takes to satisfy the rules. Records that can make no class keep −1.
    Ends: somebody is left where a class is begun, and the room doubles until it is for all of them.
    """
    walk = new_walk(len(measure.own))
    nearest = new_nearest(chain.k)
    counts = np.zeros(len(rules.totals), np.int64)
    scratch = np.zeros(rules.scratch_size)
    for _ in range(most):
        left = tree.alive[0]
        if left < chain.k:
            return False
        while done.class_at[done.following[0]] != NOBODY:
            done.following[0] += 1
        stand_on(tree.record_at[done.following[0]], tree, measure, walk)
        chain_distances(tree, measure, chain, walk)
        size = 0
        while True:
            find_nearest(len(measure.own), tree, measure, walk, nearest)
            size = _enough(chain.k, nearest, values, ruled, rules, counts, scratch)
            # Twice as many each time: all that are left at last.
            if size > 0 or len(nearest.items) >= left:
                break
            nearest = new_nearest(min(left, 2 * len(nearest.items)))
        if size == 0:
            return False
        for one in range(size):
            _take(nearest.items[one], tree, chain, measure, done)
        done.classes[0] += 1
    return True


@kernel
def nearest_similar_classes(
    members: Int64s, starts: Int64s, left: Int64s, tree: PrefixTree,
    measure: Measure, chain: Chain, done: Progressed,
) -> Int32s:  # fmt: skip
    """Return the class whose first record, as it measured when the class was made, is nearest to each record left over.

    members : int64, places by class, rising within each; class ``i`` has ``members[starts[i] .. starts[i+1]-1]``. left
    : int64 (r,), places of those left over. Everything else must be as before the first class. The first class among
    equals. Returns int32 (r,). Cost O(r q) for each class, and that of its distances.
    """
    walk = new_walk(len(measure.own))
    found = np.zeros(len(left), np.int32)
    least = np.full(len(left), np.iinfo(np.int64).max)
    for number in range(len(starts) - 1):
        stand_on(tree.record_at[members[starts[number]]], tree, measure, walk)
        chain_distances(tree, measure, chain, walk)
        for one in range(len(left)):
            units = units_to(tree.record_at[left[one]], tree, measure)
            if units < least[one]:
                least[one] = units
                found[one] = number
        for member in range(starts[number], starts[number + 1]):
            _take(members[member], tree, chain, measure, done)
    return found


@inlined
def _enough(
    k: int, nearest: Nearest, values: Codes, ruled: bool, rules: RuleArrays, counts: Int64s, scratch: Floats
) -> int:  # fmt: skip
    """How many of the nearest make a class; 0 when all do not."""
    if not ruled:
        return k
    counts[:] = 0
    for one in range(nearest.size[0]):
        for column in range(values.shape[1]):
            counts[rules.offsets[column] + int64(values[nearest.items[one], column])] += 1
        if one + 1 >= k and holds(one + 1, counts, rules, scratch):
            return one + 1
    return 0


@inlined
def _take(place: int, tree: PrefixTree, chain: Chain, measure: Measure, done: Progressed) -> None:
    """Put the record at a place into the present class."""
    done.class_at[place] = done.classes[0]
    record = tree.record_at[place]
    leave_tree(record, tree)
    for level in range(measure.categories):
        chain.counts[measure.offsets[level] + tree.values[record, level]] -= 1
        if level > 0 and not chain.all_before:
            chain.pair_counts[chain.pair_of[record, level]] -= 1


@inlined
def chain_distances(tree: PrefixTree, measure: Measure, chain: Chain, walk: TreeWalk) -> None:
    """Fill ``measure.apart`` along the chain, without values that are gone; O(V log V) and merged pairs."""
    for level in range(measure.categories):
        own = measure.offsets[level] + measure.own[level]
        cards = _listed(level, own, measure, chain)
        chain.cards[level] = cards
        if cards > 2:
            _frequencies(level, tree, measure, chain, walk)
            _sort_by_similarity(level, own, measure, chain)
        start = measure.offsets[level]
        for index in range(cards):
            measure.apart[chain.order[start + index]] = index / max(cards - 1, 1)


@inlined
def _listed(level: int, own: int, measure: Measure, chain: Chain) -> int:
    """List the values that are left, the own one first; returns their number. Capacity: each value once."""
    start = measure.offsets[level]
    chain.order[start] = own
    listed = 1
    for value in range(start, measure.offsets[level + 1]):
        if value != own and chain.counts[value] > 0:
            chain.order[start + listed] = value
            listed += 1
    return listed


@inlined
def _frequencies(level: int, tree: PrefixTree, measure: Measure, chain: Chain, walk: TreeWalk) -> None:
    """Count the values of an attribute among the records that are similar in the attributes before."""
    start = measure.offsets[level]
    stop = measure.offsets[level + 1]
    if level == 0:
        chain.row[start:stop] = chain.counts[start:stop]
        return
    chain.row[start:stop] = 0
    if chain.all_before:
        _add_prefixes(level, tree, measure, chain, walk)
        return
    total = 0
    before = measure.offsets[level - 1]
    for index in range(chain.cards[level - 1]):
        value = chain.order[before + index]
        total += chain.counts[value]
        for pair in range(chain.pair_starts[value], chain.pair_starts[value + 1]):
            chain.row[start + chain.pair_values[pair]] += chain.pair_counts[pair]
        if total >= chain.k:
            break


@inlined
def _add_prefixes(level: int, tree: PrefixTree, measure: Measure, chain: Chain, walk: TreeWalk) -> None:
    """Add the rows of the nearest prefixes, the own one first, until they have k records."""
    start = measure.offsets[level]
    rows = new_nearest(1 if tree.alive[walk.path[level]] >= chain.k else chain.k)
    find_nearest(level, tree, measure, walk, rows)
    total = 0
    for one in range(rows.size[0]):
        node = rows.items[one]
        total += tree.alive[node]
        for child in range(tree.first[node], tree.first[node + 1]):
            chain.row[start + tree.codes[child]] += tree.alive[child]
        if total >= chain.k:
            break


@inlined
def _sort_by_similarity(level: int, own: int, measure: Measure, chain: Chain) -> None:
    """Order the values by how far their frequency is from the own one's; equal ones keep their order."""
    start = measure.offsets[level]
    cards = chain.cards[level]
    width = measure.offsets[level + 1] - start
    keys = chain.order[start + 1 : start + cards]
    for one in range(len(keys)):
        gap = abs(chain.row[keys[one]] - chain.row[own])
        keys[one] = gap * width + (keys[one] - start)
    keys.sort()
    for one in range(len(keys)):
        keys[one] = start + keys[one] % width

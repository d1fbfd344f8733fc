"""Similarity-based clustering: distances of categorical values from their frequencies, and classes of the nearest.

Letters: n records, m distinct ones, q attributes of which the first c are categories in the order of the chain, V
values of all attributes together, P pairs of neighbours in the chain, v values of all sensitive attributes together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.clustering.prefix_search import Nearest, TreeWalk, find_nearest, new_nearest, new_walk, stand_on
from sfumato.kernels.clustering.prefix_tree import Measure, PrefixTree, leave_tree, units_to
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.types import Codes, Floats, Int32s, Int64s, int64

NOBODY = -1


class Chain(NamedTuple):
    """Contingency tables of the records that are left; `counts` and `pair_counts` change in place.

    Attributes
    ----------
    all_before : bool
        Whether an attribute depends on all before it, and not on the last one alone.
    k : int
        Fewest records that frequencies are taken from.
    counts : numpy.ndarray
        int64 (V,): records with each value.
    pair_starts : numpy.ndarray
        int64 (V + 1,): the pairs of a value with values of the next attribute.
    pair_values : numpy.ndarray
        int32 (P,): the value of the next attribute.
    pair_counts : numpy.ndarray
        int64 (P,): records with each pair.
    pair_of : numpy.ndarray
        int32 (m, c): pair of each distinct record with the attribute before; the first column is not used.
    order : numpy.ndarray
        int64 (V,): scratch; the values of each attribute, the most similar first.
    cards : numpy.ndarray
        int64 (q,): scratch; how many values are left.
    row : numpy.ndarray
        int64 (V,): scratch; frequencies that similarity is read from.
    """

    all_before: bool
    k: int
    counts: Int64s
    pair_starts: Int64s
    pair_values: Int32s
    pair_counts: Int64s
    pair_of: Int32s
    order: Int64s
    cards: Int64s
    row: Int64s


class Progressed(NamedTuple):
    """How far the clustering is; all change in place.

    Attributes
    ----------
    class_at : numpy.ndarray
        int32 (n,): class of the record at each place, −1 for none yet.
    following : numpy.ndarray
        int64 (1,): no record before this place is left.
    classes : numpy.ndarray
        int64 (1,): classes so far.
    """

    class_at: Int32s
    following: Int64s
    classes: Int64s


@kernel
def grow_similar(
    most: int, tree: PrefixTree, measure: Measure, chain: Chain, values: Codes, ruled: bool, rules: RuleArrays,
    done: Progressed,
) -> bool:  # fmt: skip
    """Make up to `most` classes of the first record left and the nearest others; False when no more can be made.

    values : unsigned (n, s), sensitive values at each place. A class has ``chain.k`` records, or as many more of the
    nearest as it takes to satisfy the rules. Records that can make no class keep −1.
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
def nearest_classes(
    members: Int64s, starts: Int64s, left: Int64s, tree: PrefixTree,
    measure: Measure, chain: Chain, done: Progressed,
) -> Int32s:  # fmt: skip
    """Return the class whose first record, as it measured when the class was made, is nearest to each record left over.

    members : int64, places by class, rising within each; class ``i`` has ``members[starts[i] .. starts[i+1]-1]``.
    left : int64 (r,), places of those left over. Everything else must be as before the first class. The first class
    among equals. Returns int32 (r,). Cost O(r q) for each class, and that of its distances.
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


@kernel
def distances_from(record: int, tree: PrefixTree, measure: Measure, chain: Chain) -> None:
    """Fill ``measure.apart`` with the distances of all categorical values from those of a distinct record."""
    walk = new_walk(len(measure.own))
    stand_on(record, tree, measure, walk)
    chain_distances(tree, measure, chain, walk)


@inlined
def chain_distances(tree: PrefixTree, measure: Measure, chain: Chain, walk: TreeWalk) -> None:
    """Fill ``measure.apart``, attribute by attribute along the chain.

    Cost O(V log V) and the pairs of the rows that are merged; values that no record has any more are skipped.
    """
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
    """List the values that are left, the own one first; returns how many there are."""
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

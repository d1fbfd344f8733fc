"""CAAT: classes that take the nearest records, each starting with the record furthest from the class before.

Letters: n records, m distinct ones in tree order, c classes, q attributes, s sensitive attributes that some rule looks
at, v values of all those together, t nodes of the tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.clustering.class_gap import (
    Hulls,
    Prices,
    class_gap,
    enter,
    least_gap,
    most_gap,
    new_hulls,
    new_prices,
    on_grid,
    price,
    record_gap,
)
from sfumato.kernels.clustering.class_loss import ClassLoss
from sfumato.kernels.clustering.record_tree import NONE, RecordTree, count_alive, use_up
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.types import Codes, Floats, Int32s, Int64s, int64

# What `numbers` counts.
CLASSES = 0
LEFT = 1  # records without a class
SEED = 2  # the record that starts the next class
LOOKED = 3  # distances of records and bounds of nodes that were computed
ENDED = 4  # 1 when no further class can be made


class Growth(NamedTuple):
    """A clustering on its way; changed in place.

    Attributes
    ----------
    class_of : numpy.ndarray
        int32 (n,): −1 for none. Rows of one distinct record stand together and are taken from the first on.
    starts : numpy.ndarray
        int64 (m,): first row of each distinct record.
    left : numpy.ndarray
        int64 (m,): rows without a class.
    alive : numpy.ndarray
        int64 (t,): distinct records below each node that have such rows.
    hulls : Hulls
        Of every class.
    prices : Prices
        Of the class that grows.
    counts : numpy.ndarray
        int64 (v,): its sensitive values.
    numbers : numpy.ndarray
        int64 (5,): see the constants of this module.
    """

    class_of: Int32s
    starts: Int64s
    left: Int64s
    alive: Int64s
    hulls: Hulls
    prices: Prices
    counts: Int64s
    numbers: Int64s


class TreeSearch(NamedTuple):
    """Buffers of a search in the tree.

    Attributes
    ----------
    found : numpy.ndarray
        int64 (m,): records that are equally near.
    stack, bounds : numpy.ndarray
        int64 and float64 (t + 2,): nodes that wait, and what bounds the distances below them.
    """

    found: Int64s
    stack: Int64s
    bounds: Floats


@kernel
def begin(weights: Int64s, first: int, k: int, tree: RecordTree, loss: ClassLoss, rules: RuleArrays) -> Growth:
    """Return a clustering without classes; weights : int64 (m,); first : the record that starts the first class."""
    height = weights.sum()
    numbers = np.zeros(5, np.int64)
    numbers[LEFT] = height
    numbers[SEED] = first
    return Growth(
        np.full(height, NONE, np.int32), np.cumsum(weights) - weights, weights.copy(), count_alive(weights, tree),
        # never 0: k is 1 or more
        new_hulls(height // k + 1, loss), new_prices(loss), np.zeros(len(rules.totals), np.int64), numbers,
    )  # fmt: skip


@kernel
def grow(
    codes: Codes, values: Codes, k: int, ruled: bool, rule: int, first_only: bool, most: int, tree: RecordTree,
    loss: ClassLoss, rules: RuleArrays, growth: Growth,
) -> None:  # fmt: skip
    """Make up to `most` classes more.

    codes : unsigned (m, q); values : unsigned (m, s); ruled : whether rules look at more than sizes; rule : how far
    numbers are from intervals; first_only : take the first of the nearest records instead of all.

    A class is closed once it has k records and satisfies the rules. Records of a class that cannot be closed are left.
    """
    walk = TreeSearch(
        np.empty(len(growth.left), np.int64), np.empty(len(tree.starts) + 2, np.int64), np.empty(len(tree.starts) + 2)
    )
    scratch = np.empty(rules.scratch_size)
    numbers = growth.numbers
    stop = numbers[CLASSES] + most
    while numbers[CLASSES] < stop and numbers[ENDED] == 0:
        if numbers[LEFT] < k or numbers[SEED] == NONE:
            numbers[ENDED] = 1
            break
        closed = _grow_one(codes, values, k, ruled, rule, first_only, tree, loss, rules, growth, walk, scratch)
        if not closed:
            _give_back(growth)
            numbers[ENDED] = 1
            break
        price(numbers[CLASSES], rule, loss, growth.hulls, growth.prices)
        numbers[SEED] = _furthest(codes, tree, loss, growth, walk)
        numbers[CLASSES] += 1


@inlined
def _grow_one(
    codes: Codes, values: Codes, k: int, ruled: bool, rule: int, first_only: bool, tree: RecordTree, loss: ClassLoss,
    rules: RuleArrays, growth: Growth, walk: TreeSearch, scratch: Floats,
) -> bool:  # fmt: skip
    """Grow a class from its seed; tell whether it could be closed. Every round takes a record that is left."""
    growth.counts[:] = 0
    growth.prices.stale[:] = True
    found = walk.found
    found[0] = growth.numbers[SEED]
    held = 1
    size = _take(codes, values, found[0], 1, rule, tree, loss, rules, growth)
    while size < k or (ruled and not holds(size, growth.counts, rules, scratch)):
        if growth.numbers[LEFT] == 0:
            return False
        # While no distance changes, the record that was nearest stays so, as long as there is another one like it.
        if not first_only or growth.prices.stale.any() or growth.left[found[0]] == 0:
            price(growth.numbers[CLASSES], rule, loss, growth.hulls, growth.prices)
            held = _nearest(codes, first_only, tree, loss, growth, walk)
            if held == 0:
                return False
        for place in range(held):
            most = 1 if first_only else growth.left[found[place]]
            size += _take(codes, values, found[place], most, rule, tree, loss, rules, growth)
        if first_only and size < k and not growth.prices.stale.any():
            most = min(growth.left[found[0]], k - size)
            size += _take(codes, values, found[0], most, rule, tree, loss, rules, growth)
    return True


@inlined
def _take(
    codes: Codes, values: Codes, record: int, times: int, rule: int, tree: RecordTree, loss: ClassLoss,
    rules: RuleArrays, growth: Growth,
) -> int:  # fmt: skip
    """Put equal records into the class that grows; returns how many."""
    if times == 0:
        return 0
    place = growth.numbers[CLASSES]
    # What is left of a record stands at the end of its rows.
    stop = growth.starts[record + 1] if record + 1 < len(growth.starts) else len(growth.class_of)
    row = stop - growth.left[record]
    growth.class_of[row : row + times] = place
    use_up(record, times, growth.left, growth.alive, tree)
    growth.numbers[LEFT] -= times
    for column in range(len(rules.offsets) - 1):
        growth.counts[rules.offsets[column] + int64(values[record, column])] += times
    enter(codes, record, times, place, rule, loss, growth.hulls, growth.prices.stale)
    return times


@inlined
def _give_back(growth: Growth) -> None:
    """Leave the records of the class that grows; the search is over then, so nodes are not counted anew."""
    for row in range(len(growth.class_of)):
        if growth.class_of[row] == growth.numbers[CLASSES]:
            growth.class_of[row] = NONE
            growth.numbers[LEFT] += 1


@inlined
def _nearest(
    codes: Codes, first_only: bool, tree: RecordTree, loss: ClassLoss, growth: Growth, walk: TreeSearch
) -> int:
    """Find the records nearest to the class, all or the first in tree order; returns how many are in `found`.

    Nodes are visited once, so that no record is found twice: `found` has room for all.
    """
    found, stack, bounds = walk.found, walk.stack, walk.bounds
    best = np.inf
    held = 0
    looked = 0
    stack[0] = 0
    bounds[0] = 0.0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        bound = bounds[waiting]
        if bound > best or (first_only and bound == best and tree.starts[node] > found[0]):
            continue
        while tree.left[node] != NONE:
            first = int64(tree.left[node])
            second = first + 1
            near = np.inf
            far = np.inf
            if growth.alive[first] > 0:
                near = least_gap(first, tree, loss, growth.hulls, growth.prices)
                looked += 1
            if growth.alive[second] > 0:
                far = least_gap(second, tree, loss, growth.hulls, growth.prices)
                looked += 1
            if far < near:
                near, far, first, second = far, near, second, first
            if far < np.inf and (far < best or (far == best and not (first_only and tree.starts[second] > found[0]))):
                stack[waiting] = second
                bounds[waiting] = far
                waiting += 1
            node = first
            bound = near
            if bound > best or (first_only and bound == best and tree.starts[node] > found[0]):
                break
        if bound == np.inf or bound > best or tree.left[node] != NONE:
            continue
        for record in range(tree.starts[node], tree.stops[node]):
            if growth.left[record] == 0:
                continue
            looked += 1
            far = record_gap(codes, record, loss, growth.hulls, growth.prices)
            if far < best:
                best = far
                held = 1
                found[0] = record
            elif far == best and first_only:
                found[0] = min(found[0], record)
            elif far == best:
                found[held] = record
                held += 1
    growth.numbers[LOOKED] += looked
    return held


@inlined
def _furthest(codes: Codes, tree: RecordTree, loss: ClassLoss, growth: Growth, walk: TreeSearch) -> int:
    """Find the first in tree order of the records furthest from the class; −1 when nobody is left."""
    stack, bounds = walk.stack, walk.bounds
    best = -1.0
    found = NONE
    looked = 0
    stack[0] = 0
    bounds[0] = np.inf
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        bound = bounds[waiting]
        if growth.alive[node] == 0 or bound < best or (bound == best and tree.starts[node] > found):
            continue
        if tree.left[node] != NONE:
            first = int64(tree.left[node])
            second = first + 1
            far = most_gap(first, tree, loss, growth.hulls, growth.prices)
            near = most_gap(second, tree, loss, growth.hulls, growth.prices)
            looked += 2
            if near > far:
                near, far, first, second = far, near, second, first
            stack[waiting] = second
            bounds[waiting] = near
            stack[waiting + 1] = first
            bounds[waiting + 1] = far
            waiting += 2
            continue
        for record in range(tree.starts[node], tree.stops[node]):
            if growth.left[record] == 0:
                continue
            looked += 1
            far = record_gap(codes, record, loss, growth.hulls, growth.prices)
            if far > best or (far == best and record < found):
                best = far
                found = record
    growth.numbers[LOOKED] += looked
    return found


@kernel
def join_nearest(codes: Codes, record_of: Int32s, rule: int, frozen: bool, loss: ClassLoss, growth: Growth) -> None:
    """Put every record that is left into the nearest class, the first among equals, in the order of the rows.

    record_of : int32 (n,); frozen : measure classes as they were closed, not as they have become. Cost O(c q) for each.
    """
    stale = np.zeros(len(loss.kinds), np.bool_)
    before = NONE
    home = NONE
    classes = growth.numbers[CLASSES]
    for row in range(len(record_of)):
        if growth.class_of[row] != NONE or classes == 0:
            continue
        record = int64(record_of[row])
        if not frozen or record != before:
            home = _home_of(codes, record, rule, loss, growth)
        if not frozen:
            enter(codes, record, 1, home, rule, loss, growth.hulls, stale)
        growth.class_of[row] = home
        before = record


@inlined
def _home_of(codes: Codes, record: int, rule: int, loss: ClassLoss, growth: Growth) -> int:
    home = 0
    least = np.inf
    for place in range(growth.numbers[CLASSES]):
        far = on_grid(class_gap(codes, record, place, rule, loss, growth.hulls))
        if far < least:
            least = far
            home = place
    growth.numbers[LOOKED] += growth.numbers[CLASSES]
    return home


@kernel
def gaps_to_class(codes: Codes, members: Int64s, others: Int64s, rule: int, loss: ClassLoss) -> Floats:
    """Return the distances of the records `others` to the class of the records `members`; float64 (o,)."""
    hulls = new_hulls(1, loss)
    stale = np.zeros(len(loss.kinds), np.bool_)
    for record in members:
        enter(codes, record, 1, 0, rule, loss, hulls, stale)
    gaps = np.empty(len(others))
    for place in range(len(others)):
        gaps[place] = class_gap(codes, others[place], 0, rule, loss, hulls)
    return gaps

"""CAAT: classes that take the nearest records, each starting with the record furthest from the class before.

Letters: n records, m distinct ones in tree order, c classes, q attributes, s sensitive attributes that some rule looks
at, v values of all those together, t nodes of the tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.clustering.class_members import TABLED, ClassLoss, range_loss
from sfumato.kernels.clustering.record_tree import NONE, RecordTree, count_alive, use_up
from sfumato.kernels.jit import borrowing, inlined, kernel
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.types import NUMERIC, Codes, Flags, Floats, Int32s, Int64s, float64, int64

# How far records are from a class that publishes a range or a common ancestor (CAAT).
#
# Letters: m distinct records, c classes, q attributes, M codes of all attributes together.
#
# On every attribute the distance of a code falls towards one code, the center, and rises behind it; so the nearest code
# of a range is the one next to the center, and the furthest is one of its ends. Only a missing number may break this.


WIDEN = 0
MIDPOINT = 1
NEAREST = 2
MEAN = 3

GRID = 2.0**32
"""Distances that are equal on this grid are equal: sums of the same fractions in another order must not differ."""


class Hulls(NamedTuple):
    """What classes cover, one row each."""

    # `low`, `high`: (c, q): smallest and largest code; of numeric attributes among the present ones
    low: Int64s
    high: Int64s
    present: Int64s  # (c, q): present numbers of numeric attributes, codes of others
    missing: Flags  # (c, q): whether a missing number is among them
    totals: Floats  # (c, q): sum of the places of present numbers


class Prices(NamedTuple):
    """How far every code is from one class."""

    # (M,): of attributes with few codes. Those of others are worked out where they are needed: a class changes with
    # nearly every record, and looks at few records before it does.
    gaps: Floats
    tabled: Flags  # (q,): attributes with few codes
    subject: Int64s  # (2,): the class, and how far numbers are from intervals
    centers: Int64s  # (q,): the nearest code
    split: Flags  # (q,): whether the missing number is near while high numbers need not be
    stale: Flags  # (q,): attributes whose prices have to be found anew


@borrowing
def on_grid(gap: float) -> float:
    """Round a distance, in units of the grid."""
    return float64(np.floor(gap * GRID + 0.5))


@borrowing
def enter_hull(
    codes: Codes, record: int, times: int, place: int, rule: int, loss: ClassLoss, hulls: Hulls, stale: Flags
) -> None:
    """Add equal records to a class and mark the attributes whose distances change as stale."""
    for attribute in range(len(loss.kinds)):
        code = int64(codes[record, attribute])
        number = loss.places[loss.offsets[attribute] + code]
        if loss.kinds[attribute] == NUMERIC and number == np.inf:
            moved = not hulls.missing[place, attribute]
            hulls.missing[place, attribute] = True
        else:
            first = hulls.present[place, attribute] == 0
            low = hulls.low[place, attribute]
            high = hulls.high[place, attribute]
            moved = first or code < low or code > high
            if moved:
                hulls.low[place, attribute] = code if first else min(low, code)
                hulls.high[place, attribute] = code if first else max(high, code)
            hulls.present[place, attribute] += times
            hulls.totals[place, attribute] += number * times
            moved = moved or (rule == MEAN and loss.kinds[attribute] == NUMERIC)
        if moved:
            stale[attribute] = True


@borrowing
def gap(attribute: int, code: int, place: int, rule: int, loss: ClassLoss, hulls: Hulls) -> float:
    """Distance of a code to a class on one attribute, between 0 and the attribute's weight."""
    if loss.kinds[attribute] == NUMERIC:
        return _number_gap(attribute, code, place, rule, loss, hulls)
    low = hulls.low[place, attribute]
    high = hulls.high[place, attribute]
    own = range_loss(attribute, low, high, loss)
    meeting = range_loss(attribute, min(low, code), max(high, code), loss)
    top = loss.tops[attribute]
    # How far the class and the record each climb to meet, over their ways to the root.
    climbed = (meeting - own) / (top - own) * top if top > own else 0.0
    return (meeting + climbed) / 2.0


@borrowing
def _number_gap(attribute: int, code: int, place: int, rule: int, loss: ClassLoss, hulls: Hulls) -> float:
    start = loss.offsets[attribute]
    number = loss.places[start + code]
    top = loss.tops[attribute]
    missing = hulls.missing[place, attribute]
    present = hulls.present[place, attribute]
    if number == np.inf or present == 0:
        alike = number == np.inf and missing
        if rule != WIDEN or present == 0:
            return 0.0 if alike else top
    low = loss.places[start + hulls.low[place, attribute]]
    high = loss.places[start + hulls.high[place, attribute]]
    if rule == WIDEN:
        if missing:
            return float64(top / 2.0)
        if number == np.inf:
            return float64(top - (high - low) / 2.0)
        return float64(max(high, number) - min(low, number) - (high - low) / 2.0)
    if rule == MIDPOINT:
        return float64(abs(number - (low + high) / 2.0))
    if rule == NEAREST:
        return float64(max(low - number, number - high, 0.0))
    return float64(abs(number - hulls.totals[place, attribute] / present))


@borrowing
def class_gap(codes: Codes, record: int, place: int, rule: int, loss: ClassLoss, hulls: Hulls) -> float:
    """Distance of a record to a class, summed over the attributes."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        total += gap(attribute, int64(codes[record, attribute]), place, rule, loss, hulls)
    return total


@inlined
def new_hulls(classes: int, loss: ClassLoss) -> Hulls:
    """Return classes that cover nothing."""
    width = len(loss.kinds)
    return Hulls(
        np.zeros((classes, width), np.int64), np.zeros((classes, width), np.int64),
        np.zeros((classes, width), np.int64), np.zeros((classes, width), np.bool_), np.zeros((classes, width)),
    )  # fmt: skip


@inlined
def new_prices(loss: ClassLoss) -> Prices:
    """Return prices that have to be found first."""
    width = len(loss.kinds)
    return Prices(
        np.zeros(loss.offsets[width]), np.diff(loss.offsets) <= TABLED, np.zeros(2, np.int64),
        np.zeros(width, np.int64), np.zeros(width, np.bool_), np.ones(width, np.bool_),
    )  # fmt: skip


@borrowing
def price(place: int, rule: int, loss: ClassLoss, hulls: Hulls, prices: Prices) -> None:
    """Find the nearest code, and the distance of every code where there are few, of the attributes that are stale."""
    prices.subject[0] = place
    prices.subject[1] = rule
    for attribute in range(len(loss.kinds)):
        if not prices.stale[attribute]:
            continue
        prices.stale[attribute] = False
        present = hulls.present[place, attribute] > 0
        numeric = loss.kinds[attribute] == NUMERIC
        prices.split[attribute] = numeric and hulls.missing[place, attribute] and present and rule != WIDEN
        start = loss.offsets[attribute]
        if prices.tabled[attribute]:
            for code in range(loss.offsets[attribute + 1] - start):
                prices.gaps[start + code] = gap(attribute, code, place, rule, loss, hulls)
        if numeric and not present:
            prices.centers[attribute] = loss.offsets[attribute + 1] - 1 - start
        elif numeric and rule in (MIDPOINT, MEAN):
            prices.centers[attribute] = _next_to_target(attribute, place, rule, loss, hulls)
        else:
            prices.centers[attribute] = hulls.low[place, attribute]


@borrowing
def _next_to_target(attribute: int, place: int, rule: int, loss: ClassLoss, hulls: Hulls) -> int:
    """Find the code of a range whose number is nearest to its midpoint or mean; O(log M). Ends: the range halves."""
    low = hulls.low[place, attribute]
    high = hulls.high[place, attribute]
    # Distances fall, then rise: go to where they rise first.
    while low < high:
        middle = (low + high) // 2
        here = _number_gap(attribute, middle, place, rule, loss, hulls)
        if _number_gap(attribute, middle + 1, place, rule, loss, hulls) < here:
            low = middle + 1
        else:
            high = middle
    return int64(low)


@borrowing
def _priced(attribute: int, code: int, loss: ClassLoss, hulls: Hulls, prices: Prices) -> float:
    """Distance of a code on one attribute."""
    if prices.tabled[attribute]:
        return float64(prices.gaps[loss.offsets[attribute] + code])
    return gap(attribute, code, prices.subject[0], prices.subject[1], loss, hulls)


@borrowing
def record_gap(codes: Codes, record: int, loss: ClassLoss, hulls: Hulls, prices: Prices) -> float:
    """Distance of a record, on the grid."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        total += _priced(attribute, int64(codes[record, attribute]), loss, hulls, prices)
    return on_grid(total)


@borrowing
def least_gap(node: int, tree: RecordTree, loss: ClassLoss, hulls: Hulls, prices: Prices) -> float:
    """Lower bound on :func:`record_gap` of a node's records."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        low = int64(tree.low[node, attribute])
        high = int64(tree.high[node, attribute])
        if prices.split[attribute] and _is_last(attribute, high, loss):
            continue
        total += _priced(attribute, min(max(prices.centers[attribute], low), high), loss, hulls, prices)
    return on_grid(total)


@borrowing
def most_gap(node: int, tree: RecordTree, loss: ClassLoss, hulls: Hulls, prices: Prices) -> float:
    """Upper bound on :func:`record_gap` of a node's records."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        low = int64(tree.low[node, attribute])
        high = int64(tree.high[node, attribute])
        if prices.split[attribute] and low < high and _is_last(attribute, high, loss):
            # The missing number itself is at no distance.
            high -= 1
        total += max(_priced(attribute, low, loss, hulls, prices), _priced(attribute, high, loss, hulls, prices))
    return on_grid(total)


@borrowing
def _is_last(attribute: int, code: int, loss: ClassLoss) -> bool:
    return bool(loss.offsets[attribute] + code == loss.offsets[attribute + 1] - 1)


# What `numbers` counts.
CLASSES = 0
LEFT = 1  # records without a class
SEED = 2  # the record that starts the next class
LOOKED = 3  # distances of records and bounds of nodes that were computed
ENDED = 4  # 1 when no further class can be made


class Growth(NamedTuple):
    """A clustering on its way; changed in place."""

    class_of: Int32s  # (n,): −1 for none. Rows of one distinct record stand together and are taken from the first on.
    starts: Int64s  # (m,): first row of each distinct record
    left: Int64s  # (m,): rows without a class
    alive: Int64s  # (t,): distinct records below each node that have such rows
    hulls: Hulls  # of every class
    prices: Prices  # of the class that grows
    counts: Int64s  # (v,): its sensitive values
    numbers: Int64s  # (5,): see the constants of this module


class TreeSearch(NamedTuple):
    """Buffers of a search in the tree."""

    found: Int64s  # (m,): records that are equally near
    # `stack`, `bounds`: int64 and float64 (t + 2,): nodes that wait, and what bounds the distances below them
    stack: Int64s
    bounds: Floats


@kernel
def begin_caat(weights: Int64s, first: int, k: int, tree: RecordTree, loss: ClassLoss, rules: RuleArrays) -> Growth:
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
def grow_from_far(
    codes: Codes, values: Codes, k: int, ruled: bool, rule: int, first_only: bool, most: int, tree: RecordTree,
    loss: ClassLoss, rules: RuleArrays, growth: Growth,
) -> None:  # fmt: skip
    """Make up to `most` classes more.

    codes : unsigned (m, q); values : unsigned (m, s); ruled : whether rules look at more than sizes; rule : how far
    numbers are from intervals; first_only : take the first of the nearest records instead of all.

    A class is closed once it has k records and satisfies the rules. Records of a class that cannot be closed are left.
    Ends: each round makes a class or is the last.
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
    """Grow a class from its seed; tell whether it could be closed. Ends: each round takes a record that is left."""
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
    enter_hull(codes, record, times, place, rule, loss, growth.hulls, growth.prices.stale)
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

    Nodes are visited once, so that no record is found twice: `found` has room for all. Ends: each node is visited once.
    Capacity: fewer nodes than the tree has wait.
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
    """Find the first in tree order of the furthest records, or −1. Ends: nodes come once. Capacity: those that wait."""
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
            enter_hull(codes, record, 1, home, rule, loss, growth.hulls, stale)
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

"""KACA: classes with too few records join the nearest class, or take a stub of it.

Letters: n records, m distinct ones, g groups (classes at the start: all records that are equal), q attributes, M codes
of all attributes together, s sensitive attributes that some rule looks at, v values of all those together, t nodes of
the tree over groups, e shares: a share is a run of equal records in one group.

A group publishes a box: a range of numbers, or of the leaves below a node. It stands at a place of the tree, and its
box holds the codes of that place, whatever it has taken in. So the codes below a node of the tree bound the distance to
all groups there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sfumato.kernels.clustering.class_members import TABLED, ClassLoss, range_loss
from sfumato.kernels.clustering.record_tree import NONE, RecordTree
from sfumato.kernels.jit import borrowing, inlined, kernel, linear
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.types import NUMERIC, Codes, Floats, Int32s, Int64s, float64, int64

GRID = 2.0**26
"""Distances that are equal on this grid are equal: sums of the same fractions in another order must not differ."""

PRIME = 2**31 - 1
MANY = 2**62

# What `numbers` counts.
GROUPS = 0
SMALL = 1  # groups that have too few records or fail a rule
SHARES = 2
STEPS = 3  # groups taken up so far
LOOKED = 4  # distances of groups and bounds of nodes that were computed


class GrowingGroups(NamedTuple):
    """Groups on their way to classes, by place in the tree; changed in place."""

    # `low`, `high`: (g, q): box
    low: Int64s
    high: Int64s
    own: Floats  # (g,): what the box costs a record
    sizes: Int64s  # (g,): records; 0 where a group has gone
    heads: Int64s  # (g,): first share. Shares stand in the order of their rows.
    # `small`, `small_at`: (g,): groups that are too small, the first ``numbers[SMALL]`` entries; where each group
    # stands there, −1 if it does not
    small: Int64s
    small_at: Int64s
    # `buckets`, `following`: first group of each hash of a box; int64 (g,): the next with the same hash
    buckets: Int64s
    following: Int64s
    # `rows`, `lengths`, `record`, `after`: (e,): first row and number of records of each share, their distinct record,
    # and the next share
    rows: Int64s
    lengths: Int64s
    record: Int64s
    after: Int64s
    # `alive`, `fewest`, `dearest`: int64 (t,), int64 (t,), float64 (t,): groups below each node, least size and largest
    # `own` among them
    alive: Int64s
    fewest: Int64s
    dearest: Floats
    costs: Floats  # (M,): scratch, what a box costs once each code of an attribute with few of them has joined
    numbers: Int64s  # (5,): see the constants of this module


# --- making groups -------------------------------------------------------------------------------------------------


@kernel
def begin_kaca(
    codes: Codes, values: Codes, weights: Int64s, group_of: Any, k: int, ruled: bool, tree: RecordTree, loss: ClassLoss,
    rules: RuleArrays,
) -> GrowingGroups:  # fmt: skip
    """Return one group for each vector of codes.

    codes : unsigned (g, q), in the order of the tree over them; values : unsigned (m, s); weights : int64 (m,);
    group_of : int64 (m,), the group of each distinct record; ruled : whether rules look at more than sizes.
    Ends: the size doubles.
    """
    count, width = codes.shape
    shares = len(weights) + 2 * count + 1
    size = 1
    while size < 2 * count:
        size *= 2
    groups = GrowingGroups(
        np.zeros((count, width), np.int64), np.zeros((count, width), np.int64), np.zeros(count),
        np.zeros(count, np.int64), np.full(count, NONE, np.int64), np.zeros(count, np.int64),
        np.full(count, NONE, np.int64), np.full(size, NONE, np.int64), np.full(count, NONE, np.int64),
        np.zeros(shares, np.int64),
        np.zeros(shares, np.int64), np.zeros(shares, np.int64), np.full(shares, NONE, np.int64),
        np.zeros(len(tree.starts), np.int64), np.zeros(len(tree.starts), np.int64), np.zeros(len(tree.starts)),
        np.zeros(loss.offsets[width]), np.zeros(5, np.int64),
    )  # fmt: skip
    groups.numbers[GROUPS] = count
    groups.numbers[SHARES] = len(weights)
    row = weights.sum()
    for record in range(len(weights) - 1, -1, -1):
        row -= weights[record]
        group = group_of[record]
        groups.rows[record] = row
        groups.lengths[record] = weights[record]
        groups.record[record] = record
        groups.after[record] = groups.heads[group]
        groups.heads[group] = record
        groups.sizes[group] += weights[record]
    for group in range(count):
        for attribute in range(width):
            groups.low[group, attribute] = codes[group, attribute]
            groups.high[group, attribute] = codes[group, attribute]
        _file(group, groups)
    _judge_all(values, k, ruled, rules, groups)
    for node in range(len(tree.starts) - 1, -1, -1):
        _sum_up(node, tree, groups)
    return groups


@inlined
def _judge_all(values: Codes, k: int, ruled: bool, rules: RuleArrays, groups: GrowingGroups) -> None:
    """List the groups that are too small."""
    counts = np.zeros(len(rules.totals), np.int64)
    scratch = np.empty(rules.scratch_size)
    for group in range(len(groups.sizes)):
        _list(group, not _satisfied(group, values, k, ruled, rules, groups, counts, scratch), groups)


@borrowing
def _list(group: int, small: bool, groups: GrowingGroups) -> None:
    """Enter a group among the small ones, or strike it off. Capacity: `small_at` lets each group in once."""
    at = groups.small_at[group]
    if small == (at != NONE):
        return
    if small:
        groups.small[groups.numbers[SMALL]] = group
        groups.small_at[group] = groups.numbers[SMALL]
        groups.numbers[SMALL] += 1
        return
    groups.numbers[SMALL] -= 1
    last = groups.small[groups.numbers[SMALL]]
    groups.small[at] = last
    groups.small_at[last] = at
    groups.small_at[group] = NONE


# --- rules ---------------------------------------------------------------------------------------------------------


@inlined
def _satisfied(
    group: int, values: Codes, k: int, ruled: bool, rules: RuleArrays, groups: GrowingGroups, counts: Int64s,
    scratch: Floats,
) -> bool:  # fmt: skip
    if groups.sizes[group] < k or not ruled:
        return bool(groups.sizes[group] >= k)
    counts[:] = 0
    _tally(group, 0, groups.sizes[group], values, rules, groups, counts)
    return holds(groups.sizes[group], counts, rules, scratch)


@inlined
def _tally(
    group: int, start: int, stop: int, values: Codes, rules: RuleArrays, groups: GrowingGroups, counts: Int64s
) -> None:
    """Count the sensitive values of the records ``start .. stop-1`` of a group. Ends: the list has each share once."""
    share = groups.heads[group]
    passed = 0
    while share != NONE and passed < stop:
        times = min(passed + groups.lengths[share], stop) - max(passed, start)
        if times > 0:
            for column in range(len(rules.offsets) - 1):
                place = rules.offsets[column] + int64(values[groups.record[share], column])
                counts[place] += times
        passed += groups.lengths[share]
        share = groups.after[share]


@inlined
def _stub_suffices(
    small: int, near: int, stub: int, values: Codes, k: int, ruled: bool, rules: RuleArrays, groups: GrowingGroups,
    counts: Int64s, scratch: Floats,
) -> bool:  # fmt: skip
    """Tell whether both groups satisfy the rules once the first `stub` records have changed from `near` to `small`."""
    kept = groups.sizes[near] - stub
    if stub <= 0 or kept < k:
        return False
    if not ruled:
        return True
    counts[:] = 0
    _tally(near, stub, groups.sizes[near], values, rules, groups, counts)
    if not holds(kept, counts, rules, scratch):
        return False
    counts[:] = 0
    _tally(small, 0, groups.sizes[small], values, rules, groups, counts)
    _tally(near, 0, stub, values, rules, groups, counts)
    return holds(groups.sizes[small] + stub, counts, rules, scratch)


# --- finding the nearest group -------------------------------------------------------------------------------------


@borrowing
def _sum_up(node: int, tree: RecordTree, groups: GrowingGroups) -> None:
    alive = 0
    fewest = MANY
    dearest = 0.0
    if tree.left[node] == NONE:
        for group in range(tree.starts[node], tree.stops[node]):
            if groups.sizes[group] > 0:
                alive += 1
                fewest = min(fewest, groups.sizes[group])
                dearest = max(dearest, groups.own[group])
    else:
        for child in range(tree.left[node], tree.left[node] + 2):
            alive += groups.alive[child]
            fewest = min(fewest, groups.fewest[child])
            dearest = max(dearest, groups.dearest[child])
    groups.alive[node] = alive
    groups.fewest[node] = fewest
    groups.dearest[node] = dearest


@borrowing
def _refresh(group: int, tree: RecordTree, groups: GrowingGroups) -> None:
    """Sum up anew what is above a group that has changed. Ends: it climbs to the root."""
    node = int64(tree.bucket_of[group])
    while node != NONE:
        _sum_up(node, tree, groups)
        node = int64(tree.parent[node])


@borrowing
def _price(group: int, loss: ClassLoss, groups: GrowingGroups) -> None:
    for attribute in range(len(loss.kinds)):
        start = loss.offsets[attribute]
        size = loss.offsets[attribute + 1] - start
        if size > TABLED:
            continue
        low = groups.low[group, attribute]
        high = groups.high[group, attribute]
        for code in range(size):
            groups.costs[start + code] = range_loss(attribute, min(low, code), max(high, code), loss)


@borrowing
def _cost(small: int, attribute: int, code: int, loss: ClassLoss, groups: GrowingGroups) -> float:
    """Return what the box of a priced group costs on an attribute once a code has joined."""
    start = loss.offsets[attribute]
    if loss.offsets[attribute + 1] - start <= TABLED:
        return float64(groups.costs[start + code])
    low = groups.low[small, attribute]
    high = groups.high[small, attribute]
    return range_loss(attribute, min(low, code), max(high, code), loss)


@borrowing
def _distance(small: int, other: int, loss: ClassLoss, groups: GrowingGroups) -> float:
    """Distortion of all records of both groups when they come to share a box, on the grid."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        low = groups.low[other, attribute]
        high = groups.high[other, attribute]
        if loss.kinds[attribute] == NUMERIC:
            low = min(low, groups.low[small, attribute])
            high = max(high, groups.high[small, attribute])
            total += range_loss(attribute, low, high, loss)
        else:
            # The common ancestor of three leaves is one of those of two.
            total += max(_cost(small, attribute, low, loss, groups), _cost(small, attribute, high, loss, groups))
    mine = groups.sizes[small] * (total - groups.own[small])
    return float64(np.floor((mine + groups.sizes[other] * (total - groups.own[other])) * GRID + 0.5))


@borrowing
def _least_distance(small: int, node: int, tree: RecordTree, loss: ClassLoss, groups: GrowingGroups) -> float:
    """Lower bound on :func:`_distance` of a node's groups; infinite when it has none."""
    if groups.alive[node] == 0:
        return np.inf
    total = 0.0
    for attribute in range(len(loss.kinds)):
        near = max(groups.low[small, attribute], int64(tree.low[node, attribute]))
        near = min(near, int64(tree.high[node, attribute]))
        total += _cost(small, attribute, near, loss, groups)
    mine = groups.sizes[small] * (total - groups.own[small])
    theirs = groups.fewest[node] * max(total - groups.dearest[node], 0.0)
    return float64(np.floor((mine + theirs) * GRID + 0.5))


@borrowing
def _nearest(
    small: int, tree: RecordTree, loss: ClassLoss, groups: GrowingGroups, stack: Int64s, bounds: Floats
) -> int:
    """Find the nearest group, on ties of the first row, or −1. Ends: nodes come once. Capacity: those that wait."""
    _price(small, loss, groups)
    best = np.inf
    found = NONE
    looked = 0
    stack[0] = 0
    bounds[0] = 0.0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        if bounds[waiting] > best:
            continue
        if tree.left[node] != NONE:
            first = int64(tree.left[node])
            second = first + 1
            near = _least_distance(small, first, tree, loss, groups)
            far = _least_distance(small, second, tree, loss, groups)
            looked += 2
            if far < near:
                near, far, first, second = far, near, second, first
            if far < np.inf and far <= best:
                stack[waiting] = second
                bounds[waiting] = far
                waiting += 1
            if near < np.inf and near <= best:
                stack[waiting] = first
                bounds[waiting] = near
                waiting += 1
            continue
        for group in range(tree.starts[node], tree.stops[node]):
            if groups.sizes[group] == 0 or group == small:
                continue
            looked += 1
            far = _distance(small, group, loss, groups)
            equal = found != NONE and far == best
            if far < best or (equal and _first_row(group, groups) < _first_row(found, groups)):
                best = far
                found = group
    groups.numbers[LOOKED] += looked
    return found


@borrowing
def _first_row(group: int, groups: GrowingGroups) -> int:
    return int64(groups.rows[groups.heads[group]])


# --- joining -------------------------------------------------------------------------------------------------------


@borrowing
def _hash(group: int, groups: GrowingGroups) -> int:
    mixed = 0
    for attribute in range(groups.low.shape[1]):
        mixed = (mixed * 1_000_003 + groups.low[group, attribute]) % PRIME
        mixed = (mixed * 1_000_003 + groups.high[group, attribute]) % PRIME
    return mixed & (len(groups.buckets) - 1)


@borrowing
def _file(group: int, groups: GrowingGroups) -> None:
    bucket = _hash(group, groups)
    groups.following[group] = groups.buckets[bucket]
    groups.buckets[bucket] = group


@borrowing
def _unfile(group: int, groups: GrowingGroups) -> None:
    """Take a group out of the list of its bucket. Ends: a bucket's list has each group once."""
    bucket = _hash(group, groups)
    other = groups.buckets[bucket]
    if other == group:
        groups.buckets[bucket] = groups.following[group]
        return
    while other != NONE and groups.following[other] != group:
        other = groups.following[other]
    if other != NONE:
        groups.following[other] = groups.following[group]


@borrowing
def _twin_of(group: int, groups: GrowingGroups) -> int:
    """Find another group with the same box; −1 when there is none. Ends: a bucket's list has each group once."""
    other = groups.buckets[_hash(group, groups)]
    while other != NONE:
        same = True
        for attribute in range(groups.low.shape[1]):
            same = same and groups.low[other, attribute] == groups.low[group, attribute]
            same = same and groups.high[other, attribute] == groups.high[group, attribute]
        if same:
            return int64(other)
        other = groups.following[other]
    return NONE


@borrowing
def _cover(group: int, other: int, steps: Int64s, loss: ClassLoss, groups: GrowingGroups) -> None:
    """Widen the box of a group to all that the common ancestors with another cover."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        low = min(groups.low[group, attribute], groups.low[other, attribute])
        high = max(groups.high[group, attribute], groups.high[other, attribute])
        low, high = _whole(attribute, low, high, steps, loss)
        groups.low[group, attribute] = low
        groups.high[group, attribute] = high
        total += range_loss(attribute, low, high, loss)
    groups.own[group] = total


@borrowing
def _whole(attribute: int, low: int, high: int, steps: Int64s, loss: ClassLoss) -> tuple[int, int]:
    """Range of all published alike: below the common ancestor, or all where `*` is. Ends: codes move outwards."""
    start = loss.offsets[attribute]
    last = loss.offsets[attribute + 1] - start - 1
    if low == high:
        return low, high
    if loss.kinds[attribute] == NUMERIC:
        return (0 if loss.places[start + high] == np.inf else low), high
    level = 0
    for code in range(low, high):
        level = max(level, steps[start + code])
    while low > 0 and steps[start + low - 1] <= level:
        low -= 1
    while high < last and steps[start + high] <= level:
        high += 1
    return low, high


@borrowing
def _split(group: int, stub: int, groups: GrowingGroups) -> int:
    """Take `stub` records out; return the first share. Ends: it has more. Capacity: one for each of 2 g steps."""
    head = groups.heads[group]
    share = head
    left = stub
    while groups.lengths[share] < left:
        left -= groups.lengths[share]
        share = groups.after[share]
    if groups.lengths[share] > left:
        rest = groups.numbers[SHARES]
        groups.numbers[SHARES] += 1
        groups.rows[rest] = groups.rows[share] + left
        groups.lengths[rest] = groups.lengths[share] - left
        groups.record[rest] = groups.record[share]
        groups.after[rest] = groups.after[share]
        groups.lengths[share] = left
        groups.heads[group] = rest
    else:
        groups.heads[group] = groups.after[share]
    groups.after[share] = NONE
    groups.sizes[group] -= stub
    return int64(head)


@borrowing
def _merged(one: int, other: int, groups: GrowingGroups) -> int:
    """Join two lists of shares by their rows; returns the first share. Ends: each round goes on by one share."""
    if one == NONE or (other != NONE and groups.rows[other] < groups.rows[one]):
        one, other = other, one
    head = one
    while other != NONE:
        following = groups.after[one]
        if following == NONE or groups.rows[other] < groups.rows[following]:
            groups.after[one] = other
            other = following
        one = groups.after[one]
    return head


@borrowing
def _absorb(group: int, gone: int, groups: GrowingGroups) -> None:
    """Put all records of one group into another; boxes are left to the caller."""
    groups.heads[group] = _merged(groups.heads[group], groups.heads[gone], groups)
    groups.sizes[group] += groups.sizes[gone]
    groups.heads[gone] = NONE
    groups.sizes[gone] = 0
    _list(gone, False, groups)
    groups.numbers[GROUPS] -= 1


# --- the algorithm -------------------------------------------------------------------------------------------------


@kernel
def settle_small(
    values: Codes, draws: Floats, steps: Int64s, k: int, ruled: bool, with_stubs: bool, most: int, picks: Int64s,
    tree: RecordTree, loss: ClassLoss, rules: RuleArrays, groups: GrowingGroups,
) -> None:  # fmt: skip
    """Take up to `most` small groups more, each drawn at random, and join it with the nearest group or a stub of it.

    values : unsigned (m, s); draws : float64 (d,), one number below 1 for each group that is taken up, 2 g suffice;
    steps : int64 (M,), level of the common ancestor of each code and the next, the root's where the next is missing;
    with_stubs : whether stubs are taken; picks : int64 (d,), filled with the first row of each group taken up.

    A group whose box comes to equal that of another merges with it, even with the one of which it just took a stub.
    Every step takes a group away or satisfies one that was too small, and only a group that goes makes another too
    small: there are fewer than 2 g steps, each of which adds one share at most.
    Ends: each round is a step, of which there are `most` at most. Capacity: it stops where `picks` ends.
    """
    counts = np.zeros(len(rules.totals), np.int64)
    scratch = np.empty(rules.scratch_size)
    stack = np.empty(len(tree.starts) + 2, np.int64)
    bounds = np.empty(len(tree.starts) + 2)
    numbers = groups.numbers
    stop = numbers[STEPS] + most
    stop = min(stop, len(draws), len(picks))
    while numbers[STEPS] < stop and numbers[SMALL] > 0 and numbers[GROUPS] > 1:
        drawn = int64(draws[numbers[STEPS]] * numbers[SMALL])
        small = groups.small[min(drawn, numbers[SMALL] - 1)]
        picks[numbers[STEPS]] = _first_row(small, groups)
        numbers[STEPS] += 1
        near = _nearest(small, tree, loss, groups, stack, bounds)
        if near == NONE:
            break
        stub = k - groups.sizes[small] if with_stubs else 0
        _unfile(small, groups)
        if _stub_suffices(small, near, stub, values, k, ruled, rules, groups, counts, scratch):
            grown = small
            taken = _split(near, stub, groups)
            groups.heads[small] = _merged(groups.heads[small], taken, groups)
            groups.sizes[small] += stub
            _list(near, False, groups)
        else:
            grown = near
            _unfile(near, groups)
            _absorb(near, small, groups)
        _cover(grown, small if grown == near else near, steps, loss, groups)
        twin = _twin_of(grown, groups)
        if twin != NONE:
            _unfile(twin, groups)
            _absorb(grown, twin, groups)
            _refresh(twin, tree, groups)
        _file(grown, groups)
        _list(grown, not _satisfied(grown, values, k, ruled, rules, groups, counts, scratch), groups)
        _refresh(small, tree, groups)
        _refresh(near, tree, groups)


@linear
def number_classes(groups: GrowingGroups, class_of: Int32s) -> int:
    """Write down the class of each row, groups that are left being numbered by their place.

    class_of : int32 (n,), filled in. Returns how many classes there are. Ends: a group's list has each share once.
    """
    count = 0
    for group in range(len(groups.sizes)):
        if groups.sizes[group] == 0:
            continue
        share = groups.heads[group]
        while share != NONE:
            class_of[groups.rows[share] : groups.rows[share] + groups.lengths[share]] = count
            share = groups.after[share]
        count += 1
    return count


@inlined
def _range_of(codes: Codes, members: Int64s, attribute: int) -> tuple[int, int]:
    low = int64(codes[members[0], attribute])
    high = low
    for member in members:
        code = int64(codes[member, attribute])
        low = min(low, code)
        high = max(high, code)
    return low, high

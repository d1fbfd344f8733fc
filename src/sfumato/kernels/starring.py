"""Which cells to star: every record chooses a pattern of starred attributes, every group of equals needs k records.

Letters: m distinct records, p patterns in rising order of cost, g groups, z memberships.

A *pattern* says which attributes are starred; a *group* is the records that are equal on what a pattern keeps. Only
groups with k records in all are numbered. A group is *open* when records are assigned to it, which must then be at
least k: facility location with lower bounds. All changes are written into a log, so that a move which turns out badly
is taken back.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sfumato.kernels.jit import inlined, kernel, sized
from sfumato.kernels.types import Flags, Floats, Int32s, Int64s, Words, float64, int64

NEVER = 1e300
SLACK = 1e-9

CONTENT = 0.8
"""Share of the draws of a record that cannot fare better which are passed over while annealing."""

REACH = 4
"""Patterns dearer than the present one, this one included, that a record may lead to while annealing."""


class Choices(NamedTuple):
    """What a record may be assigned to."""

    cost: Floats  # (p,): cost of one record under each pattern, rising; 0 for the first
    # (m, p): group of each record under each pattern, −1 where it has fewer than k records. The last pattern has a
    # group for every record.
    group_of: Int32s
    pattern_of: Int32s  # (g,): the pattern of each group, rising
    starts: Int64s  # (g + 1,): group ``i`` has the members ``starts[i] .. starts[i+1]-1``.
    members: Int32s  # (z,): distinct records
    k: int  # fewest records of a group


class Assigned(NamedTuple):
    """What the records are assigned to."""

    counts: Int32s  # (m, p): records of each distinct one that take each pattern
    sizes: Int64s  # (g,): records in each group, 0 or at least k between moves
    # (l, 4): distinct record, pattern left, pattern taken, records; a move that finds it full is taken back
    log: Int64s
    broken: Int64s  # (l,): groups that a move left with too few records
    work: Int64s  # (1,): members looked at so far


@kernel
def group_members(group_of: Int32s, count: int) -> tuple[Int64s, Int32s]:
    """List the members of each group, rising. group_of : int32 (m, p), −1 for none. O(m · p). Capacity: each once."""
    starts = np.zeros(count + 1, dtype=np.int64)
    for record in range(group_of.shape[0]):
        for pattern in range(group_of.shape[1]):
            starts[group_of[record, pattern] + 1] += 1
    starts[0] = 0
    for group in range(count):
        starts[group + 1] += starts[group]
    ends = starts.copy()
    members = np.empty(starts[count], dtype=np.int32)
    for record in range(group_of.shape[0]):
        for pattern in range(group_of.shape[1]):
            group = group_of[record, pattern]
            if group >= 0:
                members[ends[group]] = record
                ends[group] += 1
    return starts, members


@kernel
def first_assignment(weights: Int64s, choices: Choices, assigned: Assigned) -> None:
    """Open groups from the cheapest pattern on wherever k records are left; what is left over takes the last pattern.

    weights : int64 (m,). `assigned` must be empty. Cost O(z), and filling up the groups of the last pattern.
    """
    left = np.ones(len(weights), dtype=np.bool_)
    for group in range(len(choices.pattern_of)):
        waiting = 0
        for place in range(choices.starts[group], choices.starts[group + 1]):
            if left[choices.members[place]]:
                waiting += weights[choices.members[place]]
        if waiting >= choices.k:
            for place in range(choices.starts[group], choices.starts[group + 1]):
                _assign(choices.members[place], choices.pattern_of[group], left, weights, choices, assigned)
    for record in range(len(weights)):
        _assign(record, len(choices.cost) - 1, left, weights, choices, assigned)
    for group in range(len(choices.pattern_of)):
        if 0 < assigned.sizes[group] < choices.k:
            _fill_up(group, choices, assigned)


@inlined
def _assign(record: int, pattern: int, left: Flags, weights: Int64s, choices: Choices, assigned: Assigned) -> None:
    if left[record]:
        left[record] = False
        assigned.counts[record, pattern] = weights[record]
        assigned.sizes[choices.group_of[record, pattern]] += weights[record]


@inlined
def _fill_up(group: int, choices: Choices, assigned: Assigned) -> None:
    """Bring a group of the last pattern to k records: those that others can spare, else whole groups."""
    moves, _, filled = _fill(group, NEVER, 0, choices, assigned)
    if filled:
        return
    _take_back(0, moves, choices, assigned)
    last = len(choices.cost) - 1
    for pattern in range(last - 1, -1, -1):
        for place in range(choices.starts[group], choices.starts[group + 1]):
            record = choices.members[place]
            if assigned.counts[record, pattern] == 0 or assigned.sizes[group] >= choices.k:
                continue
            source = choices.group_of[record, pattern]
            for other in range(choices.starts[source], choices.starts[source + 1]):
                member = choices.members[other]
                if assigned.counts[member, pattern] > 0:
                    _move(member, pattern, last, assigned.counts[member, pattern], 0, choices, assigned)


@inlined
def _move(record: int, source: int, target: int, count: int, moves: int, choices: Choices, assigned: Assigned) -> int:
    """Move records to another pattern. Capacity: callers stop where `log` ends, behind its first place."""
    assigned.counts[record, source] -= count
    assigned.counts[record, target] += count
    assigned.sizes[choices.group_of[record, source]] -= count
    assigned.sizes[choices.group_of[record, target]] += count
    assigned.log[moves, 0] = record
    assigned.log[moves, 1] = source
    assigned.log[moves, 2] = target
    assigned.log[moves, 3] = count
    return moves + 1


@inlined
def _take_back(kept: int, moves: int, choices: Choices, assigned: Assigned) -> None:
    for move in range(moves - 1, kept - 1, -1):
        record, source, target, count = assigned.log[move]
        _move(record, target, source, count, move, choices, assigned)


@inlined
def _fill(group: int, budget: float, moves: int, choices: Choices, assigned: Assigned) -> tuple[int, float, bool]:
    """Bring a group to k records with those that other groups can spare, cheapest first; below `budget`."""
    target = choices.pattern_of[group]
    need = choices.k - assigned.sizes[group]
    change = 0.0
    for source in range(len(choices.cost) - 1, -1, -1):
        price = choices.cost[target] - choices.cost[source]
        if source == target:
            continue
        if change + price * need >= budget:
            return moves, change, False
        assigned.work[0] += choices.starts[group + 1] - choices.starts[group]
        for place in range(choices.starts[group], choices.starts[group + 1]):
            record = choices.members[place]
            there = int64(assigned.counts[record, source])
            if there == 0:
                continue
            spare = assigned.sizes[choices.group_of[record, source]] - choices.k
            count = min(need, min(there, spare))
            if count > 0:
                if moves >= len(assigned.log):
                    return moves, change, False
                moves = _move(record, source, target, count, moves, choices, assigned)
                change += price * count
                need -= count
                if need == 0:
                    return moves, change, True
    return moves, change, False


@inlined
def _dissolve(group: int, moves: int, choices: Choices, assigned: Assigned) -> tuple[int, float, bool]:
    """Send every record of a group to the cheapest other group that is open."""
    pattern = choices.pattern_of[group]
    change = 0.0
    assigned.work[0] += choices.starts[group + 1] - choices.starts[group]
    for place in range(choices.starts[group], choices.starts[group + 1]):
        record = choices.members[place]
        count = int64(assigned.counts[record, pattern])
        if count == 0:
            continue
        target = _cheapest_open(record, group, choices, assigned)
        if target < 0 or moves >= len(assigned.log):
            return moves, change, False
        moves = _move(record, pattern, target, count, moves, choices, assigned)
        change += (choices.cost[target] - choices.cost[pattern]) * count
    return moves, change, True


@inlined
def _cheapest_open(record: int, but: int, choices: Choices, assigned: Assigned) -> int:
    for pattern in range(len(choices.cost)):
        group = choices.group_of[record, pattern]
        if group >= 0 and group != but and assigned.sizes[group] >= choices.k:
            return pattern
    return -1


@inlined
def _mend(group: int, budget: float, moves: int, choices: Choices, assigned: Assigned) -> tuple[int, float, bool]:
    """Dissolve a group with too few records or fill it up, whichever is cheaper, below `budget`."""
    after, dissolving, possible = _dissolve(group, moves, choices, assigned)
    if possible and dissolving <= 0.0:
        return after, dissolving, True
    if not possible:
        dissolving = NEVER
    _take_back(moves, after, choices, assigned)
    after, filling, possible = _fill(group, min(dissolving, budget), moves, choices, assigned)
    if possible:
        return after, filling, True
    _take_back(moves, after, choices, assigned)
    if dissolving >= budget:
        return moves, 0.0, False
    return _dissolve(group, moves, choices, assigned)


@inlined
def _open(group: int, slack: float, choices: Choices, assigned: Assigned) -> float:
    """Bring all records that gain by it into a group, fill it up, mend what broke; keep it if it costs below `slack`.

    Returns the change of the total cost, 0.0 when everything was taken back.
    """
    moves, change, broken = _gather(group, choices, assigned)
    possible = moves < len(assigned.log)
    if possible and assigned.sizes[group] < choices.k:
        moves, filling, possible = _fill(group, slack - change, moves, choices, assigned)
        change += filling
    for place in range(broken):
        other = assigned.broken[place]
        if possible and 0 < assigned.sizes[other] < choices.k:
            moves, mending, possible = _mend(other, slack - change, moves, choices, assigned)
            change += mending
    if possible and change < slack - SLACK:
        return change
    _take_back(0, moves, choices, assigned)
    return 0.0


@inlined
def _gather(group: int, choices: Choices, assigned: Assigned) -> tuple[int, float, int]:
    """Move members into a group. Capacity: it stops where `log` ends; a move breaks one group at most."""
    pattern = choices.pattern_of[group]
    moves = 0
    broken = 0
    change = 0.0
    dearer = len(choices.cost) - pattern
    assigned.work[0] += (choices.starts[group + 1] - choices.starts[group]) * (1 + dearer // 16)
    for place in range(choices.starts[group], choices.starts[group + 1]):
        record = choices.members[place]
        for source in range(len(choices.cost) - 1, pattern, -1):
            if choices.cost[source] <= choices.cost[pattern]:
                break
            count = int64(assigned.counts[record, source])
            if count == 0 or moves >= len(assigned.log):
                continue
            moves = _move(record, source, pattern, count, moves, choices, assigned)
            change += (choices.cost[pattern] - choices.cost[source]) * count
            if assigned.sizes[choices.group_of[record, source]] < choices.k:
                assigned.broken[broken] = choices.group_of[record, source]
                broken += 1
    return moves, change, broken


@inlined
def _close(group: int, slack: float, choices: Choices, assigned: Assigned) -> float:
    moves, change, possible = _dissolve(group, 0, choices, assigned)
    if possible and change < slack - SLACK:
        return change
    _take_back(0, moves, choices, assigned)
    return 0.0


@inlined
def _dearest(record: int, choices: Choices, assigned: Assigned) -> int:
    for pattern in range(len(choices.cost) - 1, 0, -1):
        if assigned.counts[record, pattern] > 0:
            return pattern
    return 0


@inlined
def _least(record: int, choices: Choices) -> float:
    for pattern in range(len(choices.cost)):
        if choices.group_of[record, pattern] >= 0:
            return float64(choices.cost[pattern])
    return NEVER


@kernel
def descend(choices: Choices, assigned: Assigned, most_work: int) -> float:
    """Open and close groups one at a time as long as that lowers the cost; returns the change of the total cost.

    Groups are tried in the order of the records that would gain. Stops early when `most_work` is reached.
    Ends: each sweep lowers the cost by more than `SLACK`, or is the last.
    """
    tried = np.zeros(len(choices.pattern_of), dtype=np.int64)
    total = 0.0
    change = -1.0
    sweep = 0
    while change < -SLACK and assigned.work[0] < most_work:
        change = 0.0
        sweep += 1
        for record in range(len(choices.group_of)):
            for pattern in range(_dearest(record, choices, assigned)):
                group = choices.group_of[record, pattern]
                if group >= 0 and tried[group] < sweep and assigned.work[0] < most_work:
                    tried[group] = sweep
                    change += _open(group, 0.0, choices, assigned)
        for group in range(len(choices.pattern_of)):
            if assigned.sizes[group] > 0 and choices.pattern_of[group] > 0 and assigned.work[0] < most_work:
                change += _close(group, 0.0, choices, assigned)
        total += change
    return total


@sized(lambda choices, assigned, restless, hot, cold, most_work: 20.0 * (most_work - int(assigned.work[0])))
def anneal_stars(
    choices: Choices, assigned: Assigned, restless: Int64s, hot: float, cold: float, most_work: int
) -> float:
    """Open and close groups at random, also where that costs a little more, ever less so.

    restless : int64 (r,), the distinct records that cannot all stay as they are, r ≥ 1. hot, cold : the first and the
    last temperature, in units of cost. The random numbers are the same on every call: the result depends on nothing but
    the arguments. What ends dearer than it began is taken back. Returns the change of the total cost. Ends when the
    work is done, O(most_work). Ends: each round adds to the work.
    """
    counts = assigned.counts.copy()
    sizes = assigned.sizes.copy()
    state = np.array([88172645463325252], dtype=np.uint64)
    total = 0.0
    start = assigned.work[0]
    while assigned.work[0] < most_work:
        assigned.work[0] += 1
        share = (assigned.work[0] - start) / (most_work - start)
        # of numpy, as arguments of a call from outside are; random numbers are never 1
        slack = -hot * (cold / hot) ** share * math.log(1.0 - _random(state))
        record = restless[int(_random(state) * len(restless))]
        dearest = _dearest(record, choices, assigned)
        # Records that have what is the least for them seldom lead anywhere.
        if choices.cost[dearest] <= _least(record, choices) + SLACK and _random(state) < CONTENT:
            continue
        reach = min(len(choices.cost), dearest + REACH)
        group = choices.group_of[record, int(_random(state) * reach)]
        if group < 0:
            continue
        if assigned.sizes[group] > 0:
            total += _close(group, slack, choices, assigned)
        else:
            total += _open(group, slack, choices, assigned)
    if total < SLACK:
        return total
    assigned.counts[:] = counts
    assigned.sizes[:] = sizes
    return 0.0


@inlined
def _random(state: Words) -> float:
    """Draw from [0, 1): xorshift of 64 bits (Marsaglia 2003)."""
    bits = state[0]
    bits ^= bits << np.uint64(13)
    bits ^= bits >> np.uint64(7)
    bits ^= bits << np.uint64(17)
    state[0] = bits
    return float(bits >> np.uint64(11)) / 9007199254740992.0


# Branch and bound over who takes which pattern of stars: the least cost, proven, for small tables.
#
# Letters: u units (single records, equal ones side by side), m distinct records, p patterns, g groups.


# Each of two or more patterns for every unit, until all nodes are spent.
@sized(lambda choices, record_of, *_: 10.0 * len(choices.cost) * min(_[-1], 2.0 ** min(len(record_of), 60)))
def cheapest_patterns(
    choices: Choices, record_of: Int32s, least: Floats, extra: Floats, taken: Int32s, known: float, most_nodes: int
) -> tuple[float, int, bool]:
    """Search all assignments of units to patterns for one that costs less than `known`.

    record_of : int32 (u,), the distinct record of each unit, rising. least : float64 (u + 1,), what the units from each
    on cost at least. extra : float64 (g,), what a member of a group costs in it above its own least, at least. taken :
    int32 (u,), out: the patterns of the best assignment, where one better than `known` is found. Returns the least cost
    found or known, the nodes visited, and whether the search came to its end.

    Depth first, units in order, patterns in order of cost; equal records take patterns in rising order. A branch is cut
    where its cost, the least cost of the units to come and of the records that open groups still need reaches the best,
    or where a group can no longer get k records. Cost O(nodes · p), nodes exponential in u.
    Ends: each assignment is visited once. Capacity: there is a place for each unit, and one more.
    """
    units = len(record_of)
    sizes = np.zeros(len(choices.pattern_of), dtype=np.int64)
    to_come = np.zeros(len(choices.pattern_of), dtype=np.int64)
    for record in record_of:
        for group in choices.group_of[record]:
            if group >= 0:
                to_come[group] += 1
    current = np.full(units + 1, -1, dtype=np.int64)
    cost = np.zeros(units + 1, dtype=np.float64)
    # Records that open groups need, and what they cost above their least.
    needed = np.zeros(units + 1, dtype=np.int64)
    dearer = np.zeros(units + 1, dtype=np.float64)
    best, nodes, unit = known, 0, 0
    while unit >= 0:
        record = record_of[unit]
        if current[unit] >= 0:
            _leave(choices, record, current[unit], sizes, to_come)
        pattern = _next_pattern(choices, record, unit, record_of, current)
        if pattern < 0 or cost[unit] + choices.cost[pattern] + least[unit + 1] >= best - SLACK:
            current[unit] = -1
            unit -= 1
            continue
        nodes += 1
        if nodes > most_nodes:
            return best, nodes, False
        group = choices.group_of[record, pattern]
        current[unit] = pattern
        needed[unit + 1] = needed[unit] + _needs(sizes[group] + 1, choices.k) - _needs(sizes[group], choices.k)
        dearer[unit + 1] = dearer[unit] + (needed[unit + 1] - needed[unit]) * extra[group]
        cost[unit + 1] = cost[unit] + choices.cost[pattern]
        possible = _enter(choices, record, pattern, sizes, to_come)
        bound = cost[unit + 1] + least[unit + 1] + dearer[unit + 1]
        if not possible or needed[unit + 1] > units - unit - 1 or bound >= best - SLACK:
            continue
        if unit == units - 1:
            best = cost[units]
            taken[:] = current[:units]
            continue
        unit += 1
        current[unit] = -1
    return best, nodes, True


@inlined
def _needs(size: int, k: int) -> int:
    return k - size if 0 < size < k else 0


@inlined
def _next_pattern(choices: Choices, record: int, unit: int, record_of: Int32s, current: Int64s) -> int:
    start = current[unit] + 1
    if unit > 0 and record_of[unit - 1] == record:
        start = max(start, current[unit - 1])
    for pattern in range(start, len(choices.cost)):
        if choices.group_of[record, pattern] >= 0:
            return pattern
    return -1


@inlined
def _enter(choices: Choices, record: int, pattern: int, sizes: Int64s, to_come: Int64s) -> bool:
    """Assign a unit; tells whether all groups that it belongs to can still get k records or are empty."""
    sizes[choices.group_of[record, pattern]] += 1
    possible = True
    for group in choices.group_of[record]:
        if group >= 0:
            to_come[group] -= 1
            if sizes[group] > 0 and sizes[group] + to_come[group] < choices.k:
                possible = False
    return possible


@inlined
def _leave(choices: Choices, record: int, pattern: int, sizes: Int64s, to_come: Int64s) -> None:
    sizes[choices.group_of[record, pattern]] -= 1
    for group in choices.group_of[record]:
        if group >= 0:
            to_come[group] += 1


# Stars for combinations of a few attributes: each one that is shown must be shown by k records.
#
# Letters: m distinct records, i items (records that are equal and starred equally), p patterns, s subsets of
# attributes, c combinations (a subset with values).
#
# A pattern shows a subset when it stars none of its attributes; both are masks of bits.


class ItemSets(NamedTuple):
    """What the items show."""

    combination_of: Int32s  # (m, s): combination that each distinct record has in each subset
    subsets: Int64s  # (s,): masks of their attributes
    starred: Int64s  # (p,): masks of the attributes that each pattern stars; the last stars all that may be
    cost: Floats  # (p,), rising
    records: Int32s  # (i,): distinct record of each item
    weights: Int64s  # (i,): records of each item
    patterns: Int64s  # (i,): pattern of each item; the kernels change it
    counts: Int64s  # (c,): records that show each combination
    k: int


@kernel
def count_shown(shown: ItemSets) -> None:
    """Count the records that show each combination, from nothing. Cost O(i · s)."""
    shown.counts[:] = 0
    for item in range(len(shown.records)):
        _add(item, shown.weights[item], shown)


@kernel
def least_patterns(shown: ItemSets) -> Int64s:
    """Return each item's cheapest pattern with nothing too rare, else the last; int64 (i,). Ends: patterns rise."""
    least = np.empty(len(shown.records), dtype=np.int64)
    for item in range(len(shown.records)):
        least[item] = 0
        while least[item] < len(shown.cost) - 1 and not _may_show(item, least[item], 0, shown):
            least[item] += 1
    return least


@kernel
def star_until_shared(shown: ItemSets, unit: float) -> None:
    """Star items further until every combination that is shown is shown by k records. Cost O(i · p · s) a sweep.

    An item takes the pattern that costs least, together with what it costs about to star those whose combinations
    become too rare by it; `unit` is the cost of one star. Stars are never taken back, so it ends.
    Ends: each change stars an item further.
    """
    changed = True
    while changed:
        changed = False
        for item in range(len(shown.records)):
            starrable = shown.patterns[item] < len(shown.cost) - 1
            if starrable and not _may_show(item, shown.patterns[item], 0, shown):
                _take(item, _least_harmful(item, unit, shown), shown)
                changed = True


@kernel
def unstar(shown: ItemSets) -> None:
    """Give items cheaper patterns as long as all combinations stay shared. Cost O(i · p · s) a sweep.

    Ends: each change lowers the cost by more than `SLACK`.
    """
    changed = True
    while changed:
        changed = False
        for item in range(len(shown.records)):
            before = shown.patterns[item]
            if before > 0:
                _add(item, -shown.weights[item], shown)
                after = _cheaper(item, before, shown)
                shown.patterns[item] = after
                _add(item, shown.weights[item], shown)
                changed = changed or after != before


@inlined
def _add(item: int, weight: int, shown: ItemSets) -> None:
    hidden = shown.starred[shown.patterns[item]]
    for subset in range(len(shown.subsets)):
        if shown.subsets[subset] & hidden == 0:
            shown.counts[shown.combination_of[shown.records[item], subset]] += weight


@inlined
def _take(item: int, pattern: int, shown: ItemSets) -> None:
    _add(item, -shown.weights[item], shown)
    shown.patterns[item] = pattern
    _add(item, shown.weights[item], shown)


@inlined
def _may_show(item: int, pattern: int, besides: int, shown: ItemSets) -> bool:
    """Tell whether all that an item shows under a pattern has k records, `besides` more than are counted."""
    hidden = shown.starred[pattern]
    for subset in range(len(shown.subsets)):
        if shown.subsets[subset] & hidden == 0:
            count = shown.counts[shown.combination_of[shown.records[item], subset]]
            if count + besides < shown.k:
                return False
    return True


@inlined
def _least_harmful(item: int, unit: float, shown: ItemSets) -> int:
    present = shown.starred[shown.patterns[item]]
    best = len(shown.cost) - 1
    least = np.inf
    for pattern in range(shown.patterns[item] + 1, len(shown.cost)):
        price = shown.cost[pattern] * shown.weights[item]
        if price >= least:
            break
        if shown.starred[pattern] & present == present and _may_show(item, pattern, 0, shown):
            price += unit * _harmed(item, present, shown.starred[pattern], shown)
            if price < least - SLACK:
                best, least = pattern, price
    return best


@inlined
def _harmed(item: int, before: int, after: int, shown: ItemSets) -> int:
    harmed = 0
    for subset in range(len(shown.subsets)):
        if shown.subsets[subset] & before == 0 and shown.subsets[subset] & after != 0:
            count = shown.counts[shown.combination_of[shown.records[item], subset]]
            if count >= shown.k and count - shown.weights[item] < shown.k:
                harmed += count - shown.weights[item]
    return harmed


@inlined
def _cheaper(item: int, before: int, shown: ItemSets) -> int:
    """Find the cheapest pattern for an item that is not counted, such that nobody else's combinations get too rare."""
    for pattern in range(before):
        if shown.cost[pattern] >= shown.cost[before] - SLACK:
            break
        if _may_show(item, pattern, shown.weights[item], shown) and _may_go(item, before, pattern, shown):
            return pattern
    return before


@inlined
def _may_go(item: int, before: int, after: int, shown: ItemSets) -> bool:
    for subset in range(len(shown.subsets)):
        if shown.subsets[subset] & shown.starred[before] == 0 and shown.subsets[subset] & shown.starred[after] != 0:
            count = shown.counts[shown.combination_of[shown.records[item], subset]]
            if 0 < count < shown.k:
                return False
    return True


# Stars that match every value: a few starred records serve all others of their group.
#
# Letters: m distinct records, p patterns, g groups; see :mod:`sfumato.kernels.starring`.


@kernel
def star_until_compatible(weights: Int64s, choices: Choices, counts: Int32s, worthwhile: Floats, first: int) -> None:
    """Star records until each is compatible with k records, when a star matches every value.

    weights : int64 (m,). counts : int32 (m, p), out, empty before. worthwhile : float64, falling to 0: in each sweep
    the groups are starred where that satisfies at least so many records for one unit of cost; with 0 everybody is
    satisfied. first : the first group that is looked at; those from it on must have every record. Cost O(z k) a sweep
    for z memberships.
    """
    plain = weights.copy()
    compatible = weights.copy()
    for bound in worthwhile:
        for group in range(first, len(choices.pattern_of)):
            cost = choices.cost[choices.pattern_of[group]]
            if cost == 0.0:
                continue
            start, stop = choices.starts[group], choices.starts[group + 1]
            members = choices.members[start:stop]
            before = _unsatisfied(members, plain, compatible, choices.k)
            if before == 0:
                continue
            kept = compatible[members]
            chosen = _star(members, plain, compatible, choices.k)
            starred = int64(0)
            for place in range(len(members)):
                if chosen[place]:
                    starred += plain[members[place]]
            if before < bound * cost * starred:
                compatible[members] = kept
                continue
            for place in range(len(members)):
                if chosen[place]:
                    record = members[place]
                    counts[record, choices.pattern_of[group]] += plain[record]
                    plain[record] = 0
    counts[:, 0] += plain.astype(np.int32)


@inlined
def _unsatisfied(members: Int32s, plain: Int64s, compatible: Int64s, k: int) -> int:
    records = int64(0)
    for record in members:
        if compatible[record] < k:
            records += plain[record]
    return records


@inlined
def _star(members: Int32s, plain: Int64s, compatible: Int64s, k: int) -> Flags:
    """Star members, the neediest first, until the others are satisfied; `compatible` follows. Ends: one a round."""
    chosen = np.zeros(len(members), dtype=np.bool_)
    while True:
        neediest = -1
        for place in range(len(members)):
            record = members[place]
            if chosen[place] or plain[record] == 0 or compatible[record] >= k:
                continue
            if neediest < 0 or compatible[record] < compatible[members[neediest]]:
                neediest = place
        if neediest < 0:
            return chosen
        chosen[neediest] = True
        for place in range(len(members)):
            if place != neediest:
                compatible[members[place]] += plain[members[neediest]]

"""Branch and bound over who takes which pattern of stars: the least cost, proven, for small tables.

Letters: u units (single records, equal ones side by side), m distinct records, p patterns, g groups.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import inlined, sized
from sfumato.kernels.stars.starring import SLACK, Choices
from sfumato.kernels.types import Floats, Int32s, Int64s


# Each of two or more patterns for every unit, until all nodes are spent.
@sized(lambda choices, record_of, *_: 10.0 * len(choices.cost) * min(_[-1], 2.0 ** min(len(record_of), 60)))
def cheapest_patterns(
    choices: Choices, record_of: Int32s, least: Floats, extra: Floats, taken: Int32s, known: float, most_nodes: int
) -> tuple[float, int, bool]:
    """Search all assignments of units to patterns for one that costs less than `known`.

    record_of : int32 (u,), the distinct record of each unit, rising. least : float64 (u + 1,), what the units from each
    on cost at least. extra : float64 (g,), what a member of a group costs in it above its own least, at least.
    taken : int32 (u,), out: the patterns of the best assignment, where one better than `known` is found.
    Returns the least cost found or known, the nodes visited, and whether the search came to its end.

    Depth first, units in order, patterns in order of cost; equal records take patterns in rising order. A branch is cut
    where its cost, the least cost of the units to come and of the records that open groups still need reaches the best,
    or where a group can no longer get k records. Cost O(nodes · p), nodes exponential in u.
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

"""Frequency sets: roll up to higher levels, and decide every class at once.

Letters: m rows (distinct combinations), w columns, p of them nodes of attributes and s sensitive values after them,
c classes, r rules, v values of all sensitive attributes together.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.apart import count_record, forget_record, new_tally, tally_holds
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.types import Flags, Int32s, Int64s, int64

_MIX = 0x5BD1E995
_LOW = 0x7FFFFFFF


@kernel
def rolled_up(
    codes: Int32s, weights: Int64s, columns: Int64s, starts: Int64s, climbs: Int32s, places: Int64s, cells: int
) -> tuple[Int32s, Int64s]:
    """Take some columns, replace their nodes by those of a higher level, and add up the weights of equal rows.

    codes : int32 (m, w), not negative. weights : int64 (m,). columns : int64 (u,), the columns to take. starts : int64
    (u,), where the climb of each begins in `climbs`, −1 to copy the column. climbs : int32, number of the higher node
    for each lower one, climb after climb. places : int64 (u,), worth of one step of each new column in a row's number
    among `cells`; `cells` is 0 when there are too many to number, and rows are hashed (open addressing, linear probing,
    at most half full).
    Returns int32 (m', u) in order of first appearance and int64 (m',). Cost O(m · u).
    """
    rows = np.empty((len(codes), len(columns)), dtype=np.int32)
    sums = np.empty(len(codes), dtype=np.int64)
    size = cells if cells > 0 else 2
    while cells == 0 and size < 2 * len(codes):
        size *= 2
    table = np.full(size, -1, dtype=np.int32)
    count = 0
    for row in range(len(codes)):
        # The candidate stands behind the rows that are kept, and stays when it is new.
        slot = 0
        for place in range(len(columns)):
            code = int64(codes[row, columns[place]])
            if starts[place] >= 0:
                code = int64(climbs[starts[place] + code])
            rows[count, place] = code
            slot = slot + code * places[place] if cells > 0 else _mixed(slot, code)
        if cells == 0:
            slot &= size - 1
            while table[slot] >= 0 and not _equal(rows, table[slot], count):
                slot = (slot + 1) & (size - 1)
        if table[slot] >= 0:
            sums[table[slot]] += weights[row]
        else:
            table[slot] = count
            sums[count] = weights[row]
            count += 1
    return rows[:count].copy(), sums[:count].copy()


@inlined
def _mixed(hashed: int, code: int) -> int:
    # Below 2**31 times below 2**31: never overflows, compiled or not.
    product = ((hashed ^ code) & _LOW) * _MIX
    return (product ^ (product >> 31)) & _LOW


@inlined
def _equal(rows: Int32s, one: int, other: int) -> bool:
    for place in range(rows.shape[1]):  # noqa: SIM110 - all() over a generator does not compile
        if rows[one, place] != rows[other, place]:
            return False
    return True


@kernel
def records_of_nodes(codes: Int32s, weights: Int64s, kept: Flags, offsets: Int64s) -> Int64s:
    """Count the records of the kept rows by the node that they have, int64 (offsets[p],).

    codes : int32 (m, w). weights : int64 (m,). kept : bool (m,). offsets : int64 (p + 1,), where the nodes of each
    attribute start. Cost O(m · p).
    """
    records = np.zeros(offsets[-1], dtype=np.int64)
    for row in range(len(codes)):
        if kept[row]:
            for place in range(len(offsets) - 1):
                records[offsets[place] + codes[row, place]] += weights[row]
    return records


@kernel
def judged(
    class_of: Int32s, count: int, codes: Int32s, first: int, weights: Int64s, rules: RuleArrays
) -> tuple[Int64s, Flags]:
    """Count the records of every class and decide whether it satisfies every rule.

    class_of : int32 (m,). codes : int32 (m, p + s), `first` = p. weights : int64 (m,).
    Returns sizes int64 (count,) and verdicts bool (count,). Cost O(m · s + count · r · v).
    """
    starts, order = _by_class(class_of, count)
    sizes = np.zeros(count, dtype=np.int64)
    verdicts = np.zeros(count, dtype=np.bool_)
    scratch = np.empty(rules.scratch_size, dtype=np.float64)
    attributes = len(rules.offsets) - 1
    if rules.apart >= 0:
        tally = new_tally(rules)
        for number in range(count):
            for row in order[starts[number] : starts[number + 1]]:
                sizes[number] += weights[row]
                for attribute in range(attributes):
                    place = rules.offsets[attribute] + codes[row, first + attribute]
                    count_record(place, weights[row], tally, rules)
            verdicts[number] = tally_holds(sizes[number], tally, rules, scratch)
            for row in order[starts[number] : starts[number + 1]]:
                for attribute in range(attributes):
                    forget_record(rules.offsets[attribute] + codes[row, first + attribute], tally, rules)
        return sizes, verdicts
    counts = np.zeros(max(1, rules.offsets[-1]), dtype=np.int64)
    for number in range(count):
        for place in range(starts[number], starts[number + 1]):
            row = order[place]
            sizes[number] += weights[row]
            for attribute in range(attributes):
                counts[rules.offsets[attribute] + codes[row, first + attribute]] += weights[row]
        verdicts[number] = holds(sizes[number], counts, rules, scratch)
        for place in range(starts[number], starts[number + 1]):
            for attribute in range(attributes):
                counts[rules.offsets[attribute] + codes[order[place], first + attribute]] = 0
    return sizes, verdicts


@inlined
def _by_class(class_of: Int32s, count: int) -> tuple[Int64s, Int64s]:
    starts = np.zeros(count + 1, dtype=np.int64)
    for number in class_of:
        starts[number + 1] += 1
    for number in range(count):
        starts[number + 1] += starts[number]
    ends = starts[:count].copy()
    order = np.empty(len(class_of), dtype=np.int64)
    for row in range(len(class_of)):
        order[ends[class_of[row]]] = row
        ends[class_of[row]] += 1
    return starts, order

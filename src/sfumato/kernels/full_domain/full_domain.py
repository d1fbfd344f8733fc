"""Full-domain generalization: the classes of weighted records on given levels, and what they lose.

Letters: m records (distinct ones, each with a weight), q attributes, c classes, s sensitive attributes that some rule
looks at, v values of all those attributes together, e entries of all level tables.

Level tables are flat: what code ``d`` of attribute ``a`` is on level ``h`` stands at
``starts[a] + h · widths[a] + d``. A node comes as `at`, int64 (q,): the place where the row of each attribute's level
begins.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.apart import count_record, forget_record, new_tally, tally_holds
from sfumato.kernels.jit import kernel
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.types import Codes, Flags, Int32s, Int64s, int64

# An odd multiplier below 2**31: times 32 bits it stays below 2**63, so that mixing never overflows, compiled or not.
_MIX = 0x5BD1E995
_LOW = 0x7FFFFFFF


@kernel
def classes_at(
    codes: Codes, weights: Int64s, prefix: Int32s, columns: Int64s, at: Int64s, shifts: Int64s, bits: int, nodes: Int64s
) -> tuple[Int32s, Int32s, Int64s]:
    """Group records that are equal on the chosen levels of some attributes.

    codes : unsigned (m, q). weights : int64 (m,). prefix : int32 (m,), a number that counts as one attribute more and
    fills the lowest bits of the key, or empty. columns : int64, the attributes to look at. shifts : int64, for
    each of them the lowest bit of its node in the key; bits : width of the whole key, at most 62. nodes : int64 (e,).
    Returns the class of each record, int32 (m,), numbered by first appearance; the first record of each class, int32
    (c,); and the weight of each class, int64 (c,). Open addressing, or a table of all keys where they are few;
    O(m · q).
    """
    records = len(codes)
    slots = 16
    while slots < 2 * records:
        slots *= 2
    direct = bits < 40 and (1 << bits) <= 2 * slots
    if direct:
        slots = 1 << bits
    table = np.full(slots, -1, dtype=np.int32)
    class_of = np.empty(records, dtype=np.int32)
    firsts = np.empty(records, dtype=np.int32)
    keys = np.empty(0 if direct else records, dtype=np.int64)
    sizes = np.empty(records, dtype=np.int64)
    count = 0
    for record in range(records):
        key = int64(prefix[record]) if len(prefix) else int64(0)
        for place in range(len(columns)):
            column = columns[place]
            key |= nodes[at[column] + int64(codes[record, column])] << shifts[place]
        if direct:
            slot = key
        else:
            half = (key & _LOW) * _MIX
            half = ((half >> 29) ^ half ^ (key >> 31)) & _LOW
            spread = half * _MIX
            slot = (spread ^ (spread >> 29)) & (slots - 1)
            while table[slot] >= 0 and keys[table[slot]] != key:
                slot = (slot + 1) & (slots - 1)
        number = table[slot]
        if number < 0:
            number = count
            table[slot] = count
            if not direct:
                keys[count] = key
            firsts[count] = record
            sizes[count] = 0
            count += 1
        sizes[number] += weights[record]
        class_of[record] = number
    return class_of, firsts[:count].copy(), sizes[:count].copy()


@kernel
def judged(
    class_of: Int32s, sizes: Int64s, kept: Flags, weights: Int64s, values: Codes, value_of: Int64s, starts: Int64s,
    rules: RuleArrays,
) -> Flags:  # fmt: skip
    """Tell which of the `kept` classes satisfy every rule; bool (c,).

    class_of : int32 (m,). sizes : int64 (c,). kept : bool (c,). values : unsigned (m, s), the value of each record,
    counted from 0 in each attribute; value ``u`` of attribute ``a`` is number ``value_of[starts[a] + u]`` in the flat
    histogram of `rules`. Cost O(m · s) and, for each class, what its rules cost.
    """
    if rules.apart >= 0:
        return _judged_apart(class_of, sizes, kept, weights, values, starts, rules)
    order, stops = _by_class(class_of, len(sizes))
    counts = np.zeros(len(rules.totals), dtype=np.int64)
    scratch = np.empty(rules.scratch_size, dtype=np.float64)
    good = np.zeros(len(sizes), dtype=np.bool_)
    begin = 0
    for owner in range(len(sizes)):
        stop = stops[owner]
        if kept[owner]:
            for place in range(begin, stop):
                record = order[place]
                for column in range(values.shape[1]):
                    counts[value_of[starts[column] + int64(values[record, column])]] += weights[record]
            good[owner] = holds(sizes[owner], counts, rules, scratch)
            for place in range(begin, stop):
                for column in range(values.shape[1]):
                    counts[value_of[starts[column] + int64(values[order[place], column])]] = 0
        begin = stop
    return good


@kernel
def _judged_apart(
    class_of: Int32s, sizes: Int64s, kept: Flags, weights: Int64s, values: Codes, starts: Int64s, rules: RuleArrays
) -> Flags:
    """Tell the same of classes of people whose records may lie in several."""
    order, stops = _by_class(class_of, len(sizes))
    tally = new_tally(rules)
    scratch = np.empty(rules.scratch_size, dtype=np.float64)
    good = np.zeros(len(sizes), dtype=np.bool_)
    begin = 0
    for owner in range(len(sizes)):
        stop = stops[owner]
        if kept[owner]:
            for record in order[begin:stop]:
                for column in range(values.shape[1]):
                    count_record(starts[column] + int64(values[record, column]), weights[record], tally, rules)
            good[owner] = tally_holds(sizes[owner], tally, rules, scratch)
            for record in order[begin:stop]:
                for column in range(values.shape[1]):
                    forget_record(starts[column] + int64(values[record, column]), tally, rules)
        begin = stop
    return good


@kernel
def _by_class(class_of: Int32s, count: int) -> tuple[Int32s, Int64s]:
    """Return the records class by class, int32 (m,), and where each class ends, int64 (c,). Counting sort, O(m + c)."""
    stops = np.zeros(count, dtype=np.int64)
    for owner in class_of:
        stops[owner] += 1
    begin = 0
    for owner in range(count):
        begin, stops[owner] = begin + stops[owner], begin
    order = np.empty(len(class_of), dtype=np.int32)
    for record in range(len(class_of)):
        owner = class_of[record]
        order[stops[owner]] = record
        stops[owner] += 1
    return order, stops


@kernel
def value_totals(class_of: Int32s, kept: Flags, weights: Int64s, values: Codes, starts: Int64s, size: int) -> Int64s:
    """Count the values of the records whose class is kept; int64 (size,), attribute ``a`` from ``starts[a]`` on."""
    totals = np.zeros(size, dtype=np.int64)
    for record in range(len(class_of)):
        if kept[class_of[record]]:
            for column in range(values.shape[1]):
                totals[starts[column] + int64(values[record, column])] += weights[record]
    return totals


@kernel
def smallest_class(codes: Codes, firsts: Int32s, sizes: Int64s, kept: Flags, at: Int64s, nodes: Int64s) -> int:
    """Return the smallest kept class, −1 for none; of equal ones that whose nodes come first, attribute by attribute.

    Which one it is depends neither on the order of the records nor on how keys were packed. O(c · q).
    """
    found = -1
    for owner in range(len(sizes)):
        if not kept[owner] or (found >= 0 and sizes[owner] > sizes[found]):
            continue
        if found < 0 or sizes[owner] < sizes[found]:
            found = owner
            continue
        for column in range(codes.shape[1]):
            here = nodes[at[column] + int64(codes[firsts[owner], column])]
            there = nodes[at[column] + int64(codes[firsts[found], column])]
            if here != there:
                if here < there:
                    found = owner
                break
    return found


@kernel
def cell_sums(
    codes: Codes, firsts: Int32s, sizes: Int64s, kept: Flags, at: Int64s, costs: Int64s, full: Int64s
) -> Int64s:
    """Sum what the cells of each attribute cost on the chosen levels; int64 (q,).

    costs : int64 (e,), one cell. full : int64 (q,), a cell of a suppressed record. O(c · q).
    """
    sums = np.zeros(codes.shape[1], dtype=np.int64)
    suppressed = 0
    for owner in range(len(sizes)):
        if not kept[owner]:
            suppressed += sizes[owner]
            continue
        record = firsts[owner]
        for column in range(codes.shape[1]):
            sums[column] += sizes[owner] * costs[at[column] + int64(codes[record, column])]
    for column in range(codes.shape[1]):
        sums[column] += suppressed * full[column]
    return sums


@kernel
def lost_sums(
    codes: Codes, weights: Int64s, class_of: Int32s, lost: Flags, starts: Int64s, widths: Int64s, low: Int64s,
    high: Int64s, costs: Int64s, full: Int64s,
) -> Int64s:  # fmt: skip
    """Sum what it adds to each attribute, on each level, that the records of `lost` classes are suppressed.

    low, high : int64 (q,), the levels to look at. Returns int64 (q, 1 + most levels), 0 outside of them.
    O(lost records · levels).
    """
    sums = np.zeros((codes.shape[1], high.max() + 1), dtype=np.int64)
    for record in range(len(codes)):
        if not lost[class_of[record]]:
            continue
        for column in range(codes.shape[1]):
            entry = starts[column] + low[column] * widths[column] + int64(codes[record, column])
            for level in range(low[column], high[column] + 1):
                sums[column, level] += weights[record] * (full[column] - costs[entry])
                entry += widths[column]
    return sums

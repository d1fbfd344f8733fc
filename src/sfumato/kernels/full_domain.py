"""Full-domain generalization: the classes of weighted records on given levels, and what they lose.

Letters: m records (distinct ones, each with a weight), q attributes, c classes, s sensitive attributes that some rule
looks at, v values of all those attributes together, e entries of all level tables.

Level tables are flat: what code ``d`` of attribute ``a`` is on level ``h`` stands at
``starts[a] + h · widths[a] + d``. A node comes as `at`, int64 (q,): the place where the row of each attribute's level
begins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.jit import borrowing, inlined, kernel
from sfumato.kernels.predicates import RuleArrays, Shared, holds, people_hold
from sfumato.kernels.types import Codes, Flags, Floats, Int32s, Int64s, int64

# Classes of people whose records may lie in several: counted record by record, at a cost that no other class changes.
#
# Letters: v places of the histogram (people, and values that one person has), w values.


_PEOPLE, _MOST, _WISHED = 0, 1, 2


class Tally(NamedTuple):
    """One class, while its records are counted."""

    counts: Int64s  # (v,): its records by place
    found: Int64s  # (w,): its people by value
    shared: Int64s  # (3,): people, records of the one who has most, largest k that one of them wishes for


@inlined
def new_tally(rules: RuleArrays) -> Tally:
    """Allocate a tally of no record."""
    return Tally(
        np.zeros(rules.offsets[-1], np.int64), np.zeros(len(rules.value_totals), np.int64), np.zeros(3, np.int64)
    )


@borrowing
def count_record(place: int, weight: int, tally: Tally, rules: RuleArrays) -> None:
    """Count so many equal records at one of their places."""
    first = rules.offsets[rules.apart]
    is_new = tally.counts[place] == 0
    tally.counts[place] += weight
    if place < first:
        if is_new:
            tally.found[rules.members[place]] += 1
        return
    tally.shared[_MOST] = max(tally.shared[_MOST], tally.counts[place])
    if is_new:
        tally.shared[_PEOPLE] += 1
        if len(rules.wishes) > 0:
            tally.shared[_WISHED] = max(tally.shared[_WISHED], rules.wishes[place - first])


@borrowing
def forget_record(place: int, tally: Tally, rules: RuleArrays) -> None:
    """Take back what a record counts at one of its places; when all of a class are, the tally is new again."""
    tally.counts[place] = 0
    tally.shared[:] = 0
    if place < rules.offsets[rules.apart]:
        tally.found[rules.members[place]] = 0


@borrowing
def tally_holds(records: int, tally: Tally, rules: RuleArrays, scratch: Floats) -> bool:
    """Tell whether the counted class of so many records satisfies every rule."""
    people, most, wished = tally.shared[_PEOPLE], tally.shared[_MOST], tally.shared[_WISHED]
    return people_hold(Shared(int64(records), people, most, wished), tally.found, rules, scratch)


# Frequency sets: roll up to higher levels, and decide every class at once.
#
# Letters: m rows (distinct combinations), w columns, p of them nodes of attributes and s sensitive values after them,
# c classes, r rules, v values of all sensitive attributes together.


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
    Ends: half of the slots are empty. Capacity: a row is kept once at most.
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
def judge_sets(
    class_of: Int32s, count: int, codes: Int32s, first: int, weights: Int64s, rules: RuleArrays
) -> tuple[Int64s, Flags]:
    """Count the records of every class and decide whether it satisfies every rule.

    class_of : int32 (m,). codes : int32 (m, p + s), `first` = p. weights : int64 (m,). Returns sizes int64 (count,) and
    verdicts bool (count,). Cost O(m · s + count · r · v).
    """
    starts, order = _sets_by_class(class_of, count)
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
def _sets_by_class(class_of: Int32s, count: int) -> tuple[Int64s, Int64s]:
    """List the records by class, and where each begins. Capacity: each record once."""
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
    O(m · q). Ends: half of the slots are empty. Capacity: a record opens one class at most.
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
def judge_classes(
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
    """Return the records by class, int32 (m,), and where each ends, int64 (c,). O(m + c). Capacity: each once."""
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

    low, high : int64 (q,), the levels to look at. Returns int64 (q, 1 + most levels), 0 outside of them. O(lost records
    · levels).
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

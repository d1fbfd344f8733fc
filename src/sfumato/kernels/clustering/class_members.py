"""Classes as lists of members, and what classes lose.

What a class of records loses, attribute by attribute, from the range of its codes.

Letters: q attributes, M codes of all attributes together (the missing values included), p powers of two.

A common ancestor costs as much as the dearest gap between neighboring leaves of its range: leaves are numbered depth
first. Trees are therefore tables of gaps, and the largest of any range is found in two steps.

Classes as lists of members that records can leave and join, with what each class loses.

Letters: n records, m distinct ones, c classes, q attributes, M codes of all attributes together, s sensitive attributes
that some rule looks at, v values of all those together.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import borrowing, inlined, interpreted_as, kernel
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.types import NUMERIC, SET, Codes, Flags, Floats, Int32s, Int64s, float64, int64

# Comparing sums of fractions that floats do not hold exactly.
#
# 1/3 + 1/6 and 1/2 are the same distance, and the first of equally near candidates is taken: rounding must not decide.
# Sums are therefore compared by the cell of a fine grid that they lie in. Cells, unlike a tolerance, make an order.
# Their edges lie at the golden ratio, which fractions of small whole numbers keep further away from than from any
# other.


CELLS = 2.0**30
"""Cells in one unit of loss."""
LAST = 2.0**61
"""The last cell: losses above it, and what is no number, lie there, so that every loss has a cell below 2**62."""

_EDGE = (math.sqrt(5.0) - 1.0) / 2.0


@inlined
def cell(loss: float) -> int:
    """Return the cell of a loss; 0 for the smallest ones."""
    place = loss * CELLS + _EDGE
    return math.floor(place if place < LAST else LAST)


@inlined
def upper_edge(number: int) -> float:
    """Return a loss that is above all losses of a cell."""
    return (number + 1) / CELLS


TABLED = 256
"""Codes of an attribute up to which it pays to tabulate what each would cost a class, every time the class changes."""


class ClassLoss(NamedTuple):
    """A loss of classes as arrays; every attribute's weight is in the figures."""

    offsets: Int64s  # (q + 1,): attribute ``j`` owns global codes ``offsets[j] .. offsets[j+1]-1``.
    kinds: Int64s  # (q,): NUMERIC, SET or TREE
    places: Floats  # (M,): numeric attributes: where each code lies, in units of loss; infinity for the missing value
    # (p, M): trees: entry ``[i, code]`` is the largest loss of a common ancestor of neighbors among ``code .. code +
    # 2**i``.
    gaps: Floats
    # largest i with ``2**i`` up to the index, 0 at index 0; as long as the largest attribute, and one more
    powers: Int64s
    tops: Floats  # (q,): loss of the whole domain
    # `units`, `bases`: (q,): a set of m > 1 values costs ``m units - bases``
    units: Floats
    bases: Floats


@borrowing
def range_loss(attribute: int, low: int, high: int, loss: ClassLoss) -> float:
    """Loss of the codes ``low .. high`` of a numeric attribute or a tree; of a set of just those two otherwise."""
    if low == high:
        return 0.0
    start = loss.offsets[attribute]
    if loss.kinds[attribute] == NUMERIC:
        return float64(min(loss.places[start + high] - loss.places[start + low], loss.tops[attribute]))
    if loss.kinds[attribute] == SET:
        return float64(2.0 * loss.units[attribute] - loss.bases[attribute])
    power = loss.powers[high - low]
    return float64(max(loss.gaps[power, start + low], loss.gaps[power, start + high - (1 << power)]))


@borrowing
def pair_loss(codes: Codes, first: int, second: int, loss: ClassLoss) -> float:
    """Loss that two records have as one class, for each of them; codes : unsigned (m, q)."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        one = int64(codes[first, attribute])
        other = int64(codes[second, attribute])
        total += range_loss(attribute, min(one, other), max(one, other), loss)
    return total


@borrowing
def set_loss(attribute: int, distinct: int, loss: ClassLoss) -> float:
    """Loss of a set of `distinct` values."""
    return 0.0 if distinct < 2 else distinct * loss.units[attribute] - loss.bases[attribute]


@kernel
def doubled_gaps(gaps: Floats, offsets: Int64s, powers: int) -> Floats:
    """Return the largest gap of every range of 2**i neighbors; float64 (powers, M).

    gaps : float64 (M,), between each code and the next; the last one of each attribute is not read.
    """
    table = np.zeros((powers, len(gaps)))
    table[0] = gaps
    for attribute in range(len(offsets) - 1):
        for power in range(1, powers):
            half = 1 << (power - 1)
            for code in range(offsets[attribute], offsets[attribute + 1] - 2 * half):
                table[power, code] = max(table[power - 1, code], table[power - 1, code + half])
    return table


NOBODY = -1


class Members(NamedTuple):
    """Who is in which class; changed in place."""

    codes: NDArray[Any]  # unsigned (m, q)
    values: NDArray[Any]  # unsigned (m, s): sensitive values, as the rules number them
    record_of: Int32s  # (n,): distinct record of each record
    class_of: Int32s  # (n,): class of each record, −1 for none
    heads: Int64s  # (c,): first member, −1 in an empty class
    # `after`, `before`: (n,): next and previous member of the same class, −1 at the ends
    after: Int64s
    before: Int64s
    sizes: Int64s  # (c,)
    # `low`, `high`: (c, q): smallest and largest code; `high` holds the number of values where these make a set
    low: Int32s
    high: Int32s
    lost: Floats  # (c,): loss of each record of the class
    marks: Int64s  # (M + 1,): scratch; the last entry is the newest mark
    counts: Int64s  # (v,): scratch, all zero between calls
    scratch: Floats  # scratch of the rules


@inlined
def new_members(
    codes: Codes, values: Codes, record_of: Int32s, class_of: Int32s, count: int, loss: ClassLoss, rules: RuleArrays
) -> Members:
    """List the members of `count` classes; `class_of` is kept and changed later."""
    height = len(record_of)
    width = codes.shape[1]
    members = Members(
        codes, values, record_of, class_of, np.full(count, NOBODY, np.int64), np.full(height, NOBODY, np.int64),
        np.full(height, NOBODY, np.int64), np.zeros(count, np.int64), np.zeros((count, width), np.int32),
        np.zeros((count, width), np.int32), np.zeros(count), np.zeros(loss.offsets[width] + 1, np.int64),
        np.zeros(len(rules.totals), np.int64), np.zeros(rules.scratch_size),
    )  # fmt: skip
    for one in range(height):
        if class_of[one] != NOBODY:
            join(one, class_of[one], members)
    for place in range(count):
        measure_class(place, loss, members)
    return members


@borrowing
def join(one: int, place: int, members: Members) -> None:
    """Add a record to a class; the class is measured later."""
    first = members.heads[place]
    members.after[one] = first
    members.before[one] = NOBODY
    if first != NOBODY:
        members.before[first] = one
    members.heads[place] = one
    members.sizes[place] += 1
    members.class_of[one] = place


@borrowing
def leave(one: int, members: Members) -> None:
    """Take a record out of its class; the class is measured later."""
    place = members.class_of[one]
    before = members.before[one]
    after = members.after[one]
    if before == NOBODY:
        members.heads[place] = after
    else:
        members.after[before] = after
    if after != NOBODY:
        members.before[after] = before
    members.sizes[place] -= 1
    members.class_of[one] = NOBODY


@borrowing
def code_of(one: int, attribute: int, members: Members) -> int:
    """Code of a record."""
    return int64(members.codes[members.record_of[one], attribute])


@borrowing
def measure_class(place: int, loss: ClassLoss, members: Members) -> None:
    """Find the ranges and the loss of a class anew. Cost O(members · q). Ends: the list has each member once."""
    total = 0.0
    first = members.heads[place]
    for attribute in range(len(loss.kinds)):
        if first == NOBODY:
            break
        if loss.kinds[attribute] == SET:
            distinct = _distinct(place, attribute, loss, members)
            members.high[place, attribute] = distinct
            total += set_loss(attribute, distinct, loss)
            continue
        low = code_of(first, attribute, members)
        high = low
        one = members.after[first]
        while one != NOBODY:
            code = code_of(one, attribute, members)
            low = min(low, code)
            high = max(high, code)
            one = members.after[one]
        members.low[place, attribute] = low
        members.high[place, attribute] = high
        total += range_loss(attribute, low, high, loss)
    members.lost[place] = total


@borrowing
def _distinct(place: int, attribute: int, loss: ClassLoss, members: Members) -> int:
    """Count the codes of a class. Ends: the list has each member once."""
    start = loss.offsets[attribute]
    members.marks[-1] += 1
    mark = members.marks[-1]
    distinct = 0
    one = members.heads[place]
    while one != NOBODY:
        code = start + code_of(one, attribute, members)
        if members.marks[code] != mark:
            members.marks[code] = mark
            distinct += 1
        one = members.after[one]
    return distinct


@borrowing
def changed_loss(place: int, out: int, into: int, loss: ClassLoss, members: Members) -> float:
    """Loss of a class without the member `out` and with the record `into`, either of which may be −1.

    Somebody must be left in it. Members are looked at only where `out` alone holds an end of a range.
    """
    total = 0.0
    for attribute in range(len(loss.kinds)):
        if loss.kinds[attribute] == SET:
            total += set_loss(attribute, _changed_set(place, attribute, out, into, members), loss)
            continue
        low = int64(members.low[place, attribute])
        high = int64(members.high[place, attribute])
        if out != NOBODY and low < high:
            code = code_of(out, attribute, members)
            if code in (low, high):
                low, high = _range_without(place, attribute, out, low, high, members)
        if into != NOBODY:
            code = code_of(into, attribute, members)
            if code < low or code > high:
                low = min(low, code)
                high = max(high, code)
        total += range_loss(attribute, low, high, loss)
    return total


@interpreted_as(changed_loss)
def _changed_loss_at_once(place: int, out: int, into: int, loss: ClassLoss, members: Members) -> float:
    """Look at all members at once, which beats looking for each value in calls. Ends: the list has each member once."""
    kept = [] if into == NOBODY else [into]
    one = members.heads[place]
    while one != NOBODY:
        if one != out:
            kept.append(one)
        one = members.after[one]
    total = 0.0
    for attribute, codes in enumerate(zip(*members.codes[members.record_of[kept]].tolist(), strict=True)):
        if loss.kinds[attribute] == SET:
            total += set_loss(attribute, len({*codes}), loss)
        else:
            total += range_loss(attribute, min(codes), max(codes), loss)
    return total


@borrowing
def enter_class(one: int, place: int, loss: ClassLoss, members: Members) -> None:
    """Add a record to a class that has members, and keep its measures. Cost O(q), where values make sets O(members)."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        code = code_of(one, attribute, members)
        if loss.kinds[attribute] == SET:
            if not _has(place, attribute, code, NOBODY, members):
                members.high[place, attribute] += 1
            total += set_loss(attribute, int64(members.high[place, attribute]), loss)
            continue
        if code < members.low[place, attribute]:
            members.low[place, attribute] = code
        if code > members.high[place, attribute]:
            members.high[place, attribute] = code
        low = int64(members.low[place, attribute])
        high = int64(members.high[place, attribute])
        total += range_loss(attribute, low, high, loss)
    members.lost[place] = total
    join(one, place, members)


@borrowing
def go(one: int, loss: ClassLoss, members: Members) -> None:
    """Take a record out of its class and keep the class's measures; an empty class loses nothing."""
    place = members.class_of[one]
    leave(one, members)
    total = 0.0
    if members.heads[place] == NOBODY:
        members.lost[place] = 0.0
        return
    for attribute in range(len(loss.kinds)):
        code = code_of(one, attribute, members)
        if loss.kinds[attribute] == SET:
            if not _has(place, attribute, code, NOBODY, members):
                members.high[place, attribute] -= 1
            total += set_loss(attribute, int64(members.high[place, attribute]), loss)
            continue
        low = int64(members.low[place, attribute])
        high = int64(members.high[place, attribute])
        if low < high and code in (low, high):
            low, high = _range_without(place, attribute, one, low, high, members)
            members.low[place, attribute] = low
            members.high[place, attribute] = high
        total += range_loss(attribute, low, high, loss)
    members.lost[place] = total


@borrowing
def _range_without(place: int, attribute: int, out: int, low: int, high: int, members: Members) -> tuple[int, int]:
    """Find the range of a class without a member. Ends: the list has each member once."""
    left_low = high
    left_high = low
    one = members.heads[place]
    while one != NOBODY:
        if one != out:
            code = code_of(one, attribute, members)
            left_low = min(left_low, code)
            left_high = max(left_high, code)
            if left_low == low and left_high == high:
                break
        one = members.after[one]
    return left_low, left_high


@borrowing
def _changed_set(place: int, attribute: int, out: int, into: int, members: Members) -> int:
    distinct = int64(members.high[place, attribute])
    if out != NOBODY and not _has(place, attribute, code_of(out, attribute, members), out, members):
        distinct -= 1
    if into != NOBODY and not _has(place, attribute, code_of(into, attribute, members), out, members):
        distinct += 1
    return distinct


@borrowing
def _has(place: int, attribute: int, code: int, out: int, members: Members) -> bool:
    """Tell whether another member has a code. Ends: the list has each member once."""
    one = members.heads[place]
    while one != NOBODY:
        if one != out and code_of(one, attribute, members) == code:
            return True
        one = members.after[one]
    return False


@borrowing
def union_loss(first: int, second: int, loss: ClassLoss, members: Members) -> float:
    """Loss that two classes have as one, for each of their records."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        if loss.kinds[attribute] == SET:
            total += set_loss(attribute, _union_size(first, second, attribute, loss, members), loss)
        else:
            low = min(members.low[first, attribute], members.low[second, attribute])
            high = max(members.high[first, attribute], members.high[second, attribute])
            total += range_loss(attribute, int64(low), int64(high), loss)
    return total


@borrowing
def _union_size(first: int, second: int, attribute: int, loss: ClassLoss, members: Members) -> int:
    """Count the codes of two classes together. Ends: the list has each member once."""
    start = loss.offsets[attribute]
    members.marks[-1] += 1
    mark = members.marks[-1]
    distinct = 0
    for place in (first, second):
        one = members.heads[place]
        while one != NOBODY:
            code = start + code_of(one, attribute, members)
            if members.marks[code] != mark:
                members.marks[code] = mark
                distinct += 1
            one = members.after[one]
    return distinct


@borrowing
def class_holds(place: int, out: int, into: int, rules: RuleArrays, members: Members) -> bool:
    """Tell whether a class without `out` and with `into` (−1: nobody) satisfies all rules. Ends: members occur once."""
    one = members.heads[place]
    size = 0
    while one != NOBODY:
        if one != out:
            _tally(one, 1, rules, members)
            size += 1
        one = members.after[one]
    if into != NOBODY:
        _tally(into, 1, rules, members)
        size += 1
    satisfied = holds(size, members.counts, rules, members.scratch)
    members.counts[:] = 0
    return satisfied


@borrowing
def union_holds(first: int, second: int, rules: RuleArrays, members: Members) -> bool:
    """Tell whether two classes as one satisfy every rule. Ends: the list has each member once."""
    for place in (first, second):
        one = members.heads[place]
        while one != NOBODY:
            _tally(one, 1, rules, members)
            one = members.after[one]
    size = members.sizes[first] + members.sizes[second]
    satisfied = holds(size, members.counts, rules, members.scratch)
    members.counts[:] = 0
    return satisfied


@borrowing
def _tally(one: int, times: int, rules: RuleArrays, members: Members) -> None:
    record = members.record_of[one]
    for column in range(len(rules.offsets) - 1):
        members.counts[rules.offsets[column] + int64(members.values[record, column])] += times


# Completing a partition: records without a class join the one that loses least, failing classes are merged.
#
# Letters: n records, m distinct ones, c classes, q attributes, s sensitive attributes that some rule looks at.


@kernel
def complete(
    codes: Codes, values: Codes, record_of: Int32s, class_of: Int32s, count: int, ruled: bool, loss: ClassLoss,
    rules: RuleArrays,
) -> int:  # fmt: skip
    """Give every record a class that satisfies every rule; returns how many classes there are then.

    codes : unsigned (m, q); values : unsigned (m, s); record_of : int32 (n,); class_of : int32 (n,), −1 for records
    without a class, changed in place; ruled : whether rules look at more than sizes. All records as one class must
    satisfy the rules.

    Records without a class join, one after the other, the class whose loss in all grows least, the first among equals,
    and which still satisfies the rules. Those that no class can take make up one more class. Classes that fail are then
    merged, the smallest first, with the one that makes the loss grow least, if possible one with which they satisfy the
    rules. Cost O(c q) for each record without a class and each failing class.
    """
    members = new_members(codes, values, record_of, class_of, count + 1, loss, rules)
    for one in range(len(record_of)):
        if class_of[one] == NOBODY:
            place = _cheapest_class(one, count, ruled, loss, rules, members)
            join(one, place if place != NOBODY else count, members)
            measure_class(class_of[one], loss, members)
    _merge_failing(count + 1, loss, rules, members)
    return _renumber(class_of, members)


@borrowing
def _cheapest_class(one: int, count: int, ruled: bool, loss: ClassLoss, rules: RuleArrays, members: Members) -> int:
    found = NOBODY
    least = np.inf
    for place in range(count):
        size = members.sizes[place]
        if size == 0:
            continue
        grown = (size + 1) * changed_loss(place, NOBODY, one, loss, members) - size * members.lost[place]
        if grown < least and (not ruled or class_holds(place, NOBODY, one, rules, members)):
            least = grown
            found = place
    return found


@inlined
def _merge_failing(count: int, loss: ClassLoss, rules: RuleArrays, members: Members) -> None:
    """Merge classes that fail a rule, the smallest first. Ends: each round empties a class."""
    failing = np.zeros(count, np.bool_)
    left = 0
    for place in range(count):
        if members.sizes[place] > 0 and not class_holds(place, NOBODY, NOBODY, rules, members):
            failing[place] = True
            left += 1
    # Every round empties a class.
    while left > 0:
        weakest = NOBODY
        for place in range(count):
            if failing[place] and (weakest == NOBODY or members.sizes[place] < members.sizes[weakest]):
                weakest = place
        other = _cheapest_partner(weakest, count, loss, rules, members) if weakest != NOBODY else NOBODY
        if other == NOBODY:
            break
        _merge(weakest, other, loss, members)
        failing[weakest] = False
        left -= 1
        if failing[other] and class_holds(other, NOBODY, NOBODY, rules, members):
            failing[other] = False
            left -= 1
        elif not failing[other] and not class_holds(other, NOBODY, NOBODY, rules, members):
            # Every model is monotone only between classes that satisfy it.
            failing[other] = True
            left += 1


@borrowing
def _cheapest_partner(weakest: int, count: int, loss: ClassLoss, rules: RuleArrays, members: Members) -> int:
    found = NOBODY
    settling = NOBODY
    least = np.inf
    least_settling = np.inf
    size = members.sizes[weakest]
    for place in range(count):
        other = members.sizes[place]
        if place == weakest or other == 0:
            continue
        together = (size + other) * union_loss(weakest, place, loss, members)
        grown = together - size * members.lost[weakest] - other * members.lost[place]
        if grown < least:
            least = grown
            found = place
        if grown < least_settling and union_holds(weakest, place, rules, members):
            least_settling = grown
            settling = place
    return settling if settling != NOBODY else found


@borrowing
def _merge(gone: int, other: int, loss: ClassLoss, members: Members) -> None:
    """Move all members of a class to another. Ends: the list has each member once."""
    one = members.heads[gone]
    while one != NOBODY:
        following = members.after[one]
        leave(one, members)
        join(one, other, members)
        one = following
    measure_class(gone, loss, members)
    measure_class(other, loss, members)


@inlined
def _renumber(class_of: Int32s, members: Members) -> int:
    number = np.full(len(members.sizes), NOBODY, np.int32)
    count = 0
    for place in range(len(members.sizes)):
        if members.sizes[place] > 0:
            number[place] = count
            count += 1
    for one in range(len(class_of)):
        class_of[one] = number[class_of[one]]
    return count


@kernel
def nearest_member_classes(codes: Codes, low: Int64s, high: Int64s, sets: Flags, loss: ClassLoss) -> Int32s:
    """Return the class whose loss grows least for each of some records; int32 (r,).

    codes : unsigned (r, q); low, high : int64 (c, q), codes of the classes; sets : bool (c, M), their values where
    these make a set. The first class among equals. Cost O(r c q).
    """
    found = np.zeros(len(codes), np.int32)
    for record in range(len(codes)):
        least = np.inf
        for place in range(len(low)):
            grown = 0.0
            for attribute in range(len(loss.kinds)):
                code = int64(codes[record, attribute])
                if loss.kinds[attribute] == SET:
                    grown += 0.0 if sets[place, loss.offsets[attribute] + code] else loss.units[attribute]
                else:
                    start, stop = low[place, attribute], high[place, attribute]
                    grown += range_loss(attribute, min(start, code), max(stop, code), loss)
                    grown -= range_loss(attribute, start, stop, loss)
            if grown < least:
                least = grown
                found[record] = place
    return found

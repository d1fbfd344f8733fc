"""Completing a partition: records without a class join the one that loses least, failing classes are merged.

Letters: n records, m distinct ones, c classes, q attributes, s sensitive attributes that some rule looks at.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.clustering.class_loss import ClassLoss, range_loss
from sfumato.kernels.clustering.class_members import (
    NOBODY,
    Members,
    changed_loss,
    class_holds,
    join,
    leave,
    measure,
    new_members,
    union_holds,
    union_loss,
)
from sfumato.kernels.jit import borrowing, inlined, kernel
from sfumato.kernels.predicates import RuleArrays
from sfumato.kernels.space import SET
from sfumato.kernels.types import Codes, Flags, Int32s, Int64s, int64


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
            measure(class_of[one], loss, members)
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
    one = members.heads[gone]
    while one != NOBODY:
        following = members.after[one]
        leave(one, members)
        join(one, other, members)
        one = following
    measure(gone, loss, members)
    measure(other, loss, members)


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
def nearest_classes(codes: Codes, low: Int64s, high: Int64s, sets: Flags, loss: ClassLoss) -> Int32s:
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

"""Exchanges of people between classes of m-invariance, so that classes lose less and signatures stay.

Letters: n people, q attributes, c classes of up to w rows.
"""

from __future__ import annotations

from typing import NamedTuple

from sfumato.kernels.jit import inlined, linear, sized
from sfumato.kernels.series.growing import Axes
from sfumato.kernels.types import NUMERIC, SET, Flags, Floats, Int64s, float64, int64


class ClassRows(NamedTuple):
    """Who stands where; all but the first two are written."""

    codes: Int64s  # (n, q)
    bound: Flags  # (n,): who was published before, and keeps the signature
    members: Int64s  # (c, w): people, −1 counterfeits and what a class does not have
    values: Int64s  # (c, w): the value of each row, −1 beyond the last
    # (c,): number of the signature that a class must have, −1 classes of newcomers alone, which may have any
    signatures: Int64s
    class_of: Int64s  # (n,), −1 who waits
    slot_of: Int64s  # (n,)
    losses: Floats  # (c,): loss of each class, times its people


@linear
def class_losses(places: ClassRows, axes: Axes) -> None:
    """Write the loss of each class."""
    for number in range(len(places.members)):
        places.losses[number] = _loss(places.members[number], places.codes, axes)


@inlined
def _loss(people: Int64s, codes: Int64s, axes: Axes) -> float:
    """Return the loss of a class times its people; counterfeits, −1, lose nothing."""
    total, count = 0.0, 0
    for row in people:
        count += row >= 0
    for attribute in range(codes.shape[1]):
        low, high = int64(-1), int64(-1)
        for row in people:
            if row >= 0:
                code = codes[row, attribute]
                low = code if low < 0 else min(low, code)
                high = max(high, code)
        if low == high:
            continue
        first = axes.offsets[attribute]
        if axes.kinds[attribute] == NUMERIC:
            total += axes.positions[first + high] - axes.positions[first + low]
        elif axes.kinds[attribute] == SET:
            different = 0
            for place in range(len(people)):
                if people[place] >= 0:
                    again = False
                    for other in range(place):
                        if people[other] >= 0 and codes[people[other], attribute] == codes[people[place], attribute]:
                            again = True
                    different += not again
            total += axes.units[attribute] * different
        else:
            part = axes.units[attribute] * (axes.offsets[attribute + 1] - first)
            for level in range(axes.levels[attribute], axes.levels[attribute + 1]):
                if axes.nodes[level, low] == axes.nodes[level, high]:
                    part = float64(axes.losses[level, low])
                    break
            total += part
    return total * count


@sized(lambda places, axes, order, reach: 4.0 * len(order) * reach * places.members.shape[1] * places.codes.shape[1])
def exchange_people(places: ClassRows, axes: Axes, order: Int64s, reach: int) -> int:
    """Bring people into the classes of those who come next to them in an order, where that loses less; count them.

    Whoever comes into a class takes the row of the same value, whose owner, or counterfeit, goes to the old class. Both
    classes have one signature, or both people are newcomers. Classes of newcomers alone also exchange people of
    different values, where each class still has a value once. No class is left without people.
    """
    moved = 0
    for place in range(len(order)):
        person = order[place]
        if places.class_of[person] < 0:
            continue
        for other in range(max(0, place - reach), min(len(order), place + reach + 1)):
            target = places.class_of[order[other]]
            if target >= 0 and target != places.class_of[person]:
                moved += _brought(person, target, places, axes)
    return moved


@inlined
def _brought(person: int, target: int, places: ClassRows, axes: Axes) -> bool:
    """Bring somebody into a class if that loses less."""
    source, slot = places.class_of[person], places.slot_of[person]
    equal = places.signatures[source] >= 0 and places.signatures[source] == places.signatures[target]
    if not equal and places.bound[person]:
        return False
    value, width, same = places.values[source, slot], places.members.shape[1], int64(-1)
    for each in range(width):
        if places.values[target, each] == value:
            same = each
    if same >= 0:
        row = places.members[target, same]
        if not equal and row >= 0 and places.bound[row]:
            return False
        return _tried(source, slot, target, same, places, axes)
    if places.signatures[source] >= 0 or places.signatures[target] >= 0:
        return False
    for each in range(width):
        new = places.values[target, each]
        if new < 0:
            continue
        there = False
        for own in range(width):
            there = there or (own != slot and places.values[source, own] == new)
        if not there and _tried(source, slot, target, each, places, axes):
            return True
    return False


@inlined
def _tried(source: int, slot: int, target: int, each: int, places: ClassRows, axes: Axes) -> bool:
    """Exchange two rows, with their values, if that loses less."""
    members, values = places.members, places.values
    person, row = members[source, slot], members[target, each]
    members[source, slot], members[target, each] = row, person
    first, second = _loss(members[source], places.codes, axes), _loss(members[target], places.codes, axes)
    alone = row < 0 and members[source].max() < 0
    if alone or first + second > places.losses[source] + places.losses[target] - 1e-9:
        members[source, slot], members[target, each] = person, row
        return False
    values[source, slot], values[target, each] = values[target, each], values[source, slot]
    places.losses[source], places.losses[target] = first, second
    places.class_of[person], places.slot_of[person] = target, each
    if row >= 0:
        places.class_of[row], places.slot_of[row] = source, slot
    return True

"""k-member (Byun et al. 2007) the obvious way (section 9 of `algorithms.md`).

The random first record is a parameter; ties go to the lowest record, or to the class made first. The loss of a class
is its number of records times the sum of range over domain and height of the common ancestor over height of the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from naive.mixed import Class, Kind, Predicate, Row, climbed, farthest, nearest, need, satisfied, total


def increase(rows: Sequence[Row], kinds: Sequence[Kind], members: Class, record: int) -> Fraction:
    """What the record adds to the loss of the class."""
    return total(climbed, rows, kinds, [*members, record]) - total(climbed, rows, kinds, members)


def distance(rows: Sequence[Row], kinds: Sequence[Kind], one: int, other: int) -> Fraction:
    """Sum over the attributes: difference over range, height of the common ancestor over that of the tree."""
    return total(climbed, rows, kinds, [one, other]) / 2


def kmember(rows: Sequence[Row], kinds: Sequence[Kind], k: int, first: int, ok: Predicate | None = None) -> list[Class]:
    """Return the classes, records in the order in which they came.

    The first class starts from the record farthest from `first`, each later one from that farthest from the record
    added last. A class grows until it has k records and, where `ok` is given, is ok; if the table runs out before, its
    records are leftovers, too. Leftovers go in rising order to the class whose loss they raise least; nobody asks
    then whether it still is ok.
    """
    need(rows, k)
    rest = list(range(len(rows)))
    classes: list[Class] = []
    last = first
    while len(rest) >= k:
        members = [farthest(rest, lambda record: distance(rows, kinds, record, last))]  # noqa: B023
        rest.remove(members[0])
        while rest and not satisfied(members, k, ok):
            members.append(nearest(rest, lambda record: increase(rows, kinds, members, record)))  # noqa: B023
            rest.remove(members[-1])
        last = members[-1]
        if not satisfied(members, k, ok):
            rest = sorted(members)
            break
        classes.append(members)
    if not classes:
        raise ValueError("not even the whole table satisfies")
    for record in rest:
        nearest(classes, lambda members: increase(rows, kinds, members, record)).append(record)  # noqa: B023
    return classes

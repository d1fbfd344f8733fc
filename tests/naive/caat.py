"""CAAT the obvious way (section 7 of `algorithms.md`): classes grow one by one, each from the record farthest away.

The random first record is a parameter; ties go to the lowest record, or to the class made first.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from naive.mixed import (
    Class,
    Kind,
    Number,
    Predicate,
    Row,
    column,
    difference,
    farthest,
    height,
    level,
    nearest,
    need,
    ratio,
    satisfied,
    width,
)
from naive.recoding import Value


def climb(kind: Kind, x: Value, values: Sequence[Value]) -> Fraction:
    """How far the leaf and the class's common ancestor each climb to meet, over their ways to the root; the mean."""
    top, meeting, node = height(kind), level(kind, [*values, x]), level(kind, values)
    return (ratio(meeting, top) + ratio(meeting - node, top - node)) / 2


def gap(kind: Number, x: Value, values: Sequence[Value], interval: str) -> Fraction:
    """Distance of a number to the interval of the class, over the range of the table.

    'widen' is the same mean of two ways as for trees. The other rules look at the present values of the class; a
    missing number is at no distance to a class with a missing number, else at 1.
    """
    if interval == "widen":
        reach = width(kind, [*values, x])
        return (reach + reach - width(kind, values)) / 2
    present = [Fraction(value) for value in values if value is not None]
    if x is None or not present:
        return Fraction(0) if x is None and None in values else Fraction(1)
    low, high, x = min(present), max(present), Fraction(x)
    apart = {
        "midpoint": abs(x - (low + high) / 2),
        "nearest": max(low - x, x - high, Fraction(0)),
        "mean": abs(x - sum(present) / len(present)),
    }
    return ratio(apart[interval], difference(kind.high, kind.low))


def distance(
    rows: Sequence[Row], kinds: Sequence[Kind], record: int, members: Class, interval: str = "widen"
) -> Fraction:
    """Distance of a record to a class; a class of one gives the distance of two records."""
    terms = []
    for attribute, kind in enumerate(kinds):
        x, values = rows[record][attribute], column(rows, members, attribute)
        terms.append(gap(kind, x, values, interval) if isinstance(kind, Number) else climb(kind, x, values))
    return sum(terms, Fraction(0)) / len(terms)


def caat(
    rows: Sequence[Row],
    kinds: Sequence[Kind],
    k: int,
    first: int,
    interval: str = "widen",
    ties: str = "all",
    frozen: bool = False,
    ok: Predicate | None = None,
) -> list[Class]:
    """Return the classes, records in the order in which they came.

    A class grows until it has k records and, where `ok` is given, is ok; if the table runs out before, its records
    are leftovers, too. `ties` moves 'all' nearest records at once or only the 'first'. Leftovers go in rising order to
    the nearest class, as it was closed (`frozen`) or as it has become; nobody asks then whether it still is ok.
    """
    need(rows, k)
    rest = list(range(len(rows)))
    classes: list[Class] = []
    seed = first
    while len(rest) >= k:
        rest.remove(seed)
        members = [seed]
        while rest and not satisfied(members, k, ok):
            apart = {record: distance(rows, kinds, record, members, interval) for record in rest}
            smallest = min(apart.values())
            near = [record for record in rest if apart[record] == smallest]
            members += near if ties == "all" else near[:1]
            rest = [record for record in rest if record not in members]
        if not satisfied(members, k, ok):
            rest = sorted(members)
            break
        classes.append(members)
        if rest:
            seed = farthest(rest, lambda record: distance(rows, kinds, record, classes[-1], interval))
    return with_leftovers(rows, kinds, classes, rest, interval, frozen)


def with_leftovers(
    rows: Sequence[Row], kinds: Sequence[Kind], classes: list[Class], rest: Class, interval: str, frozen: bool
) -> list[Class]:
    if not classes:
        raise ValueError("not even the whole table satisfies")
    grown = [list(members) for members in classes]
    for record in rest:
        seen = classes if frozen else grown
        home = nearest(range(len(classes)), lambda c: distance(rows, kinds, record, seen[c], interval))  # noqa: B023
        grown[home].append(record)
    return grown

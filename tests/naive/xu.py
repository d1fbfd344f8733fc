"""Utility-based local recoding (Xu et al. 2006), bottom-up and top-down, the obvious way (section 9).

The loss of a class is its number of records times their NCP. What is left to chance is a parameter; ties go to the
lowest record, or to the class with the lowest record. Where `algorithms.md` is silent the docstrings say what is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations

from naive.mixed import (
    Class,
    Kind,
    Predicate,
    Row,
    farthest,
    in_order,
    nearest,
    need,
    next_undersized,
    penalty,
    satisfied,
    total,
)


def loss(rows: Sequence[Row], kinds: Sequence[Kind], members: Class) -> Fraction:
    return total(penalty, rows, kinds, members)


def grown(rows: Sequence[Row], kinds: Sequence[Kind], members: Class, others: Sequence[int], size: int) -> Class:
    """Take in, one after another, the record that makes the smallest loss, up to `size` records."""
    members, others = list(members), list(others)
    while len(members) < size:
        members.append(nearest(others, lambda record: loss(rows, kinds, [*members, record])))
        others.remove(members[-1])
    return members


def without(members: Sequence[int], gone: Sequence[int]) -> Class:
    return [record for record in members if record not in gone]


# --- bottom-up -----------------------------------------------------------------------------------------------------


def split(rows: Sequence[Row], kinds: Sequence[Kind], members: Class, k: int) -> list[Class]:
    """Cut into floor(size / k) parts: the lower end of the pair with the largest loss and k - 1 records around it."""
    parts, rest = [], sorted(members)
    while len(rest) >= 2 * k:
        one, _ = farthest([*combinations(rest, 2)], lambda pair: loss(rows, kinds, list(pair)))
        parts.append(grown(rows, kinds, [one], without(rest, [one]), k))
        rest = without(rest, parts[-1])
    return [*parts, rest]


def bottom_up(
    rows: Sequence[Row], kinds: Sequence[Kind], k: int, picks: Iterable[int], ok: Predicate | None = None
) -> list[Class]:
    """Return the classes in the order of their lowest records.

    Beginning with single records, an undersized class joins the one with which it makes the class of smallest loss;
    2k records or more are split again. `picks` lists records: the next one that lies in an undersized class names it.
    With `ok`, a class is undersized until it has k records and is ok, and is split only if all parts are.
    """
    need(rows, k)
    order = iter(picks)
    classes = [[record] for record in range(len(rows))]
    while not all(satisfied(members, k, ok) for members in classes):
        if len(classes) == 1:
            raise ValueError("not even the whole table satisfies")
        small = next_undersized(order, classes, lambda members: satisfied(members, k, ok))
        others = [members for members in classes if members is not small]
        near = nearest(others, lambda members: loss(rows, kinds, small + members))  # noqa: B023
        parts = split(rows, kinds, small + near, k)
        if not all(satisfied(part, k, ok) for part in parts):
            parts = [small + near]
        classes = in_order([members for members in others if members is not near] + parts)
    return classes


# --- top-down ------------------------------------------------------------------------------------------------------


def ends(rows: Sequence[Row], kinds: Sequence[Kind], members: Sequence[int], scans: int = 6) -> tuple[int, int]:
    """Two records far apart: from the first of `members` to the farthest, from there to the farthest, and so on.

    At most `scans` times, and only while the distance rises.
    """

    def apart(one: int, other: int) -> Fraction:
        return loss(rows, kinds, [one, other])

    one, other = members[0], members[0]
    for _ in range(scans):
        far = farthest(without(members, [other]), lambda record: apart(record, other))  # noqa: B023
        if one != other and apart(far, other) <= apart(one, other):
            break
        one, other = other, far
    return one, other


def halves(rows: Sequence[Row], kinds: Sequence[Kind], members: Sequence[int]) -> tuple[Class, Class]:
    """Each record, in the order given, joins the end whose loss it raises less."""
    one, other = ends(rows, kinds, members)
    sides = ([one], [other])
    for record in without(members, [one, other]):
        rise = [loss(rows, kinds, [*side, record]) - loss(rows, kinds, side) for side in sides]
        sides[1 if rise[1] < rise[0] else 0].append(record)
    return sides


def parts_of(
    rows: Sequence[Row], kinds: Sequence[Kind], k: int, members: Sequence[int], order: Sequence[int]
) -> list[Class]:
    """Halve until fewer than 2k records are left; one of the two sides of a cut always has k, the other may not."""
    if len(members) < 2 * k:
        return [list(members)]
    ranked = sorted(members, key=list(order).index)
    return [part for side in halves(rows, kinds, ranked) for part in parts_of(rows, kinds, k, side, order)]


def remedies(
    rows: Sequence[Row], kinds: Sequence[Kind], k: int, small: Class, others: Sequence[Class]
) -> list[tuple[Class, list[Class]]]:
    """Each way to help an undersized class: the other class concerned, and what becomes of the two.

    First to take the missing records, the nearest one by one, from a class that can spare them; then to merge.
    """
    found = []
    for donor in others:
        if len(donor) >= 2 * k - len(small):
            helped = grown(rows, kinds, small, donor, k)
            found.append((donor, [helped, without(donor, helped)]))
    return [*found, *((other, [small + other]) for other in others)]


def top_down(rows: Sequence[Row], kinds: Sequence[Kind], k: int, order: Sequence[int]) -> list[Class]:
    """Return the classes in the order of their lowest records; `order` ranks all records for what is left to chance.

    Undersized classes are helped in the order of their lowest records, each the way that raises the loss least.
    """
    need(rows, k)
    classes = in_order(parts_of(rows, kinds, k, order, order))
    while min(map(len, classes)) < k:
        small = next(members for members in classes if len(members) < k)
        others = [members for members in classes if members is not small]

        def rise(remedy: tuple[Class, list[Class]]) -> Fraction:
            donor, parts = remedy
            return sum((loss(rows, kinds, part) for part in parts), Fraction(0)) - loss(rows, kinds, donor)

        donor, parts = nearest(remedies(rows, kinds, k, small, others), rise)
        classes = in_order([members for members in others if members is not donor] + parts)
    return classes

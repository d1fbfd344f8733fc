"""Plain twins of the attacks on algorithms: every world, every class a person may be in, every draw of records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import permutations, product
from math import prod


def placed(fitting: Sequence[Sequence[bool]]) -> list[int]:
    """Return the only class that fits each person, −1 where none does, −2 where several do."""
    classes = [[number for number, fits in enumerate(row) if fits] for row in fitting]
    return [-1 if not found else found[0] if len(found) == 1 else -2 for found in classes]


def believed(
    class_of: Sequence[int],
    places: Sequence[int],
    values: Sequence[str],
    again: Callable[[Sequence[str]], Sequence[int]],
) -> list[dict[str, float]]:
    """Return what everybody may be believed to have: shares of the worlds in which the algorithm makes the classes.

    `again` is the algorithm: from sensitive values to the class of each person. A world is an order of the values of
    each class; orders that look alike count alike often in every one, so all are tried. People of one place who have
    the same value in a world cannot be told apart there: which of them is in which class is no matter.
    """
    people = [[person for person, one in enumerate(class_of) if one == each] for each in sorted(set(class_of))]
    counts: list[Counter[str]] = [Counter() for _ in class_of]
    for chosen in product(*(permutations(members) for members in people)):
        world = list(values)
        for members, sources in zip(people, chosen, strict=True):
            for person, source in zip(members, sources, strict=True):
                world[person] = values[source]
        rows = list(zip(places, world, strict=True))
        if contents(class_of, rows) == contents(again(world), rows):
            for count, value in zip(counts, world, strict=True):
                count[value] += 1
    return [{value: times / count.total() for value, times in count.items()} for count in counts]


def contents(class_of: Sequence[int], rows: Sequence[tuple[int, str]]) -> list[list[tuple[int, str]]]:
    """Return the classes by what they hold, in a fixed order."""
    return sorted(sorted(row for row, one in zip(rows, class_of, strict=True) if one == each) for each in set(class_of))


def believed_of_people(
    class_of: Sequence[int],
    owner: Sequence[int],
    values: Sequence[str],
    again: Callable[[tuple[str, ...]], Sequence[int]],
    bundled: bool,
) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    """Return which values everybody may be believed to have, in any record: in the worlds left, and in all worlds.

    A world deals the rows of each class out to its records in any order; with `bundled`, rows of one person in a class
    stay together.
    """
    rows = range(len(values))
    classes = [[row for row in rows if class_of[row] == each] for each in sorted(set(class_of))]
    left, everything = [[Counter[str]() for _ in set(owner)] for _ in range(2)]
    worlds = 0
    back: dict[tuple[str, ...], bool] = {}
    total = 0
    for chosen in product(*(permutations(members) for members in classes)):
        source = dict(pair for pairs in map(zip, classes, chosen) for pair in pairs)
        if bundled and not all(
            (owner[one] == owner[other]) == (owner[source[one]] == owner[source[other]])
            for members in classes
            for one in members
            for other in members
        ):
            continue
        world = tuple(values[source[row]] for row in rows)
        if world not in back:
            back[world] = same_classes(class_of, again(world))
        total, worlds = total + 1, worlds + back[world]
        for person in set(owner):
            has = {world[row] for row in rows if owner[row] == person}
            everything[person].update(has)
            left[person].update(has if back[world] else ())
    return tuple(
        [{value: times / count for value, times in each.items()} for each in counts]
        for counts, count in ((left, worlds), (everything, total))
    )


def same_classes(one: Sequence[int], other: Sequence[int]) -> bool:
    """Tell whether two partitions put the same people together, however the classes are numbered."""
    pairs = set(zip(one, other, strict=True))
    return len(pairs) == len(set(one)) == len(set(other))


def cell_belief(
    shares: Sequence[float], records: int, *, possible: Callable[[tuple[int, ...]], bool]
) -> list[float] | None:
    """Return the chance of each value for the first of `records` drawn one by one, among the possible draws."""
    chances = [0.0] * len(shares)
    for drawn in product(range(len(shares)), repeat=records):
        if possible(drawn):
            chances[drawn[0]] += prod(shares[value] for value in drawn)
    total = sum(chances)
    return [chance / total for chance in chances] if total else None


def left_by_both(one: Sequence[str], other: Sequence[str]) -> set[str]:
    """Return the values that two classes leave open together."""
    return set(one) & set(other)

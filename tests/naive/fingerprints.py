"""Plain twins of fingerprints: sets and combinations of Python, nothing fast.

A class is given by its rows; everybody in it is a set of values.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any


@dataclass(frozen=True)
class Found:
    """How many people have the rarest values of a person, and the mean chance to pick the person by some of them."""

    values: int
    company: int
    fewest: int
    chance: Fraction


def sets_of(people: Sequence[Hashable], values: Iterable[Any]) -> dict[Hashable, frozenset[Any]]:
    """Person → the set of the person's values."""
    own: dict[Hashable, set[Any]] = {}
    for person, value in zip(people, values, strict=True):
        own.setdefault(person, set()).add(value)
    return {person: frozenset(found) for person, found in own.items()}


def found_in_class(sets: Mapping[Hashable, frozenset[Any]], known: int) -> dict[Hashable, Found]:
    """Look for everybody of a class by each set of `known` of the person's values, or by all if there are fewer."""
    return {person: _found(own, sets, known) for person, own in sets.items()}


def _found(own: frozenset[Any], sets: Mapping[Hashable, frozenset[Any]], known: int) -> Found:
    fits = [
        sum(set(some) <= other for other in sets.values())
        for some in combinations(sorted(own, key=repr), min(known, len(own)))
    ]
    return Found(len(own), len(sets), min(fits), sum((Fraction(1, fit) for fit in fits), Fraction()) / len(fits))


def fewest(
    classes: Sequence[Sequence[int]], people: Sequence[Hashable], values: Sequence[Any], known: int
) -> dict[Hashable, int]:
    """Person → the fewest people of the person's class whom some `known` of the person's values fit."""
    least: dict[Hashable, int] = {}
    for rows in classes:
        sets = sets_of([people[row] for row in rows], [values[row] for row in rows])
        for person, found in found_in_class(sets, known).items():
            least[person] = min(found.fewest, least.get(person, found.fewest))
    return least


def withdrawn(
    classes: Sequence[Sequence[int]],
    people: Sequence[Hashable],
    columns: Sequence[Sequence[Any]],
    known: int,
    least: int,
    fewest_people: int,
) -> set[Hashable]:
    """Who must go until in every class all fingerprints are had by `least`, and it has no one or so many people."""
    gone: set[Hashable] = set()
    while True:
        left = [[row for row in rows if people[row] not in gone] for rows in classes]
        below = {
            person
            for values in columns
            for person, fit in fewest([rows for rows in left if rows], people, values, known).items()
            if fit < least
        }
        for rows in left:
            if 0 < len({people[row] for row in rows}) < fewest_people:
                below |= {people[row] for row in rows}
        if not below:
            return gone
        gone |= below

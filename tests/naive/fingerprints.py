"""Plain twins of fingerprints: sets and combinations of Python, nothing fast.

A class is given by its rows; everybody in it is a set of values.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
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
    holds: Callable[[Sequence[Hashable]], bool],
) -> set[Hashable]:
    """Who cannot stay: people in no part of their class that holds, fingerprints being had by `least` (all are tried).

    `holds` tells it of the people of the records of a class.
    """
    kept: set[Hashable] = set()
    for rows in classes:
        everybody = sorted({people[row] for row in rows}, key=repr)
        for size in range(1, len(everybody) + 1):
            for some in map(set, combinations(everybody, size)):
                left = [row for row in rows if people[row] in some]
                if holds([people[row] for row in left]) and all(
                    min(fewest([left], people, values, known).values()) >= least for values in columns
                ):
                    kept |= some
    return set(people) - kept

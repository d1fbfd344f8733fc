"""Plain twins of what counts people instead of records: dictionaries, sets and exact fractions, nothing fast.

Words: a `member` is a pair of a person and the sensitive value of one of the person's records. A value counts once for
each person who has it, however many records say so.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from naive.models import MODELS, STAR, at_most, below, is_guarded

Member = tuple[Hashable, Any]


def people_of(members: Sequence[Member]) -> set[Hashable]:
    return {person for person, _ in members}


def values_once(members: Sequence[Member]) -> list[Any]:
    """Each value as often as there are people who have it."""
    return [value for _, value in dict.fromkeys(members)]


def shares(members: Sequence[Member]) -> dict[Any, Fraction]:
    """Value → share of the people who have it. They add up to more than 1 where people have several values."""
    return {value: Fraction(count, len(people_of(members))) for value, count in Counter(values_once(members)).items()}


def largest_share(members: Sequence[Member]) -> Fraction:
    """Largest share of one person in the records."""
    return Fraction(max(Counter(person for person, _ in members).values()), len(members))


def holds_k(members: Sequence[Member], whole: Sequence[Member], *, k: int, shares: bool | None = None) -> bool:
    enough = len(people_of(members)) >= k
    return enough and (shares is False or largest_share(members) <= Fraction(1, k))


def holds_alpha_k(members: Sequence[Member], whole: Sequence[Member], *, alpha: float, k: int) -> bool:
    return holds_k(members, whole, k=k) and at_most(float(max(shares(members).values())), alpha)


def holds_probabilistic(members: Sequence[Member], whole: Sequence[Member], *, l: float) -> bool:  # noqa: E741
    return at_most(float(max(shares(members).values())), 1 / l)


def holds_basic_beta(members: Sequence[Member], whole: Sequence[Member], *, beta: float) -> bool:
    return all(at_most(gain, beta) for gain, _ in _gains(members, whole))


def holds_enhanced_beta(members: Sequence[Member], whole: Sequence[Member], *, beta: float) -> bool:
    return all(at_most(gain, min(beta, -math.log(p))) for gain, p in _gains(members, whole))


def _gains(members: Sequence[Member], whole: Sequence[Member]) -> list[tuple[float, Fraction]]:
    table = shares(whole)
    return [(float((q - table[v]) / table[v]), table[v]) for v, q in shares(members).items() if q > table[v]]


def holds_guarded(
    members: Sequence[Member], whole: Sequence[Member], *, values: Sequence[str], p: float, tree: Any
) -> bool:
    """Who has two guarded values counts twice."""
    guarded = sum(is_guarded(value, values, tree) for value in values_once(members))
    return at_most(float(Fraction(guarded, len(people_of(members)))), p)


def holds_delta(members: Sequence[Member], whole: Sequence[Member], *, delta: float) -> bool:
    inside, table = shares(members), shares(whole)
    return set(inside) == set(table) and all(below(abs(math.log(inside[v] / p)), delta) for v, p in table.items())


def _of_values_once(name: str) -> Callable[..., bool]:
    """The twin of a model of whole distributions: it takes each value of each person once."""

    def holds(members: Sequence[Member], whole: Sequence[Member], **parameters: Any) -> bool:
        return MODELS[name].holds(values_once(members), values_once(whole), **parameters)

    return holds


HOLDS: Mapping[str, Callable[..., bool]] = {
    "k-anonymity": holds_k,
    "alpha-k": holds_alpha_k,
    "probabilistic": holds_probabilistic,
    "basic-beta": holds_basic_beta,
    "enhanced-beta": holds_enhanced_beta,
    "delta": holds_delta,
    "guarded": holds_guarded,
    **{name: _of_values_once(name) for name in ("distinct", "entropy", "recursive", "t-closeness")},
}
"""Name of the twin → whether a class of members holds among all published members."""


def holds_per_class(
    name: str, classes: Sequence[Sequence[int]], people: Sequence[Hashable], own: Sequence[Any], /, **parameters: Any
) -> list[bool]:
    """Tell of each class, given by its rows; rows in no class are suppressed. A person in two classes is two people."""
    told = [[((place, people[i]), own[i]) for i in rows] for place, rows in enumerate(classes)]
    whole = [member for members in told for member in members]
    return [HOLDS[name](members, whole, **parameters) for members in told]


def supports_subsets(rows: Sequence[Sequence[Any]], people: Sequence[Hashable], *, m: int) -> float:
    """People who have the rarest combination of up to `m` values without a star; infinite where there is none."""
    least = math.inf
    for row in rows:
        shown = [place for place, value in enumerate(row) if value != STAR]
        for size in range(1, min(m, len(row)) + 1):
            for chosen in combinations(shown, size):
                fitting = [all(other[place] == row[place] for place in chosen) for other in rows]
                least = min(least, _people_that(fitting, people))
    return least


def supports_wildcards(rows: Sequence[Sequence[Any]], people: Sequence[Hashable]) -> float:
    """People that the loneliest record is compatible with when a star may be any value."""
    return min(
        _people_that([all(x == y or STAR in (x, y) for x, y in zip(row, other, strict=True)) for other in rows], people)
        for row in rows
    )


def _people_that(fitting: Sequence[bool], people: Sequence[Hashable]) -> int:
    return len({person for person, fits in zip(people, fitting, strict=True) if fits})


ROW_MODELS: dict[str, Callable[..., float]] = {"subset-k": supports_subsets, "wildcard-k": supports_wildcards}


def folded_sets(people: Sequence[Hashable], values: Sequence[Any]) -> dict[Hashable, frozenset[Any]]:
    """Person → the set of the person's values."""
    return {person: frozenset(v for p, v in zip(people, values, strict=True) if p == person) for person in people}


def fewest_to_leave_out(records: Sequence[int], k: int) -> int:
    """How many people must go, at least, until nobody has more than 1/k of the records that are left (brute force)."""
    everybody = range(len(records))
    for gone in everybody:
        for kept in combinations(everybody, len(records) - gone):
            left = [records[person] for person in kept]
            if max(left) * k <= sum(left):
                return gone
    return len(records)

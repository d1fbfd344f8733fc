"""Attacks by inference, one pair, bucket and permutation at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import permutations

Row = Mapping[str, object]


def area(members: Sequence[float], outsiders: Sequence[float]) -> Fraction:
    """Compare every member with every outsider; a tie counts half."""
    won = sum(Fraction(2 * (m > o) + (m == o), 2) for m in members for o in outsiders)
    return won / (len(members) * len(outsiders))


def accepted(members: Sequence[float], outsiders: Sequence[float], share: Fraction) -> tuple[Fraction, Fraction]:
    """Go down the scores until the allowed number of outsiders has passed; the last score passes in part."""
    left, passed, false = share * len(outsiders), Fraction(0), Fraction(0)
    for score in sorted({*members, *outsiders}, reverse=True):
        wrong = sum(other == score for other in outsiders)
        part = Fraction(1) if wrong <= left else left / wrong
        passed += part * sum(other == score for other in members)
        false += part * wrong
        left -= part * wrong
        if part < 1:
            break
    return passed, false


def isolation_chance(records: int, weight: float, steps: int = 20_000) -> float:
    """Try many weights up to the one allowed; the chance that exactly one of n records satisfies a predicate."""
    tried = [weight * step / steps for step in range(steps + 1)]
    return max(records * one * (1 - one) ** (records - 1) for one in tried)


def matchings(held: Mapping[object, int], weights: Sequence[Mapping[object, float]]) -> list[dict[object, float]]:
    """Go through all ways to hand out the values of one bucket: chance of each row to have each value."""
    slots = [value for value, count in held.items() for _ in range(count)]
    chances: list[dict[object, float]] = [dict.fromkeys(held, 0.0) for _ in weights]
    total = 0.0
    for way in permutations(slots):
        weight = math.prod(row[value] for row, value in zip(weights, way, strict=True))
        total += weight
        for place, value in enumerate(way):
            chances[place][value] += weight
    return [{value: chance / total for value, chance in row.items()} for row in chances]


def learnt_links(
    buckets: Sequence[tuple[Sequence[Row], Mapping[object, int]]], sizes: Mapping[str, int], rounds: int
) -> list[list[dict[object, float]]]:
    """Learn by expectation maximization which row of each bucket has which value; rows leave themselves out.

    `sizes` says how many values each attribute has.
    """
    chances = [[{s: n / len(rows) for s, n in held.items()} for _ in rows] for rows, held in buckets]
    for _ in range(rounds):
        chances = [
            matchings(held, [_weights(buckets, chances, sizes, place, at) for at in range(len(rows))])
            for place, (rows, held) in enumerate(buckets)
        ]
    return chances


def _weights(buckets, chances, sizes, place: int, at: int) -> dict[object, float]:
    rows, held = buckets[place]
    told = {}
    for value in held:
        own = chances[place][at][value]
        all_with = sum(row.get(value, 0.0) for bucket in chances for row in bucket)
        weight = 1.0
        for name, size in sizes.items():
            alike = with_it = 0.0
            for (others, _), beliefs in zip(buckets, chances, strict=True):
                for other, belief in zip(others, beliefs, strict=True):
                    if other[name] == rows[at][name]:
                        alike += 1
                        with_it += belief.get(value, 0.0)
            overall = (alike + 1) / (sum(len(others) for others, _ in buckets) + size)
            weight *= (with_it - own + overall) / (all_with - own + 1)
        told[value] = weight
    return told


def generalized_lift(
    rows: Sequence[Row], person: Row, covers: Callable[[str, object, object], bool], shares: Mapping[str, Callable]
) -> float:
    """Add up, for every record that covers the person, 1 ÷ the records that chance would put there.

    `shares[name](label)` is the share of all records that the label reaches.
    """
    lift = 0.0
    for row in rows:
        if all(covers(name, row[name], value) for name, value in person.items()):
            lift += 1 / len(rows) / math.prod(shares[name](row[name]) for name in person)
    return lift


def sliced_lift(buckets: Sequence[Sequence[Sequence[Row]]], person: Row) -> Fraction:
    """Divide the matching degree over all buckets by the product of the shares of single values."""
    records = sum(len(columns[0]) for columns in buckets)
    degree = Fraction(0)
    for columns in buckets:
        match, seen = Fraction(len(columns[0]), records), set()
        for rows in columns:
            names = set(rows[0]) & set(person)
            among = [row for row in rows if all(row[name] == person[name] for name in names & seen)]
            agreeing = [row for row in among if all(row[name] == person[name] for name in names)]
            match *= Fraction(len(agreeing), len(among)) if agreeing else 0
            seen |= names
        degree += match
    expected = Fraction(1)
    for name, value in person.items():
        column = next(place for place, rows in enumerate(buckets[0]) if name in rows[0])
        cells = [row[name] for columns in buckets for row in columns[column]]
        expected *= Fraction(sum(cell == value for cell in cells), len(cells))
    return degree / expected if expected else Fraction(0)

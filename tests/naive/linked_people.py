"""Plain twin of linking people with several records: every known record against every published row, with fractions.

A class is a set of equal published rows. `known` holds a list of values for each record that an attacker knows of a
person; `own` holds the values and the key of each record of theirs in the data, for scoring.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from naive.linkage import fits

Row = tuple[str | None, ...]
Record = Sequence[Any]


def covers(row: Row, record: Record) -> bool:
    return all(fits(label, value) for label, value in zip(row, record, strict=True))


def held(rows: Sequence[int], keys: Sequence[Hashable], own: Sequence[Hashable]) -> int:
    """How many own records find a row with their key, each row being one record's."""
    there = Counter(keys[row] for row in rows)
    return sum(min(count, there[key]) for key, count in Counter(own).items())


def linked_together(
    published: Sequence[Row], keys: Sequence[Hashable], known: Sequence[Record], own: Sequence[tuple[Record, Hashable]]
) -> tuple[Fraction, bool]:
    """The chance that a picked row is the person's, and whether the attacker knows that all that fit are."""
    rows = [place for place, row in enumerate(published) if all(covers(row, record) for record in known)]
    if not rows:
        return Fraction(0), False
    found = held(rows, keys, [key for _, key in own])
    return Fraction(found, len(rows)), len(rows) <= len(known) and found == len(rows)


def linked_apart(
    published: Sequence[Row], keys: Sequence[Hashable], known: Sequence[Record], own: Sequence[tuple[Record, Hashable]]
) -> tuple[Fraction, bool]:
    fitting = [[place for place, row in enumerate(published) if covers(row, record)] for record in known]
    chances: Counter[Row] = Counter()
    for record, rows in zip(known, fitting, strict=True):
        for label in set(published):
            if covers(label, record):
                chances[label] += Fraction(1, len(rows))  # type: ignore[assignment]
    if not chances:
        return Fraction(0), False
    densest = {label for label, chance in chances.items() if chance == max(chances.values())}
    rows = [place for place, row in enumerate(published) if row in densest]
    theirs = [key for record, key in own if any(covers(label, record) for label in densest)]
    found = held(rows, keys, theirs)
    sure = sum(bool(places) and all(published[place] in densest for place in places) for places in fitting)
    return Fraction(found, len(rows)), sure >= len(rows) and found == len(rows)


def among_drawn(values: Sequence[Hashable], drawn: int, value: Hashable) -> Fraction:
    """The chance that a value is among some records of a class, each choice of so many being equally likely."""
    choices = list(combinations(range(len(values)), drawn))
    return Fraction(sum(any(values[place] == value for place in choice) for choice in choices), len(choices))

"""What a release tells about one person, by looking at every record for every person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

Row = Mapping[str, object]


def generalized(rows: Sequence[Row], person: Row, covers: Callable[[str, object, object], bool], sensitive: str):
    """Count the sensitive values of the rows that cover every value of the person."""
    fitting = [row for row in rows if all(covers(name, row[name], value) for name, value in person.items())]
    return Counter(row[sensitive] for row in fitting)


def bucketized(quasi: Sequence[Row], counts: Sequence[Row], person: Row, sensitive: str) -> dict[object, Fraction]:
    told: dict[object, Fraction] = {}
    for row in quasi:
        if any(row[name] != value for name, value in person.items()):
            continue
        bucket = [entry for entry in counts if entry["bucket"] == row["bucket"]]
        size = sum(entry["count"] for entry in bucket)
        for entry in bucket:
            told[entry[sensitive]] = told.get(entry[sensitive], Fraction(0)) + Fraction(entry["count"], size)
    return brought_to_one(told)


def sliced(buckets: Sequence[Sequence[Sequence[Row]]], person: Row, sensitive: str) -> dict[object, Fraction]:
    """Work out p(t, s) as algorithms.md §13 (e) and §16 say; buckets × columns × rows."""
    told: dict[object, Fraction] = {}
    matches = [match_of(columns, person) for columns in buckets]
    for columns, match in zip(buckets, matches, strict=True):
        if match:
            for value, share in values_of(columns, person, sensitive).items():
                told[value] = told.get(value, Fraction(0)) + match * share
    return brought_to_one(told)


def match_of(columns: Sequence[Sequence[Row]], person: Row) -> Fraction:
    match, seen = Fraction(1), set()
    for rows in columns:
        names = [name for name in person if name in rows[0]]
        among = [row for row in rows if all(row[name] == person[name] for name in names if name in seen)]
        agreeing = [row for row in among if all(row[name] == person[name] for name in names)]
        match *= Fraction(len(agreeing), len(among)) if among else Fraction(0)
        seen.update(names)
    return match


def values_of(columns: Sequence[Sequence[Row]], person: Row, sensitive: str) -> dict[object, Fraction]:
    holding = [rows for rows in columns if sensitive in rows[0]]
    everywhere = Counter(row[sensitive] for row in holding[0])
    told = {}
    for value, count in everywhere.items():
        weight = Fraction(1, count ** (len(holding) - 1))
        for rows in holding:
            names = [name for name in person if name in rows[0]]
            weight *= sum(row[sensitive] == value and all(row[name] == person[name] for name in names) for row in rows)
        told[value] = weight
    return brought_to_one(told)


def brought_to_one(weights: Mapping[object, Fraction]) -> dict[object, Fraction]:
    total = sum(weights.values())
    return {value: weight / total for value, weight in weights.items() if weight} if total else {}

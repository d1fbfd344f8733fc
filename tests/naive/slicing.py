"""Slicing and overlapping slicing in plain Python: records are tuples, every record is looked at for every question.

A record is a tuple of values, a column a tuple of places in the record, a bucket a list of records; ``sensitive`` is
the place of the sensitive attribute. All shares are exact fractions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import prod

Record = tuple[object, ...]
Column = tuple[int, ...]
Bucket = Sequence[Record]


def phi_squared(first: Sequence[object], second: Sequence[object]) -> Fraction:
    """Compare the share of every pair of values with the share that independence would give it."""
    n = len(first)
    both, alone, other = Counter(zip(first, second, strict=True)), Counter(first), Counter(second)
    smaller = min(len(alone), len(other))
    if smaller == 1:
        return Fraction(0)
    total = Fraction(0)
    for x, y in product(alone, other):
        expected = Fraction(alone[x], n) * Fraction(other[y], n)
        total += (Fraction(both[x, y], n) - expected) ** 2 / expected
    return total / (smaller - 1)


def part(record: Record, column: Column) -> Record:
    return tuple(record[place] for place in column)


def without(column: Column, sensitive: int) -> Column:
    return tuple(place for place in column if place != sensitive)


def fraction(person: Record, bucket: Bucket, column: Column, seen: set[int]) -> Fraction:
    """Share of the bucket's column rows that equal the person's, of those that agree on what was seen before (§16)."""
    known = tuple(place for place in column if place in seen)
    among = [record for record in bucket if part(record, known) == part(person, known)]
    agreeing = [record for record in among if part(record, column) == part(person, column)]
    return Fraction(len(agreeing), len(among)) if among else Fraction(0)


def fractions(person: Record, bucket: Bucket, columns: Sequence[Column], sensitive: int) -> list[Fraction]:
    """List f_i of every column in order; without shared attributes these are the plain fractions of §13."""
    seen: set[int] = set()
    found = []
    for column in columns:
        open_part = without(column, sensitive)
        found.append(fraction(person, bucket, open_part, seen))
        seen.update(open_part)
    return found


def match(person: Record, bucket: Bucket, columns: Sequence[Column], sensitive: int) -> Fraction:
    """Work out f(t, B)."""
    return prod(fractions(person, bucket, columns, sensitive), start=Fraction(1))


def matches(person: Record, buckets: Sequence[Bucket], columns: Sequence[Column], sensitive: int) -> list[Fraction]:
    """List p(t, B) of every bucket: the matches brought to a sum of one."""
    found = [match(person, bucket, columns, sensitive) for bucket in buckets]
    return [value / sum(found) for value in found]


def matching_buckets(person: Record, buckets: Sequence[Bucket], columns: Sequence[Column], sensitive: int) -> list[int]:
    return [at for at, bucket in enumerate(buckets) if match(person, bucket, columns, sensitive) > 0]


def distribution(person: Record, bucket: Bucket, columns: Sequence[Column], sensitive: int) -> dict[object, Fraction]:
    """Work out D(t, B); with the sensitive attribute in several columns these are joined on it (§16)."""
    holding = [without(column, sensitive) for column in columns if sensitive in column]
    weights = {}
    for value, count in Counter(record[sensitive] for record in bucket).items():
        rows = [record for record in bucket if record[sensitive] == value]
        found = prod(sum(part(row, column) == part(person, column) for row in rows) for column in holding)
        weights[value] = Fraction(found, count ** (len(holding) - 1))
    total = sum(weights.values())
    return {value: weight / total for value, weight in weights.items()} if total else {}


def disclosed(
    person: Record, buckets: Sequence[Bucket], columns: Sequence[Column], sensitive: int
) -> dict[object, Fraction]:
    """Work out p(t, s) of every sensitive value."""
    found: dict[object, Fraction] = {}
    for share, bucket in zip(matches(person, buckets, columns, sensitive), buckets, strict=True):
        if share:
            for value, of_bucket in distribution(person, bucket, columns, sensitive).items():
                found[value] = found.get(value, Fraction(0)) + share * of_bucket
    return found


def is_diverse(buckets: Sequence[Bucket], columns: Sequence[Column], sensitive: int, ell: int) -> bool:
    everyone = [record for bucket in buckets for record in bucket]
    return all(max(disclosed(person, buckets, columns, sensitive).values()) <= Fraction(1, ell) for person in everyone)


def combinations(bucket: Bucket, columns: Sequence[Column]) -> Iterator[Record]:
    """List the different records that the column rows of a bucket make up; shared attributes must agree."""
    width = 1 + max(place for column in columns for place in column)
    made = set()
    for rows in product(*({part(record, column) for record in bucket} for column in columns)):
        record: dict[int, object] = {}
        agree = all(
            record.setdefault(place, value) == value
            for column, row in zip(columns, rows, strict=True)
            for place, value in zip(column, row, strict=True)
        )
        if agree:
            made.add(tuple(record.get(place) for place in range(width)))
    return iter(made)


def candidates(buckets: Sequence[Bucket], columns: Sequence[Column]) -> set[Record]:
    return {record for bucket in buckets for record in combinations(bucket, columns)}


def fakes(buckets: Sequence[Bucket], columns: Sequence[Column]) -> set[Record]:
    """List the candidates that are no record of the table."""
    return candidates(buckets, columns) - {record for bucket in buckets for record in bucket}

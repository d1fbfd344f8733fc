"""Every original table that fits the published columns of one bucket, by trying all orders of all columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations

Row = tuple[object, ...]
Column = tuple[str, ...]
World = tuple[dict[str, object], ...]


def worlds(columns: Sequence[Column], rows: Sequence[Sequence[Row]]) -> Iterator[World]:
    """List what each person's record may have been: rows of every column in every order, where they agree."""
    yield from _joined([{} for _ in rows[0]], list(zip(columns, rows, strict=True)))


def _joined(records: list[dict[str, object]], left: list[tuple[Column, Sequence[Row]]]) -> Iterator[World]:
    if not left:
        yield tuple(records)
        return
    names, rows = left[0]
    for order in set(permutations(rows)):
        beside = [dict(zip(names, row, strict=True)) for row in order]
        fits = all(
            record.get(name, row[name]) == row[name]
            for record, row in zip(records, beside, strict=True)
            for name in names
        )
        if fits:
            yield from _joined([{**record, **row} for record, row in zip(records, beside, strict=True)], left[1:])


def posteriors(found: Sequence[World], unknown: Sequence[str], sensitive: str) -> dict[Row, dict[object, Fraction]]:
    """Say which sensitive value somebody with some known values has; all worlds are as likely."""
    counts: dict[Row, Counter[object]] = {}
    for world in found:
        for record in world:
            known = tuple(value for name, value in sorted(record.items()) if name not in unknown)
            counts.setdefault(known, Counter())[record[sensitive]] += 1
    return {known: shares(counter) for known, counter in counts.items()}


def informed_posteriors(found: Sequence[World], unknown: Sequence[str], sensitive: str) -> list[dict[object, Fraction]]:
    """Say the same to somebody who knows the known values of everybody in the bucket; one answer for each of them."""
    by_background: dict[tuple[Row, ...], list[World]] = {}
    for world in found:
        background = tuple(
            tuple(value for name, value in sorted(record.items()) if name not in unknown) for record in world
        )
        by_background.setdefault(background, []).append(world)
    return [
        shares(Counter(world[person][sensitive] for world in alike))
        for alike in by_background.values()
        for person in range(len(alike[0]))
    ]


def shares(counter: Counter[object]) -> dict[object, Fraction]:
    total = sum(counter.values())
    return {value: Fraction(count, total) for value, count in counter.items()}

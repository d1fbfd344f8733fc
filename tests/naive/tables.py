"""Plain twin of reconstruction: every way to give people buckets and values, and those that show what is published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any

Rows = Counter[tuple[Any, ...]]
"""Published rows of one table: (bucket, values ...) -> records."""


def possible(
    people: Sequence[dict[str, Any]],
    values: Sequence[str],
    buckets: Sequence[int],
    sensitive: str,
    tables: Sequence[tuple[tuple[str, ...], Rows]],
) -> list[set[str]]:
    """Return the values that each person has in some table that agrees with all published ones."""
    found: list[set[str]] = [set() for _ in people]
    for places in product(buckets, repeat=len(people)):
        for dealt in product(values, repeat=len(people)):
            records = [{**one, sensitive: value} for one, value in zip(people, dealt, strict=True)]
            if all(
                Counter((place, *(one[name] for name in names)) for place, one in zip(places, records, strict=True))
                == rows
                for names, rows in tables
            ):
                for one, value in zip(found, dealt, strict=True):
                    one.add(value)
    return found

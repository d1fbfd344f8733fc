"""What no class can beat, and what no partition can beat, by trying everything; for tables of a few records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

Loss = Callable[[Sequence[Any]], float]


def partitions(records: Sequence[int], k: int) -> Iterator[list[list[int]]]:
    """Every partition into classes of at least k."""
    if not records:
        yield []
        return
    first, rest = records[0], records[1:]
    for size in range(k - 1, len(rest) + 1):
        for others in combinations(rest, size):
            for classes in partitions([one for one in rest if one not in others], k):
                yield [[first, *others], *classes]


def least_loss(rows: Sequence[Any], k: int, loss: Loss) -> float:
    """The loss of the best partition, summed over all records."""
    return min(
        sum(len(members) * loss([rows[one] for one in members]) for members in classes)
        for classes in partitions(range(len(rows)), k)
    )


def cheapest_company(
    rows: Sequence[Any], one: int, k: int, per_attribute: Callable[[Any, Any], Sequence[float]]
) -> float:
    """The least that one record has to pay: in each attribute for the member that is furthest from it there."""
    others = [place for place in range(len(rows)) if place != one]
    return min(
        sum(map(max, zip(*(per_attribute(rows[one], rows[place]) for place in (one, *company)), strict=True)))
        for company in combinations(others, k - 1)
    )

"""Cell suppression the obvious way, for tables of a few records.

A record is a tuple of key values. A star is a value of its own, other than every original value and than the missing
value (None). Cheapest means: the least sum of the weights of the starred cells' attributes (1 each if not given).
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Record = tuple[Any, ...]
Stars = frozenset[tuple[int, int]]  # (record, attribute), both from 0


class Star:
    def __repr__(self) -> str:
        return "*"


STAR: Any = Star()


def with_stars(records: Sequence[Record], stars: Stars) -> list[Record]:
    return [
        tuple(STAR if (row, a) in stars else value for a, value in enumerate(record))
        for row, record in enumerate(records)
    ]


def price(stars: Stars, weights: Sequence[float]) -> float:
    return sum(weights[attribute] for _, attribute in stars)


# --- what a published table has to satisfy --------------------------------------------------------------------------


def every_row_occurs(published: Sequence[Record], k: int) -> bool:
    """Every published row occurs at least k times, stars being a value of their own."""
    return all(number >= k for number in Counter(published).values())


def every_combination_occurs(published: Sequence[Record], k: int, most: int) -> bool:
    """Every combination of up to `most` keys without a star that some record has is had by at least k records."""
    width = len(published[0]) if published else 0
    for size in range(1, min(most, width) + 1):
        for keys in itertools.combinations(range(width), size):
            parts = [tuple(record[key] for key in keys) for record in published]
            full = Counter(part for part in parts if STAR not in part)
            if any(number < k for number in full.values()):
                return False
    return True


# --- the true minimum, for rows -------------------------------------------------------------------------------------


def partitions(rows: list[int], k: int) -> Iterator[list[list[int]]]:
    """Every way to share the rows out to groups of at least k."""
    if not rows:
        yield []
        return
    first, *others = rows
    for size in range(k - 1, len(others) + 1):
        for mates in itertools.combinations(others, size):
            left = [row for row in others if row not in mates]
            for rest in partitions(left, k):
                yield [[first, *mates], *rest]


def stars_of_group(records: Sequence[Record], group: Sequence[int]) -> Stars:
    """Fewest stars that make the group's rows equal: everywhere on the attributes on which they differ."""
    differing = [a for a in range(len(records[0])) if len({records[row][a] for row in group}) > 1]
    return frozenset((row, a) for row in group for a in differing)


def cheapest_for_rows(
    records: Sequence[Record], k: int, weights: Sequence[float] | None = None
) -> tuple[float, Stars] | None:
    """Least price at which every published row occurs k times, and stars that have it; None for fewer than k records.

    Rows that are published equally are a group, so looking at all groupings misses nothing. For about 10 records.
    """
    if not records:
        return 0.0, frozenset()
    prices = weights or [1.0] * len(records[0])
    best: tuple[float, Stars] | None = None
    for groups in partitions(list(range(len(records))), max(k, 1)):
        stars = frozenset().union(*(stars_of_group(records, group) for group in groups))
        if best is None or price(stars, prices) < best[0]:
            best = price(stars, prices), stars
    return best


def cheapest_by_strata(
    records: Sequence[Record], strata: Sequence[Any], k: int, weights: Sequence[float] | None = None
) -> tuple[float, Stars] | None:
    """The same within each stratum, as if it were a table of its own."""
    total, all_stars = 0.0, set()
    for stratum in dict.fromkeys(strata):
        rows = [row for row, its in enumerate(strata) if its == stratum]
        found = cheapest_for_rows([records[row] for row in rows], k, weights)
        if found is None:
            return None
        total += found[0]
        all_stars |= {(rows[row], attribute) for row, attribute in found[1]}
    return total, frozenset(all_stars)


# --- the true minimum, for any condition ----------------------------------------------------------------------------


def cheapest(
    records: Sequence[Record], holds: Callable[[list[Record]], bool], weights: Sequence[float] | None = None
) -> tuple[float, Stars] | None:
    """Least price of stars with which the table holds: sets of cells in order of price. For about 14 cells."""
    width = len(records[0])
    prices = weights or [1.0] * width
    cells = list(itertools.product(range(len(records)), range(width)))
    waiting: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    while waiting:
        _, chosen = heapq.heappop(waiting)
        stars = frozenset(cells[number] for number in chosen)
        if holds(with_stars(records, stars)):
            return price(stars, prices), stars
        for number in range(chosen[-1] + 1 if chosen else 0, len(cells)):
            more = (*chosen, number)
            heapq.heappush(waiting, (price(frozenset(cells[each] for each in more), prices), more))
    return None


def cheapest_for_combinations(
    records: Sequence[Record], k: int, most: int, weights: Sequence[float] | None = None
) -> tuple[float, Stars]:
    """Least price at which every combination of up to `most` keys occurs k times; all stars always hold."""
    found = cheapest(records, lambda published: every_combination_occurs(published, k, most), weights)
    assert found is not None
    return found

"""Plain Python for count tables: fitting, every joint table that agrees with some, and what they all agree on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, product

Cell = tuple[str, ...]


def project(joint: Mapping[Cell, float], places: Sequence[int]) -> dict[Cell, float]:
    """Sum a joint table over all attributes but some."""
    sums: Counter[Cell] = Counter()
    for cell, count in joint.items():
        sums[tuple(cell[place] for place in places)] += count
    return dict(sums)


def fitted(support: Sequence[Cell], tables: Mapping[tuple[int, ...], Mapping[Cell, float]]) -> dict[Cell, float]:
    """Iterative proportional fitting from equal weights."""
    joint = dict.fromkeys(support, 1.0)
    for _ in range(3000):
        for places, table in tables.items():
            sums = project(joint, places)
            for cell in joint:
                own = tuple(cell[place] for place in places)
                joint[cell] *= table.get(own, 0.0) / sums[own] if sums[own] else 0.0
    return joint


def consistent(
    support: Sequence[Cell], tables: Mapping[tuple[int, ...], Mapping[Cell, int]]
) -> Iterator[tuple[int, ...]]:
    """Every joint table of whole numbers, cell by cell of the support, that has all these tables."""

    def grown(place: int, left: dict[tuple[tuple[int, ...], Cell], int]) -> Iterator[tuple[int, ...]]:
        if place == len(support):
            if not any(left.values()):
                yield ()
            return
        keys = [(places, tuple(support[place][each] for each in places)) for places in tables]
        for count in range(min(left.get(key, 0) for key in keys) + 1):
            less = {**left, **{key: left[key] - count for key in keys if key in left}}
            for rest in grown(place + 1, less):
                yield (count, *rest)

    yield from grown(0, {(places, cell): count for places, table in tables.items() for cell, count in table.items()})


def fixed_counts(support: Sequence[Cell], tables: Mapping[tuple[int, ...], Mapping[Cell, int]]) -> set[int]:
    """Counts of groups of cells that are the same in every joint table which agrees with the tables."""
    joints = list(consistent(support, tables))
    groups = chain.from_iterable(combinations(range(len(support)), size) for size in range(1, len(support) + 1))
    found = set()
    for group in groups:
        counts = {sum(joint[place] for place in group) for joint in joints}
        if len(counts) == 1:
            found |= counts
    return found


def full_support(domains: Sequence[Sequence[str]]) -> list[Cell]:
    """Every combination of values."""
    return list(product(*domains))

"""Traces written plainly: every set of doublets is counted by looking into every trace; shares are fractions."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations

Trace = frozenset[Hashable]
Values = frozenset[Hashable]


def known_sets(traces: Sequence[Trace], most: int) -> set[Trace]:
    """Return every set of 1 to `most` doublets that some trace has."""
    return {
        frozenset(chosen)
        for trace in traces
        for size in range(1, most + 1)
        for chosen in combinations(sorted(trace, key=repr), size)
    }


def breaks(known: Trace, traces: Sequence[Trace], values: Sequence[Values], k: int, c: Fraction) -> bool:
    """Tell whether too few people fit what is known, or too many of them share a value."""
    fitting = [held for trace, held in zip(traces, values, strict=True) if known <= trace]
    shared = [sum(value in held for held in fitting) for value in frozenset().union(*fitting)]
    return bool(fitting) and (len(fitting) < k or any(count > c * len(fitting) for count in shared))


def is_private(traces: Sequence[Trace], values: Sequence[Values], k: int, most: int, c: Fraction = Fraction(1)) -> bool:
    return not any(breaks(known, traces, values, k, c) for known in known_sets(traces, most))


def minimal_violations(
    traces: Sequence[Trace], values: Sequence[Values], k: int, most: int, c: Fraction = Fraction(1)
) -> set[Trace]:
    """Return every known set that breaks a demand while no proper part of it does."""
    broken = {known for known in known_sets(traces, most) if breaks(known, traces, values, k, c)}
    return {known for known in broken if not any(other < known for other in broken)}


def worlds(traces: Sequence[Trace]) -> Iterator[list[Trace]]:
    """Return every choice of points to leave out."""
    points = [(person, doublet) for person, trace in enumerate(traces) for doublet in sorted(trace, key=repr)]
    for mask in range(1 << len(points)):
        kept: list[set[Hashable]] = [set() for _ in traces]
        for number, (person, doublet) in enumerate(points):
            if mask >> number & 1:
                kept[person].add(doublet)
        yield [frozenset(trace) for trace in kept]

"""Making ratings anonymous, in plain Python: the plan, the best solution of all, and what either costs.

Records as in :mod:`naive.ratings`; ratings of the non-sensitive issues are codes here, or None.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from naive.ratings import Row

Codes = list[int | None]


def loss(before: list[Row], after: list[Row], r: float) -> tuple[int, int, int, float]:
    """Changed, removed and invented ratings, and the charge: divided by n · p · r."""
    changed = removed = invented = 0
    total = 0.0
    for old, new in zip(before, after, strict=True):
        for was, now in zip(old, new, strict=True):
            if was is not None and now is None:
                removed, total = removed + 1, total + r
            elif was is None and now is not None:
                invented, total = invented + 1, total + r
            elif was is not None and now is not None and was != now:
                changed, total = changed + 1, total + abs(was - now)
    cells = len(before) * len(before[0])
    return changed, removed, invented, total / (cells * r) if cells else 0.0


def window(codes: list[int], steps: int) -> tuple[int, int]:
    """Start of the window of least change, the middle one of several as good, and the change."""

    def change(start: int) -> int:
        return sum(max(start - code, code - start - steps, 0) for code in codes)

    starts = range(min(codes) - steps, max(codes) + 1)
    least = min(map(change, starts))
    best = [start for start in starts if change(start) == least]
    return best[(len(best) - 1) // 2], least


def unify(rows: list[Codes], group: list[int], steps: int, size: int, invent: bool) -> None:
    """Make the members of a group proximate, each issue at the least cost."""
    for issue in range(len(rows[0])):
        given = [code for place in group if (code := rows[place][issue]) is not None]
        if not given:
            continue
        start, change = window(given, steps)
        missing = len(group) - len(given)
        if (missing and not invent) or missing * size + change >= len(given) * size:
            for place in group:
                rows[place][issue] = None
            continue
        rising = sorted(given)
        median = (rising[(len(given) - 1) // 2] + rising[len(given) // 2] + 1) // 2
        for place in group:
            code = rows[place][issue]
            rows[place][issue] = min(max(median if code is None else code, start), start + steps)


def plan(rows: list[Codes], k: int, steps: int, size: int, invent: bool) -> list[Codes]:
    """The plan, without sensitive issues: at least k records."""
    rows = [list(row) for row in rows]
    for group in _merged_patterns(rows, k, invent):
        unify(rows, group, size - 1, size, invent)
    flags = [_flags(row) for row in rows]
    for pattern in dict.fromkeys(flags):
        for clique in _cliques(rows, [place for place, other in enumerate(flags) if other == pattern], k):
            unify(rows, clique, steps, size, invent)
    return rows


def _flags(row: Codes) -> tuple[bool, ...]:
    return tuple(code is not None for code in row)


def _merged_patterns(rows: list[Codes], k: int, invent: bool) -> list[list[int]]:
    patterns: dict[tuple[bool, ...], list[int]] = {}
    for place, row in enumerate(rows):
        patterns.setdefault(_flags(row), []).append(place)
    groups = list(patterns.values())

    def shown(group: list[int]) -> list[bool]:
        raters = [sum(rows[place][issue] is not None for place in group) for issue in range(len(rows[0]))]
        return [2 * number > len(group) if invent else number == len(group) for number in raters]

    def cost(one: list[int], other: list[int]) -> int:
        apart = sum(a != b for a, b in zip(shown(one), shown(other), strict=True))
        return apart * len(one) * len(other)

    while len(groups) > 1 and any(len(group) < k for group in groups):
        small = next(place for place, group in enumerate(groups) if len(group) < k)
        others = [place for place in range(len(groups)) if place != small]
        near = min(others, key=lambda place: cost(groups[small], groups[place]))
        low, high = sorted((small, near))
        groups[low] = groups[low] + groups.pop(high)
    return groups


def _cliques(rows: list[Codes], members: list[int], k: int) -> list[list[int]]:
    def apart(one: int, other: int) -> tuple[int, int, int]:
        pairs = zip(rows[one], rows[other], strict=True)
        gaps = [abs(a - b) for a, b in pairs if a is not None and b is not None]
        return max(gaps, default=0), sum(gaps), other

    cliques: list[list[int]] = []
    left = list(members)
    while len(left) >= k:
        first = left.pop(0)
        near = sorted(left, key=lambda other: apart(first, other))[: k - 1]
        cliques.append([first, *near])
        left = [place for place in left if place not in near]
    if not cliques:
        return [left]
    home = {place: clique for clique in cliques for place in clique}
    chosen = [home[min(home, key=lambda other: apart(place, other))] for place in left]
    for place, clique in zip(left, chosen, strict=True):
        clique.append(place)
    return cliques


def partitions(members: list[int], k: int) -> Iterator[list[list[int]]]:
    """All partitions into groups of k to 2k − 1: larger ones can be split without cost."""
    if not members:
        yield []
        return
    first, rest = members[0], members[1:]
    for size in range(k, min(2 * k, len(members) + 1)):
        for others in combinations(rest, size - 1):
            left = [place for place in rest if place not in others]
            if not left or len(left) >= k:
                for further in partitions(left, k):
                    yield [[first, *others], *further]


def least_cost(rows: list[Codes], k: int, steps: int, size: int, invent: bool) -> int:
    """Least charge, in steps, of groups whose members are proximate to each other."""

    def cost(groups: list[list[int]]) -> int:
        changed = [list(row) for row in rows]
        for group in groups:
            unify(changed, group, steps, size, invent)
        return sum(_moved(*pair, size) for row in zip(rows, changed, strict=True) for pair in zip(*row, strict=True))

    return min(map(cost, partitions(list(range(len(rows))), k)))


def _moved(was: int | None, now: int | None, size: int) -> int:
    if was is None or now is None:
        return 0 if was is now else size
    return abs(was - now)

"""KACA (Li, Wong, Fu, Pei 2006/2008) the obvious way (section 8 of `algorithms.md`).

The random order in which undersized classes are taken up is a parameter: `picks` lists records, and the next one that
lies in an undersized class names it. Classes stand in the order of their lowest records, and ties go to the first.

A class publishes what covers the records it has *seen*: its own and those it once shared a generalized record with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from naive.mixed import (
    Class,
    Kind,
    Number,
    Predicate,
    Row,
    Tree,
    column,
    height,
    level,
    nearest,
    need,
    next_undersized,
    ratio,
    satisfied,
    width,
)
from naive.recoding import SUPPRESSED, Value, is_mixed


class Group(NamedTuple):
    """An equivalence class: its records, and all those that its generalized record covers."""

    members: Class
    seen: Class


# --- distances -----------------------------------------------------------------------------------------------------


def whd(low: int, high: int, steps: int, weight: str = "uniform", beta: float = 1) -> Fraction:
    """Weighted distance from level `low` up to `high` in a tree of so many steps; from leaf to root it is 1.

    In the paper's count the root is at level 1 and a leaf at `steps` + 1; the step from j to j - 1 weighs 1 or
    1 / (j - 1) ** beta.
    """

    def weigh(j: int) -> Fraction:
        return Fraction(1) if weight == "uniform" else 1 / Fraction((j - 1) ** beta)

    leaf = steps + 1
    climbed = sum((weigh(j) for j in range(leaf - high + 1, leaf - low + 1)), Fraction(0))
    return ratio(climbed, sum((weigh(j) for j in range(2, leaf + 1)), Fraction(0)))


def step(kind: Kind, seen: Sequence[Value], wider: Sequence[Value], weight: str, beta: float) -> Fraction:
    """Distortion of one value that becomes what covers `wider`; a number's interval grows by a share of the range."""
    if isinstance(kind, Number):
        return width(kind, wider) - width(kind, seen)
    return whd(level(kind, seen), level(kind, wider), height(kind), weight, beta)


def distortion(
    rows: Sequence[Row], kinds: Sequence[Kind], seen: Class, wider: Class, weight: str = "uniform", beta: float = 1
) -> Fraction:
    """Sum over the attributes, for one record."""
    steps = [
        step(kind, column(rows, seen, attribute), column(rows, wider, attribute), weight, beta)
        for attribute, kind in enumerate(kinds)
    ]
    return sum(steps, Fraction(0))


def distance(
    rows: Sequence[Row], kinds: Sequence[Kind], one: Group, other: Group, weight: str = "uniform", beta: float = 1
) -> Fraction:
    """Distortion of all records of both classes when they come to share a generalized record."""
    both = one.seen + other.seen
    return sum(
        (len(group.members) * distortion(rows, kinds, group.seen, both, weight, beta) for group in (one, other)),
        Fraction(0),
    )


# --- generalized records -------------------------------------------------------------------------------------------


def image(kind: Kind, values: Sequence[Value]) -> Value:
    """What is published for a class with these values, told apart from everything else that could be."""
    if len(set(values)) == 1:
        return (values[0],)
    if is_mixed(values) or (not isinstance(kind, Number) and level(kind, values) == height(kind)):
        return SUPPRESSED
    if isinstance(kind, Tree):
        top = level(kind, values)
        return {path[0]: (top, *path[top:]) for path in kind.paths}[values[0]]
    return (min(values), max(values))


def generalized(rows: Sequence[Row], kinds: Sequence[Kind], group: Group) -> list[Value]:
    return [image(kind, column(rows, group.seen, attribute)) for attribute, kind in enumerate(kinds)]


# --- the algorithm -------------------------------------------------------------------------------------------------


def equal_rows(rows: Sequence[Row]) -> list[Group]:
    classes: dict[tuple[Value, ...], Class] = {}
    for record, row in enumerate(rows):
        classes.setdefault(tuple(row), []).append(record)
    return [Group(members, members) for members in classes.values()]


def stub_of(small: Group, near: Group, k: int, ok: Predicate | None) -> Class:
    """The lowest k - |C| records of C' if both classes then satisfy, which for k alone means |C| + |C'| >= 2k."""
    stub, kept = near.members[: max(k - len(small.members), 0)], near.members[max(k - len(small.members), 0) :]
    enough = stub and satisfied(small.members + stub, k, ok) and satisfied(kept, k, ok)
    return stub if enough else near.members


def joined(small: Group, near: Group, taken: Class) -> list[Group]:
    """The undersized class with what it takes, and the rest of the other, if any."""
    kept = [record for record in near.members if record not in taken]
    grown = Group(sorted(small.members + taken), sorted({*small.seen, *near.seen}))
    return [grown, Group(kept, near.seen)] if kept else [grown]


def kaca(
    rows: Sequence[Row],
    kinds: Sequence[Kind],
    k: int,
    picks: Iterable[int],
    weight: str = "uniform",
    beta: float = 1,
    stub: bool = True,
    ok: Predicate | None = None,
) -> list[Class]:
    """Return the classes in the order of their lowest records.

    With `ok`, a class is undersized until it has k records and is ok. Without `stub` an undersized class always takes
    all of the nearest class. A class whose generalized record comes to equal that of another merges with it, even
    with the rest of the class from which it just took its stub.
    """
    need(rows, k)
    order = iter(picks)
    groups = equal_rows(rows)
    while not all(satisfied(group.members, k, ok) for group in groups):
        if len(groups) == 1:
            raise ValueError("not even the whole table satisfies")
        members = next_undersized(order, [group.members for group in groups], lambda some: satisfied(some, k, ok))
        [small] = [group for group in groups if group.members == members]
        others = [group for group in groups if group is not small]
        near = nearest(others, lambda group: distance(rows, kinds, small, group, weight, beta))  # noqa: B023
        taken = stub_of(small, near, k, ok) if stub else near.members
        grown, *rest = joined(small, near, taken)
        others = [group for group in others if group is not near] + rest
        for group in others:
            if generalized(rows, kinds, group) == generalized(rows, kinds, grown):
                grown = Group(sorted(grown.members + group.members), sorted({*grown.seen, *group.seen}))
                others = [other for other in others if other is not group]
        groups = sorted([*others, grown])
    return [group.members for group in groups]

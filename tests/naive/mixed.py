"""What the clustering twins know of a table: rows of values, and one description (a *kind*) for each attribute.

A row is a list of values, None where one is missing; a class is a list of row indices (from 0). Distances and losses
are exact fractions, so two of them tie only if they are really equal.

A missing value is a value of its own that only the whole domain covers together with others: under a tree it hangs
from the root, among numbers it is a whole range away from each of them, among plain categories it is one more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from naive.recoding import Value, ancestor_level, is_mixed

Row = Sequence[Value]
Class = list[int]
Predicate = Callable[[Class], bool]


class Number(NamedTuple):
    """Numbers, with the lowest and highest of the domain."""

    low: float
    high: float


class Tree(NamedTuple):
    """Values with a hierarchy: one path for each leaf, from the leaf to the root, all of one length."""

    paths: Sequence[Sequence[str]]


class Category(NamedTuple):
    """Plain categories: all values of the domain (with None if it occurs)."""

    values: Sequence[Value]


Kind = Number | Tree | Category


def kinds_of(rows: Sequence[Row], given: Sequence[type[Number] | type[Category] | Tree]) -> list[Kind]:
    """Complete `Number` and `Category` by the range or the values that the rows show."""
    found: list[Kind] = []
    for kind, column in zip(given, zip(*rows, strict=True), strict=True):
        if isinstance(kind, Tree):
            found.append(kind)
        elif kind is Number:
            present = [value for value in column if value is not None] or [0]
            found.append(Number(min(present), max(present)))
        else:
            found.append(Category(sorted(set(column), key=sort_key)))
    return found


def sort_key(value: Value) -> tuple[bool, Value]:
    """Rising order, the missing value last."""
    return (value is None, 0 if value is None else value)


def column(rows: Sequence[Row], records: Sequence[int], attribute: int) -> list[Value]:
    return [rows[record][attribute] for record in records]


def ratio(part: Value, whole: Value) -> Fraction:
    """Exact share; nothing of nothing is 0."""
    return Fraction(part) / Fraction(whole) if whole else Fraction(0)


def difference(one: Value, other: Value) -> Fraction:
    return Fraction(one) - Fraction(other)


# --- how much a set of values spans --------------------------------------------------------------------------------


def height(kind: Kind) -> int:
    """Steps from a leaf to the root; a plain category is one step from 'anything'."""
    return len(kind.paths[0]) - 1 if isinstance(kind, Tree) else 1


def level(kind: Kind, values: Sequence[Value]) -> int:
    """Level of the lowest common ancestor, 0 for a leaf."""
    if len(set(values)) == 1:
        return 0
    if not isinstance(kind, Tree) or is_mixed(values):
        return height(kind)
    return ancestor_level(values, {path[0]: path for path in kind.paths})


def width(kind: Number, values: Sequence[Value]) -> Fraction:
    """Range of the values over that of the domain."""
    if is_mixed(values):
        return Fraction(1)
    if values[0] is None:
        return Fraction(0)
    return ratio(difference(max(values), min(values)), difference(kind.high, kind.low))


def climbed(kind: Kind, values: Sequence[Value]) -> Fraction:
    """Width of numbers, height of the common ancestor over that of the tree otherwise (Byun et al. 2007)."""
    return width(kind, values) if isinstance(kind, Number) else ratio(level(kind, values), height(kind))


def penalty(kind: Kind, values: Sequence[Value]) -> Fraction:
    """NCP of one cell (Xu et al. 2006): width; leaves under the common ancestor; distinct values without a tree."""
    if isinstance(kind, Number):
        return width(kind, values)
    if len(set(values)) == 1:
        return Fraction(0)
    if isinstance(kind, Category):
        return Fraction(len(set(values)), len(set(kind.values)))
    top = level(kind, values)
    ancestor = None if is_mixed(values) else {tuple(path[top:]) for path in kind.paths if path[0] == values[0]}
    under = [path for path in kind.paths if ancestor is None or tuple(path[top:]) in ancestor]
    return Fraction(len(under), len(kind.paths))


Measure = Callable[[Kind, Sequence[Value]], Fraction]


def total(measure: Measure, rows: Sequence[Row], kinds: Sequence[Kind], records: Sequence[int]) -> Fraction:
    """Loss of a class: its number of records times the sum of what it spans on each attribute."""
    spans = [measure(kind, column(rows, records, attribute)) for attribute, kind in enumerate(kinds)]
    return len(records) * sum(spans, Fraction(0))


# --- choices -------------------------------------------------------------------------------------------------------


def nearest(candidates: Sequence[Value], distance: Callable[[Value], Value]) -> Value:
    """The first of those with the smallest distance."""
    return min(candidates, key=distance)


def farthest(candidates: Sequence[Value], distance: Callable[[Value], Value]) -> Value:
    """The first of those with the largest distance."""
    return max(candidates, key=distance)


def need(rows: Sequence[Row], k: int) -> None:
    if len(rows) < k:
        raise ValueError(f"{len(rows)} records are fewer than k = {k}")


def satisfied(members: Class, k: int, ok: Predicate | None) -> bool:
    return len(members) >= k and (ok is None or ok(members))


def in_order(classes: Sequence[Class]) -> list[Class]:
    """Records rising inside the classes, classes by their first record."""
    return sorted(sorted(members) for members in classes)


def next_undersized(picks: Iterator[int], classes: Sequence[Class], satisfied: Predicate) -> Class:
    """Class of the next record in `picks` whose class is not satisfied yet; the other records are passed over."""
    for record in picks:
        [members] = [members for members in classes if record in members]
        if not satisfied(members):
            return members
    raise ValueError("the picks ran out before every class was satisfied")

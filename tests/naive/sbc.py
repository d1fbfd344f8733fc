"""Similarity-based clustering (chapter 3 of the thesis) the obvious way (section 12 of `algorithms.md`).

Nothing is left to chance. Trees are not looked at: a kind is a `Number` or a `Category`. A missing category is one
more value; a missing number is at distance 1 from all others.

The words: categorical attributes form a *chain* in the order of their cardinality. Each has a *similarity order* of
its values, the value of the class's first record in front, and the distance of a value is its place in that order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import product

from naive.mixed import (
    Class,
    Kind,
    Number,
    Predicate,
    Row,
    column,
    difference,
    nearest,
    need,
    ratio,
    satisfied,
    sort_key,
)
from naive.recoding import Value

Orders = dict[int, list[Value]]  # similarity order of each categorical attribute


def chain_of(rows: Sequence[Row], kinds: Sequence[Kind]) -> list[int]:
    """Categorical attributes by their number of distinct values, the first declared first on ties."""
    categorical = [attribute for attribute, kind in enumerate(kinds) if not isinstance(kind, Number)]
    return sorted(categorical, key=lambda attribute: len({row[attribute] for row in rows}))


def sorted_records(rows: Sequence[Row], kinds: Sequence[Kind], sort: str | Sequence[int] | None) -> Class:
    """By the attributes listed; 'full': by the chain, then the numbers as declared; None leaves the order as it is."""
    numeric = [attribute for attribute, kind in enumerate(kinds) if isinstance(kind, Number)]
    by: list[int] = [] if sort is None or sort == "full" else [*map(int, sort)]
    if sort == "full":
        by = [*chain_of(rows, kinds), *numeric]
    return sorted(range(len(rows)), key=lambda record: [sort_key(rows[record][attribute]) for attribute in by])


# --- similarity ----------------------------------------------------------------------------------------------------


def merged_rows(rows: Sequence[Row], rest: Class, orders: Orders, lower: Sequence[int], k: int) -> list[int]:
    """Records in the first record's row of the contingency table, or in so many of the most similar rows as make k.

    A row is a value of the attribute before (or values of all those before, ordered by the sum of their distances,
    then by their places). All records if they never make k.
    """
    cells = list(product(*(orders[attribute] for attribute in lower)))
    places = {cell: [orders[a].index(value) for a, value in zip(lower, cell, strict=True)] for cell in cells}

    def farness(cell: tuple[Value, ...]) -> tuple[Fraction, list[int]]:
        shares = [ratio(place, len(orders[a]) - 1) for a, place in zip(lower, places[cell], strict=True)]
        return sum(shares, Fraction(0)), places[cell]

    taken: list[int] = []
    for cell in sorted(cells, key=farness):
        if len(taken) < k:
            taken += [record for record in rest if tuple(rows[record][attribute] for attribute in lower) == cell]
    return taken


def similarity_order(
    rows: Sequence[Row], rest: Class, orders: Orders, lower: Sequence[int], attribute: int, k: int
) -> list[Value]:
    """Values that remain, that of the first record in front, the others by how close their shares are to its share.

    Shares among all remaining records, or, given the orders of attributes before it, in the merged rows (where a
    value may have share 0). Ties in the order of the values.
    """
    counted = column(rows, merged_rows(rows, rest, orders, lower, k) if lower else rest, attribute)
    first = rows[rest[0]][attribute]
    others = sorted(set(column(rows, rest, attribute)) - {first}, key=sort_key)
    return [first, *sorted(others, key=lambda value: abs(counted.count(value) - counted.count(first)))]


def similarity_orders(rows: Sequence[Row], rest: Class, chain: Sequence[int], k: int, link: str = "previous") -> Orders:
    """Of all attributes of the chain; `link` says whether 'all' attributes before count or the 'previous' one."""
    orders: Orders = {}
    for place, attribute in enumerate(chain):
        lower = chain[:place] if link == "all" else chain[max(place - 1, 0) : place]
        orders[attribute] = similarity_order(rows, rest, orders, lower, attribute, k)
    return orders


# --- distances -----------------------------------------------------------------------------------------------------


def apart(kind: Number, one: Value, other: Value) -> Fraction:
    if one is None or other is None:
        return Fraction(one is not other)
    return ratio(abs(difference(one, other)), difference(kind.high, kind.low))


def distance_from_first(
    kinds: Sequence[Kind], first: Row, orders: Orders, normalize: str = "sum"
) -> Callable[[Row], Fraction]:
    """Distance of a class's first record to others: the mean over the attributes, or over each type ('by_type')."""

    def distance(row: Row) -> Fraction:
        numbers = [apart(k, first[a], row[a]) for a, k in enumerate(kinds) if isinstance(k, Number)]
        others = [ratio(order.index(row[a]), len(order) - 1) for a, order in orders.items()]
        if normalize == "by_type":
            return ratio(sum(numbers), len(numbers)) + ratio(sum(others), len(others))
        return ratio(sum(numbers) + sum(others), len(kinds))

    return distance


# --- the algorithm -------------------------------------------------------------------------------------------------


def sbc(
    rows: Sequence[Row],
    kinds: Sequence[Kind],
    k: int,
    sort: str | Sequence[int] | None = "full",
    remainder: str = "last",
    link: str = "previous",
    normalize: str = "sum",
    ok: Predicate | None = None,
) -> list[Class]:
    """Return the classes, records in the order of their distance.

    The chain is that of the whole table; counts and cardinalities are those of the remaining records. The fewer than
    k records of the remainder join the 'last' class, or each the 'nearest' by the distance to a class's first record
    as it was when the class was made, or are in no class ('suppress'). With `ok` a class takes in more records until
    it is ok; if the table runs out before, its records are part of the remainder.
    """
    need(rows, k)
    chain = chain_of(rows, kinds)
    rest = sorted_records(rows, kinds, sort)
    classes: list[Class] = []
    measures: list[dict[int, Fraction]] = []
    while len(rest) >= k:
        first, *others = rest
        orders = similarity_orders(rows, rest, chain, k, link)
        distance = cache(distance_from_first(kinds, rows[first], orders, normalize))
        measure = {record: distance(tuple(rows[record])) for record in rest}
        near = [first, *sorted(others, key=measure.__getitem__)]
        size = next((size for size in range(k, len(near) + 1) if satisfied(near[:size], k, ok)), None)
        if size is None:
            break
        classes.append(near[:size])
        measures.append(measure)
        rest = [record for record in rest if record not in classes[-1]]
    return with_remainder(classes, measures, rest, remainder)


def with_remainder(
    classes: list[Class], measures: list[dict[int, Fraction]], rest: Class, remainder: str
) -> list[Class]:
    if not classes:
        raise ValueError("not even the whole table satisfies")
    for record in rest:
        if remainder == "last":
            classes[-1].append(record)
        elif remainder == "nearest":
            classes[nearest(range(len(classes)), lambda c: measures[c][record])].append(record)  # noqa: B023
    return classes

"""People with several records, each once. Letters: n records, p people, q known, s sensitive attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.table.encoding import EncodedAttribute, EncodedSets, EncodedTable, PeopleOfTable
from sfumato.table.row_order import content_hash, rising_order

LITTLE = 0.01
"""Codes that people reach over on average, as a share of all, below which an attribute changes little."""


@dataclass(frozen=True, eq=False, repr=False)
class FoldedTable:
    """A table in which everybody has one record."""

    table: EncodedTable  # one record for each person; see :func:`fold` for what it has of attributes that change
    person_of: NDArray[np.int32]  # (n,): the person, a record of `table`, behind each original record


def fold(
    table: EncodedTable,
    people: NDArray[np.int32],
    also: NDArray[np.uint64] | None = None,
    wishes: NDArray[np.int64] | None = None,
    wished_l: NDArray[np.int64] | None = None,
) -> FoldedTable:
    """Make one record of all records of a person.

    A quasi-identifying attribute that does not change keeps its code. One that does becomes two, of half the weight:
    the lowest and the highest code where codes have an order or a tree, else the two most frequent; so that people are
    put together who reach equally far. Where it changes little it stays one, of the middle. Who makes classes by these
    must publish what covers all records. A sensitive code stands for the set of the person's values
    (:class:`PeopleOfTable`). The largest wish is the person's. People stand in an order of their records alone, those
    alike by `also`. O((q + s) n log n).
    """
    person_of = numbered_by_content(table, people, (also, wishes, wished_l))
    order = rising_order(person_of)
    starts = np.flatnonzero(np.diff(person_of[order], prepend=-1))
    records = np.diff(np.append(starts, len(order)))
    owner = np.repeat(np.arange(len(starts)), records)
    several = _Several.of(owner, records)
    columns = [
        column
        for place, attribute in enumerate(table.attributes)
        for column in _folded(attribute, table.codes[order, place], starts, several)
    ]
    codes = np.column_stack([codes for _, codes in columns]).astype(table.codes.dtype)
    sets, set_of = _sets(table, order, owner)
    own, own_l = (None if each is None else np.maximum.reduceat(each[order], starts) for each in (wishes, wished_l))
    folded = replace(
        table,
        attributes=tuple(attribute for attribute, _ in columns),
        codes=codes,
        sensitive_codes=set_of,
        people=PeopleOfTable(records, sets, own, own_l),
    )
    return FoldedTable(folded, person_of)


def numbered_by_content(
    table: EncodedTable, people: NDArray[np.int32], more: Sequence[NDArray[np.generic] | None]
) -> NDArray[np.int32]:
    """Give people numbers by what their records hold, and `more`, not by keys or order; int32 (n,). O(n log n)."""
    order = rising_order(people)
    starts = np.flatnonzero(np.diff(people[order], prepend=-1))
    by_content = np.argsort(_content_of(table, more, order, starts), kind="stable")
    place_of = np.empty(len(starts), dtype=np.int32)
    place_of[by_content] = np.arange(len(starts), dtype=np.int32)
    numbers = np.empty(table.height, dtype=np.int32)
    numbers[order] = np.repeat(place_of, np.diff(np.append(starts, len(order))))
    return numbers


def distinct_numbers(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct ones of numbers from 0, rising; int64. Sorts, which is faster than numpy's way for many."""
    rising = np.sort(numbers)
    return rising[np.diff(rising, prepend=-1) > 0]


class _Several(NamedTuple):
    """Those with several records: people; rows, their records; starts of each; owner, the person of each record."""

    people: NDArray[np.int64]
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    owner: NDArray[np.int64]

    @classmethod
    def of(cls, owner: NDArray[np.int64], records: NDArray[np.int64]) -> _Several:
        people = np.flatnonzero(records > 1)
        rows = np.flatnonzero((records > 1)[owner])
        return cls(people, rows, np.append(0, np.cumsum(records[people])[:-1]).astype(np.int64), owner[rows])


def _folded(
    attribute: EncodedAttribute, codes: NDArray[np.unsignedinteger], starts: NDArray[np.int64], several: _Several
) -> list[tuple[EncodedAttribute, NDArray[np.int64]]]:
    """Return the codes of an attribute that hardly changes, int64 (p,), or two columns for one that does."""
    low = codes[starts].astype(np.int64)
    if not len(several.people):
        return [(attribute, low)]
    high = low.copy()
    own = codes[several.rows]
    low[several.people] = np.minimum.reduceat(own, several.starts)
    high[several.people] = np.maximum.reduceat(own, several.starts)
    changes = low != high
    if not changes.any():
        return [(attribute, low)]
    half = replace(attribute, weight=attribute.weight / 2)
    if not attribute.is_numeric and attribute.hierarchy is None:
        low[changes], high[changes] = _most_frequent(own, several.owner, changes)
        return [(half, low), (half, high)]
    if (high - low).mean() < LITTLE * attribute.cardinality:
        return [(attribute, (low + high) // 2)]
    return [(half, low), (half, high)]


def _most_frequent(
    codes: NDArray[np.unsignedinteger], owner: NDArray[np.int64], some: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two most frequent codes of people who have several, smaller codes first of equals; int64 each."""
    width = int(codes.max()) + 1
    chosen = some[owner]
    pairs, counts = np.unique(owner[chosen] * width + codes[chosen], return_counts=True)
    by_person = np.lexsort((pairs, -counts, pairs // width))
    first = np.flatnonzero(np.diff(pairs[by_person] // width, prepend=-1))
    return pairs[by_person[first]] % width, pairs[by_person[first + 1]] % width


def _sets(
    table: EncodedTable, order: NDArray[np.int64], owner: NDArray[np.int64]
) -> tuple[tuple[EncodedSets, ...], NDArray[np.unsignedinteger]]:
    """Return the sets of sensitive values that people have, and the number of each person's set, unsigned (p, s)."""
    count = int(owner[-1]) + 1
    found = [numbered_sets(table.sensitive_codes[order, place], owner, count) for place in range(len(table.sensitive))]
    largest = max((len(sets.starts) for sets, _ in found), default=0)
    numbers = np.empty((count, len(found)), dtype=np.min_scalar_type(largest))
    for place, (_, set_of) in enumerate(found):
        numbers[:, place] = set_of
    return tuple(sets for sets, _ in found), numbers


def numbered_sets(
    codes: NDArray[np.integer], owner: NDArray[np.int64], count: int
) -> tuple[EncodedSets, NDArray[np.int64]]:
    """Give sets of codes numbers that depend on their codes alone, value after value as in a tree of prefixes."""
    width = int(codes.max()) + 1
    pairs = distinct_numbers(owner * width + codes)
    person, values = pairs // width, pairs % width
    starts = np.flatnonzero(np.diff(person, prepend=-1))
    lengths = np.diff(np.append(starts, len(pairs)))
    set_of = np.zeros(count, dtype=np.int64)
    for depth, (some, value) in enumerate(_value_by_value(starts, lengths, values)):
        # Sets that end here keep their number, which lies below those of longer ones.
        base = int(set_of.max()) + 1 if depth else 0
        _, number = np.unique(set_of[some] * width + value, return_inverse=True)
        set_of[some] = base + number
    _, first, numbers = np.unique(set_of, return_index=True, return_inverse=True)
    sizes = lengths[first]
    members = np.repeat(starts[first] - np.append(0, np.cumsum(sizes)[:-1]), sizes) + np.arange(sizes.sum())
    return EncodedSets(np.append(0, np.cumsum(sizes)), values[members]), numbers


def _value_by_value(
    starts: NDArray[np.int64], lengths: NDArray[np.int64], values: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield, for each place in a set, the people whose sets reach so far and their value there."""
    for depth in range(int(lengths.max())):
        some = np.flatnonzero(lengths > depth)
        yield some, values[starts[some] + depth]


def _content_of(
    table: EncodedTable, more: Sequence[NDArray[np.generic] | None], order: NDArray[np.int64], starts: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return a number for the records of each person, in whatever order they stand; uint64 (p,)."""
    columns = [table.codes]
    if table.sensitive:
        columns.append(table.sensitive_codes)
    columns.extend(each.astype(np.uint64)[:, None] for each in more if each is not None)
    wide = columns if len(columns) == 1 else [column.astype(np.uint64, copy=False) for column in columns]
    # Sums of 64 bits run over, which makes them no worse.
    contents: NDArray[np.uint64] = np.add.reduceat(content_hash(np.concatenate(wide, axis=1))[order], starts)
    return contents

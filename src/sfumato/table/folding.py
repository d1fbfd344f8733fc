"""People with several records: who they are, and a table that has each of them once.

Letters: n records, p people, q quasi-identifying attributes, s sensitive attributes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.table.encoding import EncodedAttribute, EncodedTable, PeopleOfTable, ValueSets
from sfumato.table.row_order import content_hash


@dataclass(frozen=True, eq=False, repr=False)
class FoldedTable:
    """A table in which everybody has one record.

    Attributes
    ----------
    table : EncodedTable
        One record for each person. Of a quasi-identifying attribute that changes from record to record it has one code
        that is typical of the person; of a sensitive attribute all values.
    person_of : numpy.ndarray
        int32 (n,): the person, a record of `table`, behind each original record.
    """

    table: EncodedTable
    person_of: NDArray[np.int32]


def fold(table: EncodedTable, people: NDArray[np.int32], also: NDArray[np.uint64] | None = None) -> FoldedTable:
    """Make one record of all records of a person.

    A quasi-identifying attribute that does not change keeps its code. One that does gets the code in the middle of the
    person's range if codes have an order or a tree, which lies within what the person's values have in common; else
    the most frequent of the person's codes. Whoever puts people into classes by it must publish what covers all of
    their records. A sensitive code stands for the set of the person's values (:class:`PeopleOfTable`).

    Parameters
    ----------
    table
        The records.
    people
        int32 (n,): the number of each record's person, none left out.
    also
        uint64 (n,): a hash of what else records hold, by which people are ordered who are alike in their codes.

    Notes
    -----
    People stand in an order that depends on their records alone. Cost O((q + s) n log n).
    """
    order = np.argsort(people, kind="stable")
    starts = np.flatnonzero(np.diff(people[order], prepend=-1))
    records = np.diff(np.append(starts, len(order)))
    owner = np.repeat(np.arange(len(starts)), records)
    columns = [
        column
        for place, attribute in enumerate(table.attributes)
        for column in _folded(attribute, table.codes[order, place], owner, starts)
    ]
    codes = np.column_stack([codes for _, codes in columns]).astype(table.codes.dtype)
    sets, set_of = _sets(table, order, owner)
    # Equal records are interchangeable, and so are people who have the same ones.
    by_content = np.lexsort((records, _content_of(table, also, order, starts), content_hash(codes)))
    place_of = np.empty(len(starts), dtype=np.int32)
    place_of[by_content] = np.arange(len(starts), dtype=np.int32)
    person_of = np.empty(table.height, dtype=np.int32)
    person_of[order] = place_of[owner]
    folded = replace(
        table,
        attributes=tuple(attribute for attribute, _ in columns),
        codes=codes[by_content],
        sensitive_codes=set_of[by_content],
        people=PeopleOfTable(records[by_content], sets),
    )
    return FoldedTable(folded, person_of)


def _folded(
    attribute: EncodedAttribute, codes: NDArray[np.unsignedinteger], owner: NDArray[np.int64], starts: NDArray[np.int64]
) -> list[tuple[EncodedAttribute, NDArray[np.int64]]]:
    """Return the codes of an attribute that does not change, int64 (p,), or two columns for one that does."""
    low = np.minimum.reduceat(codes, starts).astype(np.int64)
    high = np.maximum.reduceat(codes, starts).astype(np.int64)
    changing = np.flatnonzero(low != high)
    if not len(changing):
        return [(attribute, low)]
    half = replace(attribute, weight=attribute.weight / 2)
    if not attribute.is_numeric and attribute.hierarchy is None:
        low[changing], high[changing] = _most_frequent(codes, owner, changing)
    return [(half, low), (half, high)]


def _most_frequent(
    codes: NDArray[np.unsignedinteger], owner: NDArray[np.int64], some: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two most frequent codes of people who have several, smaller codes first of equals; int64 each."""
    width = int(codes.max()) + 1
    chosen = np.isin(owner, some)
    pairs, counts = np.unique(owner[chosen] * width + codes[chosen], return_counts=True)
    by_person = np.lexsort((pairs, -counts, pairs // width))
    first = np.flatnonzero(np.diff(pairs[by_person] // width, prepend=-1))
    return pairs[by_person[first]] % width, pairs[by_person[first + 1]] % width


def _sets(
    table: EncodedTable, order: NDArray[np.int64], owner: NDArray[np.int64]
) -> tuple[tuple[ValueSets, ...], NDArray[np.unsignedinteger]]:
    """Return the sets of sensitive values that people have, and the number of each person's set, unsigned (p, s)."""
    count = int(owner[-1]) + 1
    found = [_numbered_sets(table.sensitive_codes[order, place], owner, count) for place in range(len(table.sensitive))]
    largest = max((len(sets.starts) for sets, _ in found), default=0)
    numbers = np.empty((count, len(found)), dtype=np.min_scalar_type(largest))
    for place, (_, set_of) in enumerate(found):
        numbers[:, place] = set_of
    return tuple(sets for sets, _ in found), numbers


def _numbered_sets(
    codes: NDArray[np.unsignedinteger], owner: NDArray[np.int64], count: int
) -> tuple[ValueSets, NDArray[np.int64]]:
    """Give sets of codes numbers that depend on their codes alone, value after value as in a tree of prefixes."""
    width = int(codes.max()) + 1
    pairs = np.unique(owner * width + codes)
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
    return ValueSets(np.append(0, np.cumsum(sizes)), values[members]), numbers


def _value_by_value(
    starts: NDArray[np.int64], lengths: NDArray[np.int64], values: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield, for each place in a set, the people whose sets reach so far and their value there."""
    for depth in range(int(lengths.max())):
        some = np.flatnonzero(lengths > depth)
        yield some, values[starts[some] + depth]


def _content_of(
    table: EncodedTable, also: NDArray[np.uint64] | None, order: NDArray[np.int64], starts: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return a number for the records of each person, in whatever order they stand; uint64 (p,)."""
    codes = table.codes
    if table.sensitive:
        codes = np.concatenate([codes, table.sensitive_codes], axis=1)
    if also is not None:
        codes = np.concatenate([codes.astype(np.uint64), also[:, None]], axis=1)
    # Sums of 64 bits run over, which makes them no worse.
    contents: NDArray[np.uint64] = np.add.reduceat(content_hash(codes)[order], starts)
    return contents

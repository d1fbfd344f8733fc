"""What the matching buckets of a sliced table say together about people's sensitive values.

Letters: m people, w columns, h columns with the sensitive attribute, b buckets, g lists, e entries of all lists, z
values of all entries, v published values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.jit import borrowing, kernel
from sfumato.kernels.types import Floats, Int32s, Int64s, int64


class BucketLists(NamedTuple):
    """In which buckets each vector of each column occurs, how often, and with which sensitive values."""

    sizes: Floats  # (b,): records of each bucket
    # `starts`, `buckets`, `counts`: int64 (g + 1,), int32 (e,), float64 (e,): the list of each vector, buckets rising,
    # and its rows there
    starts: Int64s
    buckets: Int32s
    counts: Floats
    # `rows`, `row_of`: (long lists, b), int32 (g,): the entry of each bucket, −1 for none, for lists so long that this
    # is faster than a search; and which row a list has, −1 for none
    rows: Int32s
    row_of: Int32s
    # `value_starts`, `values`, `value_counts`: int64 (e + 1,), int32 (z,), float64 (z,): the sensitive values beside
    # each entry, rising, and how often. None where the column has no sensitive attribute.
    value_starts: Int64s
    values: Int32s
    value_counts: Floats


@kernel
def sum_beliefs(
    vectors: Int64s, seen: Int64s, lists: BucketLists, holding: Int64s, everything: Int64s, weights: Floats,
    candidates: Floats,
) -> None:  # fmt: skip
    """Add up, for each person, the sensitive values of the matching buckets, weighed by how well each matches.

    vectors : int64 (m, w), the list of the person's known values of each column. seen : int64 (m, w), the list of those
    of them that columns before have as well, −1 where there are none. holding : int64 (h,), columns with the sensitive
    attribute. everything : int64 (h,), the list of all rows of each of them. weights : float64 (m, v) and candidates :
    float64 (m,) of zeros, to which is added. Cost of a person: the buckets that have their rarest vector.
    """
    found = np.empty(vectors.shape[1], np.int64)
    shares = np.empty(weights.shape[1])
    for person in range(len(vectors)):
        rarest = _rarest(vectors, person, lists)
        part = vectors[person, rarest]
        for entry in range(lists.starts[part], lists.starts[part + 1]):
            bucket = int64(lists.buckets[entry])
            if not _all_found(vectors, person, rarest, entry, bucket, lists, found):
                continue
            match = _match(seen, person, bucket, lists, found)
            candidates[person] += match * lists.sizes[bucket]
            _add_values(person, bucket, match, found, lists, holding, everything, weights, shares)


@kernel
def fill_rows(rows: Int32s, row_of: Int32s, starts: Int64s, buckets: Int32s) -> None:
    """Write down the entry of each bucket for the long lists; rows : int32, −1 before."""
    for place in range(len(row_of)):
        if row_of[place] >= 0:
            for entry in range(starts[place], starts[place + 1]):
                rows[row_of[place], buckets[entry]] = entry


@borrowing
def _rarest(vectors: Int64s, person: int, lists: BucketLists) -> int:
    """Return the column whose list for the person is the shortest."""
    rarest = 0
    fewest = int64(-1)
    for column in range(vectors.shape[1]):
        part = vectors[person, column]
        length = lists.starts[part + 1] - lists.starts[part]
        if fewest < 0 or length < fewest:
            rarest = column
            fewest = length
    return rarest


@borrowing
def _all_found(
    vectors: Int64s, person: int, rarest: int, entry: int, bucket: int, lists: BucketLists, found: Int64s
) -> bool:
    """Look for the bucket in the person's list of every column; write down the entries."""
    for column in range(vectors.shape[1]):
        found[column] = entry if column == rarest else _entry(vectors[person, column], bucket, lists)
        if found[column] < 0:
            return False
    return True


@borrowing
def _match(seen: Int64s, person: int, bucket: int, lists: BucketLists, found: Int64s) -> float:
    """Multiply, over the columns, the share of rows that agree among those that agree on what was seen before."""
    match = 1.0
    for column in range(len(found)):
        before = seen[person, column]
        among = lists.sizes[bucket] if before < 0 else lists.counts[_entry(before, bucket, lists)]
        match *= lists.counts[found[column]] / among
    return match


@borrowing
def _add_values(
    person: int, bucket: int, match: float, found: Int64s, lists: BucketLists, holding: Int64s, everything: Int64s,
    weights: Floats, shares: Floats,
) -> None:  # fmt: skip
    """Hand the weight of a bucket to the sensitive values that may be the person's there.

    Of several columns that have the sensitive attribute, each further one weighs a value by its rows with it that
    agree, over all rows of the bucket with it: they are joined by the value.
    """
    first = found[holding[0]]
    start = lists.value_starts[first]
    total = 0.0
    for place in range(start, lists.value_starts[first + 1]):
        share = lists.value_counts[place]
        for other in range(1, len(holding)):
            value = lists.values[place]
            share *= _count_of(value, found[holding[other]], lists)
            share /= max(1.0, _count_of(value, _entry(everything[other], bucket, lists), lists))
        shares[place - start] = share
        total += share
    if total > 0.0:
        for place in range(start, lists.value_starts[first + 1]):
            weights[person, lists.values[place]] += shares[place - start] * match / total


@borrowing
def _entry(part: int, bucket: int, lists: BucketLists) -> int:
    """Return the entry of a bucket in a list, −1 where it is not there."""
    row = lists.row_of[part]
    if row >= 0:
        return int64(lists.rows[row, bucket])
    return _find(lists.buckets, lists.starts[part], lists.starts[part + 1], bucket)


@borrowing
def _count_of(value: int, entry: int, lists: BucketLists) -> float:
    place = _find(lists.values, lists.value_starts[entry], lists.value_starts[entry + 1], value)
    return 0.0 if place < 0 else lists.value_counts[place]


@borrowing
def _find(rising: Int32s, low: int, high: int, target: int) -> int:
    """Return where a number stands among ``low .. high - 1``, −1 where it does not. Ends: the range halves."""
    end = high
    while low < end:
        middle = (low + end) // 2
        if rising[middle] < target:
            low = middle + 1
        else:
            end = middle
    return low if low < high and rising[low] == target else -1

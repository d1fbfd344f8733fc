"""Ratings as compressed rows: one row of rising issues per record.

Letters: n records, m issues, z ratings.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import kernel
from sfumato.kernels.types import Int32s, Int64s


@kernel
def number_by_appearance(values: NDArray[np.integer], rank_of: Int64s, count: int) -> Int32s:
    """Give values numbers from 0 in the order in which they first appear.

    values : integers (z,), indices into `rank_of`, whose entries are below `count`. Returns int32 (z,). Cost O(z).
    """
    number_of = np.full(count, -1, dtype=np.int32)
    numbered = np.empty(len(values), dtype=np.int32)
    following = 0
    for place in range(len(values)):
        rank = rank_of[values[place]]
        if number_of[rank] < 0:
            number_of[rank] = following
            following += 1
        numbered[place] = number_of[rank]
    return numbered


@kernel
def rows_of(record_of: Int32s, issue_of: Int32s, records: int, issues: int) -> tuple[Int64s, Int64s]:
    """Sort ratings by record, those of a record by issue; equal pairs keep their order.

    record_of, issue_of : int32 (z,), below n and m. Returns the start of each row, int64 (n + 1,), and the places of
    the ratings in the new order, int64 (z,). Two counting sorts, O(z + n + m).
    """
    starts = _starts(record_of, records)
    order = np.arange(len(record_of))
    if _is_sorted(record_of, issue_of):
        return starts, order
    following = _starts(issue_of, issues)
    by_issue = np.empty(len(record_of), dtype=np.int64)
    for place in range(len(issue_of)):
        by_issue[following[issue_of[place]]] = place
        following[issue_of[place]] += 1
    following = starts.copy()
    for entry in by_issue:
        order[following[record_of[entry]]] = entry
        following[record_of[entry]] += 1
    return starts, order


@kernel
def repeated_pairs(starts: Int64s, issues: Int32s, order: Int64s) -> tuple[int, int]:
    """Count ratings whose record has rated the issue before; the smallest place among them, −1 where there is none.

    starts : int64 (n + 1,). issues : int32 (z,), not falling inside a row. order : int64 (z,), as :func:`rows_of`
    returns it.
    """
    count, first = 0, -1
    for record in range(len(starts) - 1):
        for place in range(starts[record] + 1, starts[record + 1]):
            if issues[place] == issues[place - 1]:
                count += 1
                if first < 0 or order[place] < first:
                    first = order[place]
    return count, first


@kernel
def rows_rise(starts: Int64s, issues: Int32s, count: int) -> bool:
    """Tell whether `starts` are those of rows and every row has rising issues, all ``0 .. count-1``."""
    for record in range(len(starts) - 1):
        if starts[record] > starts[record + 1]:
            return False
        last = -1
        for place in range(starts[record], starts[record + 1]):
            if issues[place] <= last:
                return False
            last = issues[place]
        if last >= count:
            return False
    return True


@kernel
def _starts(numbers: Int32s, count: int) -> Int64s:
    starts = np.zeros(count + 1, dtype=np.int64)
    for number in numbers:
        starts[number + 1] += 1
    for number in range(count):
        starts[number + 1] += starts[number]
    return starts


@kernel
def _is_sorted(record_of: Int32s, issue_of: Int32s) -> bool:
    for place in range(1, len(record_of)):
        before = record_of[place - 1]
        if before > record_of[place] or (before == record_of[place] and issue_of[place - 1] > issue_of[place]):
            return False
    return True

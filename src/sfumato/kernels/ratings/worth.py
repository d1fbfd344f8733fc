"""What of the ratings of a group can stay when all its members are to be proximate.

Letters: b records, c issues, z ratings, q sensitive issues, g members of a group, s ratings on the scale.

Members of a group end up with the same rated issues, and with ratings of each within a window. The *worth* of an issue
is what the group keeps of it, in steps of the scale: its ratings × s, less the changes that the window takes, less s
for each rating that is invented; 0 where dropping them all is as good. Worth and charge of a group add up to what its
ratings are worth before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.ratings.spread import deviation
from sfumato.kernels.types import Codes, Int32s, Int64s, int64

MISSING = -1
"""In a table of codes: not rated."""

_SHORT = 24  # codes that are sorted by insertion


@kernel
def dense_codes(
    records: Int64s, starts: Int64s, issues: Int32s, codes: Codes, column_of: Int32s, columns: int
) -> NDArray[np.int16]:
    """Write the ratings of some records into a table, ``MISSING`` where there is none; int16 (records, columns).

    starts, issues, codes : compressed rows. column_of : int32, the column of each issue, −1 for issues that are left
    out.
    """
    table = np.full((len(records), columns), MISSING, dtype=np.int16)
    for row in range(len(records)):
        for place in range(starts[records[row]], starts[records[row] + 1]):
            column = column_of[issues[place]]
            if column >= 0:
                table[row, column] = codes[place]
    return table


@kernel
def rated_columns(table: NDArray[np.int16]) -> tuple[Int64s, Int32s]:
    """Return the columns that each row of a table has rated, as compressed rows: int64 (b + 1,) and int32 (z,)."""
    starts = np.zeros(len(table) + 1, dtype=np.int64)
    for row in range(len(table)):
        starts[row + 1] = starts[row] + np.count_nonzero(table[row] != MISSING)
    columns = np.empty(starts[-1], dtype=np.int32)
    filled = 0
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            if table[row, column] != MISSING:
                columns[filled] = column
                filled += 1
    return starts, columns


@inlined
def sort_codes(codes: Any, count: int) -> None:
    """Sort the first `count` codes in place."""
    if count > _SHORT:
        codes[:count] = np.sort(codes[:count])
        return
    for place in range(1, count):
        code, there = codes[place], place
        while there and codes[there - 1] > code:
            codes[there] = codes[there - 1]
            there -= 1
        codes[there] = code


@inlined
def window_change(codes: Any, count: int, steps: int) -> int:
    """Return the least sum of changes, in steps, that brings codes into a window; the first `count` are sorted here.

    Every pair of the smallest and the largest, the second smallest and the second largest, ... has to be brought within
    `steps` of each other, and one window does so for all pairs at no more than that.
    """
    sort_codes(codes, count)
    change = 0
    low, high = 0, count - 1
    while low < high and codes[high] - codes[low] > steps:
        change += codes[high] - codes[low] - steps
        low += 1
        high -= 1
    return change


@inlined
def window_start(codes: Any, count: int, steps: int) -> int:
    """Return the start of the window of least change for codes that rise: the middle one where several are as good."""
    low, high = 0, count - 1
    first, last = codes[high] - steps, codes[low]
    while low < high and codes[high] - codes[low] > steps:
        first, last = codes[low], codes[high] - steps
        low += 1
        high -= 1
    if low <= high:
        first, last = max(first, codes[high] - steps), min(last, codes[low])
    return int64((first + last) // 2)


@inlined
def issue_worth(codes: Any, raters: int, members: int, steps: int, size: int, invent: bool) -> int:
    """Return the worth of an issue with so many raters; the first codes are theirs, and sorted here.

    size : s.
    """
    if raters == members:
        return raters * size - window_change(codes, raters, steps)
    if not invent or 2 * raters <= members:
        return 0
    return max(0, (2 * raters - members) * size - window_change(codes, raters, steps))


@inlined
def group_worth(group: Any, members: int, block: Any, rules: Any, room: Any) -> float:
    """Return the worth of the ratings of a group, issues weighed; exact below 2**53.

    group : int32, its first `members` entries are records. block : ``(starts, columns, table, weights, hidden)``, the
    rated columns as :func:`rated_columns` returns them, the table, int64 (c,) weights of issues and the codes of the
    sensitive issues, int16 (b, q). rules : ``(k, steps, size, invent, l, nulls, low, step, penalty)``. room :
    ``(codes, counts, totals)``, int64 of at least g, int64 (c,) of zeros, int64 (q, 3).
    """
    if rules[3]:
        return _worth_of_most(group, members, block, rules, room)
    return _worth_of_all(group, members, block, rules, room)


@inlined
def _worth_of_all(group: Any, members: int, block: Any, rules: Any, room: Any) -> float:
    """Return the worth of the issues that all members have rated: those of the member who has rated fewest."""
    starts, columns, table, weights, _ = block
    codes = room[0]
    fewest = group[0]
    for place in range(1, members):
        record = group[place]
        if starts[record + 1] - starts[record] < starts[fewest + 1] - starts[fewest]:
            fewest = record
    worth = 0.0
    for rating in range(starts[fewest], starts[fewest + 1]):
        column = columns[rating]
        shared = 0
        while shared < members and table[group[shared], column] != MISSING:
            codes[shared] = table[group[shared], column]
            shared += 1
        if shared == members:
            worth += weights[column] * (members * rules[2] - window_change(codes, members, rules[1]))
    return worth


@inlined
def _worth_of_most(group: Any, members: int, block: Any, rules: Any, room: Any) -> float:
    """Return the worth of the issues that more than half of the members have rated."""
    starts, columns, table, weights, _ = block
    codes, counts = room[0], room[1]
    for place in range(members):
        for rating in range(starts[group[place]], starts[group[place] + 1]):
            counts[columns[rating]] += 1
    worth = 0.0
    for place in range(members):
        for rating in range(starts[group[place]], starts[group[place] + 1]):
            column = columns[rating]
            raters, counts[column] = counts[column], 0
            if 2 * raters <= members:
                continue
            filled = 0
            for other in range(place, members):
                code = table[group[other], column]
                if code != MISSING:
                    codes[filled] = code
                    filled += 1
            worth += weights[column] * issue_worth(codes, raters, members, rules[1], rules[2], True)
    return worth


@inlined
def group_lack(group: Any, members: int, block: Any, rules: Any, room: Any) -> float:
    """Return by how much the sensitive issues of a group deviate too little: the sum of what is missing, as shares."""
    hidden, totals = block[4], room[2]
    bound = rules[4]
    if bound <= 0:
        return 0.0
    lack = 0.0
    for issue in range(hidden.shape[1]):
        totals[issue, :] = 0
        for place in range(members):
            code = int64(hidden[group[place], issue])
            if code != MISSING:
                totals[issue, 0] += 1
                totals[issue, 1] += code
                totals[issue, 2] += code * code
        spread = deviation(totals, issue, members, rules[5], rules[6], rules[7])
        if spread < bound - 1e-12:
            # A part for every issue, so that few issues that lack much go before many that lack a little.
            lack += 0.05 + (bound - spread) / bound
    return lack


@inlined
def group_score(group: Any, members: int, block: Any, rules: Any, room: Any) -> float:
    """Return what a search makes larger: worth, less a penalty for deviating too little."""
    score = group_worth(group, members, block, rules, room)
    if rules[4] > 0:
        score -= rules[8] * group_lack(group, members, block, rules, room)
    return score

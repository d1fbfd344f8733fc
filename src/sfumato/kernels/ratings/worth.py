"""What of the ratings of a group can stay when all its members are to be proximate.

Letters: b records, c issues, z ratings, q sensitive issues, g members of a group, s ratings on the scale.

Members of a group end up with the same rated issues, and with ratings of each within a window. The *worth* of an issue
is what the group keeps of it, in steps of the scale: its ratings × s, less the changes that the window takes, less s
for each rating that is invented; 0 where dropping them all is as good. Worth and charge of a group add up to what its
ratings are worth before.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Codes, Flags, Floats, Int32s, Int64s, float64, int64

# How far the sensitive ratings around a record deviate.
#
# Letters: c groups, v members that groups are made of (records, or vectors of equal ones), q sensitive issues.


SKIP, DIVIDED_BY_ALL, LITERAL = 0, 1, 2
"""What missing ratings do to a standard deviation."""


@kernel
def measure_groups(
    group_starts: Int64s, members: Int64s, weights: Int64s, sum_starts: Int64s, sum_issues: Int32s, sums: Int64s,
    count: int, nulls: int, low: float, step: float,
) -> tuple[Int64s, Floats, Int32s]:  # fmt: skip
    """Count the records of each group and find the sensitive issue that deviates least.

    group_starts, members : compressed rows, int64 (c + 1,) and (entries,). weights : int64 (v,), records behind each
    member. sum_starts, sum_issues, sums : as :func:`~sfumato.kernels.ratings.rows.summed_ratings` returns them. count :
    q. nulls : one of the constants above. low, step : of the scale. Returns sizes int64 (c,), smallest deviations
    float64 (c,), infinite where q is 0, and the first issue that has it, int32 (c,), −1 where q is 0. Cost O(members
    and their sums).
    """
    groups = len(group_starts) - 1
    sizes = np.zeros(groups, dtype=np.int64)
    spreads = np.full(groups, np.inf)
    flattest = np.full(groups, -1, dtype=np.int32)
    totals = np.zeros((count, 3), dtype=np.int64)
    for group in range(groups):
        for place in range(group_starts[group], group_starts[group + 1]):
            member = members[place]
            sizes[group] += weights[member]
            for entry in range(sum_starts[member], sum_starts[member + 1]):
                for column in range(3):
                    totals[sum_issues[entry], column] += sums[entry, column]
        for issue in range(count):
            spread = rating_deviation(totals, issue, sizes[group], nulls, low, step)
            if spread < spreads[group]:
                spreads[group], flattest[group] = spread, issue
            if spread == 0:
                break
        for place in range(group_starts[group], group_starts[group + 1]):
            for entry in range(sum_starts[members[place]], sum_starts[members[place] + 1]):
                totals[sum_issues[entry], :] = 0
    return sizes, spreads, flattest


@inlined
def rating_deviation(totals: Any, issue: int, size: int, nulls: int, low: float, step: float) -> float:
    """Return the standard deviation of one issue; whole numbers until the last step, so that 0 is exact."""
    given, total = totals[issue, 0], totals[issue, 1]
    if given == 0:
        return 0.0
    scaled = given * totals[issue, 2] - total * total
    if nulls == SKIP:
        # never 0: see above; the mean of squares is not below the square of the mean
        return float64(math.sqrt(scaled) / given * step)
    squares = scaled / given * step * step
    if nulls == LITERAL:
        mean = low + step * (total / given)  # never 0: see above
        squares += (size - given) * mean * mean
    return math.sqrt(squares / size)  # never 0: some are given


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
    """Return the columns that each row rated, compressed: int64 (b + 1,), int32 (z,). Capacity: counted before."""
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
    """Sort the first `count` codes in place. Ends: places fall."""
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
    Ends: each round sets a pair aside.
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
    """Return the start of the window of least change for rising codes, the middle on ties. Ends: pairs go aside."""
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
    """Return the worth of an issue with so many raters; the first codes are theirs, and sorted here. size : s."""
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
    sensitive issues, int16 (b, q). rules : ``(k, steps, size, invent, l, nulls, low, step, penalty)``. room : ``(codes,
    counts, totals)``, int64 of at least g, int64 (c,) of zeros, int64 (q, 3).
    """
    if rules[3]:
        return _worth_of_most(group, members, block, rules, room)
    return _worth_of_all(group, members, block, rules, room)


@inlined
def _worth_of_all(group: Any, members: int, block: Any, rules: Any, room: Any) -> float:
    """Return the worth of the issues that all members have rated: those of the member who has rated fewest.

    Ends: each round looks at a member. Capacity: `codes` has a place for each record.
    """
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
    """Return the worth of issues that most members have rated. Capacity: `codes` has a place for each record."""
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
        spread = rating_deviation(totals, issue, members, rules[5], rules[6], rules[7])
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


# What the groups of a solution publish, and what that costs.
#
# Letters: n records, m issues, z ratings, G groups. Groups are compressed rows, ``group_starts`` int64 (G + 1,) and
# ``members`` int64; records in no group are left out. ``starts``, ``issues`` and ``codes`` are the ratings as
# compressed rows, ``sensitive`` bool (m,).


CHANGED, REMOVED, INVENTED, MOVED, BEFORE, AFTER = 0, 1, 2, 3, 4, 5
"""Columns of what is counted for each issue; MOVED are steps of the scale."""


@kernel
def published_windows(
    group_starts: Int64s, members: Int64s, starts: Int64s, issues: Int32s, codes: Codes, sensitive: Flags,
    steps: Int64s, size: int, invent: bool,
) -> tuple[Int64s, Int32s, Int64s]:  # fmt: skip
    """Decide which issues each group publishes, and within which window.

    steps : int64 (G,), width of the windows of each group. size : ratings on the scale.
    Returns compressed rows of issues, int64 (G + 1,) and int32, rising in each row, and int64 (entries, 2): the
    smallest code of the window, and the code that is invented where there is none. Cost O(z log z). Ends: places rise.
    Capacity: a member has one rating of an issue; each rating opens one entry at most.
    """
    groups, longest = len(group_starts) - 1, 0
    for group in range(groups):
        longest = max(longest, group_starts[group + 1] - group_starts[group])
    total = 0
    for record in members:
        total += starts[record + 1] - starts[record]
    places = np.empty(total, dtype=np.int64)
    row_starts = np.zeros(groups + 1, dtype=np.int64)
    shown = np.empty(total, dtype=np.int32)
    windows = np.empty((total, 2), dtype=np.int64)
    rated = np.empty(longest, dtype=np.int64)
    filled = 0
    for group in range(groups):
        height, count = group_starts[group + 1] - group_starts[group], 0
        for place in range(group_starts[group], group_starts[group + 1]):
            for rating in range(starts[members[place]], starts[members[place] + 1]):
                if not sensitive[issues[rating]]:
                    places[count] = rating
                    count += 1
        order = np.argsort(issues[places[:count]], kind="mergesort")
        first = 0
        while first < count:
            issue, last = issues[places[order[first]]], first
            while last < count and issues[places[order[last]]] == issue:
                rated[last - first] = codes[places[order[last]]]
                last += 1
            raters = last - first
            if issue_worth(rated, raters, height, steps[group], size, invent) > 0:
                # The codes of the raters rise from here on.
                low = window_start(rated, raters, steps[group])
                median = (rated[(raters - 1) // 2] + rated[raters // 2] + 1) // 2
                shown[filled], windows[filled, 0] = issue, low
                windows[filled, 1] = min(max(median, low), low + steps[group])
                filled += 1
            first = last
        row_starts[group + 1] = filled
    return row_starts, shown[:filled].copy(), windows[:filled].copy()


@kernel
def published_rows(
    group_starts: Int64s, members: Int64s, starts: Int64s, issues: Int32s, codes: Codes, sensitive: Flags,
    steps: Int64s, row_starts: Int64s, shown: Int32s, windows: Int64s,
) -> tuple[Int64s, Int32s, Codes, Int64s]:  # fmt: skip
    """Write the ratings that each record publishes: its sensitive ones as they are, the others within the windows.

    row_starts, shown, windows : as :func:`published_windows` returns them. A record in no group publishes nothing.
    Returns compressed rows, and the rating that each is, int64, −1 where it is invented. Cost O(what is published).
    Ends: each round goes on by a rating or an issue. Capacity: counted before; issues rise in a record and in a group.
    """
    out_starts = np.zeros(len(starts), dtype=np.int64)
    for group in range(len(group_starts) - 1):
        for place in range(group_starts[group], group_starts[group + 1]):
            record = members[place]
            count = row_starts[group + 1] - row_starts[group]
            for rating in range(starts[record], starts[record + 1]):
                count += sensitive[issues[rating]]
            out_starts[record + 1] = count
    for record in range(len(starts) - 1):
        out_starts[record + 1] += out_starts[record]
    total = out_starts[-1]
    out_issues, out_codes = np.empty(total, dtype=np.int32), np.empty(total, dtype=codes.dtype)
    sources = np.full(total, -1, dtype=np.int64)
    for group in range(len(group_starts) - 1):
        for place in range(group_starts[group], group_starts[group + 1]):
            record = members[place]
            rating, end, filled = starts[record], starts[record + 1], out_starts[record]
            entry, last = row_starts[group], row_starts[group + 1]
            while entry < last or rating < end:
                if rating < end and (entry == last or issues[rating] < shown[entry]):
                    if sensitive[issues[rating]]:
                        out_issues[filled], out_codes[filled], sources[filled] = issues[rating], codes[rating], rating
                        filled += 1
                    rating += 1
                    continue
                out_issues[filled] = shown[entry]
                if rating < end and issues[rating] == shown[entry]:
                    low = windows[entry, 0]
                    out_codes[filled] = min(max(int64(codes[rating]), low), low + steps[group])
                    sources[filled] = rating
                    rating += 1
                else:
                    out_codes[filled] = windows[entry, 1]
                filled += 1
                entry += 1
    return out_starts, out_issues, out_codes, sources


@kernel
def counted_changes(
    issues: Int32s, codes: Codes, new_issues: Int32s, new_codes: Codes, sources: Int64s, count: int
) -> Int64s:
    """Count for each issue what was done to its ratings; int64 (m, 6), see the constants above.

    issues, codes : (z,), before. new_issues, new_codes, sources : after, as :func:`published_rows` has them. count : m.
    """
    found = np.zeros((count, 6), dtype=np.int64)
    for issue in issues:
        found[issue, BEFORE] += 1
        found[issue, REMOVED] += 1
    for place in range(len(sources)):
        issue, source = new_issues[place], sources[place]
        found[issue, AFTER] += 1
        if source < 0:
            found[issue, INVENTED] += 1
            continue
        found[issue, REMOVED] -= 1
        moved = abs(int64(codes[source]) - int64(new_codes[place]))
        found[issue, MOVED] += moved
        found[issue, CHANGED] += moved > 0
    return found

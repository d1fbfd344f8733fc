"""What the groups of a solution publish, and what that costs.

Letters: n records, m issues, z ratings, G groups. Groups are compressed rows, ``group_starts`` int64 (G + 1,) and
``members`` int64; records in no group are left out. ``starts``, ``issues`` and ``codes`` are the ratings as compressed
rows, ``sensitive`` bool (m,).
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import kernel
from sfumato.kernels.ratings.worth import issue_worth, window_start
from sfumato.kernels.types import Codes, Flags, Int32s, Int64s, int64

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
    smallest code of the window, and the code that is invented where there is none. Cost O(z log z).
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

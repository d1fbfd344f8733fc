"""Which combinations of items occur in a few records: a count tree, walked depth first, one branch in memory.

The count tree of M. Terrovitis, N. Mamoulis, P. Kalnis (PVLDB 1(1), 2008) has a path for every combination that occurs,
with the number of records that hold it. Here a node keeps the places of its item in the records that hold its path, and
its children are counted from what stands behind these places; so no more than one path with its siblings is kept.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Int32s, Int64s


@kernel
def rare_combinations(starts: Int64s, items: Int32s, count: int, leading: int, size: int, k: int, most: int) -> Int32s:
    """Find combinations of `size` items that occur in at least one record and in fewer than `k`.

    Smaller combinations of the same items must all occur in `k` records: below a rare one nothing is looked for.

    starts : int64 (n + 1,). items : int32 (z,), rising inside a row, below `count`. leading : only combinations whose
    first item is below it. most : stop after so many. Returns int32 (found, size), in lexical order. Cost O(Σ C(|set|,
    size)), memory O(z + largest branch). Ends: each combination is visited once.
    """
    found = np.empty((most, size), dtype=np.int32)
    if size == 1:
        return found[: _rare_items(items, count, leading, k, found)]
    stops = _stops(starts, len(items))
    tally = np.zeros(count, dtype=np.int64)
    kinds, lows, highs, where, ends = _first_level(items, leading)
    cursors, bases = np.zeros(size, dtype=np.int64), np.zeros(size + 1, dtype=np.int64)
    tops, filled = np.zeros(size, dtype=np.int64), 0
    bases[1], tops[0] = len(kinds), ends
    depth = 0
    while depth >= 0 and filled < most:
        node = bases[depth] + cursors[depth]
        if node == bases[depth + 1]:
            depth -= 1
            continue
        cursors[depth] += 1
        for above in range(depth + 1):
            found[filled, above] = kinds[bases[above] + cursors[above] - 1]
        path = where[lows[node] : highs[node]]
        touched = _counted(path, stops, items, tally)
        touched = _in_order(touched, tally)
        if depth == size - 2:
            filled = _emit(found, filled, most, touched, tally, k, size)
            continue
        kinds, lows, highs, where = _roomier(kinds, lows, highs, where, bases[depth + 1], tops[depth], touched, tally)
        tops[depth + 1] = _branch(
            path, touched, tally, kinds, lows, highs, where, bases[depth + 1], tops[depth], stops, items, k
        )  # fmt: skip
        bases[depth + 2] = bases[depth + 1] + len(touched)
        depth += 1
        cursors[depth] = 0
    return found[:filled]


@inlined
def _rare_items(items: Int32s, count: int, leading: int, k: int, found: Int32s) -> int:
    tally = np.zeros(count, dtype=np.int64)
    for item in items:
        tally[item] += 1
    filled = 0
    for item in range(leading):
        if 0 < tally[item] < k and filled < len(found):
            found[filled, 0] = item
            filled += 1
    return filled


@inlined
def _stops(starts: Int64s, count: int) -> Int64s:
    """Return for every place where its row ends."""
    stops = np.empty(count, dtype=np.int64)
    for record in range(len(starts) - 1):
        for place in range(starts[record], starts[record + 1]):
            stops[place] = starts[record + 1]
    return stops


@inlined
def _first_level(items: Int32s, leading: int) -> tuple[Int32s, Int64s, Int64s, Int32s, int]:
    """Return the items below `leading`, and the places of each, item by item."""
    bounds = np.zeros(leading + 1, dtype=np.int64)
    for item in items:
        if item < leading:
            bounds[item + 1] += 1
    for item in range(leading):
        bounds[item + 1] += bounds[item]
    following = bounds.copy()
    where = np.empty(bounds[leading], dtype=np.int32)
    for place, item in enumerate(items):
        if item < leading:
            where[following[item]] = place
            following[item] += 1
    return np.arange(leading).astype(np.int32), bounds[:leading].copy(), bounds[1:].copy(), where, bounds[leading]


@inlined
def _counted(path: Int32s, stops: Int64s, items: Int32s, tally: Int64s) -> Int32s:
    """Count what stands behind the places of a path; return the items that do, in any order."""
    touched = np.empty(len(tally), dtype=np.int32)
    kinds = 0
    for end in path:
        for place in range(end + 1, stops[end]):
            item = items[place]
            if tally[item] == 0:
                touched[kinds] = item
                kinds += 1
            tally[item] += 1
    return touched[:kinds]


@inlined
def _in_order(touched: Int32s, tally: Int64s) -> Int32s:
    if len(touched) * 8 < len(tally):
        return np.sort(touched)
    kinds = 0
    for item in range(len(tally)):
        if tally[item] > 0:
            touched[kinds] = item
            kinds += 1
    return touched


@inlined
def _emit(found: Int32s, filled: int, most: int, touched: Int32s, tally: Int64s, k: int, size: int) -> int:
    """Write down the combinations of a path with its rare children, `most` in all, and clear the tally."""
    row = filled
    for item in touched:
        if tally[item] < k and filled < most:
            found[filled, : size - 1] = found[row, : size - 1]
            found[filled, size - 1] = item
            filled += 1
            if filled < most:
                found[filled, : size - 1] = found[row, : size - 1]
        tally[item] = 0
    return filled


@inlined
def _roomier(
    kinds: Int32s, lows: Int64s, highs: Int64s, where: Int32s, base: int, top: int, touched: Int32s, tally: Int64s
) -> tuple[Int32s, Int64s, Int64s, Int32s]:
    """Make room for another level of the branch."""
    size = base + len(touched)
    if size > len(kinds):
        more = np.zeros(size, dtype=np.int64)
        kinds = np.append(kinds, more.astype(np.int32))
        lows, highs = np.append(lows, more), np.append(highs, more)
    places = top
    for item in touched:
        places += tally[item]
    if places > len(where):
        where = np.append(where, np.zeros(places, dtype=np.int32))
    return kinds, lows, highs, where


@inlined
def _branch(
    path: Int32s, touched: Int32s, tally: Int64s, kinds: Int32s, lows: Int64s, highs: Int64s, where: Int32s,
    base: int, top: int, stops: Int64s, items: Int32s, k: int,
) -> int:  # fmt: skip
    """Write the children of a path behind it, each with its places, and clear the tally; return where they end."""
    for child, item in enumerate(touched):
        kinds[base + child] = item
        lows[base + child] = top
        highs[base + child] = top
        top += tally[item]
        tally[item] = base + child
    for end in path:
        for place in range(end + 1, stops[end]):
            child = tally[items[place]]
            where[highs[child]] = place
            highs[child] += 1
    for child, item in enumerate(touched):
        tally[item] = 0
        if highs[base + child] - lows[base + child] < k:
            highs[base + child] = lows[base + child]
    return top

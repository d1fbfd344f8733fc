"""Every combination of columns up to a size: how far it tells records apart, and who is the only one of their kind.

Combinations are visited as a tree: a combination extends the one without its lowest column, and the classes of the
longer one are split from those of the shorter one. A class of one distinct record is never split again.

Letters: n distinct records, q columns, s largest size of a combination, t combinations.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import inlined, kernel, sized
from sfumato.kernels.types import Codes, Floats, Int32s, Int64s, float64, int64

# The expected inverse of a negative binomial count.


_LARGE = 64  # from here on few terms of the series are enough for any share
_TINY = 1e-17


@kernel
def expected_inverse(counts: Floats, shares: Floats) -> Floats:
    """Return E(1/F) of each class, F trials until `counts` successes of probability `shares`; float64 (c,).

    counts : float64 (c,), whole numbers ≥ 1. shares : float64 (c,), above 0; 1 and more stand for certainty, F = f.
    With q = 1 − p it is the integral of p u^(f−1) / (p + q u) over 0 .. 1. One count f follows from the one before,
    r(f+1) = (p / q) (1/f − r(f)) from r(1) = (p / q) log(1/p), which loses no digits while p < q; otherwise, and for
    many records, the series (p / f) Σ i! f! / (i+f)! q^i ends soon.
    """
    inverse = np.empty(len(counts), dtype=np.float64)
    for place in range(len(counts)):
        count, share = counts[place], shares[place]
        if share >= 1:
            inverse[place] = 1 / count  # never 0: counts are 1 or more
        elif share >= 0.5 or count >= _LARGE:
            inverse[place] = _series(count, share)
        else:
            inverse[place] = _recurrence(count, share)
    return inverse


@inlined
def _recurrence(count: float, share: float) -> float:
    odds = share / (1 - share)  # never 0: shares are below 0.5 here
    inverse = -odds * np.log(share)
    for smaller in range(1, int(count)):
        inverse = odds * (1 / smaller - inverse)  # never 0: it starts at 1
    return float64(inverse)


@inlined
def _series(count: float, share: float) -> float:
    """Sum the series. Ends: terms fall at least by half, or as 1 / C(i + 64, 64) does."""
    term = total = 1.0
    step = 0.0
    while term > _TINY:
        step += 1
        term *= step / (step + count) * (1 - share)  # never 0: both are 1 or more
        total += term
    return share / count * total  # never 0: counts are 1 or more


@sized(lambda columns, weights, offsets, first, beyond, *_: 8.0 * columns.shape[1] * (beyond - first))
def combination_counts(
    columns: Codes, weights: Int64s, offsets: Int64s, first: int, beyond: int, codes: int, counts: Int64s
) -> None:
    """Count the classes of every combination whose highest column is in ``first .. beyond-1``.

    columns : unsigned (q, n), below `codes`. weights : int64 (n,), records behind each distinct one. offsets :
    int64 (q, s + 1), ``offsets[j, r]`` nodes lie between a combination that may grow by r columns and the child that
    column j makes, the child itself not counted. counts : int64 (t, 5), zeros, filled in place: classes of several
    distinct records, and their pairs of records; classes of one distinct record, and their pairs; classes of one
    record. A class of one distinct record is counted only where it arises: it is one, too, in every longer combination
    of its branch (at the largest size, which has none, it may stand in the first two). Cost at most O(t · n), memory
    O(s · n). Ends: each class of each combination is visited once. Capacity: the search is `size` deep.
    """
    size = offsets.shape[1] - 1
    levels, ends = _room(columns.shape[1], size)
    low, high, cursor, column, bound, node = _stack(size, columns.shape[1], first, beyond)
    tally, touched, holder = _scratch(codes)
    depth = 0
    while depth >= 0:
        if cursor[depth] < high[depth]:
            start, stop = cursor[depth], ends[depth, cursor[depth]]
            cursor[depth] = stop
            _count(counts, node[depth + 1], levels, depth + 1, start, stop, weights)
            if stop - start > 1:
                depth += 1
                _enter(depth, start, stop, low, high, cursor, column, bound)
        elif column[depth] < bound[depth]:
            chosen = column[depth]
            column[depth] += 1
            node[depth + 1] = node[depth] + 1 + offsets[chosen, size - depth]
            if depth + 1 < size:
                _split(levels, ends, depth, low[depth], high[depth], columns, chosen, tally, touched)
                cursor[depth] = low[depth]
            else:
                kinds = _gathered(
                    levels, depth, low[depth], high[depth], columns, chosen, weights, tally, touched, holder
                )
                _count_gathered(counts, node[depth + 1], kinds, tally, touched)
        else:
            depth -= 1


@sized(lambda columns, *_: 8.0 * columns.size)
def minimal_uniques(columns: Codes, weights: Int64s, size: int, codes: int) -> tuple[Int32s, Int64s]:
    """Find the minimal sample uniques: columns on which a record is alone, while it is not on any fewer of them.

    columns : unsigned (q, n), below `codes`, q at most 62. weights : int64 (n,). Returns the distinct record int32 (u,)
    and the set of columns as bits int64 (u,) of each minimal unique of at most `size` columns. Sets are visited in the
    order of their bits read as a number, so that every subset comes before the sets that hold it; a record that is
    alone is a minimal unique unless one that was found before is a subset.
    Ends: each class of each combination is visited once. Capacity: the search is `size` deep; what is found doubles
    when it is full.
    """
    levels, ends = _room(columns.shape[1], size)
    low, high, cursor, column, bound, _ = _stack(size, columns.shape[1], 0, len(columns))
    tally, touched, holder = _scratch(codes)
    chosen_bits = np.zeros(size + 1, dtype=np.int64)
    last = np.full(columns.shape[1], -1, dtype=np.int64)
    owner = np.empty(1024, dtype=np.int32)
    before = np.empty(1024, dtype=np.int64)
    bits = np.empty(1024, dtype=np.int64)
    found = 0
    depth = 0
    while depth >= 0:
        if cursor[depth] < high[depth]:
            start, stop = cursor[depth], ends[depth, cursor[depth]]
            cursor[depth] = stop
            record = levels[depth + 1, start]
            if stop - start > 1:
                depth += 1
                _enter(depth, start, stop, low, high, cursor, column, bound)
            elif weights[record] == 1 and not _covered(last[record], before, bits, chosen_bits[depth + 1]):
                owner, before, bits = _roomier(owner, before, bits, found)
                owner[found], before[found], bits[found] = record, last[record], chosen_bits[depth + 1]
                last[record] = found
                found += 1
        elif column[depth] < bound[depth]:
            chosen = column[depth]
            column[depth] += 1
            chosen_bits[depth + 1] = chosen_bits[depth] | (int64(1) << chosen)
            if depth + 1 < size:
                _split(levels, ends, depth, low[depth], high[depth], columns, chosen, tally, touched)
                cursor[depth] = low[depth]
            else:
                kinds = _gathered(
                    levels, depth, low[depth], high[depth], columns, chosen, weights, tally, touched, holder
                )
                for kind in range(kinds):
                    alone = tally[touched[kind]] == 1
                    tally[touched[kind]] = 0
                    record = holder[touched[kind]]
                    if alone and not _covered(last[record], before, bits, chosen_bits[depth + 1]):
                        owner, before, bits = _roomier(owner, before, bits, found)
                        owner[found], before[found], bits[found] = record, last[record], chosen_bits[depth + 1]
                        last[record] = found
                        found += 1
        else:
            depth -= 1
    return owner[:found].copy(), bits[:found].copy()


@inlined
def _room(records: int, size: int) -> tuple[Int32s, Int32s]:
    """Make the order of the records at each depth, and where the class that starts at a place ends one depth below."""
    levels = np.empty((size + 1, records), dtype=np.int32)
    for record in range(records):
        levels[0, record] = record
    return levels, np.empty((size, records), dtype=np.int32)


@inlined
def _stack(size: int, records: int, first: int, beyond: int) -> tuple[Int64s, Int64s, Int64s, Int64s, Int64s, Int64s]:
    """Make the path through the tree: at each depth a class, the next of its parts, and the next column to split by."""
    low = np.zeros(size + 1, dtype=np.int64)
    high = np.zeros(size + 1, dtype=np.int64)
    cursor = np.zeros(size + 1, dtype=np.int64)
    column = np.zeros(size + 1, dtype=np.int64)
    bound = np.zeros(size + 1, dtype=np.int64)
    node = np.full(size + 1, -1, dtype=np.int64)
    high[0] = cursor[0] = records
    column[0], bound[0] = first, beyond
    return low, high, cursor, column, bound, node


@inlined
def _scratch(codes: int) -> tuple[Int64s, Int64s, Int32s]:
    return np.zeros(codes, dtype=np.int64), np.empty(codes, dtype=np.int64), np.empty(codes, dtype=np.int32)


@inlined
def _enter(
    depth: int, start: int, stop: int, low: Int64s, high: Int64s, cursor: Int64s, column: Int64s, bound: Int64s
) -> None:
    # The class that is entered was split off by the column before the next one of its parent.
    low[depth] = start
    high[depth] = cursor[depth] = stop
    column[depth] = 0
    bound[depth] = column[depth - 1] - 1


@inlined
def _split(
    levels: Int32s, ends: Int32s, depth: int, low: int, high: int, columns: Codes, column: int, tally: Int64s,
    touched: Int64s,
) -> None:  # fmt: skip
    """Lay a class out by code, one depth below; O(high − low). Capacity: `touched` has a place for each code."""
    kinds = 0
    for place in range(low, high):
        code = columns[column, levels[depth, place]]
        if tally[code] == 0:
            touched[kinds] = code
            kinds += 1
        tally[code] += 1
    start = low
    for kind in range(kinds):
        code = touched[kind]
        stop = start + tally[code]
        ends[depth, start] = stop
        tally[code] = start
        start = stop
    for place in range(low, high):
        record = levels[depth, place]
        code = columns[column, record]
        levels[depth + 1, tally[code]] = record
        tally[code] += 1
    for kind in range(kinds):
        tally[touched[kind]] = 0


@inlined
def _gathered(
    levels: Int32s, depth: int, low: int, high: int, columns: Codes, column: int, weights: Int64s, tally: Int64s,
    touched: Int64s, holder: Int32s,
) -> int:  # fmt: skip
    """Add up the weights of each code in a class that is not split further; return how many codes there are.

    Capacity: weights are 1 or more, so that `touched` lists a code once.
    """
    kinds = 0
    for place in range(low, high):
        record = levels[depth, place]
        code = columns[column, record]
        if tally[code] == 0:
            touched[kinds] = code
            holder[code] = record
            kinds += 1
        tally[code] += weights[record]
    return kinds


@inlined
def _count(counts: Int64s, node: int, levels: Int32s, depth: int, start: int, stop: int, weights: Int64s) -> None:
    weight = int64(0)
    for place in range(start, stop):
        weight += weights[levels[depth, place]]
    column = 0 if stop - start > 1 else 2
    counts[node, column] += 1
    counts[node, column + 1] += weight * (weight - 1) // 2
    counts[node, 4] += weight == 1


@inlined
def _count_gathered(counts: Int64s, node: int, kinds: int, tally: Int64s, touched: Int64s) -> None:
    for kind in range(kinds):
        weight = tally[touched[kind]]
        tally[touched[kind]] = 0
        counts[node, 0] += 1
        counts[node, 1] += weight * (weight - 1) // 2
        counts[node, 4] += weight == 1


@inlined
def _covered(entry: int, before: Int64s, bits: Int64s, chosen: int) -> bool:
    """Tell whether a minimal unique of a record, latest `entry`, is a subset of `chosen`. Ends: entries fall."""
    while entry >= 0:
        if bits[entry] & chosen == bits[entry]:
            return True
        entry = before[entry]
    return False


@inlined
def _roomier(owner: Int32s, before: Int64s, bits: Int64s, found: int) -> tuple[Int32s, Int64s, Int64s]:
    if found < len(owner):
        return owner, before, bits
    return np.append(owner, owner), np.append(before, before), np.append(bits, bits)

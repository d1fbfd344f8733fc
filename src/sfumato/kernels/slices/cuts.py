"""Cutting a bucket in two: along an attribute at its median, or so that both halves have the same sensitive values.

Letters: n records, q quasi-identifying attributes, m records of the bucket, g levels of strata.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import borrowing, inlined, kernel
from sfumato.kernels.types import Flags, Floats, Int32s, Int64s, int64


class CutSpace(NamedTuple):
    """What cuts look at."""

    codes: Any  # unsigned (n, q)
    positions: Floats  # (M,): place of each code of each attribute on its axis
    offsets: Int64s  # (q + 1,): where the positions of each attribute start
    scales: Floats  # (q,): normalizer of widths divided by the attribute's weight; 0 for a constant attribute
    strata: Int32s  # (g, n): stratum of each record, from the finest level to the coarsest, which is one stratum of all
    # (q,): whether cuts along the attribute spread every stratum over both halves; else they are at the median
    balanced: Flags


class CutBuffers(NamedTuple):
    """Room that is used again and again."""

    # `rows`, `pending`: as long as the largest bucket
    rows: Int64s
    pending: Int64s
    side: NDArray[np.int8]  # (n,), by record
    # `counts`, `seen`: longer than any code, stratum or number of a part; zero between uses
    counts: Int64s
    seen: Int64s
    widths: Floats  # (q,)


@kernel
def new_cut_buffers(longest: int, records: int, numbers: int, attributes: int) -> CutBuffers:
    """Allocate room for buckets of `longest` among all `records`, and for codes, strata and parts below `numbers`."""
    return CutBuffers(
        np.zeros(longest, np.int64),
        np.zeros(longest, np.int64),
        np.zeros(records, np.int8),
        np.zeros(numbers + 1, np.int64),
        np.zeros(numbers + 1, np.int64),
        np.zeros(attributes, np.float64),
    )


@borrowing
def bucket_widths(rows: Int64s, space: CutSpace, widths: Floats) -> None:
    """Write the normalized width of a bucket, rows : int64 (m,), along each attribute; 0 where it has one value."""
    for attribute in range(len(widths)):
        low = int64(space.codes[rows[0], attribute])
        high = low
        for row in rows:
            code = int64(space.codes[row, attribute])
            low = min(low, code)
            high = max(high, code)
        widths[attribute] = 0.0
        if high > low:
            start = space.offsets[attribute]
            widths[attribute] = (space.positions[start + high] - space.positions[start + low]) / space.scales[attribute]


@borrowing
def widest(widths: Floats) -> int:
    """Return the widest attribute, the first of equals, and set its width to 0; −1 when none is left."""
    chosen = -1
    for attribute in range(len(widths)):
        if widths[attribute] > 0.0 and (chosen < 0 or widths[attribute] > widths[chosen]):
            chosen = attribute
    if chosen >= 0:
        widths[chosen] = 0.0
    return chosen


@inlined
def stable_order(rows: Int64s, keys: Any, out: Any, counts: Int64s) -> None:
    """Write `rows` into `out` by rising key, equal keys in their order.

    rows, out : int64 (m,); keys : integers by record; counts : int64, zero before and after, longer than any key.
    Capacity: all three are as long as `rows`.
    """
    size = len(rows)
    low = int64(keys[rows[0]])
    high = low
    for row in rows:
        low = min(low, int64(keys[row]))
        high = max(high, int64(keys[row]))
    if high - low > 4 * size + 64:
        own = np.empty(size, np.int64)
        for place in range(size):
            own[place] = keys[rows[place]]
        ranking = np.argsort(own, kind="mergesort")
        for place in range(size):
            out[place] = rows[ranking[place]]
        return
    for row in rows:
        counts[keys[row]] += 1
    place = 0
    for key in range(low, high + 1):
        held = counts[key]
        counts[key] = place
        place += held
    for row in rows:
        key = keys[row]
        out[counts[key]] = row
        counts[key] += 1
    counts[low : high + 1] = 0


@inlined
def cut_bucket(rows: Int64s, attribute: int, space: CutSpace, buffers: CutBuffers) -> int:
    """Write a bucket into ``buffers.rows`` with one half before the other; return the size of the first.

    rows : int64 (m,). Inside each half the records keep the order in which they came.
    """
    ordered = buffers.pending[: len(rows)]
    stable_order(rows, space.codes[:, attribute], ordered, buffers.counts)
    if space.balanced[attribute]:
        _spread(ordered, space.strata, buffers)
    else:
        _at_median(ordered, space.codes[:, attribute], buffers.side)
    return _divide(rows, buffers)


@borrowing
def _at_median(ordered: Any, column: Any, side: Any) -> None:
    # Values up to the lower median go left; where that is the highest value, it goes right alone.
    median = column[ordered[(len(ordered) - 1) // 2]]
    highest = column[ordered[len(ordered) - 1]]
    for row in ordered:
        left = column[row] < median if median == highest else column[row] <= median
        side[row] = 0 if left else 1


@borrowing
def _spread(ordered: Any, strata: Any, buffers: CutBuffers) -> None:
    """Send the lower half of every stratum left and the upper one right.

    The middle of a stratum of odd size waits for the next coarser level; the last middle of all goes left.
    Capacity: middles are fewer than the rows that were passed.
    """
    waiting = len(ordered)
    for level in range(len(strata)):
        stratum_of = strata[level]
        for place in range(waiting):
            buffers.counts[stratum_of[ordered[place]]] += 1
        middles = 0
        for place in range(waiting):
            row = ordered[place]
            stratum = stratum_of[row]
            rank = buffers.seen[stratum]
            buffers.seen[stratum] += 1
            twice = 2 * rank + 1 - buffers.counts[stratum]
            if twice == 0:
                ordered[middles] = row
                middles += 1
                buffers.side[row] = 0
            else:
                buffers.side[row] = 0 if twice < 0 else 1
            if buffers.seen[stratum] == buffers.counts[stratum]:
                buffers.seen[stratum] = 0
                buffers.counts[stratum] = 0
        waiting = middles


@borrowing
def _divide(rows: Int64s, buffers: CutBuffers) -> int:
    """Write the left side before the right one. Capacity: each row has one side."""
    first = 0
    for row in rows:
        if buffers.side[row] == 0:
            buffers.rows[first] = row
            first += 1
    place = first
    for row in rows:
        if buffers.side[row] == 1:
            buffers.rows[place] = row
            place += 1
    return first


# What even cuts of slices leave open: who may have which sensitive value, so that the halves come out as they are.
#
# Letters: n records, q attributes, c cuts, s strata, b buckets, g groups of records whose values may be exchanged.
#
# A cut sends the lower half of every stratum left. So there is a border for each stratum, with its records on the left
# at or below it and those on the right at or above. A record that has a value of another stratum may lie on the wrong
# side of that one's border; worlds with few such records are searched by simulated annealing.


UNEVEN = -1

_MULTIPLIER = 48271
_MODULUS = 2147483647


class EvenCuts(NamedTuple):
    """Even cuts, and where they lie above each bucket."""

    attribute_of: Int64s  # (c,): the attribute of each cut
    firsts: Int64s  # (c + 1,): where the records of each cut start in `rows`
    rows: Int64s  # the records of each cut by rising code of its attribute; of equal ones those of the first half first
    sides: NDArray[np.int8]  # as long as `rows`: 1 in the second half of the cut, else 0
    starts: Int64s  # (b + 1,): where the cuts above each bucket start in `above`
    above: Int64s  # cuts above each bucket
    second: Int64s  # 1 where the bucket lies in the second half of the cut, as long as `above`
    bucket_of: Int64s  # (n,)
    codes: Int64s  # (n, q)


class Exchanging(NamedTuple):
    """The state of a walk from world to world; changed in place."""

    strata: Int64s  # (n,): the stratum of each record
    group_of: Int64s  # (n,): records of one group may exchange their strata
    # `starts`, `members`: (g + 1,), (n,): the records of each group
    starts: Int64s
    members: Int64s
    borders: Int32s  # (c, s): the border of each stratum in each cut, a code


@kernel
def attributes_cut(order: Int64s, cuts: Int64s, space: CutSpace, strata: Int64s, count: int) -> Int64s:
    """Return the widest attribute of each cut, int64 (c,), or `UNEVEN` for medians. Ends: a width becomes 0."""
    found = np.full(len(cuts), UNEVEN, np.int64)
    highest = np.full(count, -1, np.int64)
    widths = np.zeros(len(space.scales))
    for cut in range(len(cuts)):
        rows = order[cuts[cut, 0] : cuts[cut, 2]]
        first = cuts[cut, 1] - cuts[cut, 0]
        bucket_widths(rows, space, widths)
        attribute = widest(widths)
        while attribute >= 0:
            even = space.balanced[attribute]
            for place in range(first):
                stratum = strata[rows[place]] if even else 0
                highest[stratum] = max(highest[stratum], int64(space.codes[rows[place], attribute]))
            fits = True
            for place in range(first, len(rows)):
                stratum = strata[rows[place]] if even else 0
                fits = fits and int64(space.codes[rows[place], attribute]) >= highest[stratum]
            for place in range(first):
                highest[strata[rows[place]]] = -1
            highest[0] = -1
            if fits:
                found[cut] = attribute if even else UNEVEN
                break
            attribute = widest(widths)
    return found


@kernel
def place_borders(even: EvenCuts, strata: Int64s, borders: Int32s) -> int:
    """Put each border where the fewest records are on the wrong side of it; return how many are. Cost O(n depth)."""
    count = borders.shape[1]
    wrong = np.zeros(count, np.int64)
    least = np.zeros(count, np.int64)
    total = 0
    for cut in range(len(even.attribute_of)):
        low = even.firsts[cut]
        high = even.firsts[cut + 1]
        attribute = even.attribute_of[cut]
        for place in range(low, high):
            stratum = strata[even.rows[place]]
            borders[cut, stratum] = -1
            wrong[stratum] += 1 - even.sides[place]
            least[stratum] = wrong[stratum]
        for place in range(low, high):
            row = even.rows[place]
            stratum = strata[row]
            if even.sides[place] == 1:
                wrong[stratum] += 1
                continue
            wrong[stratum] -= 1
            if wrong[stratum] < least[stratum]:
                least[stratum] = wrong[stratum]
                borders[cut, stratum] = even.codes[row, attribute]
        for place in range(low, high):
            stratum = strata[even.rows[place]]
            total += least[stratum]
            wrong[stratum] = 0
            least[stratum] = 0
    return total


@kernel
def exchange(even: EvenCuts, state: Exchanging, proposals: int, coldness: float, seed: Int64s) -> int:
    """Propose exchanges between two records of a group; return how many were made.

    coldness : an exchange that puts one record more on a wrong side is made with the probability exp(−coldness). seed :
    int64 (1,), 1 .. 2**31 − 2, changed in place. Cost O(depth) for a proposal.
    """
    made = 0
    for _ in range(proposals):
        one = _draw(seed, len(state.strata))
        group = state.group_of[one]
        first = state.starts[group]
        other = state.members[first + _draw(seed, state.starts[group + 1] - first)]
        here = state.strata[one]
        there = state.strata[other]
        allowed = _slack(seed, coldness)
        if here == there:
            continue
        more = _wrong(one, there, even, state) + _wrong(other, here, even, state)
        if more > 0:
            more -= _wrong(one, here, even, state) + _wrong(other, there, even, state)
        if more > allowed:
            continue
        state.strata[one] = there
        state.strata[other] = here
        made += 1
    return made


@borrowing
def _draw(state: Int64s, below: int) -> int:
    state[0] = (state[0] * _MULTIPLIER) % _MODULUS
    return int64(state[0] % below)


@borrowing
def _slack(state: Int64s, coldness: float) -> float:
    state[0] = (state[0] * _MULTIPLIER) % _MODULUS
    # never 0: no power of the multiplier is a multiple of the prime
    return -math.log(state[0] / _MODULUS) / coldness


@borrowing
def _wrong(row: int, stratum: int, even: EvenCuts, state: Exchanging) -> int:
    """Count the cuts on the wrong side of whose border a record would be if it were of a stratum."""
    bucket = even.bucket_of[row]
    found = 0
    for place in range(even.starts[bucket], even.starts[bucket + 1]):
        cut = even.above[place]
        code = even.codes[row, even.attribute_of[cut]]
        border = state.borders[cut, stratum]
        if even.second[place] == 1:
            found += 1 if code < border else 0
        else:
            found += 1 if code > border else 0
    return found

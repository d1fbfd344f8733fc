"""Cutting a bucket in two: along an attribute at its median, or so that both halves have the same sensitive values.

Letters: n records, q quasi-identifying attributes, m records of the bucket, g levels of strata.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import borrowing, inlined, kernel
from sfumato.kernels.types import Flags, Floats, Int32s, Int64s, int64


class CutSpace(NamedTuple):
    """What cuts look at.

    Attributes
    ----------
    codes : numpy.ndarray
        Unsigned (n, q).
    positions : numpy.ndarray
        float64 (M,): place of each code of each attribute on its axis.
    offsets : numpy.ndarray
        int64 (q + 1,): where the positions of each attribute start.
    scales : numpy.ndarray
        float64 (q,): normalizer of widths divided by the attribute's weight; 0 for a constant attribute.
    strata : numpy.ndarray
        int32 (g, n): stratum of each record, from the finest level to the coarsest, which is one stratum of all.
    balanced : numpy.ndarray
        bool (q,): whether cuts along the attribute spread every stratum over both halves; else they are at the median.
    """

    codes: Any
    positions: Floats
    offsets: Int64s
    scales: Floats
    strata: Int32s
    balanced: Flags


class CutBuffers(NamedTuple):
    """Room that is used again and again.

    Attributes
    ----------
    rows, pending : numpy.ndarray
        int64, as long as the largest bucket.
    side : numpy.ndarray
        int8 (n,), by record.
    counts, seen : numpy.ndarray
        int64, longer than any code, stratum or number of a part; zero between uses.
    widths : numpy.ndarray
        float64 (q,)
    """

    rows: Int64s
    pending: Int64s
    side: NDArray[np.int8]
    counts: Int64s
    seen: Int64s
    widths: Floats


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
    """Write the normalized width of a bucket along each attribute; 0 where it has one value.

    rows : int64 (m,), records of the bucket.
    """
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

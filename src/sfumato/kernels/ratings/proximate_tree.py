"""Finding ε-proximate vectors among those that rate the same issues: trees cut where a query reaches fewest of them.

Letters: b masks, v vectors, w issues of a mask, z ratings of all vectors, s ratings on the scale, t nodes.

The vectors of a mask lie one after the other, row by row. A node that is no leaf sends codes of one column up to
`low_end` to the left and those from `high_start` on to the right; its left child is the next node.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Codes, Int32s, Int64s, Words, int64

LEAF = 32
"""Vectors that are compared one by one rather than cut again."""

COLUMN, LOW_END, HIGH_START, RIGHT, FIRST, LAST = 0, 1, 2, 3, 4, 5
"""What is told of each node: column −1 is a leaf; its vectors are ``first .. last-1``."""

_WORTH = 0.95  # of the pairs of a query and a vector that are left by a cut


@kernel
def order_columns(codes: Codes, starts: Int64s, widths: Int64s, steps: int, size: int) -> Codes:
    """Put the columns of each mask first in which fewest pairs of vectors are within `steps`.

    codes : (z,). starts : int64 (b + 1,), the first vector of each mask. widths : int64 (b,). size : s.
    Returns the codes in the same order of vectors. Cost O(z + b · s · w).
    """
    ordered = np.empty_like(codes)
    counts = np.zeros(size, dtype=np.int64)
    base = 0
    for mask in range(len(widths)):
        width, height = widths[mask], starts[mask + 1] - starts[mask]
        pairs = np.empty(width, dtype=np.float64)
        for column in range(width):
            counts[:] = 0
            for row in range(height):
                counts[codes[base + row * width + column]] += 1
            pairs[column] = _pairs_within(counts, steps)
        order = np.argsort(pairs, kind="mergesort")
        for row in range(height):
            for column in range(width):
                ordered[base + row * width + column] = codes[base + row * width + order[column]]
        base += width * height
    return ordered


@kernel
def grow_trees(codes: Codes, starts: Int64s, widths: Int64s, steps: int, size: int) -> tuple[Int64s, Int64s, Int32s]:
    """Grow a tree over the vectors of each mask.

    codes, starts, widths, size : as for :func:`order_columns`. Returns the vectors in the order of the leaves, int64
    (v,), the root of each mask, int64 (b,), and the nodes, int32 (t, 6). Cost O(z log v).
    """
    order = np.arange(starts[-1])
    roots = np.empty(len(widths), dtype=np.int64)
    nodes = np.empty((2 * starts[-1] + 1, 6), dtype=np.int32)
    pending = np.empty((starts[-1] + 2, 3), dtype=np.int64)
    counts = np.zeros(size, dtype=np.int64)
    known, base = 0, 0
    for mask in range(len(widths)):
        width = widths[mask]
        origin = base - starts[mask] * width
        roots[mask] = known
        pending[0, 0], pending[0, 1], pending[0, 2] = starts[mask], starts[mask + 1], -1
        left = 1
        while left:
            left -= 1
            first, last, parent = pending[left, 0], pending[left, 1], pending[left, 2]
            node, known = known, known + 1
            if parent >= 0:
                nodes[parent, RIGHT] = node
            nodes[node, COLUMN], nodes[node, FIRST], nodes[node, LAST] = -1, first, last
            if last - first <= LEAF:
                continue
            column, low_end, high_start = _best_cut(codes, order, first, last, origin, width, steps, counts)
            if column < 0:
                continue
            middle = _parted(codes, order, first, last, origin + column, width, low_end)
            nodes[node, COLUMN], nodes[node, LOW_END], nodes[node, HIGH_START] = column, low_end, high_start
            pending[left, 0], pending[left, 1], pending[left, 2] = middle, last, node
            pending[left + 1, 0], pending[left + 1, 1], pending[left + 1, 2] = first, middle, -1
            left += 2
        base += width * (starts[mask + 1] - starts[mask])
    return order, roots, nodes[:known].copy()


@kernel
def packed_rows(codes: Codes, order: Int64s, starts: Int64s, widths: Int64s, lane: int) -> tuple[Words, Int64s]:
    """Pack the codes of each vector into words, the vectors of each mask in the order of its leaves.

    codes, starts, widths : as for :func:`order_columns`. order : int64 (v,), as :func:`grow_trees` returns it. lane :
    bits of a code, and one that is left free.
    Returns the words and the first word of each vector, int64 (v + 1,).
    """
    lanes = 64 // lane  # never 0: a lane holds a code, and a word a lane
    places = np.zeros(starts[-1] + 1, dtype=np.int64)
    for mask in range(len(widths)):
        for row in range(starts[mask], starts[mask + 1]):
            places[row + 1] = places[row] + (widths[mask] + lanes - 1) // lanes
    words = np.zeros(places[-1], dtype=np.uint64)
    base = 0
    for mask in range(len(widths)):
        width = widths[mask]
        for row in range(starts[mask], starts[mask + 1]):
            there = base + (order[row] - starts[mask]) * width
            for column in range(width):
                place = places[row] + column // lanes  # never 0, as above
                words[place] |= np.uint64(codes[there + column]) << np.uint64(lane * (column % lanes))
        base += width * (starts[mask + 1] - starts[mask])
    return words, places


class PackedVectors(NamedTuple):
    """Vectors numbered by leaves, and the trees above them.

    Attributes
    ----------
    mask_of : numpy.ndarray
        int32 (v,).
    words, places, lane
        As :func:`packed_rows` has them.
    size : int
        s.
    roots : numpy.ndarray
        int64 (b,).
    nodes : numpy.ndarray
        int32 (t, 6).
    weights : numpy.ndarray
        int64 (v,), records behind each vector.
    """

    mask_of: Int32s
    words: Words
    places: Int64s
    lane: int
    size: int
    roots: Int64s
    nodes: Int32s
    weights: Int64s


@kernel
def tree_balls(
    first: int, last: int, vectors: PackedVectors, steps: int, enough: int, members: Int64s, largest: int
) -> tuple[Int64s, Int64s, int]:
    """Find the vectors around the vectors ``first .. last-1``, as far as `members` has room.

    enough : stop at that many records, and do not tell which; 0 finds and tells all. members : int64, filled here.
    largest : vectors of the largest mask.
    Returns compressed rows of `members` (as many as were done, and one), the records found, int64 (done,), and the
    number of evaluations: of codes against codes, and of codes against nodes.

    All codes of a word are compared at once. The free bit of each lane is set in the minuend, and is still set after a
    subtraction where the lane did not fall below 0.
    """
    words, places, lane, nodes = vectors.words, vectors.places, vectors.lane, vectors.nodes
    lanes = 64 // lane  # never 0: a lane holds a code, and a word a lane
    free = np.uint64(0)
    for place in range(lanes):
        free |= np.uint64(1) << np.uint64(lane * place + lane - 1)
    code_mask = (np.uint64(1) << np.uint64(lane - 1)) - np.uint64(1)
    ball_starts = np.zeros(last - first + 1, dtype=np.int64)
    sizes = np.zeros(last - first, dtype=np.int64)
    pending = np.empty(len(nodes) + 1, dtype=np.int32)
    widest = 0
    for vector in range(first, last):
        widest = max(widest, places[vector + 1] - places[vector])
    low, high = np.zeros(widest, dtype=np.uint64), np.zeros(widest, dtype=np.uint64)
    filled, evaluations, done = 0, 0, 0
    for vector in range(first, last):
        if enough == 0 and filled + largest > len(members):
            break
        mine = places[vector]
        length = places[vector + 1] - mine
        origin = mine - vector * length
        _window(words, mine, length, lanes, lane, code_mask, steps, vectors.size, low, high)
        found = int64(0)
        pending[0] = vectors.roots[vectors.mask_of[vector]]
        left = 1
        while left and (enough == 0 or found < enough):
            left -= 1
            node = pending[left]
            column = nodes[node, COLUMN]
            if column >= 0:
                evaluations += 1
                word = words[mine + column // lanes]
                code = int64((word >> np.uint64(lane * (column % lanes))) & code_mask)
                if code + steps >= nodes[node, HIGH_START]:
                    pending[left] = nodes[node, RIGHT]
                    left += 1
                if code - steps <= nodes[node, LOW_END]:
                    pending[left] = node + 1
                    left += 1
                continue
            for other in range(nodes[node, FIRST], nodes[node, LAST]):
                theirs = origin + other * length
                compared = 0
                while compared < length:
                    word = words[theirs + compared]
                    above = (word | free) - low[compared]
                    below = (high[compared] | free) - word
                    if (above & below & free) != free:
                        break
                    compared += 1
                evaluations += lanes * min(compared + 1, length)
                if compared == length:
                    found += vectors.weights[other]
                    if enough == 0:
                        members[filled] = other
                        filled += 1
        sizes[done] = found
        done += 1
        ball_starts[done] = filled
    return ball_starts[: done + 1], sizes[:done], evaluations


@inlined
def _window(
    words: Words, first: int, length: int, lanes: int, lane: int, code_mask: np.uint64, steps: int, size: int,
    low: Words, high: Words,
) -> None:  # fmt: skip
    """Write the smallest and the largest codes within `steps` of a vector's, packed as they are."""
    for place in range(length):
        lowest, highest = np.uint64(0), np.uint64(0)
        for number in range(lanes):
            shift = np.uint64(lane * number)
            code = int64((words[first + place] >> shift) & code_mask)
            lowest |= np.uint64(max(code - steps, 0)) << shift
            highest |= np.uint64(min(code + steps, size - 1)) << shift
        low[place], high[place] = lowest, highest


@inlined
def _pairs_within(counts: Any, steps: int) -> float:
    """Return how many pairs of vectors are at most `steps` apart."""
    near, pairs = 0, 0.0
    for code in range(min(steps, len(counts))):
        near += counts[code]
    for code in range(len(counts)):
        if code + steps < len(counts):
            near += counts[code + steps]
        if code - steps - 1 >= 0:
            near -= counts[code - steps - 1]
        pairs += float(counts[code]) * near
    return pairs


@inlined
def _best_cut(
    codes: Any, order: Any, first: int, last: int, origin: int, width: int, steps: int, counts: Any
) -> tuple[int, int, int]:
    """Return the column and the codes on both sides of the cut that leaves fewest pairs of query and vector.

    Queries are as the vectors are. A cut after `low_end` sends queries up to ``low_end + steps`` to the left, and those
    from ``high_start - steps`` on to the right. Column −1: no cut is worth it.
    """
    height = last - first
    best, best_column, best_low, best_high = _WORTH * float(height) * float(height), -1, 0, 0
    for column in range(width):
        counts[:] = 0
        lowest, highest = len(counts), -1
        for place in range(first, last):
            code = int64(codes[origin + order[place] * width + column])
            counts[code] += 1
            lowest, highest = min(lowest, code), max(highest, code)
        if highest - lowest <= steps:
            continue
        below, reaching = 0, 0
        for code in range(lowest, min(lowest + steps, highest + 1)):
            reaching += counts[code]
        beyond, tail = 0, lowest
        low_end = lowest
        while low_end < highest:
            below += counts[low_end]
            if low_end + steps <= highest:
                reaching += counts[low_end + steps]
            high_start = low_end + 1
            while counts[high_start] == 0:
                high_start += 1
                if high_start - 1 + steps <= highest:
                    reaching += counts[high_start - 1 + steps]
            # Queries below `tail` do not reach the right side.
            while tail < high_start - steps:
                beyond += counts[tail]
                tail += 1
            # Counted for the last empty code, which none on the left has: at most too many.
            reached = float(below) * reaching + float(height - below) * (height - beyond)
            if reached < best:
                best, best_column, best_low, best_high = reached, column, low_end, high_start
            low_end = high_start
    return best_column, best_low, best_high


@inlined
def _parted(codes: Any, order: Any, first: int, last: int, origin: int, width: int, low_end: int) -> int:
    """Move the vectors up to `low_end` of a column to the front; the first place of the others."""
    middle = first
    for place in range(first, last):
        vector = order[place]
        if codes[origin + vector * width] <= low_end:
            order[place] = order[middle]
            order[middle] = vector
            middle += 1
    return middle

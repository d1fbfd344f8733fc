"""Finding ε-proximate records as the paper does: every pair, and slice by slice.

For study, and to hold the fast search against. Letters: n records, p non-sensitive issues, z their ratings.

Ratings are places on the scale. Two records are proximate when no dissimilarity is above `steps`; that of a missing and
a given rating is `null`, that of two missing ones 0. A dissimilarity of an issue that at least one of the two rated is
one evaluation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Codes, Int32s, Int64s, Words, int64

# Finding ε-proximate vectors among those that rate the same issues: trees cut where a query reaches fewest of them.
#
# Letters: b masks, v vectors, w issues of a mask, z ratings of all vectors, s ratings on the scale, t nodes.
#
# The vectors of a mask lie one after the other, row by row. A node that is no leaf sends codes of one column up to
# `low_end` to the left and those from `high_start` on to the right; its left child is the next node.


LEAF = 32
"""Vectors that are compared one by one rather than cut again."""

COLUMN, LOW_END, HIGH_START, RIGHT, FIRST, LAST = 0, 1, 2, 3, 4, 5
"""What is told of each node: column −1 is a leaf; its vectors are ``first .. last-1``."""

_WORTH = 0.95  # of the pairs of a query and a vector that are left by a cut


@kernel
def order_columns(codes: Codes, starts: Int64s, widths: Int64s, steps: int, size: int) -> Codes:
    """Put the columns of each mask first in which fewest pairs of vectors are within `steps`.

    codes : (z,). starts : int64 (b + 1,), the first vector of each mask. widths : int64 (b,). size : s. Returns the
    codes in the same order of vectors. Cost O(z + b · s · w). Capacity: masks own the codes one after another.
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
    Ends: each node is made once, and both parts of a cut have vectors. Capacity: vectors of nodes that wait are
    disjoint; a tree has fewer than 2 v nodes.
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
    bits of a code, and one that is left free. Returns the words and the first word of each vector, int64 (v + 1,).
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
    """Vectors numbered by leaves, and the trees above them."""

    mask_of: Int32s  # (v,)
    # `words`, `places`, `lane`: as :func:`packed_rows` has them
    words: Words
    places: Int64s
    lane: int
    size: int  # s
    roots: Int64s  # (b,)
    nodes: Int32s  # (t, 6)
    weights: Int64s  # (v,), records behind each vector


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
    subtraction where the lane did not fall below 0. Ends: each node is visited once.
    Capacity: it stops where the largest ball might not fit; nodes that wait are distinct.
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
    Ends: codes rise, to the largest that occurs at most.
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
    """Move vectors up to `low_end` to the front; the first place of others. Capacity: `middle` <= `place`."""
    middle = first
    for place in range(first, last):
        vector = order[place]
        if codes[origin + vector * width] <= low_end:
            order[place] = order[middle]
            order[middle] = vector
            middle += 1
    return middle


@kernel
def pairwise_balls(
    starts: Int64s, issues: Int32s, codes: NDArray[np.int16], steps: int, null: int
) -> tuple[Int64s, Int64s, int]:
    """Find the records around each record from the distances of all pairs.

    starts : int64 (n + 1,). issues : int32 (z,), rising in a record. codes : int16 (z,). Returns compressed rows, int64
    (n + 1,) and rising records (found,), each with itself, and the number of evaluations. Cost O(n · z): whole
    distances, as for a matrix of them, but only proximate pairs are kept. Capacity: `pairs` doubles when it is full.
    """
    records = len(starts) - 1
    pairs = np.empty((1024, 2), dtype=np.int64)
    found, evaluations = 0, 0
    for one in range(records):
        for other in range(one + 1, records):
            distance, evaluated = _distance(one, other, starts, issues, codes, null)
            evaluations += evaluated
            if distance <= steps:
                if found == len(pairs):
                    pairs = _doubled(pairs)
                pairs[found, 0], pairs[found, 1] = one, other
                found += 1
    ball_starts, members = _both_ways(pairs[:found], records)
    return ball_starts, members, evaluations


@kernel
def slicing_balls(
    starts: Int64s, issues: Int32s, codes: NDArray[np.int16], steps: int, null: int, width: int
) -> tuple[Int64s, Int64s, int]:
    """Find the records around each record by cutting its candidates issue by issue, until it is alone.

    As :func:`pairwise_balls`; width : p. Cost O(n² · p) at worst. Ends: issues rise, and the room doubles.
    """
    records = len(starts) - 1
    ball_starts = np.zeros(records + 1, dtype=np.int64)
    members = np.empty(max(records, 1024), dtype=np.int64)
    candidates = np.empty(records, dtype=np.int64)
    cursors = np.empty(records, dtype=np.int64)
    evaluations = 0
    for center in range(records):
        left = records
        for record in range(records):
            candidates[record], cursors[record] = record, starts[record]
        mine = starts[center]
        issue = 0
        while left > 1 and issue < width:
            rated = mine < starts[center + 1] and issues[mine] == issue
            left, evaluated, following = _cut(
                center, issue, rated, mine, candidates, left, cursors, starts, issues, codes, steps, null
            )
            evaluations += evaluated
            mine += rated
            # What none of those who are left has rated keeps them all. The center is one of them.
            issue = max(following, issue + 1)
        ball_starts[center + 1] = ball_starts[center] + left
        while ball_starts[center + 1] > len(members):
            members = _longer(members)
        members[ball_starts[center] : ball_starts[center + 1]] = candidates[:left]
    return ball_starts, members[: ball_starts[-1]].copy(), evaluations


@inlined
def _cut(
    center: int, issue: int, rated: bool, mine: int, candidates: Any, left: int, cursors: Any, starts: Any,
    issues: Any, codes: Any, steps: int, null: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Keep the candidates whose dissimilarity of one issue is small enough, in order.

    Returns how many, how many dissimilarities were evaluated, and the first issue that one of them rated after this
    one. Capacity: `kept` never passes `place`.
    """
    kept, evaluated, following = 0, 0, np.iinfo(np.int32).max
    for place in range(left):
        record = candidates[place]
        cursor = cursors[record]
        theirs = cursor < starts[record + 1] and issues[cursor] == issue
        apart = 0
        if theirs and rated:
            apart = abs(int64(codes[cursor]) - int64(codes[mine]))
        elif theirs or rated:
            apart = null
        evaluated += (theirs or rated) and record != center
        cursors[record] += theirs
        if apart <= steps:
            candidates[kept] = record
            kept += 1
            if cursors[record] < starts[record + 1]:
                following = min(following, int64(issues[cursors[record]]))
    return kept, evaluated, following


@kernel
def trimmed_balls(
    ball_starts: Int64s, members: Int64s, example: Int64s, starts: Int64s, codes: NDArray[np.int16], steps: int
) -> tuple[Int64s, Int64s]:
    """Keep of each ball the members that are proximate to all of it: lines 9 to 12 of the paper's algorithm 1.

    ball_starts, members : compressed rows, of members whose ratings are those of the record ``example[member]``, int64.
    starts, codes : as for :func:`pairwise_balls`. `steps` is below `null`, so that all of a ball have rated the same
    issues: a member is proximate to all when it is to the lowest and to the highest rating of each. Cost O(ratings of
    all members). Capacity: each member is kept once at most.
    """
    kept_starts = np.zeros(len(ball_starts), dtype=np.int64)
    kept = np.empty(len(members), dtype=np.int64)
    filled = 0
    for ball in range(len(ball_starts) - 1):
        first, last = ball_starts[ball], ball_starts[ball + 1]
        record = example[members[first]]
        low = codes[starts[record] : starts[record + 1]].copy()
        high = low.copy()
        for place in range(first + 1, last):
            mine = starts[example[members[place]]]
            for column in range(len(low)):
                low[column] = min(low[column], codes[mine + column])
                high[column] = max(high[column], codes[mine + column])
        for place in range(first, last):
            mine = starts[example[members[place]]]
            fits = True
            for column in range(len(low)):
                code = int64(codes[mine + column])
                fits = fits and code - int64(low[column]) <= steps and int64(high[column]) - code <= steps
            if fits:
                kept[filled] = members[place]
                filled += 1
        kept_starts[ball + 1] = filled
    return kept_starts, kept[:filled].copy()


@inlined
def _distance(one: int, other: int, starts: Any, issues: Any, codes: Any, null: int) -> tuple[int, int]:
    """Return the largest dissimilarity of two records, and how many were evaluated. Ends: a round passes a rating."""
    here, there = starts[one], starts[other]
    end, other_end = starts[one + 1], starts[other + 1]
    largest, evaluated = 0, 0
    while here < end or there < other_end:
        evaluated += 1
        if there == other_end or (here < end and issues[here] < issues[there]):
            largest = max(largest, null)
            here += 1
        elif here == end or issues[there] < issues[here]:
            largest = max(largest, null)
            there += 1
        else:
            largest = max(largest, abs(int64(codes[here]) - int64(codes[there])))
            here += 1
            there += 1
    return largest, evaluated


@inlined
def _both_ways(pairs: Any, records: int) -> Any:
    """Turn rising pairs into rows with each record in its own, members rising. Capacity: it counts before it lists."""
    ball_starts = np.zeros(records + 1, dtype=np.int64)
    for record in range(records):
        ball_starts[record + 1] = 1
    for place in range(len(pairs)):
        ball_starts[pairs[place, 0] + 1] += 1
        ball_starts[pairs[place, 1] + 1] += 1
    for record in range(records):
        ball_starts[record + 1] += ball_starts[record]
    following = ball_starts[:-1].copy()
    members = np.empty(ball_starts[-1], dtype=np.int64)
    for place in range(len(pairs)):
        smaller, larger = pairs[place, 0], pairs[place, 1]
        members[following[larger]] = smaller
        following[larger] += 1
    for record in range(records):
        members[following[record]] = record
        following[record] += 1
    for place in range(len(pairs)):
        smaller, larger = pairs[place, 0], pairs[place, 1]
        members[following[smaller]] = larger
        following[smaller] += 1
    return ball_starts, members


@inlined
def _doubled(pairs: Any) -> Any:
    doubled = np.empty((2 * len(pairs), 2), dtype=np.int64)
    doubled[: len(pairs)] = pairs
    return doubled


@inlined
def _longer(members: Any) -> Any:
    longer = np.empty(2 * len(members), dtype=np.int64)
    longer[: len(members)] = members
    return longer

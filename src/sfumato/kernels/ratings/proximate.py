"""Finding ε-proximate records as the paper does: every pair, and slice by slice.

For study, and to hold the fast search against. Letters: n records, p non-sensitive issues, z their ratings.

Ratings are places on the scale. Two records are proximate when no dissimilarity is above `steps`; that of a missing and
a given rating is `null`, that of two missing ones 0. A dissimilarity of an issue that at least one of the two rated is
one evaluation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Int32s, Int64s, int64


@kernel
def pairwise_balls(
    starts: Int64s, issues: Int32s, codes: NDArray[np.int16], steps: int, null: int
) -> tuple[Int64s, Int64s, int]:
    """Find the records around each record from the distances of all pairs.

    starts : int64 (n + 1,). issues : int32 (z,), rising in a record. codes : int16 (z,).
    Returns compressed rows, int64 (n + 1,) and rising records (found,), each with itself, and the number of
    evaluations.
    Cost O(n · z): whole distances, as for a matrix of them, but only proximate pairs are kept.
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

    As :func:`pairwise_balls`; width : p. Cost O(n² · p) at worst.
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
                center,
                issue,
                rated,
                mine,
                candidates,
                left,
                cursors,
                starts,
                issues,
                codes,
                steps,
                null,
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

    Returns how many, how many dissimilarities were evaluated, and the first issue that one of them rated after
    this one.
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
    all members).
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
    """Return the largest dissimilarity of two records, and how many were evaluated."""
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
    """Turn pairs in rising order into compressed rows with each record in its own row, members rising."""
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

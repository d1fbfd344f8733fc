"""The plan of the literature: sets of rated issues merged by their Hamming distance, and cliques inside each.

Letters: n records, m issues, z ratings, f patterns (sets of rated issues), w words of 64 issues.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.ratings.worth import MISSING
from sfumato.kernels.types import Flags, Int32s, Int64s, int64


@kernel
def merge_patterns(
    pattern_of: Int64s, starts: Int64s, issues: Int32s, sensitive: Flags, k: int, invent: bool
) -> Int64s:
    """Merge patterns of fewer than k records with others; int64 (n,), the pattern of each record afterwards.

    pattern_of : int64 (n,), patterns numbered in the order of their first record. The first pattern that is too small
    is merged with the one for which Hamming distance × records of both, multiplied, is least, the first of several. A
    merged pattern, which keeps the smaller number, has rated what more than half of its records rated, or without
    inventing, what all of them rated. Cost O(f² · m / 64 + f · (z + n)); f · m · 4 bytes.
    """
    count = pattern_of.max() + 1
    sizes = np.zeros(count, dtype=np.int64)
    raters = np.zeros((count, len(sensitive)), dtype=np.int32)
    for record in range(len(pattern_of)):
        sizes[pattern_of[record]] += 1
        for place in range(starts[record], starts[record + 1]):
            if not sensitive[issues[place]]:
                raters[pattern_of[record], issues[place]] += 1
    flags = np.zeros((count, len(sensitive) // 64 + 1), dtype=np.uint64)
    for pattern in range(count):
        _set_flags(pattern, sizes, raters, invent, flags)
    into = np.arange(count)
    for pattern in range(count):
        # A merged pattern has the smaller number, so that none before this one is too small.
        while 0 < sizes[pattern] < k:
            best = _nearest_pattern(pattern, sizes, flags)
            if best < 0:
                break
            kept, gone = min(pattern, best), max(pattern, best)
            sizes[kept] += sizes[gone]
            raters[kept] += raters[gone]
            sizes[gone] = 0
            into[gone] = kept
            _set_flags(kept, sizes, raters, invent, flags)
    for pattern in range(count):
        into[pattern] = into[into[pattern]]
    return into[pattern_of]


@inlined
def _set_flags(pattern: int, sizes: Any, raters: Any, invent: bool, flags: Any) -> None:
    flags[pattern, :] = 0
    for issue in range(raters.shape[1]):
        rated = 2 * raters[pattern, issue] > sizes[pattern] if invent else raters[pattern, issue] == sizes[pattern]
        if rated:
            flags[pattern, issue // 64] |= np.uint64(1) << np.uint64(issue % 64)


@inlined
def _nearest_pattern(pattern: int, sizes: Any, flags: Any) -> int:
    best, best_cost = -1, int64(0)
    for other in range(len(sizes)):
        if other == pattern or sizes[other] == 0:
            continue
        distance = int64(0)
        for word in range(flags.shape[1]):
            distance += _ones(flags[pattern, word] ^ flags[other, word])
        cost = distance * sizes[pattern] * sizes[other]
        if best < 0 or cost < best_cost:
            best, best_cost = other, cost
    return best


@inlined
def _ones(word: Any) -> int:
    """Count the ones of a word, in sums of ever longer parts that cannot overflow."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    word = word + (word >> np.uint64(8))
    word = word + (word >> np.uint64(16))
    word = word + (word >> np.uint64(32))
    return int64(word & np.uint64(0x7F))


@kernel
def greedy_cliques(table: NDArray[np.int16], k: int) -> Int64s:
    """Put the records of one pattern into groups: the first that is left with its k − 1 nearest; int64 (b,).

    table : int16 (b, c), codes, none missing, or the same columns in all. Nearest by the largest, then by the sum
    of the differences, then first. Records that are left when fewer than k are join the group that holds the nearest
    record which is in one before them; with b < k, all are one group. Cost O(b² · c).
    """
    count = len(table)
    group_of = np.full(count, -1, dtype=np.int64)
    free, groups = count, 0
    largest, total = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    for record in range(count):
        if group_of[record] >= 0 or free < k:
            continue
        group_of[record] = groups
        for other in range(count):
            largest[other], total[other] = _apart(table, record, other)
        for _ in range(k - 1):
            group_of[_nearest(group_of, largest, total, False)] = groups
        groups += 1
        free -= k
    if groups == 0:
        return np.zeros(count, dtype=np.int64)
    late = np.flatnonzero(group_of < 0)
    joined = np.empty(len(late), dtype=np.int64)
    for place in range(len(late)):
        for other in range(count):
            largest[other], total[other] = _apart(table, late[place], other)
        joined[place] = group_of[_nearest(group_of, largest, total, True)]
    group_of[late] = joined
    return group_of


@inlined
def _apart(table: Any, one: int, other: int) -> tuple[int, int]:
    largest, total = int64(0), int64(0)
    for column in range(table.shape[1]):
        if table[one, column] != MISSING:
            apart = abs(int64(table[one, column]) - int64(table[other, column]))
            largest, total = max(largest, apart), total + apart
    return largest, total


@inlined
def _nearest(group_of: Any, largest: Any, total: Any, grouped: bool) -> int:
    best = -1
    for other in range(len(group_of)):
        if (group_of[other] >= 0) != grouped:
            continue
        nearer = best < 0 or largest[other] < largest[best]
        if nearer or (largest[other] == largest[best] and total[other] < total[best]):
            best = other
    return best

"""Groups of records whose ratings lose least when the members of each are made proximate: a start, and improvements.

Letters as in :mod:`~sfumato.kernels.ratings.worth`; G groups. ``groups`` is int32 (G, b), of which the first
``sizes[i]`` entries of row ``i`` are its records; a group without records has ended. ``block``, ``rules`` and ``room``
are those of :func:`~sfumato.kernels.ratings.worth.group_worth`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.ratings.worth import MISSING, group_lack, group_score, group_worth
from sfumato.kernels.types import Flags, Int32s, Int64s, int64

# Taking back changes that nobody needs: around a record there must be k others, which need not be near each other.
#
# Letters: b records that rated the same c issues, s ratings on the scale.


@kernel
def relax_codes(now: NDArray[np.int16], before: NDArray[np.int16], k: int, steps: int, passes: int) -> None:
    """Bring codes back towards what they were as long as each record has k records around it; `now` in place.

    now : int16 (b, c), such that every record has k around it, itself counted. before : int16 (b, c), ``MISSING`` where
    a rating was invented, which stays. Codes are taken in the order of records and issues, each as far back as goes.
    Cost O(b² · c + passes · changed codes · b · s) and 2 · b² bytes.
    Ends: the target comes nearer to the code by a step.
    """
    records = len(now)
    apart = np.zeros((records, records), dtype=np.int16)
    around = np.ones(records, dtype=np.int64)
    for one in range(records):
        for other in range(one):
            far = 0
            for issue in range(now.shape[1]):
                far += abs(int64(now[one, issue]) - int64(now[other, issue])) > steps
            apart[one, other] = apart[other, one] = far
            around[one] += far == 0
            around[other] += far == 0
    for _ in range(passes):
        moved = False
        for record in range(records):
            for issue in range(now.shape[1]):
                code, target = int64(now[record, issue]), int64(before[record, issue])
                if target == MISSING:
                    continue
                way = 1 if code > target else -1
                while target != code and not _may_move(record, issue, target, now, apart, around, k, steps):
                    target += way
                if target != code:
                    _move(record, issue, target, now, apart, around, steps)
                    moved = True
        if not moved:
            break


@inlined
def _may_move(record: int, issue: int, code: int, now: Any, apart: Any, around: Any, k: int, steps: int) -> bool:
    """Tell whether everybody still has k around when a code becomes another."""
    left = around[record]
    for other in range(len(now)):
        if other == record or apart[record, other] > 1:
            continue
        was = abs(int64(now[other, issue]) - int64(now[record, issue])) <= steps
        stays = abs(int64(now[other, issue]) - code) <= steps
        if was and not stays and apart[record, other] == 0:
            if around[other] <= k:
                return False
            left -= 1
        elif stays and not was and apart[record, other] == 1:
            left += 1
    return bool(left >= k)


@inlined
def _move(record: int, issue: int, code: int, now: Any, apart: Any, around: Any, steps: int) -> None:
    for other in range(len(now)):
        if other == record:
            continue
        was = abs(int64(now[other, issue]) - int64(now[record, issue])) <= steps
        stays = abs(int64(now[other, issue]) - code) <= steps
        if was == stays:
            continue
        near = apart[record, other] == 0
        apart[record, other] += 1 if was else -1
        apart[other, record] = apart[record, other]
        change = int(apart[record, other] == 0) - int(near)
        around[record] += change
        around[other] += change
    now[record, issue] = code


# The plan of the literature: sets of rated issues merged by their Hamming distance, and cliques inside each.
#
# Letters: n records, m issues, z ratings, f patterns (sets of rated issues), w words of 64 issues.


@kernel
def merge_patterns(
    pattern_of: Int64s, starts: Int64s, issues: Int32s, sensitive: Flags, k: int, invent: bool
) -> Int64s:
    """Merge patterns of fewer than k records with others; int64 (n,), the pattern of each record afterwards.

    pattern_of : int64 (n,), patterns numbered in the order of their first record. The first pattern that is too small
    is merged with the one for which Hamming distance × records of both, multiplied, is least, the first of several. A
    merged pattern, which keeps the smaller number, has rated what more than half of its records rated, or without
    inventing, what all of them rated. Cost O(f² · m / 64 + f · (z + n)); f · m · 4 bytes.
    Ends: each round takes a pattern away or is the last.
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

    table : int16 (b, c), codes, none missing, or the same columns in all. Nearest by the largest, then by the sum of
    the differences, then first. Records that are left when fewer than k are join the group that holds the nearest
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


_GAIN = 1e-7  # less is rounding


@kernel
def start_groups(seeds: Int64s, block: Any, rules: Any) -> tuple[Int32s, Int64s]:
    """Build groups of k around seeds, and put what is left where it costs least.

    There are no more groups than k records for each, and worths are finite: some record is free where one is taken.
    seeds : int64 (b,), all records in the order in which they may start a group. Returns groups and sizes. Evaluates
    about b²/2 groups. Ends: seeds and sizes rise. Capacity: a group has no more than b records.
    """
    k, count = rules[0], len(seeds)
    room = _room(block)
    total = max(1, count // k)  # never 0: k is 1 or more
    groups = np.zeros((total, count), dtype=np.int32)
    sizes = np.zeros(total, dtype=np.int64)
    free = np.ones(count, dtype=np.bool_)
    following = 0
    for group in range(total):
        while not free[seeds[following]]:
            following += 1
        groups[group, 0], sizes[group] = seeds[following], 1
        free[seeds[following]] = False
        while sizes[group] < min(k, count):
            best, best_score = -1, -np.inf
            for record in seeds:
                if free[record]:
                    groups[group, sizes[group]] = record
                    score = group_worth(groups[group], sizes[group] + 1, block, rules, room)
                    if score > best_score:
                        best, best_score = record, score
            groups[group, sizes[group]] = best
            sizes[group] += 1
            free[best] = False
    for record in seeds:
        if free[record]:
            _join_best(record, groups, sizes, block, rules, room)
    return groups, sizes


@kernel
def merge_flat(groups: Int32s, sizes: Int64s, block: Any, rules: Any) -> None:
    """Merge groups whose sensitive ratings deviate too little with others, as long as there are several; in place.

    The group that lacks most is merged with the one that is best for the sum of their scores. Evaluates up to G² pairs.
    Ends: each round takes a group away or is the last.
    """
    room = _room(block)
    scores, lacks = np.zeros(len(groups)), np.zeros(len(groups))
    for group in range(len(groups)):
        scores[group] = group_score(groups[group], sizes[group], block, rules, room)
        lacks[group] = group_lack(groups[group], sizes[group], block, rules, room)
    left = np.count_nonzero(sizes)
    merged = np.empty(groups.shape[1], dtype=np.int32)
    while left > 1 and lacks.max() > 0:
        flat = int64(np.argmax(lacks))
        best, best_gain = -1, -np.inf
        for other in range(len(groups)):
            if other != flat and sizes[other]:
                count = _put_together(groups, sizes, flat, other, merged)
                gain = group_score(merged, count, block, rules, room) - scores[other]
                if gain > best_gain:
                    best, best_gain = other, gain
        if best < 0:
            break
        sizes[best] = _put_together(groups, sizes, flat, best, merged)
        groups[best, : sizes[best]] = merged[: sizes[best]]
        sizes[flat], scores[flat], lacks[flat] = 0, 0.0, 0.0
        scores[best] = group_score(groups[best], sizes[best], block, rules, room)
        lacks[best] = group_lack(groups[best], sizes[best], block, rules, room)
        left -= 1


@kernel
def near_raters(count: int, block: Any, rules: Any) -> Int32s:
    """Return the records with which each would be worth most as a pair, best first; int32 (b, count). Cost O(b · z)."""
    room = _room(block)
    records = len(block[2])
    worths = np.zeros((records, records), dtype=np.float32)
    pair = np.empty(2, dtype=np.int32)
    for one in range(records):
        worths[one, one] = -1.0
        for other in range(one):
            pair[0], pair[1] = one, other
            worths[one, other] = worths[other, one] = group_worth(pair, 2, block, rules, room)
    near = np.empty((records, count), dtype=np.int32)
    for record in range(records):
        near[record] = np.argsort(-worths[record], kind="mergesort")[:count]
    return near


@kernel
def improve_groups(
    groups: Int32s, sizes: Int64s, left_out: Int32s, may_leave: int, near: Int32s, passes: int, block: Any, rules: Any
) -> tuple[int, int]:
    """Swap records between groups and move them to others while the sum of the scores grows; in place.

    left_out : int32, room for `may_leave` records that are in no group; none at the start. near : int32 (b, c), as
    :func:`near_raters` returns them: a record tries the groups of these. Returns how many records are left out, and the
    passes that were made. Evaluates about 2 · b · c · k groups in a pass.
    Capacity: each of c neighbors adds one group at most.
    """
    room = _room(block)
    count = groups.shape[1]
    most = _most(block, rules)
    group_of, place_of = np.full(count, -1, dtype=np.int64), np.zeros(count, dtype=np.int64)
    scores = np.zeros(len(groups))
    for group in range(len(groups)):
        for place in range(sizes[group]):
            group_of[groups[group, place]], place_of[groups[group, place]] = group, place
        scores[group] = group_score(groups[group], sizes[group], block, rules, room)
    state = (groups, sizes, scores, group_of, place_of, most)
    pair = (np.empty(count + 1, dtype=np.int32), np.empty(count + 1, dtype=np.int32))
    tried, chosen = np.full(len(groups), -1, dtype=np.int64), np.empty(near.shape[1], dtype=np.int64)
    gone, done = 0, 0
    for _ in range(passes):
        before, changed = gone, False
        for record in range(count):
            if group_of[record] < 0:
                continue
            tried[:] = -1
            found = 0
            for other in near[record]:
                group = group_of[other]
                if group >= 0 and group != group_of[record] and tried[group] < 0:
                    tried[group] = found
                    chosen[found] = group
                    found += 1
            changed |= _best_swap(record, chosen[:found], state, pair, block, rules, room)
            changed |= _best_move(record, chosen[:found], state, pair, block, rules, room)
            if gone < may_leave and _left_out(record, state, pair, block, rules, room):
                left_out[gone] = record
                gone += 1
        done += 1
        if not changed and gone == before:
            break
    return gone, done


@inlined
def _room(block: Any) -> Any:
    table, hidden = block[2], block[4]
    return (
        np.empty(len(table) + 1, dtype=np.int64),
        np.zeros(table.shape[1], dtype=np.int64),
        np.zeros((hidden.shape[1], 3), dtype=np.int64),
    )


@inlined
def _most(block: Any, rules: Any) -> Any:
    """Return what all ratings of each record are worth as they are."""
    starts, columns, table, weights, _ = block
    most = np.zeros(len(table))
    for record in range(len(table)):
        for rating in range(starts[record], starts[record + 1]):
            most[record] += weights[columns[rating]] * rules[2]
    return most


@inlined
def _bound(group: Any, members: int, most: Any, rules: Any) -> float:
    """Return what a group could be worth at most: all that the member who has least has, for everybody."""
    least, total = np.inf, 0.0
    for place in range(members):
        least = min(least, most[group[place]])
        total += most[group[place]]
    return total if rules[3] else members * least


@inlined
def _put_together(groups: Any, sizes: Any, one: int, other: int, merged: Any) -> int:
    merged[: sizes[other]] = groups[other, : sizes[other]]
    merged[sizes[other] : sizes[other] + sizes[one]] = groups[one, : sizes[one]]
    return int64(sizes[other] + sizes[one])


@inlined
def _join_best(record: int, groups: Any, sizes: Any, block: Any, rules: Any, room: Any) -> None:
    """Put a free record where it costs least. Capacity: no group of b places has it yet."""
    best, best_gain = -1, -np.inf
    for group in range(len(groups)):
        groups[group, sizes[group]] = record
        gain = group_worth(groups[group], sizes[group] + 1, block, rules, room)
        gain -= group_worth(groups[group], sizes[group], block, rules, room)
        if gain > best_gain:
            best, best_gain = group, gain
    groups[best, sizes[best]] = record
    sizes[best] += 1


@inlined
def _best_swap(record: int, chosen: Any, state: Any, pair: Any, block: Any, rules: Any, room: Any) -> bool:
    """Swap a record with the one of some groups for which the scores of both groups grow most."""
    groups, sizes, scores, group_of, place_of, most = state
    one, other = pair
    mine = group_of[record]
    best, best_gain, best_one, best_other = -1, _GAIN * (1 + abs(scores[mine])), 0.0, 0.0
    one[: sizes[mine]] = groups[mine, : sizes[mine]]
    for theirs in chosen:
        other[: sizes[theirs]] = groups[theirs, : sizes[theirs]]
        for place in range(sizes[theirs]):
            partner = groups[theirs, place]
            one[place_of[record]], other[place] = partner, record
            needed = best_gain + scores[mine] + scores[theirs]
            # What lacks, and what could be worth at most, is known sooner than what is worth.
            new_one = -rules[8] * group_lack(one, sizes[mine], block, rules, room)
            new_other = -rules[8] * group_lack(other, sizes[theirs], block, rules, room)
            bound = _bound(one, sizes[mine], most, rules)
            if new_one + new_other + bound + _bound(other, sizes[theirs], most, rules) > needed:
                new_other += group_worth(other, sizes[theirs], block, rules, room)
                if new_one + new_other + bound > needed:
                    new_one += group_worth(one, sizes[mine], block, rules, room)
                    if new_one + new_other > needed:
                        best, best_gain = partner, new_one + new_other - scores[mine] - scores[theirs]
                        best_one, best_other = new_one, new_other
            other[place] = partner
    if best < 0:
        return False
    theirs = group_of[best]
    groups[mine, place_of[record]], groups[theirs, place_of[best]] = best, record
    place_of[record], place_of[best] = place_of[best], place_of[record]
    group_of[record], group_of[best] = theirs, mine
    scores[mine], scores[theirs] = best_one, best_other
    return True


@inlined
def _best_move(record: int, chosen: Any, state: Any, pair: Any, block: Any, rules: Any, room: Any) -> bool:
    """Move a record of more than k to the group by which scores grow most. Capacity: others of b places lack it."""
    groups, sizes, scores, group_of, place_of, _ = state
    mine = group_of[record]
    if sizes[mine] <= rules[0]:
        return False
    without = _without(record, state, pair, block, rules, room)
    best, best_gain, best_score = -1, _GAIN * (1 + abs(scores[mine])), 0.0
    for group in chosen:
        if group != mine:
            groups[group, sizes[group]] = record
            score = group_score(groups[group], sizes[group] + 1, block, rules, room)
            if score + without - scores[mine] - scores[group] > best_gain:
                best, best_gain, best_score = group, score + without - scores[mine] - scores[group], score
    if best < 0:
        return False
    _take_out(record, state)
    groups[best, sizes[best]] = record
    group_of[record], place_of[record] = best, sizes[best]
    sizes[best] += 1
    scores[mine], scores[best] = without, best_score
    return True


@inlined
def _left_out(record: int, state: Any, pair: Any, block: Any, rules: Any, room: Any) -> bool:
    """Take a record out of a group of more than k where the group is then worth more."""
    _, sizes, scores, group_of, _, _ = state
    mine = group_of[record]
    if mine < 0 or sizes[mine] <= rules[0]:
        return False
    without = _without(record, state, pair, block, rules, room)
    if without - scores[mine] <= _GAIN * (1 + abs(scores[mine])):
        return False
    _take_out(record, state)
    group_of[record] = -1
    scores[mine] = without
    return True


@inlined
def _without(record: int, state: Any, pair: Any, block: Any, rules: Any, room: Any) -> float:
    """Return the score of a record's group without it."""
    groups, sizes, _, group_of, place_of, _ = state
    mine, one = group_of[record], pair[0]
    one[: sizes[mine]] = groups[mine, : sizes[mine]]
    one[place_of[record]] = groups[mine, sizes[mine] - 1]
    return group_score(one, sizes[mine] - 1, block, rules, room)


@inlined
def _take_out(record: int, state: Any) -> None:
    groups, sizes, _, group_of, place_of, _ = state
    mine = group_of[record]
    sizes[mine] -= 1
    last = groups[mine, sizes[mine]]
    groups[mine, place_of[record]] = last
    place_of[last] = place_of[record]

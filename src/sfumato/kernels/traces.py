"""Traces of people as sets of doublets: which doublets may stay, and how often what somebody knows fits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.clustering.refinement import Schedule, draw, slack
from sfumato.kernels.jit import inlined, kernel, sized
from sfumato.kernels.types import Flags, Floats, Int32s, Int64s, float64, int64

# Letters: n people, d doublets, z points: doublets of people, each once for a person.


class TraceRows(NamedTuple):
    """Traces by person and by doublet, and the facets of people: 0 for everybody, above it sensitive values."""

    starts: Int64s  # (n + 1,): person ``i`` has the points ``starts[i] .. starts[i+1]-1``
    items: Int32s  # (z,): doublet of each point, rising inside a person
    bounds: Int64s  # (d + 1,): doublet ``j`` owns ``points[bounds[j] .. bounds[j+1]-1]``
    points: Int64s  # (z,)
    owners: Int64s  # (z,): the person of each of `points`
    facet_starts: Int64s  # (n + 1,)
    facets: Int64s


class Demand(NamedTuple):
    """What holds for every combination of up to so many doublets of somebody."""

    k: int  # people who have it, at least
    known: int  # doublets of a combination, at most
    most: Int64s  # (n + 1,): by people who have it, how many of them may share a sensitive value
    width: int  # facets: the sensitive values, and one more
    needs: Int64s  # (n,): how many people must have a combination of each person; k or more


@kernel
def coarser_rows(starts: Int64s, labels: Int32s) -> tuple[Int64s, Int32s, Int64s]:
    """Write traces with other doublets, each once in a trace.

    starts : int64 (n + 1,). labels : int32 (z,), the doublet that each point becomes. Returns the bounds of the traces,
    their doublets, rising, and int64 (z,): which of them each point has become. Cost O(z log |trace|). Capacity: a
    point becomes one doublet.
    """
    bounds, filled = np.zeros(len(starts), dtype=np.int64), 0
    items, point_of = np.empty(len(labels), dtype=np.int32), np.empty(len(labels), dtype=np.int64)
    for person in range(len(starts) - 1):
        first, last = starts[person], int64(-1)
        for place in np.argsort(labels[first : starts[person + 1]]):
            if labels[first + place] != last:
                last = int64(labels[first + place])
                items[filled] = last
                filled += 1
            point_of[first + place] = filled - 1
        bounds[person + 1] = filled
    return bounds, items[:filled].copy(), point_of


@kernel
def points_by_doublet(starts: Int64s, items: Int32s, doublets: int) -> tuple[Int64s, Int64s, Int64s]:
    """List the points of every doublet, and their owners; cost O(z). Capacity: it counts before it lists."""
    bounds = np.zeros(doublets + 1, dtype=np.int64)
    for item in items:
        bounds[item + 1] += 1
    for item in range(doublets):
        bounds[item + 1] += bounds[item]
    following, points = bounds.copy(), np.empty(len(items), dtype=np.int64)
    owners = np.empty(len(items), dtype=np.int64)
    for person in range(len(starts) - 1):
        for point in range(starts[person], starts[person + 1]):
            place = following[items[point]]
            points[place], owners[place] = point, person
            following[items[point]] += 1
    return bounds, points, owners


@kernel
def grow_traces(rows: TraceRows, demand: Demand, order: Int64s, wanted: Flags, alive: Flags) -> int:
    """Let points of some doublets join those that stay, as many as every demand allows; return how many did.

    What stays holds before and after: combinations that nobody has are none. Among the wanted points of one doublet
    the largest set that holds together joins, where nothing is asked of sensitive values; else a large one.

    order : doublets, the first to join first. wanted : bool (z,), points that may join. alive : bool (z,), points that
    stay, changed in place. Cost O(Σ over holders of C(|trace|, < l)) for each round.
    """
    longest = 0
    for person in range(len(rows.starts) - 1):
        longest = max(longest, rows.starts[person + 1] - rows.starts[person])
    size, base = _subsets(longest, demand.known), len(rows.bounds)
    keys, ends = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    table, counts = np.empty(16, dtype=np.int64), np.empty(16, dtype=np.int64)
    grown = 0
    for head in order:
        first, last = rows.bounds[head], rows.bounds[head + 1]
        joins = np.zeros(last - first, dtype=np.bool_)
        waiting, room = 0, 0
        for place in range(first, last):
            point, person = rows.points[place], rows.owners[place]
            joins[place - first] = wanted[point] and not alive[point]
            waiting += joins[place - first]
            if joins[place - first] or alive[point]:
                held = _subsets(rows.starts[person + 1] - rows.starts[person], demand.known)
                room += held * (rows.facet_starts[person + 1] - rows.facet_starts[person])
        if waiting == 0 or last - first < demand.k:
            continue
        capacity = _capacity(room, base, demand)
        if capacity > len(table):
            table, counts = np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64)
        table[:capacity] = -1
        counts[:capacity] = 0
        for place in range(first, last):
            if joins[place - first] or alive[rows.points[place]]:
                found = _beside(rows, alive, rows.owners[place], head, demand.known, keys, ends)
                _add(rows, demand, rows.owners[place], keys[:found], table, counts, capacity - 1, 1)
        grown += _joined(rows, demand, alive, head, joins, keys, ends, table, counts, capacity - 1)
    return grown


@inlined
def _joined(
    rows: TraceRows, demand: Demand, alive: Flags, head: int, joins: Flags, keys: Int64s, ends: Int64s,
    table: Int64s, counts: Int64s, mask: int,
) -> int:  # fmt: skip
    """Turn away who breaks a demand until nobody does; the others join. Ends: each round turns somebody away."""
    first, broken = rows.bounds[head], True
    while broken:
        broken = False
        for place in range(len(joins)):
            if not joins[place]:
                continue
            person = rows.owners[first + place]
            found = _beside(rows, alive, person, head, demand.known, keys, ends)
            if not _holds(rows, demand, person, keys[:found], table, counts, mask):
                joins[place], broken = False, True
                _add(rows, demand, person, keys[:found], table, counts, mask, -1)
    joined = 0
    for place in range(len(joins)):
        if joins[place]:
            alive[rows.points[first + place]] = True
            joined += 1
    return joined


@inlined
def _subsets(size: int, known: int) -> int:
    """Count the sets of fewer than `known` of some things."""
    total, layer = int64(1), int64(1)
    for part in range(known - 1):
        layer = layer * max(size - part, 0) // max(part + 1, 1)
        total += layer
    return total


@inlined
def _capacity(room: int, base: int, demand: Demand) -> int:
    """Return a power of two that has twice the room for all keys that there may be. Ends: it doubles."""
    kinds = int64(demand.width)
    for _ in range(demand.known - 1):
        kinds = min(kinds * base, int64(1) << 40)
    capacity = int64(16)
    while capacity < 2 * min(room, kinds):
        capacity *= 2
    return capacity


@inlined
def _beside(
    rows: TraceRows,
    alive: Flags,
    person: int,
    head: int,
    known: int,
    keys: Int64s,
    ends: Int64s,
) -> int:
    """Write the keys of all sets of fewer than `known` points that stay beside one of a person, the empty set first.

    Capacity: `keys` and `ends` have room for those of the longest trace.
    """
    base, last = len(rows.bounds), rows.starts[person + 1]
    keys[0], ends[0] = 0, rows.starts[person] - 1
    count, low = 1, 0
    for _ in range(known - 1):
        high = count
        for part in range(low, high):
            for point in range(ends[part] + 1, last):
                if alive[point] and rows.items[point] != head:
                    keys[count] = keys[part] * base + rows.items[point] + 1
                    ends[count] = point
                    count += 1
        low = high
    return count


@inlined
def _slot(table: Int64s, mask: int, key: int) -> int:
    """Return where a key stands, or may. Ends: a half of the table is free."""
    mixed = (key ^ (key >> 29)) * int64(-7046029254386353131)
    slot = (mixed ^ (mixed >> 32)) & mask
    while table[slot] != key and table[slot] != -1:
        slot = (slot + 1) & mask
    return slot


@inlined
def _add(
    rows: TraceRows, demand: Demand, person: int, keys: Int64s, table: Int64s, counts: Int64s, mask: int, step: int
) -> None:
    for key in keys:
        for place in range(rows.facet_starts[person], rows.facet_starts[person + 1]):
            whole = key * demand.width + rows.facets[place]
            slot = _slot(table, mask, whole)
            table[slot] = whole
            counts[slot] += step


@inlined
def _holds(
    rows: TraceRows, demand: Demand, person: int, keys: Int64s, table: Int64s, counts: Int64s, mask: int
) -> bool:
    """Tell whether every combination of a person with these keys is frequent, and none of the values too frequent."""
    for key in keys:
        people = counts[_slot(table, mask, key * demand.width)]
        if people < demand.needs[person]:
            return False
        for place in range(rows.facet_starts[person] + 1, rows.facet_starts[person + 1]):
            if counts[_slot(table, mask, key * demand.width + rows.facets[place])] > demand.most[people]:
                return False
    return True


@kernel
def violating_sets(
    rows: TraceRows, demand: Demand, counted: Flags, asked: Flags, size: int, smaller: Int64s, most: int
) -> Int64s:
    """List the sets of `size` points of one person whose doublets break a demand, and of which no part is known to.

    People are counted whose points of all these doublets are `counted`, bool (z,). asked : bool (n,), people of whom
    sets are listed. smaller : what :func:`part_keys` returns of smaller sets, sorted. most : stop after so many.
    Returns int64 (sets · size,), rising in each. Beyond doublets that fewer than k people have together nothing is
    looked for. Cost O(Σ C(|trace|, size)). Ends: each turn takes one branch off, and adds longer ones. Capacity: it
    grows before it appends.
    """
    # Where values count, any set may break a demand; else such as few people have.
    rare = int64(0)
    for person in range(len(rows.starts) - 1):
        rare = max(rare, demand.needs[person] if demand.width == 1 else int64(1) << 40)
    found, filled = np.empty(1024 * size, dtype=np.int64), 0
    held, path = np.empty((1024, 2), dtype=np.int64), np.empty(size, dtype=np.int64)
    branches, tally = np.empty((1024, 4), dtype=np.int64), np.zeros(len(rows.bounds) - 1, dtype=np.int64)
    shares, parts = np.zeros(demand.width, dtype=np.int64), np.empty(size, dtype=np.int64)
    for head in range(len(rows.bounds) - 1):
        end = 0
        held = _rows_room(held, rows.bounds[head + 1] - rows.bounds[head])
        for place in range(rows.bounds[head], rows.bounds[head + 1]):
            if counted[rows.points[place]]:
                held[end, 0], held[end, 1] = rows.points[place], rows.owners[place]
                end += 1
        branches[0, 0], branches[0, 1], branches[0, 2], branches[0, 3] = 1, head, 0, end
        count = 1
        while count > 0:
            count -= 1
            depth, first, last = branches[count, 0], branches[count, 2], branches[count, 3]
            path[depth - 1] = branches[count, 1]
            if depth < size:
                if last - first >= demand.k:
                    most_held = rare if depth + 1 == size else int64(1) << 40
                    held, branches, count = _branched(
                        rows, counted, depth, first, last, held, branches, count, tally, most_held
                    )
                continue
            shared = _is_shared(rows, demand, held[first:last, 1], shares)
            for person in held[first:last, 1]:
                if asked[person] and (shared or last - first < demand.needs[person]) and filled < most * size:
                    at = rows.starts[person]
                    for part in range(size):
                        while rows.items[at] != path[part]:
                            at += 1
                        parts[part] = at
                    if not _has_part(parts, smaller):
                        found = _room(found, filled + size)
                        found[filled : filled + size] = parts
                        filled += size
    return found[:filled].copy()


@inlined
def _room(held: Int64s, size: int) -> Int64s:
    """Return an array with room for so many, and what it held. Ends: it doubles."""
    while len(held) < size:
        held = np.append(held, held)
    return held


@inlined
def _rows_room(held: Int64s, size: int) -> Int64s:
    """Return a table with room for so many rows, and what it held. Ends: it doubles."""
    while len(held) < size:
        held = np.append(held, held, axis=0)
    return held


@inlined
def _branched(
    rows: TraceRows, counted: Flags, depth: int, first: int, last: int, held: Int64s,
    branches: Int64s, count: int, tally: Int64s, rare: int,
) -> tuple[Int64s, Int64s, int]:  # fmt: skip
    """Put the points behind some, doublet by doublet, on top of what is held, and a branch for each doublet.

    Of doublets that `rare` people have, or more, the branch is empty. Capacity: points are counted before they are
    written; both arrays grow.
    """
    total, begin = int64(0), count
    for at in range(first, last):
        for point in range(held[at, 0] + 1, rows.starts[held[at, 1] + 1]):
            if counted[point]:
                item = rows.items[point]
                if tally[item] == 0:
                    if count == len(branches):
                        branches = np.append(branches, branches, axis=0)
                    branches[count, 0], branches[count, 1] = depth + 1, item
                    count += 1
                tally[item] += 1
    for branch in range(begin, count):
        item = branches[branch, 1]
        people = tally[item] if tally[item] < rare else int64(0)
        branches[branch, 2] = last + total
        total += people
        branches[branch, 3] = last + total
        tally[item] = branches[branch, 2] if people else int64(-1)
    held = _rows_room(held, last + total)
    for at in range(first, last if total else first):
        person = held[at, 1]
        for point in range(held[at, 0] + 1, rows.starts[person + 1]):
            place = tally[rows.items[point]]
            if place >= 0 and counted[point]:
                held[place, 0], held[place, 1] = point, person
                tally[rows.items[point]] += 1
    for branch in range(begin, count):
        tally[branches[branch, 1]] = 0
    return held, branches, count


@inlined
def _is_shared(rows: TraceRows, demand: Demand, people: Int64s, shares: Int64s) -> bool:
    """Tell whether too many of some people share a value."""
    is_shared = False
    if demand.width > 1:
        for step in (1, 0):
            for person in people:
                for place in range(rows.facet_starts[person] + 1, rows.facet_starts[person + 1]):
                    shares[rows.facets[place]] = (shares[rows.facets[place]] + 1) * step
                    is_shared |= shares[rows.facets[place]] > demand.most[len(people)]
    return is_shared


@inlined
def _has_part(points: Int64s, smaller: Int64s) -> bool:
    """Tell whether a proper part of some points is among sets that were found."""
    for part in range(1, (1 << len(points)) - 1):
        if len(smaller) > 0:
            key = _part_key(points, part)
            at = np.searchsorted(smaller, key)
            if at < len(smaller) and smaller[at] == key:
                return True
    return False


@inlined
def _part_key(points: Int64s, part: int) -> int:
    """Return a number for up to three points of a person who has fewer than 2^14: the first, and how far others are."""
    first, key, shift = int64(-1), int64(0), 28
    for place in range(len(points)):
        if part >> place & 1:
            first = points[place] if first < 0 else first
            key += (points[place] - first) << shift if shift < 28 else first << 28
            shift -= 14
    return key


@kernel
def part_keys(sets: Int64s, size: int) -> Int64s:
    """Return a number for each set of up to three points of one person."""
    keys = np.empty(len(sets) // max(size, 1), dtype=np.int64)
    for number in range(len(keys)):
        keys[number] = _part_key(sets[number * size : (number + 1) * size], (1 << size) - 1)
    return keys


@kernel
def without_sets(starts: Int64s, sets: Int64s, size: int, worth: Floats) -> Flags:
    """Choose points so that of each set one is left out: again and again the one in most sets, for its worth.

    starts : int64 (n + 1,). sets : int64 (sets · size,), each of points of one person. worth : float64 (z,), above 0.
    Returns bool (z,): the points that stay. Ends: each round leaves one out. Capacity: each set stands `size` times in
    `sets_of`.
    """
    bounds = np.zeros(starts[-1] + 1, dtype=np.int64)
    for point in sets:
        bounds[point + 1] += 1
    for point in range(starts[-1]):
        bounds[point + 1] += bounds[point]
    following, sets_of = bounds.copy(), np.empty(len(sets), dtype=np.int64)
    for place in range(len(sets)):
        sets_of[following[sets[place]]] = place // max(size, 1)
        following[sets[place]] += 1
    degrees, stays = bounds[1:] - bounds[:-1], np.ones(starts[-1], dtype=np.bool_)
    is_hit = np.zeros(len(sets), dtype=np.bool_)
    for person in range(len(starts) - 1):
        worst = int64(0)
        while worst >= 0:
            worst = int64(-1)
            for point in range(starts[person], starts[person + 1]):
                if degrees[point] > 0 and (worst < 0 or degrees[point] * worth[worst] > degrees[worst] * worth[point]):
                    worst = point
            if worst >= 0:
                stays[worst] = False
                for place in range(bounds[worst], bounds[worst + 1]):
                    if not is_hit[sets_of[place]]:
                        is_hit[sets_of[place]] = True
                        for point in sets[sets_of[place] * size : (sets_of[place] + 1) * size]:
                            degrees[point] -= 1
    return stays


@kernel
def fewest_left_out(starts: Int64s, sets: Int64s, size: int, worth: Floats) -> Floats:
    """Return for each person a worth that must be left out at least, so that no set stays; float64 (n,).

    Sets that share no point are taken greedily; of each a point of least worth must go. Capacity: `size` divides.
    """
    of_point, taken = np.zeros(starts[-1], dtype=np.int64), np.zeros(starts[-1], dtype=np.bool_)
    for person in range(len(starts) - 1):
        of_point[starts[person] : starts[person + 1]] = person
    found = np.zeros(len(starts) - 1)
    for number in range(len(sets) // max(size, 1)):
        points = sets[number * size : (number + 1) * size]
        if not taken[points].any():
            taken[points] = True
            found[of_point[points[0]]] += worth[points].min()
    return found


# Looking for better levels: each point has one of several doublets, one at each level, or none. What combinations that
# too few people have are charged for grows until hardly one is left.


class Ladder(NamedTuple):
    """Points, and the doublets that each may become. Letters: z points, s levels, d doublets of all levels."""

    starts: Int64s  # (n + 1,): person ``i`` has the points ``starts[i] .. starts[i+1]-1``
    owners: Int64s  # (z,)
    codes: Int64s  # (s · z,): doublet of each point at each level
    losses: Floats  # (s · z,): and what the point loses there; without a doublet it loses 1
    bounds: Int64s  # (d + 1,): doublet ``j`` may be that of ``members[bounds[j] .. bounds[j+1]-1]``
    members: Int64s  # (s · z,)
    words: Int64s  # (d,): drawn for each doublet; a combination is their exclusive or


_WIDEST = 400
"""Points that are moved together, at most."""


@sized(lambda *arguments: 150.0 * arguments[4].steps)
def anneal_traces(
    ladder: Ladder, level_of: Int64s, known: int, k: int, schedule: Schedule, charges: Floats, counts: Int32s
) -> None:
    """Move points between levels, single ones and all of a doublet, so that less is lost.

    level_of : int64 (z,), the level of each point, s for none; changed in place. charges : float64 (2,), what a person
    of a combination is charged that fewer than `k` have, at first and in the end. counts : int32, zeros, as many as a
    power of two: people of each combination, where several that fall together count as one. What comes out need not
    hold. Ends: a step is tried once. Capacity: `moved` and `former` have room for a step.
    """
    points = len(ladder.owners)
    levels = len(ladder.codes) // max(points, 1)
    longest = 0
    for person in range(len(ladder.starts) - 1):
        longest = max(longest, ladder.starts[person + 1] - ladder.starts[person])
    size = _subsets(longest, known)
    keys, ends = np.empty(size + longest, dtype=np.int64), np.empty(size, dtype=np.int64)
    doublets, turns = np.full(points, -1, dtype=np.int64), np.zeros(len(ladder.words) + 1, dtype=np.int64)
    charge, state = np.zeros(k + 1), np.empty(1, dtype=np.int64)
    moved, former = np.empty(points, dtype=np.int64), np.empty(points, dtype=np.int64)
    for point in range(points):
        _place(ladder, doublets, point, int64(level_of[point]), levels, known, k, charge, counts, keys, ends, turns)
    state[0] = schedule.seed
    for step in range(schedule.steps):
        if step % 1024 == 0:
            # of numpy, as made here; steps are never 0 in here
            share = float64(step) / schedule.steps
            # never 0: the schedule cools down to more than nothing, and what is charged at first is more than that
            warmth = schedule.warm * (float64(schedule.cold) / schedule.warm) ** share
            each = charges[0] * (charges[1] / charges[0]) ** share  # never 0: as above
            for people in range(1, k):
                charge[people] = each * people
        point = draw(state, points)
        level = draw(state, levels + 1)
        old = int64(level_of[point])
        count = 0
        if draw(state, 10) > 0:
            moved[0], count = point, int64(level != old)
        elif draw(state, 2) == 0 and old < levels:
            # All that share its doublet leave it.
            count = _sharing(ladder, level_of, old * points + point, old, True, moved, state)
        elif level < levels:
            # All that may share a doublet join it, or many of them.
            count = _sharing(ladder, level_of, level * points + point, level, False, moved, state)
        if count == 0 or count > _WIDEST:
            continue
        change = 0.0
        for place in range(count):
            one = moved[place]
            former[place] = level_of[one]
            change += _loss(ladder, one, level, levels) - _loss(ladder, one, int64(level_of[one]), levels)
            change += _place(ladder, doublets, one, level, levels, known, k, charge, counts, keys, ends, turns)
            level_of[one] = level
        if change > slack(state, warmth):
            for place in range(count):
                one = moved[place]
                level_of[one] = former[place]
                _place(ladder, doublets, one, int64(former[place]), levels, known, k, charge, counts, keys, ends, turns)


@inlined
def _sharing(ladder: Ladder, level_of: Int64s, at: int, level: int, leaving: bool, moved: Int64s, state: Int64s) -> int:
    """List points of a doublet: those that have it, or that have not and are to; return how many.

    Capacity: `moved` has room for all points.
    """
    doublet, count, half = ladder.codes[at], 0, draw(state, 2) == 0
    for place in range(ladder.bounds[doublet], ladder.bounds[doublet + 1]):
        one = ladder.members[place]
        is_there = level_of[one] == level
        if is_there == leaving and (leaving or not half or level_of[one] > level or draw(state, 2) == 0):
            moved[count] = one
            count += 1
    return count


@inlined
def _loss(ladder: Ladder, point: int, level: int, levels: int) -> float:
    return 1.0 if level == levels else ladder.losses[level * len(ladder.owners) + point]


@inlined
def _place(
    ladder: Ladder, doublets: Int64s, point: int, level: int, levels: int, known: int, k: int, charge: Floats,
    counts: Int32s, keys: Int64s, ends: Int64s, turns: Int64s,
) -> float:  # fmt: skip
    """Give a point the doublet of a level; return how much more is charged.

    Only combinations with the doublet that goes, or with the one that comes, change. Capacity: `keys` and `ends` have
    room for those of the longest trace, and behind them for its points; `turns` for every doublet, and one more.
    """
    old, new = doublets[point], int64(-1)
    if level < levels:
        new = int64(ladder.codes[level * len(ladder.owners) + point])
    doublets[point] = new
    person = ladder.owners[point]
    turns[-1] += 1
    # What else the person has, each once, stands behind the keys.
    begin = len(keys) - (ladder.starts[person + 1] - ladder.starts[person])
    last = begin
    for other in range(ladder.starts[person], ladder.starts[person + 1]):
        if other != point and doublets[other] >= 0 and turns[doublets[other]] != turns[-1]:
            turns[doublets[other]] = turns[-1]
            keys[last], last = ladder.words[doublets[other]], last + 1
    has_old, has_new = old < 0 or turns[old] == turns[-1], new < 0 or turns[new] == turns[-1]
    if has_old and has_new:
        return 0.0
    keys[0], ends[0] = 0, begin - 1
    count, low = 1, 0
    for _ in range(known - 1):
        high = count
        for part in range(low, high):
            for other in range(ends[part] + 1, last):
                keys[count], ends[count] = keys[part] ^ keys[other], other
                count += 1
        low = high
    more, mask = 0.0, len(counts) - 1
    for part in range(count):
        if not has_old:
            slot = (keys[part] ^ ladder.words[old]) & mask
            people = counts[slot]
            counts[slot] = people - 1
            if 0 < people <= k:
                more += charge[people - 1] - charge[people]
        if not has_new:
            slot = (keys[part] ^ ladder.words[new]) & mask
            people = counts[slot]
            counts[slot] = people + 1
            if 0 <= people < k:
                more += charge[people + 1] - charge[people]
    return more


# Counting what somebody knows, for who checks: by writing combinations down and sorting them. Nothing is shared with
# what lets points stay.


@kernel
def count_known(rows: TraceRows, size: int, demand: Demand) -> tuple[int, int, int, int, int, int, int]:
    """Count all combinations of `size` doublets that somebody has.

    Returns how many there are, the fewest people who have one (−1 where there is none), how many fewer than k people
    have, how many share a value too often, the largest share of a value: people, of how many (0 of 1 where there are
    no values), and the fewest people of facet 0 beside a value (−1 where there are no values). Cost O(c log c) for the
    c combinations of each doublet. Ends: a run ends where keys do.
    """
    base = len(rows.bounds)
    combinations, least, rare, shared, worst, among = int64(0), int64(-1), int64(0), int64(0), int64(0), int64(1)
    beside, width = int64(-1), max(int64(demand.width), int64(1))
    for head in range(base - 1):
        total = int64(0)
        for place in range(rows.bounds[head], rows.bounds[head + 1]):
            person = rows.owners[place]
            after = rows.starts[person + 1] - rows.points[place] - 1
            total += _chosen(after, size - 1) * (rows.facet_starts[person + 1] - rows.facet_starts[person])
        keys, filled = np.empty(total, dtype=np.int64), 0
        for place in range(rows.bounds[head], rows.bounds[head + 1]):
            filled = _write_known(rows, rows.points[place], rows.owners[place], size, demand.width, keys, filled)
        keys.sort()
        here, people, last = 0, int64(0), int64(-1)
        while here < total:
            if keys[here] // width != last:
                last, people = keys[here] // width, int64(0)
            end = here + 1
            while end < total and keys[end] == keys[here]:
                end += 1
            if keys[here] % width == 0:
                people = end - here
                combinations += 1
                least = people if least < 0 else min(least, people)
                rare += people < demand.k
            else:
                shared += end - here > demand.most[people]
                beside = people if beside < 0 else min(beside, people)
                if (end - here) * among > worst * people:
                    worst, among = end - here, people
            here = end
    return combinations, least, rare, shared, worst, among, beside


@inlined
def _chosen(size: int, part: int) -> int:
    total = int64(1)
    for step in range(part):
        total = total * max(size - step, 0) // max(step + 1, 1)
    return total


@inlined
def _write_known(rows: TraceRows, point: int, person: int, size: int, width: int, keys: Int64s, filled: int) -> int:
    """Write what stands with a point and behind it, for each facet of the person.

    Ends: places rise, the last first. Capacity: `keys` counts them before.
    """
    last, base = rows.starts[person + 1], len(rows.bounds)
    places = np.arange(point + 1, point + size)
    while size == 1 or places[-1] < last:
        key = int64(0)
        for place in places:
            key = key * base + rows.items[place]
        for facet in range(rows.facet_starts[person], rows.facet_starts[person + 1]):
            keys[filled] = key * width + rows.facets[facet]
            filled += 1
        moved = size - 2
        while moved >= 0 and places[moved] == last - (size - 1 - moved):
            moved -= 1
        if moved < 0:
            break
        places[moved] += 1
        for behind in range(moved + 1, size - 1):
            places[behind] = places[behind - 1] + 1
    return filled

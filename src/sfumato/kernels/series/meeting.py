"""Which boxes of two releases meet: space is halved until few are left to be compared, each with each.

Letters: c, d boxes of the older and the newer release, q attributes, s of them with value sets, w words of all sets,
p pairs that meet.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.jit import inlined, interpreted_as, kernel
from sfumato.kernels.types import Floats, Int64s, Words, int64

# Rows that several releases leave to people, along the classes that cover them.
#
# Letters: n people, v values, r releases, z places (classes and values that they have) of all releases together.


class Lists(NamedTuple):
    """Lists of numbers, one after the other."""

    starts: Int64s  # (lists + 1,): where each starts
    numbers: Int64s


class Pairs(NamedTuple):
    """Pairs of classes, and the rows that they leave."""

    older: Lists  # the older class of each pair, the pairs of each newer class together
    values: Lists
    rows: Int64s  # how many rows of each of them


@kernel
def rows_in_both(older: Lists, newer: Lists, pairs: Pairs, is_older: Int64s, found: Floats) -> int:
    """Sum the rows of all pairs of which both classes cover a person; return how many pairs were added.

    older, newer : for each person the classes of each release. is_older : int64 (classes of the older release,), −1.
    found : float64 (n, v), zeros, written. Cost O(pairs of the newer classes) for each person.
    """
    added = 0
    for person in range(len(found)):
        for at in range(older.starts[person], older.starts[person + 1]):
            is_older[older.numbers[at]] = person
        for at in range(newer.starts[person], newer.starts[person + 1]):
            label = newer.numbers[at]
            for pair in range(pairs.older.starts[label], pairs.older.starts[label + 1]):
                if is_older[pairs.older.numbers[pair]] == person:
                    added += 1
                    for place in range(pairs.values.starts[pair], pairs.values.starts[pair + 1]):
                        found[person, pairs.values.numbers[place]] += pairs.rows[place]
    return added


class Ways(NamedTuple):
    """The places of all releases, one release after the other, and where their rows can go."""

    # `release_of`, `value_of`, `rows`: (z,)
    release_of: Int64s
    value_of: Int64s
    rows: Int64s
    onward: Lists  # for each place, those of the next release to which one of its rows can go


@kernel
def rows_on_ways(inside: Lists, ways: Ways, came: int, found: Floats) -> int:
    """Count of each value the rows on some way to the last release, as many as the release has that has fewest.

    inside : for each person the places of the classes that cover the person, those of the release `came` and all after
    it, rising. found : float64 (n, v), written. Returns how many places are on ways. Cost O(edges of these places).
    Ends: each place is reached once for a person. Capacity: `queue` has a place for each.
    """
    size = len(ways.value_of)
    last = ways.release_of[size - 1]
    covered, reached = np.full(size, -1, dtype=np.int64), np.full(size, -1, dtype=np.int64)
    alive, queue = np.full(size, -1, dtype=np.int64), np.zeros(size, dtype=np.int64)
    sums = np.zeros((last - came + 1, found.shape[1]))
    total = 0
    for person in range(len(found)):
        count = 0
        for at in range(inside.starts[person], inside.starts[person + 1]):
            place = inside.numbers[at]
            covered[place] = person
            if ways.release_of[place] == came and ways.rows[place] > 0:
                reached[place] = person
                queue[count] = place
                count += 1
        at = 0
        while at < count:
            place = queue[at]
            at += 1
            for edge in range(ways.onward.starts[place], ways.onward.starts[place + 1]):
                there = ways.onward.numbers[edge]
                if covered[there] == person and reached[there] != person:
                    reached[there] = person
                    queue[count] = there
                    count += 1
        sums[:] = 0.0
        for back in range(count - 1, -1, -1):
            # Those of later releases were met later.
            place = queue[back]
            goes_on = ways.release_of[place] == last
            for edge in range(ways.onward.starts[place], ways.onward.starts[place + 1]):
                goes_on = goes_on or alive[ways.onward.numbers[edge]] == person
            if goes_on:
                alive[place] = person
                total += 1
                sums[ways.release_of[place] - came, ways.value_of[place]] += ways.rows[place]
        for value in range(found.shape[1]):
            found[person, value] = sums[:, value].min()
    return total


AT_ONCE = 1 << 13
"""Pairs of boxes up to which all are compared."""
BLOCK = 1 << 16
"""Pairs that are compared in one step where nothing is compiled."""
SAMPLE = 48
"""Boxes of each release that are looked at to choose a cut."""
GAIN = 0.8
"""Share of the pairs that a cut must leave at most, or all are compared."""
DEPTH = 256
"""Cells that wait, at most; what would be more is compared."""


class Shapes(NamedTuple):
    """Boxes."""

    # `low`, `high`: (c, q), closed; of a value set its first and its last member
    low: Floats
    high: Floats
    members: Words  # (c, w): value sets as bits
    words: Int64s  # (q + 1,): where the words of each attribute start; attributes without value sets have none


class Cells(NamedTuple):
    """Parts of space that wait to be halved or compared, and the boxes that reach into each.

    A pair is told where the lowest corner of what both cover lies: in one cell, so that no pair is told twice. Members
    of value sets are numbers like any others.
    """

    # `low`, `high`: (cells, q): open below, closed above
    low: Floats
    high: Floats
    # (cells + 1, 2): where the numbers of older and newer boxes of each begin; one row more for where they end
    ends: Int64s


@kernel
def meet(older: Shapes, newer: Shapes) -> Int64s:
    """Return the pairs of boxes that meet as numbers, the newer box · c + the older one; int64 (p,), rising.

    Cost O(q c log c) where boxes of a release hardly overlap, O(q c d) at worst.
    Ends: a cell is compared, or cut at the middle of a box inside it. Capacity: cells are cut while `DEPTH` can wait.
    """
    width = older.low.shape[1]
    cells = Cells(np.empty((DEPTH, width)), np.empty((DEPTH, width)), np.zeros((DEPTH + 1, 2), dtype=np.int64))
    cells.low[0], cells.high[0] = -np.inf, np.inf
    cells.ends[1, 0], cells.ends[1, 1] = len(older.low), len(newer.low)
    first, second = np.arange(len(older.low)), np.arange(len(newer.low))
    found, size, waiting = np.empty(1024, dtype=np.int64), int64(0), 1
    cut = np.zeros(1)
    while waiting > 0:
        waiting -= 1
        some = first[cells.ends[waiting, 0] : cells.ends[waiting + 1, 0]].copy()
        others = second[cells.ends[waiting, 1] : cells.ends[waiting + 1, 1]].copy()
        low, high = cells.low[waiting].copy(), cells.high[waiting].copy()
        attribute = -1
        if len(some) * len(others) > AT_ONCE and waiting + 2 <= DEPTH:
            attribute = _best_cut(older, newer, some, others, low, high, cut)
        if attribute < 0:
            found, size = _compare(older, newer, some, others, low, high, found, size)
            continue
        first = _with_room(first, cells.ends[waiting, 0] + 2 * len(some))
        second = _with_room(second, cells.ends[waiting, 1] + 2 * len(others))
        for side in range(2):
            cells.low[waiting], cells.high[waiting] = low, high
            if side == 0:
                cells.high[waiting, attribute] = cut[0]
            else:
                cells.low[waiting, attribute] = cut[0]
            least, most = cells.low[waiting, attribute], cells.high[waiting, attribute]
            ends, waiting = cells.ends, waiting + 1
            ends[waiting, 0] = _reaching(older, some, attribute, least, most, first, ends[waiting - 1, 0])
            ends[waiting, 1] = _reaching(newer, others, attribute, least, most, second, ends[waiting - 1, 1])
    return np.sort(found[:size])


@interpreted_as(meet)
def _compared_at_once(older: Shapes, newer: Shapes) -> Int64s:
    """Compare all pairs, attribute after attribute, each time those that are left."""
    count = max(1, len(older.low))
    found = [np.zeros(0, dtype=np.int64)]
    step = max(1, BLOCK // count)
    for start in range(0, len(newer.low), step):
        pairs = np.arange(count * start, count * min(start + step, len(newer.low)) if len(older.low) else 0)
        for attribute in range(older.low.shape[1]):
            one, other = pairs % count, pairs // count  # never by 0
            low = np.maximum(older.low[one, attribute], newer.low[other, attribute])
            meets = (low <= older.high[one, attribute]) & (low <= newer.high[other, attribute])
            words = slice(older.words[attribute], older.words[attribute + 1])
            if words.start < words.stop:
                meets &= (older.members[one, words] & newer.members[other, words]).any(axis=1)
            pairs = pairs[meets]
        found.append(pairs)
    return np.concatenate(found)


@inlined
def _with_room(numbers: Int64s, size: int) -> Int64s:
    if size <= len(numbers):
        return numbers
    roomier = np.empty(2 * size, dtype=np.int64)
    roomier[: len(numbers)] = numbers
    return roomier


@inlined
def _reaching(boxes: Shapes, some: Int64s, attribute: int, low: float, high: float, into: Int64s, place: int) -> int:
    """Write the boxes above `low` and not only above `high`; return their end. Capacity: room for all of `some`."""
    for box in some:
        if _reaches(boxes, box, attribute, low, high):
            into[place] = box
            place += 1
    return place


@inlined
def _reaches(boxes: Shapes, box: int, attribute: int, low: float, high: float) -> bool:
    """Tell whether a box has values above `low` and up to `high`."""
    if boxes.low[box, attribute] > high or boxes.high[box, attribute] <= low:
        return False
    start, end = boxes.words[attribute], boxes.words[attribute + 1]
    if start == end or low < boxes.low[box, attribute] or high >= boxes.high[box, attribute]:
        return True
    # The first and the last member lie beyond; what counts is in between.
    for word in range(start + int(low + 1) // 64, start + int(high) // 64 + 1):
        bits = boxes.members[box, word] & _between(low, high, 64 * (word - start))
        if bits != 0:
            return True
    return False


@inlined
def _between(low: float, high: float, first: int) -> np.uint64:
    """Return the bits of a word, of which the lowest is member `first`, for members above `low` and up to `high`."""
    everything = ~np.uint64(0)
    below, above = int(min(max(low + 1 - first, 0.0), 64.0)), int(min(max(high + 1 - first, 0.0), 64.0))
    mask = everything if above == 64 else (np.uint64(1) << np.uint64(above)) - np.uint64(1)
    without = everything if below == 64 else (np.uint64(1) << np.uint64(below)) - np.uint64(1)
    return mask & ~without


@inlined
def _best_cut(
    older: Shapes, newer: Shapes, some: Int64s, others: Int64s, low: Floats, high: Floats, cut: Floats
) -> int:
    """Find the cut that leaves fewest pairs of a sample; return its attribute, −1 if none leaves clearly fewer."""
    steps = max(1, len(some) // SAMPLE), max(1, len(others) // SAMPLE)
    some, others = some[:: steps[0]], others[:: steps[1]]
    best, chosen = GAIN * len(some) * len(others), -1
    middles = np.empty(len(some) + len(others))
    for attribute in range(len(low)):
        for place in range(len(some)):
            middles[place] = (older.low[some[place], attribute] + older.high[some[place], attribute]) / 2
        for place in range(len(others)):
            box = others[place]
            middles[len(some) + place] = (newer.low[box, attribute] + newer.high[box, attribute]) / 2
        ordered = np.sort(middles)
        for tenth in (5, 3, 7):
            at = min(max(ordered[tenth * (len(ordered) - 1) // 10], low[attribute]), high[attribute])
            if not low[attribute] <= at < high[attribute] or not np.isfinite(at):
                continue
            pairs = 0.0
            for side in range(2):
                least, most = (low[attribute], at) if side == 0 else (at, high[attribute])
                pairs += _count(older, some, attribute, least, most) * _count(newer, others, attribute, least, most)
            if pairs < best:
                best, chosen = pairs, attribute
                cut[0] = at
    return chosen


@inlined
def _count(boxes: Shapes, some: Int64s, attribute: int, low: float, high: float) -> float:
    count = 0.0
    for box in some:
        count += _reaches(boxes, box, attribute, low, high)
    return count


@inlined
def _compare(
    older: Shapes, newer: Shapes, some: Int64s, others: Int64s, low: Floats, high: Floats, found: Int64s, size: int
) -> tuple[Int64s, int]:
    """Append the pairs that meet in a cell. Capacity: `found` doubles when it is full."""
    for one in some:
        for other in others:
            if _meet(older, one, newer, other, low, high):
                if size == len(found):
                    roomier = np.empty(2 * size, dtype=np.int64)
                    roomier[:size] = found
                    found = roomier
                found[size] = other * len(older.low) + one
                size += 1
    return found, size


@inlined
def _meet(older: Shapes, one: int, newer: Shapes, other: int, low: Floats, high: Floats) -> bool:
    for attribute in range(len(low)):
        corner = max(older.low[one, attribute], newer.low[other, attribute])
        if corner > older.high[one, attribute] or corner > newer.high[other, attribute]:
            return False
        start, end = older.words[attribute], older.words[attribute + 1]
        if start < end:
            corner = _lowest_shared(older, one, newer, other, start, end)
            if corner < 0.0:
                return False
        if corner <= low[attribute] or corner > high[attribute]:
            return False
    return True


@inlined
def _lowest_shared(older: Shapes, one: int, newer: Shapes, other: int, start: int, end: int) -> float:
    """Return the lowest member that two value sets share, −1 if there is none. Ends: some bit is set."""
    for word in range(start, end):
        shared = older.members[one, word] & newer.members[other, word]
        if shared != 0:
            member = 64.0 * (word - start)
            while shared & np.uint64(1) == 0:
                shared >>= np.uint64(1)
                member += 1.0
            return member
    return -1.0

"""Rows that several releases leave to people, along the classes that cover them.

Letters: n people, v values, r releases, z places (classes and values that they have) of all releases together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.jit import kernel
from sfumato.kernels.types import Floats, Int64s


class Lists(NamedTuple):
    """Lists of numbers, one after the other.

    Attributes
    ----------
    starts : numpy.ndarray
        int64 (lists + 1,): where each starts.
    numbers : numpy.ndarray
        int64
    """

    starts: Int64s
    numbers: Int64s


class Pairs(NamedTuple):
    """Pairs of classes, and the rows that they leave.

    Attributes
    ----------
    older : Lists
        The older class of each pair, the pairs of each newer class together.
    values : Lists
        The values that each pair leaves.
    rows : numpy.ndarray
        int64: how many rows of each of them.
    """

    older: Lists
    values: Lists
    rows: Int64s


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
    """The places of all releases, one release after the other, and where their rows can go.

    Attributes
    ----------
    release_of, value_of, rows : numpy.ndarray
        int64 (z,)
    onward : Lists
        For each place, those of the next release to which one of its rows can go.
    """

    release_of: Int64s
    value_of: Int64s
    rows: Int64s
    onward: Lists


@kernel
def rows_on_ways(inside: Lists, ways: Ways, came: int, found: Floats) -> int:
    """Count of each value the rows on some way to the last release, as many as the release has that has fewest.

    inside : for each person the places of the classes that cover the person, those of the release `came` and all after
    it, rising. found : float64 (n, v), written. Returns how many places are on ways. Cost O(edges of these places).
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

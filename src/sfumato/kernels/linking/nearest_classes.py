"""The published classes that are nearest to each person, by distances that are summed over attributes.

Letters: m people, c classes, d attributes with points, s attributes with labels, g labels, r runs, b blocks of classes
that stand beside each other, z non-zero pairs of a class and a value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.jit import inlined, sized
from sfumato.kernels.types import Flags, Floats, Int32s, Int64s, int64

TIED = 1e-9
"""Distances that are this near to each other are equal: they are sums in which only rounding differs."""


class Labels(NamedTuple):
    """What labels cover.

    Attributes
    ----------
    bounds : numpy.ndarray
        int64 (s, 2): the labels of an attribute are numbered from ``bounds[a, 0]`` to ``bounds[a, 1] - 1``.
    runs, low, high : numpy.ndarray
        int64 (g + 1,), int32 (r,) twice: the codes that each label covers.
    inside : numpy.ndarray
        float64 (g,): distance of a label from a code that it covers; from others it is 1.
    """

    bounds: Int64s
    runs: Int64s
    low: Int32s
    high: Int32s
    inside: Floats


class Blocks(NamedTuple):
    """Classes in blocks of near ones, and what bounds the distance from a block.

    Attributes
    ----------
    starts : numpy.ndarray
        int64 (b + 1,): first class of each block.
    points : numpy.ndarray
        float64 (d, c); infinite for a value that is far from every other.
    labels : numpy.ndarray
        int32 (s, c).
    low, high : numpy.ndarray
        float64 (b, d): least and greatest finite point; infinite ones, high below low, where there is none.
    far : numpy.ndarray
        bool (b, d): whether all points are infinite.
    held, held_labels : numpy.ndarray
        int64 (b · s + 1,), int32: the different labels of a block and attribute; none where they are too many.
    """

    starts: Int64s
    points: Floats
    labels: Int32s
    low: Floats
    high: Floats
    far: Flags
    held: Int64s
    held_labels: Int32s


@sized(lambda people, codes, own, labels, blocks, sizes, *_: 0.3 * (people.size + codes.size) * len(sizes))
def nearest_classes(
    people: Floats, codes: Int32s, own: Int64s, labels: Labels, blocks: Blocks, sizes: Int64s, starts: Int64s,
    values: Int32s, counts: Int64s, tallies: Int64s,
) -> tuple[Int64s, Int64s, Floats]:  # fmt: skip
    """Find the nearest classes of each person, ties included, and count their records.

    people : float64 (m, d), NaN where nothing is known. codes : int32 (m, s), −1 where nothing is known. own : int64
    (m,), the person's value. sizes : int64 (c,). starts, values, counts : compressed rows of values, int64 (c + 1,),
    int32 (z,), int64 (z,). tallies : int64 (m, v) of zeros, to which the values of each person's records are added;
    without rows nothing is. Distances: of points their difference, at most 1; of labels as :class:`Labels` says.

    Returns the records of the nearest classes and those of them with the person's value, int64 (m,) twice, and the
    distance, float64 (m,). Cost O(m · (c · (d + s) + r)) at most; blocks that cannot hold a nearer class are left out.
    """
    candidates = np.zeros(len(people), np.int64)
    alike = np.zeros(len(people), np.int64)
    distances = np.full(len(people), np.inf)
    apart_of = np.zeros(len(labels.inside))
    count = len(blocks.starts) - 1
    least = np.empty(count)
    sums = np.empty(np.diff(blocks.starts).max())
    for person in range(len(people)):
        _tabulate(codes, person, labels, apart_of)
        first = 0
        for block in range(count):
            least[block] = _at_least(people, person, block, blocks, apart_of)
            if least[block] < least[first]:
                first = block
        best = np.inf
        for turn in range(-1, count):
            block = first if turn < 0 else turn
            if turn == first or least[block] > best + TIED:
                continue
            width = _sum_up(people, person, block, blocks, apart_of, sums)
            for place in range(width):
                apart = sums[place]
                if apart > best + TIED:
                    continue
                if apart < best - TIED:
                    candidates[person] = 0
                    alike[person] = 0
                    if len(tallies):
                        tallies[person] = 0
                best = min(best, apart)
                owner = blocks.starts[block] + place
                candidates[person] += sizes[owner]
                for entry in range(starts[owner], starts[owner + 1]):
                    if values[entry] == own[person]:
                        alike[person] += counts[entry]
                    if len(tallies):
                        tallies[person, values[entry]] += counts[entry]
        distances[person] = best
    return candidates, alike, distances


@inlined
def _tabulate(codes: Int32s, person: int, labels: Labels, apart_of: Floats) -> None:
    """Write down how far each label is from the person's value: looking it up is all that is left for each class."""
    for place in range(codes.shape[1]):
        code = codes[person, place]
        for label in range(labels.bounds[place, 0], labels.bounds[place, 1]):
            share = 0.0 if code < 0 else 1.0
            for run in range(labels.runs[label], labels.runs[label + 1]):
                if labels.low[run] <= code <= labels.high[run]:
                    share = labels.inside[label]
                    break
            apart_of[label] = share


@inlined
def _at_least(people: Floats, person: int, block: int, blocks: Blocks, apart_of: Floats) -> float:
    """No class of the block is nearer than that, but for rounding."""
    total = 0.0
    width = len(blocks.labels)
    for place in range(width):
        first = blocks.held[block * width + place]
        last = blocks.held[block * width + place + 1]
        if first == last:
            continue
        share = 1.0
        for entry in range(first, last):
            share = min(share, apart_of[blocks.held_labels[entry]])
        total += share
    for axis in range(people.shape[1]):
        value = people[person, axis]
        if np.isnan(value):
            continue
        if blocks.far[block, axis]:
            total += 1.0
        else:
            total += min(1.0, max(blocks.low[block, axis] - value, value - blocks.high[block, axis], 0.0))
    return total


@inlined
def _sum_up(people: Floats, person: int, block: int, blocks: Blocks, apart_of: Floats, sums: Floats) -> int:
    """Sum up the distances of the block's classes, attribute by attribute; return how many there are."""
    start = blocks.starts[block]
    width = blocks.starts[block + 1] - start
    sums[:width] = 0.0
    for place in range(len(blocks.labels)):
        row = blocks.labels[place, start : start + width]
        for step in range(width):
            sums[step] += apart_of[row[step]]
    for axis in range(people.shape[1]):
        value = people[person, axis]
        if not np.isnan(value):
            points = blocks.points[axis, start : start + width]
            for step in range(width):
                sums[step] += min(1.0, abs(value - points[step]))
    return int64(width)

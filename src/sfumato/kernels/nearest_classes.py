"""The published classes that are nearest to each person, by distances that are summed over attributes.

Letters: m people, c classes, d attributes with points, s attributes with labels, g labels, r runs, z non-zero pairs of
a class and a value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import inlined, kernel

TIED = 1e-9
"""Distances that are this near to each other are equal: they are sums in which only rounding differs."""


@kernel
def nearest_classes(
    people: NDArray[np.float64],
    codes: NDArray[np.int32],
    points: NDArray[np.float64],
    labels: NDArray[np.int32],
    sorted_classes: int,
    runs: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    inside: NDArray[np.float64],
    sizes: NDArray[np.int64],
    starts: NDArray[np.int64],
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
    own: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Find the nearest classes of each person, ties included, and count their records.

    people : float64 (m, d), NaN where nothing is known. codes : int32 (m, s), −1 where nothing is known. points :
    float64 (c, d), NaN for a value that is far from every other. labels : int32 (c, s). sorted_classes : the first so
    many classes are sorted by their first point, which is none of NaN; 0 where there are no points. runs, low, high :
    int64 (g + 1,), int32 (r,) twice, the codes that each label covers. inside : float64 (g,), distance of a label from
    a code that it covers. sizes : int64 (c,). starts, values, counts : compressed rows of values, int64 (c + 1,), int32
    (z,), int64 (z,). own : int64 (m,), the person's value.

    Distances: of points their difference, at most 1; of labels `inside` or 1. Returns the records of the nearest
    classes and those of them with the person's value, int64 (m,) twice, and the distance, float64 (m,). Cost O(m · c ·
    (d + s)) at most: sums stop where they exceed the best, and classes where their first points are farther.
    """
    candidates = np.zeros(len(people), np.int64)
    alike = np.zeros(len(people), np.int64)
    distances = np.full(len(people), np.inf)
    for person in range(len(people)):
        best = np.inf
        first = np.nan if sorted_classes == 0 else people[person, 0]
        above = _place(points, sorted_classes, first)
        below = above - 1
        rest = sorted_classes
        while True:
            owner, below, above, rest = _next(points, first, best, below, above, rest, sorted_classes)
            if owner < 0:
                break
            apart = _apart(people, codes, person, points, labels, owner, runs, low, high, inside, best)
            if apart > best + TIED:
                continue
            if apart < best - TIED:
                candidates[person] = 0
                alike[person] = 0
            best = min(best, apart)
            candidates[person] += sizes[owner]
            for entry in range(starts[owner], starts[owner + 1]):
                if values[entry] == own[person]:
                    alike[person] += counts[entry]
        distances[person] = best
    return candidates, alike, distances


@inlined
def _place(points: Any, count: int, value: float) -> int:
    """Return the first of the sorted classes whose first point is not below the value; 0 where it is not known."""
    low = 0
    high = count
    while low < high:
        middle = (low + high) // 2
        if points[middle, 0] < value:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _next(points: Any, first: float, best: float, below: int, above: int, rest: int, count: int) -> Any:
    """Return the next class to look at, −1 when no other can be nearer, and where to go on below, above and behind.

    Sorted classes come by growing distance of their first points, those behind them as they stand.
    """
    if rest < len(points):
        return rest, below, above, rest + 1
    under = np.inf
    over = np.inf
    if below >= 0:
        under = 0.0 if np.isnan(first) else first - points[below, 0]
    if above < count:
        over = 0.0 if np.isnan(first) else points[above, 0] - first
    if min(under, over) == np.inf or min(under, over, 1.0) > best + TIED:
        return -1, below, above, rest
    if under <= over:
        return below, below - 1, above, rest
    return above, below, above + 1, rest


@inlined
def _apart(
    people: Any,
    codes: Any,
    person: int,
    points: Any,
    labels: Any,
    owner: int,
    runs: Any,
    low: Any,
    high: Any,
    inside: Any,
    best: float,
) -> float:
    """Return the distance of a person from a class, or anything beyond the best so far."""
    total = 0.0
    for axis in range(people.shape[1]):
        value = people[person, axis]
        if np.isnan(value):
            continue
        point = points[owner, axis]
        total += 1.0 if np.isnan(point) else min(1.0, abs(value - point))
        if total > best + TIED:
            return total
    for place in range(codes.shape[1]):
        code = codes[person, place]
        if code < 0:
            continue
        label = labels[owner, place]
        share = 1.0
        for run in range(runs[label], runs[label + 1]):
            if low[run] <= code <= high[run]:
                share = inside[label]
                break
        total += share
        if total > best + TIED:
            return total
    return total

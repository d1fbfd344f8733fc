"""MDAV (section 6 of `algorithms.md`) and V-MDAV (Solanas & Martinez-Balleste 2006), on z-scores.

A table is a list of points. Nothing is left to chance; ties go to the lowest record. Neither method grows a class for
anything but records of its own kind, so there is no predicate here: sizes are all they promise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from naive.metrics import z_scores
from naive.mixed import Class, need

Point = Sequence[float]

Points = NDArray[np.float64]


def standardized(points: Sequence[Point]) -> Points:
    return np.array([z_scores([float(x) for x in column]) for column in zip(*points, strict=True)]).T


def distances(points: Points, records: Sequence[int], centre: Points) -> Points:
    """Squared distances, in the order of `records`."""
    squares: Points = ((points[list(records)] - centre) ** 2).sum(axis=1)
    return squares


def farthest(points: Points, records: Sequence[int], centre: Points) -> int:
    return records[int(distances(points, records, centre).argmax())]


def with_nearest(points: Points, records: Sequence[int], seed: int, k: int) -> Class:
    """The seed and its k - 1 nearest among the other `records`."""
    others = [record for record in records if record != seed]
    near = np.argsort(distances(points, others, points[seed]), kind="stable")[: k - 1]
    return [seed, *(others[index] for index in near)]


def without(records: Sequence[int], members: Class) -> list[int]:
    return [record for record in records if record not in set(members)]


def mdav(points: Sequence[Point], k: int) -> list[Class]:
    """Return the classes: all of k records, but for the last, which has up to 2k - 1.

    The second seed is sought when the first class has left, so that among equal records it is not in that class.
    """
    need(points, k)
    scores = standardized(points)
    rest = list(range(len(points)))
    classes = []
    while len(rest) >= 2 * k:
        seed = farthest(scores, rest, scores[rest].mean(axis=0))
        pair = len(rest) >= 3 * k
        classes.append(with_nearest(scores, rest, seed, k))
        rest = without(rest, classes[-1])
        if pair:
            opposite = farthest(scores, rest, scores[seed])
            classes.append(with_nearest(scores, rest, opposite, k))
            rest = without(rest, classes[-1])
    return [*classes, rest]


def extended(scores: Points, members: Class, rest: Sequence[int], gamma: float, limit: int) -> Class:
    """Take in the record nearest to any member while it is nearer than gamma times its nearest neighbour outside."""
    members, rest = list(members), list(rest)
    while rest and len(members) < limit:
        inside = [distances(scores, members, scores[record]).min() ** 0.5 for record in rest]
        index = int(np.argmin(inside))
        record = rest.pop(index)
        outside = distances(scores, rest, scores[record]).min() ** 0.5 if rest else np.inf
        if not inside[index] < gamma * outside:
            break
        members.append(record)
    return members


def v_mdav(points: Sequence[Point], k: int, gamma: float) -> list[Class]:
    """Return classes of k to 2k - 1 records before the fewer than k leftovers join the class of the nearest mean.

    Seeds are the unassigned records farthest from the mean of the whole table. The means that leftovers look at are
    those before any of them joined.
    """
    need(points, k)
    scores = standardized(points)
    rest = list(range(len(points)))
    classes: list[Class] = []
    centre = scores.mean(axis=0)
    while len(rest) >= k:
        members = with_nearest(scores, rest, farthest(scores, rest, centre), k)
        classes.append(extended(scores, members, without(rest, members), gamma, 2 * k - 1))
        rest = without(rest, classes[-1])
    means = np.array([scores[members].mean(axis=0) for members in classes])
    for record in rest:
        classes[int(distances(means, range(len(means)), scores[record]).argmin())].append(record)
    return classes

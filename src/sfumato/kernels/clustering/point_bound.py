"""What points can be charged, so that no class of k points or more is charged more than its squared error.

Letters: n points, d coordinates, s points of a class. A class of s loses the sum of the squared distances of its pairs
over s. Classes of k to 2k − 1 are looked at: a larger one can be parted, and then loses no more.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import borrowing, inlined, kernel
from sfumato.kernels.types import Floats, Int64s, float64, int64


@kernel
def nearest_sums(points: Floats, most: int) -> Floats:
    """Sum the squared distances of each point to its nearest others: float64 (n, most + 1), of 0 to `most` of them."""
    sums = np.zeros((len(points), most + 1))
    for one in range(len(points)):
        gaps = np.sort(_gaps(points, one))
        # The first is the point itself.
        for place in range(most):
            sums[one, place + 1] = sums[one, place] + (gaps[place + 1] if place + 1 < len(gaps) else np.inf)
    return sums


@inlined
def _gaps(points: Floats, one: int) -> Floats:
    found = np.zeros(len(points))
    for axis in range(points.shape[1]):
        found += (points[:, axis] - points[one, axis]) ** 2
    return found


@kernel
def settle_points(
    points: Floats, sums: Floats, charges: Floats, wanted: Floats, order: Int64s, k: int, patience: int
) -> tuple[Int64s, Int64s, Floats]:
    """Set the charge of each point to what is wanted, or to the most that all classes with it can pay for.

    points : float64 (n, d); sums : float64 (n, 2k), as :func:`nearest_sums` gives them; charges : float64 (n,), changed
    in place, in `order`; patience : parts of classes that are looked at for one point and size before what is left
    counts with its bound. Returns members and copies, int64 (o, 2k − 1), and losses, float64 (o,), of what forbids it.
    """
    members, copies = np.zeros((len(order), 2 * k - 1), np.int64), np.zeros((len(order), 2 * k - 1), np.int64)
    costs = np.zeros(len(order))
    for place in range(len(order)):
        one = order[place]
        gaps = _gaps(points, one)
        charges[one] = wanted[one]
        for size in range(k, min(2 * k, len(points) + 1)):
            _settle(points, sums, charges, one, gaps, size, patience, members[place], copies[place], costs, place)
        charges[one] = max(charges[one], 0.0)
    return members, copies, costs


@inlined
def _settle(
    points: Floats, sums: Floats, charges: Floats, one: int, gaps: Floats, size: int, patience: int, members: Int64s,
    copies: Int64s, costs: Floats, row: int,
) -> None:  # fmt: skip
    """Lower the charge of a point to what classes of one size allow; they are searched depth first.

    Ends: the next point of a level comes later each time. Capacity: a level for each point of a class.
    """
    height = len(points)
    kept = np.empty((size, height), np.int64)
    # Of each that may still join: squared distances to those of the class, over its size, less what it is charged.
    prices = np.empty((size, height))
    counts, tried = np.zeros(size, np.int64), np.zeros(size, np.int64)
    chosen = np.zeros(size, np.int64)
    paid = np.zeros(size)
    # never 0: k is 1 or more
    share = 1.0 / size
    for other in range(height):
        if other != one:
            kept[0, counts[0]], prices[0, counts[0]] = other, share * gaps[other] - charges[other]
            counts[0] += 1
    chosen[0] = one
    if size == 1:
        charges[one] = min(charges[one], 0.0)
        return
    counts[0] = _keep(0, size, charges[one], paid, kept, prices, counts, sums)
    level, looked = 0, 0
    while level >= 0:
        place = tried[level]
        left = size - 1 - level
        if place + left > counts[level]:
            level -= 1
            continue
        tried[level] += 1
        other = kept[level, place]
        below = paid[level] + prices[level, place]
        chosen[level + 1] = other
        looked += 1
        if left == 1:
            if below < charges[one] - 1e-12:
                charges[one] = below
                costs[row] = _name(points, chosen, size, members, copies)
            continue
        count = 0
        for later in range(place + 1, counts[level]):
            third = kept[level, later]
            gap = 0.0
            for axis in range(points.shape[1]):
                gap += (points[other, axis] - points[third, axis]) ** 2
            kept[level + 1, count], prices[level + 1, count] = third, prices[level, later] + share * gap
            count += 1
        paid[level + 1], counts[level + 1], tried[level + 1] = below, count, 0
        counts[level + 1] = _keep(level + 1, size, charges[one], paid, kept, prices, counts, sums)
        if counts[level + 1] < left - 1:
            continue
        if looked > patience:
            charges[one] = min(charges[one], below + _least(level + 1, size, kept, prices, counts, sums))
            for step in range(left - 1):
                chosen[level + 2 + step] = kept[level + 1, step]
            costs[row] = _name(points, chosen, size, members, copies)
            continue
        level += 1


@borrowing
def _bound(level: int, place: int, size: int, kept: Int64s, prices: Floats, sums: Floats) -> float:
    """Return the least that a point adds to a class: half of the pairs with others that join are its own."""
    left = size - 1 - level
    # never 0: k is 1 or more
    return float64(prices[level, place] + sums[kept[level, place], left - 1] * 0.5 / size)


@inlined
def _least(level: int, size: int, kept: Int64s, prices: Floats, counts: Int64s, sums: Floats) -> float:
    """Return the least that all who still join add together."""
    found = np.empty(counts[level])
    for place in range(counts[level]):
        found[place] = _bound(level, place, size, kept, prices, sums)
    return float64(np.sort(found)[: size - 1 - level].sum())


@inlined
def _keep(
    level: int, size: int, most: float, paid: Floats, kept: Int64s, prices: Floats, counts: Int64s, sums: Floats
) -> int:
    """Keep those with whom a class may stay below `most`, the least first. Capacity: no more than there are."""
    count, left = counts[level], size - 1 - level
    if count < left:
        return 0
    found = np.empty(count)
    for place in range(count):
        found[place] = _bound(level, place, size, kept, prices, sums)
    order = np.argsort(found, kind="mergesort")
    others = paid[level]
    for step in range(left - 1):
        others += found[order[step]]
    stays = 0
    old_kept, old_prices = kept[level, :count].copy(), prices[level, :count].copy()
    for place in order:
        if others + found[place] >= most - 1e-12:
            break
        kept[level, stays], prices[level, stays] = old_kept[place], old_prices[place]
        stays += 1
    return int64(stays)


@inlined
def _name(points: Floats, chosen: Int64s, size: int, members: Int64s, copies: Int64s) -> float:
    """Write down a class; returns what it loses."""
    copies[:] = 0
    lost = 0.0
    for place in range(size):
        members[place], copies[place] = chosen[place], 1
        for other in range(place):
            for axis in range(points.shape[1]):
                lost += (points[chosen[place], axis] - points[chosen[other], axis]) ** 2
    # never 0: k is 1 or more
    return lost / size

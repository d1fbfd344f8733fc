"""What points can be charged, so that no class of k points or more is charged more than its squared error.

Letters: n points, d coordinates. A class of s loses the sum P of the squared distances of its pairs over s. Classes of
k alone are looked at: where they keep to it, s are charged at most (k − 1) P / (k (s − 1)), the mean over parts of k,
which is at most P / s. Of k + 1 points at most one class holds k or more: a set of them may pay a toll, once, by which
any k of them, or all, are charged more. Of larger classes too few parts of k lie in the set to need a look.
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
    points: Floats, sums: Floats, sets: Int64s, charges: Floats, wanted: Floats, order: Int64s, patience: int
) -> tuple[Int64s, Int64s, Floats]:
    """Set the charge of each point to what is wanted, or to the most that all classes with it can pay for.

    points : float64 (n, d); sums : float64 (n, k + 1), as :func:`nearest_sums` gives them; sets : int64 (s, k + 1),
    without a point in common; charges : float64 (n + s,), of points, changed in place, in `order`, and tolls;
    patience : parts of classes that are looked at for one point before what is left counts with its bound. Returns
    members and copies, int64 (2 o, k + 2), and losses, float64 (2 o,), of what forbids it; the copy of a toll is −1.
    """
    k, height = sums.shape[1] - 1, len(points)
    tolled = np.full(height, -1)
    for row in range(len(sets)):
        tolled[sets[row]] = height + row
    shape = (2 * len(order), k + 2)
    members, copies, costs = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(2 * len(order))
    for place in range(len(order)):
        one = order[place]
        gaps = _gaps(points, one)
        charges[one] = wanted[one]
        _settle(points, sums, tolled, charges, one, gaps, k, patience, members[place], copies[place], costs, place)
        if tolled[one] >= 0:
            whole, row = sets[tolled[one] - height], len(order) + place
            lost = _name(points, tolled, whole, members[row], copies[row])
            rest = lost + charges[tolled[one]] - (charges[whole].sum() - charges[one])
            charges[one], costs[row] = min(charges[one], rest), lost
        charges[one] = max(charges[one], 0.0)
    return members, copies, costs


@inlined
def _settle(
    points: Floats, sums: Floats, tolled: Int64s, charges: Floats, one: int, gaps: Floats, size: int, patience: int,
    members: Int64s, copies: Int64s, costs: Floats, row: int,
) -> None:  # fmt: skip
    """Lower the charge of a point to what classes of `size` allow; they are searched depth first.

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
            toll = _toll(tolled, chosen)
            below += charges[toll] if toll >= 0 else 0.0
            if below < charges[one] - 1e-12:
                charges[one] = below
                costs[row] = _name(points, tolled, chosen, members, copies)
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
            costs[row] = _name(points, tolled, chosen, members, copies)
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


@borrowing
def _toll(tolled: Int64s, chosen: Int64s) -> int:
    """Return where the toll of a class stands: -1 where its points are not all of one set."""
    for place in range(1, len(chosen)):
        if tolled[chosen[place]] != tolled[chosen[0]]:
            return -1
    return int64(tolled[chosen[0]])


@inlined
def _name(points: Floats, tolled: Int64s, chosen: Int64s, members: Int64s, copies: Int64s) -> float:
    """Write down a class; returns what it loses."""
    copies[:] = 0
    lost, size, toll = 0.0, len(chosen), _toll(tolled, chosen)
    if toll >= 0:
        members[-1], copies[-1] = toll, -1
    for place in range(size):
        members[place], copies[place] = chosen[place], 1
        for other in range(place):
            for axis in range(points.shape[1]):
                lost += (points[chosen[place], axis] - points[chosen[other], axis]) ** 2
    # never 0: k is 1 or more
    return lost / size

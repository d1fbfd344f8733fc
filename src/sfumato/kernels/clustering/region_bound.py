"""The cheapest region around each record that holds k records: what no class with that record can beat.

Letters: m distinct records in tree order, q attributes, g candidates: records that a cheaper region might hold.

A class costs, in each attribute, at least as much as the record together with the member that is furthest from it there
(exactly as much in a hierarchy). So the question is for one limit per attribute, cheapest in all, such that k records
keep every limit. Limits are tried attribute by attribute, tight ones first. Whatever is chosen for the others, the rest
costs at least what the k-th cheapest candidate still has to pay, which ends most branches early.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.clustering.class_members import ClassLoss, pair_loss, range_loss
from sfumato.kernels.clustering.record_tree import (
    NONE,
    Grown,
    RecordTree,
    count_alive,
    grown_loss,
    least_loss,
    nearest,
    new_grown,
    own_loss,
    start_with,
    take_in,
)
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Codes, Floats, Int64s, int64


@kernel
def cheapest_regions(
    codes: Codes, weights: Int64s, tree: RecordTree, loss: ClassLoss, low: int, high: int, k: int, patience: int
) -> Floats:
    """Return a lower bound on the loss of every class of k records that has the record; float64 (high − low,).

    codes : unsigned (m, q), in tree order; weights : int64 (m,); low, high : which records; patience : choices of
    limits that are looked at for one record. What is left then counts with its own bound, so that the result may be
    lower than the cheapest region, never higher than what a class costs.
    """
    found = np.zeros(high - low)
    stack = np.empty(len(tree.starts) + 1, np.int64)
    bounds = np.empty(len(tree.starts) + 1)
    grown = new_grown(loss)
    left = weights.copy()
    alive = count_alive(left, tree)
    candidates = np.empty(len(weights), np.int64)
    # Nobody else is charged.
    free = np.full(len(weights), np.inf)
    for record in range(low, high):
        if weights[record] >= k:
            continue
        most = _greedy(codes, weights, record, k, left, alive, tree, loss, grown, stack, bounds)
        start_with(codes, record, loss, grown)
        count = _within(codes, most, tree, loss, grown, stack, candidates)
        found[record - low] = _least_charge(codes, weights, record, k, most, candidates[:count], free, patience, loss)
    return found


@kernel
def charged_to_few(
    codes: Codes, weights: Int64s, tree: RecordTree, loss: ClassLoss, cheapest: Floats, order: Int64s, k: int,
    factor: float, patience: int,
) -> Floats:  # fmt: skip
    """Return what single records can be charged beyond their cheapest regions; float64 (m,), mostly 0.

    cheapest : float64 (m,), lower bounds of what every class with the record costs each of its members. order : int64,
    records in the order in which they are tried. factor : a record is charged at most so many times its own bound.

    A class of a record that is hard to place has k − 1 others, and each of them pays what the class costs, however
    cheap its own region is. What they pay beyond their own bounds is charged to the one. One copy of a record is
    charged, and two records only if every region that holds both costs at least what either is charged: then no class
    pays for more than it loses. Capacity: each of `order` is charged once at most.
    """
    height = len(weights)
    extra = np.zeros(height)
    charged = np.empty(len(order), np.int64)
    count = 0
    # Somebody who is suppressed loses everything and nobody else does.
    whole = loss.tops.sum()
    stack = np.empty(len(tree.starts) + 1, np.int64)
    grown = new_grown(loss)
    candidates = np.empty(height, np.int64)
    for record in order:
        own = cheapest[record]
        if own <= 0.0:
            continue
        most = min(factor * own, whole)
        for place in range(count):
            other = charged[place]
            apart = pair_loss(codes, record, other, loss)
            if apart < cheapest[other] + extra[other]:
                most = 0.0
                break
            most = min(most, apart)
        if most <= own:
            continue
        start_with(codes, record, loss, grown)
        found = _within(codes, most, tree, loss, grown, stack, candidates)
        value = _least_charge(codes, weights, record, k, most, candidates[:found], cheapest, patience, loss)
        if value > own:
            extra[record] = value - own
            charged[count] = record
            count += 1
    return extra


@inlined
def _least_charge(
    codes: Codes, weights: Int64s, record: int, k: int, most: float, candidates: Int64s, cheapest: Floats,
    patience: int, loss: ClassLoss,
) -> float:  # fmt: skip
    """Return the least of what a region with the record costs it and, beyond their bounds, the k − 1 dearest others.

    At most `most`. Limits are searched depth first; the levels of the search are the attributes, the most telling
    first. Where all bounds are infinite it is the cheapest region.
    Ends: the limit of a level rises each time, through the costs that its records have. Capacity: there is a level for
    each attribute, and one more.
    """
    count = len(candidates)
    width = codes.shape[1]
    costs = np.zeros((width, count))
    together = np.empty(count, np.int64)
    others = np.empty(count, np.int64)
    bounds = np.empty(count)
    for place in range(count):
        one_record = candidates[place]
        together[place] = weights[one_record]
        others[place] = weights[one_record] - (1 if one_record == record else 0)
        bounds[place] = cheapest[one_record]
        for attribute in range(width):
            one = int64(codes[record, attribute])
            other = int64(codes[one_record, attribute])
            costs[attribute, place] = range_loss(attribute, min(one, other), max(one, other), loss)
    dearest = np.argsort(-bounds)
    order = np.argsort(-np.array([costs[attribute].sum() for attribute in range(width)]))
    # Kept in the order of their bounds, the dearest first, so that those who pay least beyond them come first.
    kept = np.empty((width + 1, count), np.int64)
    kept[0] = dearest
    sizes = np.zeros(width + 1, np.int64)
    sizes[0] = count
    rest = np.zeros((width + 1, count))
    for entry in range(count):
        for attribute in range(width):
            rest[0, entry] += costs[attribute, dearest[entry]]
    paid = np.zeros(width + 1)
    tried = np.full(width, -1.0)
    best = most
    level = 0
    looked = 0
    while level >= 0:
        limit = np.inf
        attribute = order[min(level, width - 1)]
        if level < width:
            for entry in range(sizes[level]):
                cost = costs[attribute, kept[level, entry]]
                if cost > tried[level] and cost < limit:
                    limit = cost
        if limit == np.inf or paid[level] + limit >= best:
            level -= 1
            continue
        tried[level] = limit
        inside = 0
        for entry in range(sizes[level]):
            place = kept[level, entry]
            if costs[attribute, place] <= limit:
                kept[level + 1, inside] = place
                rest[level + 1, inside] = rest[level, entry] - costs[attribute, place]
                inside += 1
        sizes[level + 1] = inside
        paid[level + 1] = paid[level] + limit
        region = paid[level + 1] + _weighted_rank(rest[level + 1], kept[level + 1], inside, together, k)
        looked += 1
        if region >= best - 1e-12:
            continue
        bound = region
        left = k - 1
        for entry in range(inside):
            if left == 0:
                break
            place = kept[level + 1, entry]
            taken = min(left, others[place])
            bound += taken * max(region - bounds[place], 0.0)
            left -= taken
        if bound >= best - 1e-12:
            continue
        if level + 1 == width or looked > patience:
            best = bound
            continue
        level += 1
        if level < width:
            tried[level] = -1.0
    return best


@inlined
def _greedy(
    codes: Codes, weights: Int64s, record: int, k: int, left: Int64s, alive: Int64s, tree: RecordTree, loss: ClassLoss,
    grown: Grown, stack: Int64s, bounds: Floats,
) -> float:  # fmt: skip
    """Loss of a class grown around the record, or infinite; `left` as before. Ends: it has k at last. Capacity: k."""
    start_with(codes, record, loss, grown)
    taken = np.empty(k, np.int64)
    size = 0
    steps = 0
    one = record
    while one != NONE:
        taken[steps] = one
        steps += 1
        size += weights[one]
        left[one] = 0
        take_in(codes, one, loss, grown)
        if size >= k:
            break
        one, _ = nearest(codes, left, alive, left[:0] > 0, tree, loss, grown, stack, bounds)
    for step in range(steps):
        left[taken[step]] = weights[taken[step]]
    return own_loss(loss, grown) if size >= k else np.inf


@inlined
def _within(
    codes: Codes, most: float, tree: RecordTree, loss: ClassLoss, grown: Grown, stack: Int64s, candidates: Int64s
) -> int:
    """List records nearer than `most`. Ends: each node is visited once. Capacity: nodes that wait, and records."""
    count = 0
    stack[0] = 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        if least_loss(node, tree, loss, grown) >= most:
            continue
        if tree.left[node] != NONE:
            stack[waiting] = tree.left[node]
            stack[waiting + 1] = tree.left[node] + 1
            waiting += 2
            continue
        for one in range(tree.starts[node], tree.stops[node]):
            if grown_loss(codes, one, loss, grown) < most:
                candidates[count] = one
                count += 1
    return count


@inlined
def _weighted_rank(rest: Floats, kept: Int64s, count: int, together: Int64s, k: int) -> float:
    """Return what the record with which k are together still has to pay, the cheapest first; infinite without one.

    The cheapest are held in a short rising list. Ends: places fall.
    """
    limits = np.empty(k)
    numbers = np.empty(k, np.int64)
    held = 0
    total = 0
    for entry in range(count):
        cost = max(rest[entry], 0.0)
        if total >= k and cost >= limits[held - 1]:
            continue
        place = held
        while place > 0 and limits[place - 1] > cost:
            place -= 1
        for step in range(min(held, k - 1), place, -1):
            limits[step] = limits[step - 1]
            numbers[step] = numbers[step - 1]
        limits[place] = cost
        numbers[place] = together[kept[entry]]
        held = min(held + 1, k)
        total = 0
        for step in range(held):
            total += numbers[step]
            if total >= k:
                held = step + 1
                break
    return limits[held - 1] if total >= k else np.inf

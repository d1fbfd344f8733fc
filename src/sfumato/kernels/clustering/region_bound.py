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
from sfumato.kernels.types import Codes, Floats, Int64s, float64, int64


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
    # Nobody else is charged, and nobody named.
    free = np.zeros(len(weights))
    unnamed = np.empty((2, k), np.int64)
    for record in range(low, high):
        if weights[record] >= k:
            continue
        most = _greedy(codes, weights, record, k, left, alive, tree, loss, grown, stack, bounds)
        start_with(codes, record, loss, grown)
        count = _within(codes, most, tree, loss, grown, stack, candidates)
        found[record - low], _ = _least_charge(
            codes,
            weights,
            record,
            k,
            1,
            1,
            True,
            most,
            candidates[:count],
            free,
            patience,
            loss,
            unnamed[0],
            unnamed[1],
        )
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
    unnamed = np.empty((2, k), np.int64)
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
        value, _ = _least_charge(
            codes,
            weights,
            record,
            k,
            k,
            1,
            True,
            most,
            candidates[:found],
            cheapest,
            patience,
            loss,
            unnamed[0],
            unnamed[1],
        )
        if value > own:
            extra[record] = value - own
            charged[count] = record
            count += 1
    return extra


@kernel
def settle_charges(
    codes: Codes, weights: Int64s, loss: ClassLoss, charges: Floats, wanted: Floats, order: Int64s, k: int,
    patience: int,
) -> tuple[Int64s, Int64s, Floats]:  # fmt: skip
    """Set the charge of each record to what is wanted, or to the most that all classes with it can pay for.

    charges : float64 (m,), changed in place, in `order`; all copies of a record are charged alike. wanted : float64
    (m,), up to the whole domain's loss. Where each wants no more than it is charged, no class pays for more than it
    loses in the end; where none did before, none does then.
    Returns members and copies of them, int64 (o, k), and what the class loses, float64 (o,): of each of `order` that
    does not get what is wanted, the class that forbids it; no copies elsewhere.
    """
    members, copies = np.zeros((len(order), k), np.int64), np.zeros((len(order), k), np.int64)
    costs = np.zeros(len(order))
    grown = new_grown(loss)
    candidates = np.empty(len(weights), np.int64)
    gaps = np.empty(len(weights))
    for place in range(len(order)):
        record = order[place]
        if weights[record] >= k:
            charges[record] = 0.0
            continue
        start_with(codes, record, loss, grown)
        most = wanted[record]
        count = _in_reach(codes, weights, record, k, most, charges, loss, grown, gaps, candidates)
        charges[record], costs[place] = _least_charge(
            codes, weights, record, k, k, weights[record], False, most, candidates[:count], charges, patience, loss,
            members[place], copies[place],
        )  # fmt: skip
    return members, copies, costs


@inlined
def _in_reach(
    codes: Codes, weights: Int64s, record: int, k: int, most: float, charges: Floats, loss: ClassLoss, grown: Grown,
    gaps: Floats, candidates: Int64s,
) -> int:  # fmt: skip
    """List records of regions that forbid a charge of `most`: others there must be charged enough for what it costs.

    Ends: the radius falls by a share each time. Capacity: each record is listed once.
    """
    top = np.zeros(k)
    for other in range(len(weights)):
        gaps[other] = grown_loss(codes, other, loss, grown)
    radius = np.inf
    while True:
        top[:] = 0.0
        for other in range(len(weights)):
            if gaps[other] < radius and other != record:
                _hold(charges[other], weights[other], k - 1, top)
        reach = 1e-12
        for share in range(1, min(weights[record], k) + 1):
            # never 0: k is 1 or more
            reach = max(reach, (share * most + top[: k - share].sum()) / k + 1e-12)
        if not reach < 0.99 * radius:
            break
        radius = reach
    count = 0
    for other in range(len(weights)):
        if gaps[other] < radius:
            candidates[count] = other
            count += 1
    return count


@inlined
def _hold(value: float, copies: int, room: int, top: Floats) -> bool:
    """Put copies of a value into a falling list of `room` values; returns whether it changed. Ends: places fall."""
    changed = False
    for _ in range(min(copies, room)):
        if value <= top[room - 1]:
            break
        place = room - 1
        while place > 0 and top[place - 1] < value:
            top[place] = top[place - 1]
            place -= 1
        top[place] = value
        changed = True
    return changed


@inlined
def _allowed(cost: float, most_copies: int, k: int, top: Floats) -> float:
    """Return what each copy can be charged where k pay `cost` together, the rest of them the dearest others."""
    least = np.inf
    left = cost
    for held in range(k - 1):
        left -= top[held]
    for share in range(1, min(most_copies, k) + 1):
        # never 0: a share of 1 or more
        least = min(least, left / share)
        if share < k:
            left += top[k - 1 - share]
    return least


@inlined
def _least_charge(
    codes: Codes, weights: Int64s, record: int, k: int, times: int, own: int, fair: bool, most: float,
    candidates: Int64s, charges: Floats, patience: int, loss: ClassLoss, members: Int64s, copies: Int64s,
) -> tuple[float, float]:  # fmt: skip
    """Return the most that a record can be charged in any region with it, at most `most`, and what that one costs.

    A region pays `times` its loss for k records: copies of this one, up to `own`, and the others that are charged most.
    `fair`: nobody is charged more than any region costs them, so that what it costs is the least of what is left.
    Limits are searched depth first; the levels of the search are the attributes, the most telling first. `members` and
    `copies`, int64 (k,), then hold who the k are. Ends: the limit of a level rises each time, through the costs that
    its records have. Capacity: there is a level for each attribute, and one more.
    """
    count = len(candidates)
    width = codes.shape[1]
    costs = np.zeros((width, count))
    together = np.empty(count, np.int64)
    others = np.empty(count, np.int64)
    paid_by = np.empty(count)
    for place in range(count):
        one_record = candidates[place]
        together[place] = weights[one_record]
        others[place] = weights[one_record] - (own if one_record == record else 0)
        paid_by[place] = charges[one_record]
        for attribute in range(width):
            one = int64(codes[record, attribute])
            other = int64(codes[one_record, attribute])
            costs[attribute, place] = range_loss(attribute, min(one, other), max(one, other), loss)
    order = np.argsort(-np.array([costs[attribute].sum() for attribute in range(width)]), kind="mergesort")
    kept = np.empty((width + 1, count), np.int64)
    # Whoever is charged most comes first, so that the dearest are the first of those that are left.
    kept[0] = np.argsort(-paid_by, kind="mergesort")
    sizes = np.zeros(width + 1, np.int64)
    sizes[0] = count
    rest = np.zeros((width + 1, count))
    for attribute in range(width):
        rest[0] += costs[attribute, kept[0]]
    paid = np.zeros(width + 1)
    tried = np.full(width, -1.0)
    # The dearest others at each level: what is left there can only be charged less.
    tops = np.zeros((width + 1, k))
    _dearest(kept[0], others, paid_by, k - 1, tops[0])
    best, cost = most, 0.0
    level = 0
    looked = 0
    while level >= 0:
        limit = np.inf
        attribute = order[min(level, width - 1)]
        if level < width:
            for entry in range(sizes[level]):
                share = costs[attribute, kept[level, entry]]
                if share > tried[level] and share < limit:
                    limit = share
        least = paid[level] + limit
        if limit == np.inf or (least if fair else _allowed(times * least, own, k, tops[level])) >= best:
            level -= 1
            continue
        tried[level] = limit
        inside = 0
        for entry in range(sizes[level]):
            place = kept[level, entry]
            if costs[attribute, place] <= limit:
                kept[level + 1, inside] = place
                rest[level + 1, inside] = max(rest[level, entry] - costs[attribute, place], 0.0)
                inside += 1
        sizes[level + 1] = inside
        paid[level + 1] = paid[level] + limit
        _dearest(kept[level + 1, :inside], others, paid_by, k - 1, tops[level + 1])
        looked += 1
        region = paid[level + 1] + _weighted_rank(rest[level + 1], kept[level + 1], inside, together, k)
        if fair:
            if region >= best - 1e-12:
                continue
            for held in range(k):
                tops[level + 1, held] = min(tops[level + 1, held], region)
        bound = _allowed(times * region, own, k, tops[level + 1])
        if not fair and bound < best - 1e-12:
            bound = _jointly(
                paid[level + 1], times, own, k, rest[level + 1, :inside], kept[level + 1, :inside], together, others,
                paid_by,
            )  # fmt: skip
        if bound >= best - 1e-12:
            continue
        if level + 1 == width or looked > patience:
            best = bound
            cost = times * _name(
                record, candidates, kept[level + 1, :inside], others, paid_by, times * paid[level + 1], own, costs,
                members, copies,
            )  # fmt: skip
            continue
        level += 1
        if level < width:
            tried[level] = -1.0
    return best, cost


@inlined
def _dearest(kept: Int64s, others: Int64s, paid_by: Floats, room: int, top: Floats) -> None:
    """List what the dearest others are charged, of records in falling order. Capacity: `room` are listed at most."""
    top[:] = 0.0
    held = 0
    for place in kept:
        for _ in range(min(others[place], room - held)):
            top[held] = paid_by[place]
            held += 1
        if held == room:
            break


@inlined
def _jointly(
    paid: float, times: int, own: int, k: int, rest: Floats, kept: Int64s, together: Int64s, others: Int64s,
    paid_by: Floats,
) -> float:  # fmt: skip
    """Return what a record can be charged at most where whoever is charged more may cost more."""
    top = np.zeros(k)
    total = 0
    least = np.inf
    fresh = True
    for entry in np.argsort(rest, kind="mergesort"):
        place = kept[entry]
        total += together[place]
        fresh = _hold(paid_by[place], others[place], k - 1, top) or fresh
        if total >= k and fresh:
            least = min(least, _allowed(times * (paid + rest[entry]), own, k, top))
            fresh = False
    return least


@inlined
def _name(
    record: int, candidates: Int64s, kept: Int64s, others: Int64s, paid_by: Floats, cost: float, own: int,
    costs: Floats, members: Int64s, copies: Int64s,
) -> float:  # fmt: skip
    """Name those whom a region of this cost charges; returns what they lose each. Capacity: each is one more of k."""
    k = len(members)
    copies[:] = 0
    least, share = np.inf, min(own, k)
    for some in range(1, min(own, k) + 1):
        left, total = k - some, 0.0
        for place in kept:
            taken = min(left, others[place])
            total += taken * paid_by[place]
            left -= taken
        # never 0: a copy or more
        each = (cost - total) / some
        if left == 0 and each < least:
            least, share = each, some
    members[0], copies[0] = record, share
    left, count = k - share, 1
    furthest = np.zeros(len(costs))
    for place in kept:
        taken = min(left, others[place])
        if taken > 0:
            members[count], copies[count] = candidates[place], taken
            count += 1
            left -= taken
            furthest = np.maximum(furthest, costs[:, place])
    return float64(furthest.sum())


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

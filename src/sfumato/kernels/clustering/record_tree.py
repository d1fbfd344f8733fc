"""A tree over distinct records, for finding near and far ones without looking at all.

Letters: m distinct records, q attributes, t nodes of the tree, M codes of all attributes together.

Records stand in tree order: every node owns a range of them and knows the range of their codes in each attribute. The
cost of a record grows with the distance of its codes from those of a class, so that the nearest codes of a node bound
all its records from below and the furthest from above. Among equals the first record in tree order is found, whatever
way the search takes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.clustering.class_members import TABLED, ClassLoss, range_loss, set_loss
from sfumato.kernels.jit import borrowing, inlined, interpreted_as, kernel
from sfumato.kernels.types import NUMERIC, SET, Codes, Flags, Floats, Int32s, Int64s, float64, int64

BUCKET = 8
"""Records of a node that is not split any more; equal records are never split."""

NONE = -1


class RecordTree(NamedTuple):
    """Nodes in the order in which they were made, the root first."""

    order: Int32s  # (m,): which record of the input stands at each place
    # `starts`, `stops`: (t,): places that the node owns, ``starts .. stops-1``.
    starts: Int32s
    stops: Int32s
    # `left`, `parent`: (t,): first child, the second is the next node, −1 in a bucket; parent, −1 for the root
    left: Int32s
    parent: Int32s
    bucket_of: Int32s  # (m,): the bucket that owns each place
    # `low`, `high`: (t, q): smallest and largest code of the node's records
    low: Int32s
    high: Int32s


class Grown(NamedTuple):
    """What a class has collected so far, and what every code would cost it."""

    # `low`, `high`: (q,): smallest and largest code
    low: Int64s
    high: Int64s
    distinct: Int64s  # (q,): values of attributes without order or hierarchy
    present: Flags  # (M,): which of them
    # (M,): loss of each attribute once the code has joined, where it has few codes; with many codes, most of a table
    # would never be looked at before the class changes
    costs: Floats
    tabled: Flags  # (q,): attributes with few codes
    floors: Floats  # (q,): loss of each attribute as it is


@inlined
def new_grown(loss: ClassLoss) -> Grown:
    """Return a class without records."""
    count = len(loss.kinds)
    size = loss.offsets[count]
    return Grown(
        np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(size, np.bool_),
        np.zeros(size), np.diff(loss.offsets) <= TABLED, np.zeros(count),
    )  # fmt: skip


@borrowing
def start_with(codes: Codes, record: int, loss: ClassLoss, grown: Grown) -> None:
    """Forget what was collected and start with one record; codes : unsigned (m, q)."""
    for attribute in range(len(loss.kinds)):
        code = int64(codes[record, attribute])
        start = loss.offsets[attribute]
        if loss.kinds[attribute] == SET:
            grown.present[start : loss.offsets[attribute + 1]] = False
            grown.present[start + code] = True
        grown.distinct[attribute] = 1
        grown.low[attribute] = code
        grown.high[attribute] = code
        _price(attribute, loss, grown)


@borrowing
def take_in(codes: Codes, record: int, loss: ClassLoss, grown: Grown) -> None:
    """Add one record."""
    for attribute in range(len(loss.kinds)):
        code = int64(codes[record, attribute])
        if loss.kinds[attribute] == SET:
            place = loss.offsets[attribute] + code
            if not grown.present[place]:
                grown.present[place] = True
                grown.distinct[attribute] += 1
                _price(attribute, loss, grown)
        elif code < grown.low[attribute] or code > grown.high[attribute]:
            grown.low[attribute] = min(grown.low[attribute], code)
            grown.high[attribute] = max(grown.high[attribute], code)
            _price(attribute, loss, grown)


@borrowing
def _price(attribute: int, loss: ClassLoss, grown: Grown) -> None:
    """Find what an attribute costs as it is, and what it would with every code where there are few."""
    if loss.kinds[attribute] == SET:
        grown.floors[attribute] = set_loss(attribute, grown.distinct[attribute], loss)
    else:
        grown.floors[attribute] = range_loss(attribute, grown.low[attribute], grown.high[attribute], loss)
    if grown.tabled[attribute]:
        _tabulate(attribute, loss, grown)


@borrowing
def _tabulate(attribute: int, loss: ClassLoss, grown: Grown) -> None:
    start = loss.offsets[attribute]
    stop = loss.offsets[attribute + 1]
    own = grown.floors[attribute]
    if loss.kinds[attribute] == SET:
        more = set_loss(attribute, grown.distinct[attribute] + 1, loss)
        for place in range(start, stop):
            grown.costs[place] = own if grown.present[place] else more
        return
    low = start + grown.low[attribute]
    high = start + grown.high[attribute]
    grown.costs[low : high + 1] = own
    if loss.kinds[attribute] == NUMERIC:
        for place in range(start, low):
            grown.costs[place] = min(loss.places[high] - loss.places[place], loss.tops[attribute])
        for place in range(high + 1, stop):
            grown.costs[place] = min(loss.places[place] - loss.places[low], loss.tops[attribute])
        return
    cost = own
    for place in range(low - 1, start - 1, -1):
        cost = max(cost, loss.gaps[0, place])
        grown.costs[place] = cost
    cost = own
    for place in range(high + 1, stop):
        cost = max(cost, loss.gaps[0, place - 1])
        grown.costs[place] = cost


@borrowing
def _cost(attribute: int, code: int, loss: ClassLoss, grown: Grown) -> float:
    """Loss of an attribute once a code has joined."""
    place = loss.offsets[attribute] + code
    if grown.tabled[attribute]:
        return float64(grown.costs[place])
    if loss.kinds[attribute] != SET:
        return range_loss(attribute, min(grown.low[attribute], code), max(grown.high[attribute], code), loss)
    if grown.present[place]:
        return float64(grown.floors[attribute])
    return set_loss(attribute, grown.distinct[attribute] + 1, loss)


@borrowing
def grown_loss(codes: Codes, record: int, loss: ClassLoss, grown: Grown) -> float:
    """Loss of the class with one record more."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        total += _cost(attribute, int64(codes[record, attribute]), loss, grown)
    return total


@borrowing
def own_loss(loss: ClassLoss, grown: Grown) -> float:
    """Loss of the class as it is."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        total += grown.floors[attribute]
    return total


@borrowing
def least_loss(node: int, tree: RecordTree, loss: ClassLoss, grown: Grown) -> float:
    """Lower bound on :func:`grown_loss` of a node's records."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        low = int64(tree.low[node, attribute])
        high = int64(tree.high[node, attribute])
        if low < high and loss.kinds[attribute] == SET:
            total += grown.floors[attribute]
        else:
            # The code of the node that is nearest to the class; any that both have will do.
            total += _cost(attribute, min(max(grown.low[attribute], low), high), loss, grown)
    return total


@borrowing
def _most_loss(node: int, tree: RecordTree, loss: ClassLoss, grown: Grown) -> float:
    """Upper bound on :func:`grown_loss` of a node's records."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        low = int64(tree.low[node, attribute])
        high = int64(tree.high[node, attribute])
        if low < high and loss.kinds[attribute] == SET:
            total += set_loss(attribute, grown.distinct[attribute] + 1, loss)
        else:
            total += max(_cost(attribute, low, loss, grown), _cost(attribute, high, loss, grown))
    return total


@borrowing
def nearest(
    codes: Codes, left: Int64s, alive: Int64s, candidates: Flags, tree: RecordTree, loss: ClassLoss, grown: Grown,
    stack: Int64s, bounds: Floats,
) -> tuple[int, float]:  # fmt: skip
    """Find the record whose joining costs the class least, and the class's loss with it; −1 when there is none.

    codes : unsigned (m, q), in tree order; left : int64 (m,), above 0 for records that may be taken; alive : int64
    (t,), how many of those each node has; candidates : bool (m,) or empty for all; stack : int64, bounds : float64, as
    long as the tree is deep, and one more (t + 1 always suffices). Ends: each node is visited once.
    Capacity: one node of each depth waits.
    """
    best = np.inf
    found = NONE
    stack[0] = 0
    bounds[0] = 0.0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        bound = bounds[waiting]
        if bound > best or (bound == best and tree.starts[node] > found):
            continue
        while tree.left[node] != NONE:
            first = tree.left[node]
            second = first + 1
            near = least_loss(first, tree, loss, grown) if alive[first] > 0 else np.inf
            far = least_loss(second, tree, loss, grown) if alive[second] > 0 else np.inf
            if far < near:
                near, far, first, second = far, near, second, first
            if far < np.inf and (far < best or (far == best and tree.starts[second] < found)):
                stack[waiting] = second
                bounds[waiting] = far
                waiting += 1
            node = first
            bound = near
            if bound > best or (bound == best and tree.starts[node] > found):
                break
        if bound == np.inf or bound > best or tree.left[node] != NONE:
            continue
        for record in range(tree.starts[node], tree.stops[node]):
            if left[record] > 0 and (len(candidates) == 0 or candidates[record]):
                cost = grown_loss(codes, record, loss, grown)
                if cost < best or (cost == best and record < found):
                    best = cost
                    found = record
    return found, best


@borrowing
def furthest(
    codes: Codes, left: Int64s, alive: Int64s, tree: RecordTree, loss: ClassLoss, grown: Grown, stack: Int64s,
    bounds: Floats,
) -> int:  # fmt: skip
    """Find the record that costs most; see :func:`nearest`. Ends: nodes come once. Capacity: those that wait."""
    best = -1.0
    found = NONE
    stack[0] = 0
    bounds[0] = np.inf
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        bound = bounds[waiting]
        if alive[node] == 0 or bound < best or (bound == best and tree.starts[node] > found):
            continue
        if tree.left[node] != NONE:
            first = tree.left[node]
            second = first + 1
            far = _most_loss(first, tree, loss, grown)
            near = _most_loss(second, tree, loss, grown)
            if near > far:
                near, far, first, second = far, near, second, first
            stack[waiting] = second
            bounds[waiting] = near
            stack[waiting + 1] = first
            bounds[waiting + 1] = far
            waiting += 2
            continue
        for record in range(tree.starts[node], tree.stops[node]):
            if left[record] > 0:
                cost = grown_loss(codes, record, loss, grown)
                if cost > best or (cost == best and record < found):
                    best = cost
                    found = record
    return found


@interpreted_as(nearest)
def _nearest_of_all(
    codes: Codes, left: Int64s, alive: Int64s, candidates: Flags, tree: RecordTree, loss: ClassLoss, grown: Grown,
    stack: Int64s, bounds: Floats,
) -> tuple[int, float]:  # fmt: skip
    """Look at all records at once, which beats the tree where every step is a call."""
    taken = (left > 0) & candidates if len(candidates) else left > 0
    costs = np.where(taken, _grown_losses(codes, loss, grown), np.inf)
    found = int64(np.argmin(costs))
    return (found, costs[found]) if costs[found] < np.inf else (NONE, np.inf)


@interpreted_as(furthest)
def _furthest_of_all(
    codes: Codes, left: Int64s, alive: Int64s, tree: RecordTree, loss: ClassLoss, grown: Grown, stack: Int64s,
    bounds: Floats,
) -> int:  # fmt: skip
    costs = np.where(left > 0, _grown_losses(codes, loss, grown), -1.0)
    found = int64(np.argmax(costs))
    return found if costs[found] > -1.0 else NONE


def _grown_losses(codes: Codes, loss: ClassLoss, grown: Grown) -> Floats:
    """Loss of the class with each record more, summed in the order of :func:`grown_loss`; float64 (m,)."""
    total = np.zeros(len(codes))
    for attribute in range(len(loss.kinds)):
        own = codes[:, attribute].astype(np.int64)
        if grown.tabled[attribute]:
            total += grown.costs[loss.offsets[attribute] + own]
        else:
            total += _costs(attribute, own, loss, grown)
    return total


def _costs(attribute: int, codes: Int64s, loss: ClassLoss, grown: Grown) -> Floats:
    """Loss of an attribute with many codes once each code has joined; see :func:`_cost`."""
    start = loss.offsets[attribute]
    if loss.kinds[attribute] == SET:
        more = set_loss(attribute, grown.distinct[attribute] + 1, loss)
        return np.where(grown.present[start + codes], grown.floors[attribute], more)
    low = np.minimum(grown.low[attribute], codes)
    high = np.maximum(grown.high[attribute], codes)
    if loss.kinds[attribute] == NUMERIC:
        found = np.minimum(loss.places[start + high] - loss.places[start + low], loss.tops[attribute])
    else:
        power = loss.powers[high - low]
        found = np.maximum(loss.gaps[power, start + low], loss.gaps[power, start + high - (1 << power)])
    return np.where(low == high, 0.0, found)


@borrowing
def use_up(record: int, count: int, left: Int64s, alive: Int64s, tree: RecordTree) -> None:
    """Take `count` of the records that stand at one place. Ends: it climbs to the root."""
    left[record] -= count
    if left[record] <= 0:
        node = int64(tree.bucket_of[record])
        while node != NONE:
            alive[node] -= 1
            node = int64(tree.parent[node])


@inlined
def count_alive(left: Int64s, tree: RecordTree) -> Int64s:
    """Count the records of each node that may be taken; int64 (t,)."""
    alive = np.zeros(len(tree.starts), np.int64)
    for node in range(len(tree.starts) - 1, -1, -1):
        if tree.left[node] == NONE:
            for record in range(tree.starts[node], tree.stops[node]):
                alive[node] += 1 if left[record] > 0 else 0
        else:
            alive[node] = alive[tree.left[node]] + alive[tree.left[node] + 1]
    return alive


@kernel
def near_records(
    codes: Codes, weights: Int64s, tree: RecordTree, loss: ClassLoss, low: int, high: int, size: int, k: int
) -> tuple[Int32s, Floats, Floats]:
    """Return for records ``low .. high-1`` their `size` nearest, nearest first, and how far the (k−1)th other one is.

    codes : unsigned (m, q) in tree order; weights : int64 (m,), how many equal records each stands for, themselves
    included. Returns int32 (high − low, size), filled up with −1; float64 (high − low, size); float64 (high − low,),
    infinite where fewer than k records were found.
    """
    found = np.full((high - low, size), NONE, np.int32)
    distances = np.full((high - low, size), np.inf)
    reach = np.full(high - low, np.inf)
    stack = np.empty(len(tree.starts) + 1, np.int64)
    bounds = np.empty(len(tree.starts) + 1)
    grown = new_grown(loss)
    for record in range(low, high):
        start_with(codes, record, loss, grown)
        _near_one(codes, record, tree, loss, grown, found[record - low], distances[record - low], stack, bounds)
        together = weights[record]
        if together >= k:
            reach[record - low] = 0.0
        for place in range(size):
            if together >= k or found[record - low, place] == NONE:
                break
            together += weights[found[record - low, place]]
            if together >= k:
                reach[record - low] = distances[record - low, place]
    return found, distances, reach


@borrowing
def _near_one(
    codes: Codes, record: int, tree: RecordTree, loss: ClassLoss, grown: Grown, found: Int32s, distances: Floats,
    stack: Int64s, bounds: Floats,
) -> None:  # fmt: skip
    """Find the records nearest to one. Ends: nodes come once, and places fall. Capacity: those that wait."""
    size = len(found)
    held = 0
    stack[0] = 0
    bounds[0] = 0.0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        # Equally far records are taken in tree order, so that the list does not depend on the way of the search.
        if bounds[waiting] > distances[size - 1]:
            continue
        if tree.left[node] != NONE:
            first = tree.left[node]
            second = first + 1
            near = least_loss(first, tree, loss, grown)
            far = least_loss(second, tree, loss, grown)
            if far < near:
                near, far, first, second = far, near, second, first
            if far <= distances[size - 1]:
                stack[waiting] = second
                bounds[waiting] = far
                waiting += 1
            if near <= distances[size - 1]:
                stack[waiting] = first
                bounds[waiting] = near
                waiting += 1
            continue
        for other in range(tree.starts[node], tree.stops[node]):
            if other == record:
                continue
            cost = grown_loss(codes, other, loss, grown)
            last = size - 1
            if cost > distances[last] or (cost == distances[last] and found[last] != NONE and other > found[last]):
                continue
            place = min(held, last)
            held = min(held + 1, size)
            while place > 0 and (
                distances[place - 1] > cost or (distances[place - 1] == cost and found[place - 1] > other)
            ):
                distances[place] = distances[place - 1]
                found[place] = found[place - 1]
                place -= 1
            distances[place] = cost
            found[place] = other


@interpreted_as(_near_one)
def _near_one_of_all(
    codes: Codes, record: int, tree: RecordTree, loss: ClassLoss, grown: Grown, found: Int32s, distances: Floats,
    stack: Int64s, bounds: Floats,
) -> None:  # fmt: skip
    costs = _grown_losses(codes, loss, grown)
    order = np.argsort(costs, kind="stable")
    order = order[order != record][: len(found)]
    found[: len(order)] = order
    distances[: len(order)] = costs[order]


@kernel
def plant(codes: Codes, loss: ClassLoss) -> RecordTree:
    """Build the tree over distinct records; codes : unsigned (m, q), m at least 1.

    A node is cut along the attribute in which it loses most, where a large gap leaves many records on both sides, and
    never leaves one side empty: there are fewer than 2 m nodes, and searches wait for one node of each depth. The
    result depends on the order of `codes` only among equal records. Cost O(q m log m) for cuts that halve.
    Ends: there are fewer than 2 m nodes, and each is measured once. Capacity: arrays have 2 m places.
    """
    height = codes.shape[0]
    count = codes.shape[1]
    most = 2 * height
    order = np.arange(height).astype(np.int32)
    starts = np.zeros(most, np.int32)
    stops = np.zeros(most, np.int32)
    left = np.full(most, NONE, np.int32)
    parent = np.full(most, NONE, np.int32)
    bucket_of = np.zeros(height, np.int32)
    low = np.zeros((most, count), np.int32)
    high = np.zeros((most, count), np.int32)
    spare = np.empty(height, np.int32)
    stops[0] = height
    nodes = 1
    node = 0
    while node < nodes:
        _measure(codes, order, starts[node], stops[node], low[node], high[node])
        attribute = NONE
        if stops[node] - starts[node] > BUCKET:
            attribute = _widest(low[node], high[node], loss)
        if attribute == NONE:
            bucket_of[starts[node] : stops[node]] = node
        else:
            edge = _best_edge(codes, order, starts[node], stops[node], attribute, loss)
            middle = _part(codes, order, starts[node], stops[node], attribute, edge, spare)
            left[node] = nodes
            starts[nodes] = starts[node]
            stops[nodes] = middle
            starts[nodes + 1] = middle
            stops[nodes + 1] = stops[node]
            parent[nodes] = node
            parent[nodes + 1] = node
            nodes += 2
        node += 1
    return RecordTree(
        order, starts[:nodes].copy(), stops[:nodes].copy(), left[:nodes].copy(), parent[:nodes].copy(), bucket_of,
        low[:nodes].copy(), high[:nodes].copy(),
    )  # fmt: skip


@borrowing
def _measure(codes: Codes, order: Int32s, start: int, stop: int, low: Int32s, high: Int32s) -> None:
    for attribute in range(len(low)):
        low[attribute] = codes[order[start], attribute]
        high[attribute] = low[attribute]
    for place in range(start + 1, stop):
        for attribute in range(len(low)):
            code = np.int32(codes[order[place], attribute])
            low[attribute] = min(low[attribute], code)
            high[attribute] = max(high[attribute], code)


@borrowing
def _widest(low: Int32s, high: Int32s, loss: ClassLoss) -> int:
    widest = NONE
    most = -1.0
    for attribute in range(len(low)):
        if low[attribute] == high[attribute]:
            continue
        if loss.kinds[attribute] == SET:
            lost = set_loss(attribute, high[attribute] - low[attribute] + 1, loss)
        else:
            lost = range_loss(attribute, low[attribute], high[attribute], loss)
        if lost > most:
            most = lost
            widest = attribute
    return widest


@inlined
def _best_edge(codes: Codes, order: Int32s, start: int, stop: int, attribute: int, loss: ClassLoss) -> int:
    """Last code that goes left."""
    values = np.empty(stop - start, np.int64)
    for place in range(start, stop):
        values[place - start] = codes[order[place], attribute]
    values.sort()
    best = -1.0
    edge = values[0]
    for place in range(1, len(values)):
        if values[place - 1] != values[place]:
            gap = range_loss(attribute, values[place - 1], values[place], loss)
            worth = (gap + 1e-9) * min(place, len(values) - place)
            if worth > best:
                best = worth
                edge = values[place - 1]
    return int64(edge)


@borrowing
def _part(codes: Codes, order: Int32s, start: int, stop: int, attribute: int, edge: int, spare: Int32s) -> int:
    """Move records up to the edge to the front, in order; return where others start. Capacity: that of `order`."""
    middle = start
    kept = 0
    for place in range(start, stop):
        if codes[order[place], attribute] <= edge:
            order[middle] = order[place]
            middle += 1
        else:
            spare[kept] = order[place]
            kept += 1
    for place in range(kept):
        order[middle + place] = spare[place]
    return middle

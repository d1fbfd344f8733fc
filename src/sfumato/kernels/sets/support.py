"""In how many records items, or nodes above them, stand together: lists of records, intersected."""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import inlined, kernel, linear
from sfumato.kernels.types import Flags, Int32s, Int64s

# Which items to take away so that no rare combination is left.


@kernel
def covering_items(combinations: Int32s, weights: Int64s) -> Flags:
    """Choose items so that every combination has one of them: each time the one in most of those left per weight.

    combinations : int32 (c, size), of items below d. weights : int64 (d,), ≥ 1 for items that occur: what taking one
    away costs. Returns bool (d,). Ties go to the smaller item. Cost O(c · size + d · chosen).
    Ends: each round chooses an item, which no open combination has then.
    """
    count, size = len(weights), combinations.shape[1]
    holders = np.zeros(count, dtype=np.int64)
    for place in range(len(combinations)):
        for part in range(size):
            holders[combinations[place, part]] += 1
    bounds = np.zeros(count + 1, dtype=np.int64)
    for item in range(count):
        bounds[item + 1] = bounds[item] + holders[item]
    following, where = bounds[:count].copy(), np.empty(bounds[count], dtype=np.int64)
    for place in range(len(combinations)):
        for part in range(size):
            item = combinations[place, part]
            where[following[item]] = place
            following[item] += 1
    chosen, is_open = np.zeros(count, dtype=np.bool_), np.ones(len(combinations), dtype=np.bool_)
    while True:
        best = -1
        for item in range(count):
            if holders[item] and (best < 0 or holders[item] * weights[best] > holders[best] * weights[item]):
                best = item
        if best < 0:
            return chosen
        chosen[best] = True
        for entry in range(bounds[best], bounds[best + 1]):
            place = where[entry]
            if is_open[place]:
                is_open[place] = False
                for part in range(size):
                    holders[combinations[place, part]] -= 1


# Combinations of items written down as numbers, for a recount that sorts them.


@kernel
def combination_keys(
    places: Int64s, heads: Int64s, stops: Int64s, items: Int32s, size: int, base: int, total: int
) -> Int64s:
    """Write down every combination of `size` items that begins at one of some places.

    places : int64 (p,), of `items`. heads : int64 (p,): the number of each place's item, the leading digit. stops :
    int64 (p,): where the record of each place ends. items : int32, below `base`, rising inside a record. total : how
    many combinations there are. Returns int64 (total,): the number whose digits, to `base`, are the head and the other
    items. It must fit 63 bits. Ends: combinations rise.
    """
    keys, filled = np.empty(total, dtype=np.int64), 0
    chosen = np.empty(size, dtype=np.int64)
    for entry in range(len(places)):
        stop = stops[entry]
        for part in range(size):
            chosen[part] = places[entry] + part
        if chosen[size - 1] >= stop:
            continue
        while True:
            key = heads[entry]
            for part in range(1, size):
                key = key * base + items[chosen[part]]
            keys[filled] = key
            filled += 1
            part = size - 1
            while part > 0 and chosen[part] == stop - size + part:
                part -= 1
            if part == 0:
                break
            chosen[part] += 1
            for later in range(part + 1, size):
                chosen[later] = chosen[later - 1] + 1
    return keys


# Sets as compressed rows: row ``i`` holds the items ``starts[i] .. starts[i+1]-1``, rising, each once.
#
# Letters: n records, d items of the domain, z items in all sets.


@linear
def relabelled_rows(starts: Int64s, items: Int32s, label_of: Int32s) -> tuple[Int64s, Int32s]:
    """Write every set with other labels, each label once.

    starts : int64 (n + 1,). items : int32 (z,), not falling inside a row. label_of : int32 (d,), not falling among the
    items that have one; −1 takes an item away. Returns the rows of labels. Cost O(n + z).
    """
    bounds = np.zeros(len(starts), dtype=np.int64)
    labels = np.empty(len(items), dtype=np.int32)
    filled = 0
    for record in range(len(starts) - 1):
        last = -1
        for place in range(starts[record], starts[record + 1]):
            label = label_of[items[place]]
            if label >= 0 and label != last:
                labels[filled] = label
                filled += 1
                last = label
        bounds[record + 1] = filled
    return bounds, labels[:filled].copy()


@linear
def rows_led_by(
    starts: Int64s, items: Int32s, label_of: Int32s, records: Int32s, low: int, high: int
) -> tuple[Int64s, Int32s]:
    """Write the sets of some records with other labels, and number the labels in ``low .. high-1`` first, from 0.

    Labels below `low` come next, those from `high` on keep their numbers. records : int32, rising. Returns rows of
    rising numbers. Cost O(items of these records).
    """
    bounds = np.zeros(len(records) + 1, dtype=np.int64)
    total = 0
    for record in records:
        total += starts[record + 1] - starts[record]
    numbers = np.empty(total, dtype=np.int32)
    filled = 0
    for row, record in enumerate(records):
        for leads in (True, False):
            last = -1
            for place in range(starts[record], starts[record + 1]):
                label = label_of[items[place]]
                if label < 0 or label == last or (low <= label < high) != leads:
                    continue
                last = label
                numbers[filled] = label - low if leads else _moved(label, low, high)
                filled += 1
        bounds[row + 1] = filled
    return bounds, numbers[:filled].copy()


@inlined
def _moved(label: int, low: int, high: int) -> int:
    return label + high - low if label < low else label


@linear
def postings(starts: Int64s, items: Int32s, count: int) -> tuple[Int64s, Int32s]:
    """List the records of every item, rising.

    items : int32 (z,), below `count`. Returns the bounds of the lists, int64 (count + 1,), and the lists, int32 (z,).
    Cost O(n + z + count).
    """
    bounds = np.zeros(count + 1, dtype=np.int64)
    for item in items:
        bounds[item + 1] += 1
    for item in range(count):
        bounds[item + 1] += bounds[item]
    following = bounds[:count].copy()
    records = np.empty(len(items), dtype=np.int32)
    for record in range(len(starts) - 1):
        for place in range(starts[record], starts[record + 1]):
            item = items[place]
            records[following[item]] = record
            following[item] += 1
    return bounds, records


@kernel
def common_records(nodes: Int64s, bounds: Int64s, records: Int32s, most: int) -> int:
    """Count the records that hold all of some nodes, up to `most`.

    nodes : int64, at least one. bounds, records : lists of rising records of every node, as :func:`postings` makes
    them. Cost O(shortest list × log of the others), less where `most` is reached.
    """
    shortest = nodes[0]
    for node in nodes:
        if bounds[node + 1] - bounds[node] < bounds[shortest + 1] - bounds[shortest]:
            shortest = node
    found = 0
    for place in range(bounds[shortest], bounds[shortest + 1]):
        is_common = True
        for node in nodes:
            if node != shortest and not _holds(records, bounds[node], bounds[node + 1], records[place]):
                is_common = False
                break
        if is_common:
            found += 1
            if found >= most:
                break
    return found


@inlined
def _holds(records: Int32s, low: int, high: int, record: int) -> bool:
    """Tell whether a record is in a rising list. Ends: the range halves."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if records[middle] < record:
            low = middle + 1
        else:
            high = middle
    return low < end and records[low] == record


@kernel
def still_rare(combinations: Int32s, first: int, node_of: Int64s, bounds: Int64s, records: Int32s, k: int) -> int:
    """Find a combination, from `first` on, whose items are still rare together as they are generalized by now.

    combinations : int32 (c, size), of items. node_of : int64 (d,), the node that each item is generalized to, −1 where
    it is left out. One whose items have met in fewer nodes than there are items, or of which one is left out, is not
    rare: smaller combinations have been dealt with. Returns its place, c where there is none.
    """
    size = combinations.shape[1]
    nodes = np.empty(size, dtype=np.int64)
    for place in range(first, len(combinations)):
        is_smaller = False
        for part in range(size):
            nodes[part] = node_of[combinations[place, part]]
            is_smaller = is_smaller or nodes[part] < 0
            for other in range(part):
                is_smaller = is_smaller or nodes[other] == nodes[part]
        if not is_smaller and common_records(nodes, bounds, records, k) < k:
            return place
    return len(combinations)


@kernel
def support_of_known(starts: Int64s, nodes: Int64s, bounds: Int64s, records: Int32s) -> Int64s:
    """Count the records that hold what is known of each person; all records where nothing is.

    starts : int64 (people + 1,), rows of `nodes`. Returns int64 (people,), −1 where nothing is known.
    """
    found = np.full(len(starts) - 1, -1, dtype=np.int64)
    for person in range(len(starts) - 1):
        if starts[person + 1] > starts[person]:
            known = nodes[starts[person] : starts[person + 1]]
            found[person] = common_records(known, bounds, records, len(records) + 1)
    return found

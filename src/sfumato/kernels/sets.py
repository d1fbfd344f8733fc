"""Combinations of items: those of a few records, and the records of one.

In how many records items, or nodes above them, stand together: lists of records, intersected.

Which combinations of items occur in a few records: a count tree, walked depth first, one branch in memory.

The count tree of M. Terrovitis, N. Mamoulis, P. Kalnis (PVLDB 1(1), 2008) has a path for every combination that occurs,
with the number of records that hold it. Here a node keeps the places of its item in the records that hold its path, and
its children are counted from what stands behind these places; so no more than one path with its siblings is kept.
"""

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
    Ends: each round chooses an item, which no open combination has then. Capacity: `where` counts before it lists.
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
    items. It must fit 63 bits. Ends: combinations rise. Capacity: `total` counts them.
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
    Capacity: an item has one label at most.
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
    rising numbers. Cost O(items of these records). Capacity: an item leads or does not, and has one label at most.
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
    Cost O(n + z + count). Capacity: it counts before it lists.
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


@kernel
def rare_combinations(starts: Int64s, items: Int32s, count: int, leading: int, size: int, k: int, most: int) -> Int32s:
    """Find combinations of `size` items that occur in at least one record and in fewer than `k`.

    Smaller combinations of the same items must all occur in `k` records: below a rare one nothing is looked for.

    starts : int64 (n + 1,). items : int32 (z,), rising inside a row, below `count`. leading : only combinations whose
    first item is below it. most : stop after so many. Returns int32 (found, size), in lexical order. Cost O(Σ C(|set|,
    size)), memory O(z + largest branch). Ends: each combination is visited once.
    Capacity: depths are below `size` − 1, and it stops at `most`.
    """
    found = np.empty((most, size), dtype=np.int32)
    if size == 1:
        return found[: _rare_items(items, count, leading, k, found)]
    stops = _stops(starts, len(items))
    tally = np.zeros(count, dtype=np.int64)
    kinds, lows, highs, where, ends = _first_level(items, leading)
    cursors, bases = np.zeros(size, dtype=np.int64), np.zeros(size + 1, dtype=np.int64)
    tops, filled = np.zeros(size, dtype=np.int64), 0
    bases[1], tops[0] = len(kinds), ends
    depth = 0
    while depth >= 0 and filled < most:
        node = bases[depth] + cursors[depth]
        if node == bases[depth + 1]:
            depth -= 1
            continue
        cursors[depth] += 1
        for above in range(depth + 1):
            found[filled, above] = kinds[bases[above] + cursors[above] - 1]
        path = where[lows[node] : highs[node]]
        touched = _counted(path, stops, items, tally)
        touched = _in_order(touched, tally)
        if depth == size - 2:
            filled = _emit(found, filled, most, touched, tally, k, size)
            continue
        kinds, lows, highs, where = _roomier(kinds, lows, highs, where, bases[depth + 1], tops[depth], touched, tally)
        tops[depth + 1] = _branch(
            path, touched, tally, kinds, lows, highs, where, bases[depth + 1], tops[depth], stops, items, k
        )  # fmt: skip
        bases[depth + 2] = bases[depth + 1] + len(touched)
        depth += 1
        cursors[depth] = 0
    return found[:filled]


@inlined
def _rare_items(items: Int32s, count: int, leading: int, k: int, found: Int32s) -> int:
    """List the rare items. Capacity: it stops where `found` ends."""
    tally = np.zeros(count, dtype=np.int64)
    for item in items:
        tally[item] += 1
    filled = 0
    for item in range(leading):
        if 0 < tally[item] < k and filled < len(found):
            found[filled, 0] = item
            filled += 1
    return filled


@inlined
def _stops(starts: Int64s, count: int) -> Int64s:
    """Return for every place where its row ends."""
    stops = np.empty(count, dtype=np.int64)
    for record in range(len(starts) - 1):
        for place in range(starts[record], starts[record + 1]):
            stops[place] = starts[record + 1]
    return stops


@inlined
def _first_level(items: Int32s, leading: int) -> tuple[Int32s, Int64s, Int64s, Int32s, int]:
    """Return the items below `leading`, and the places of each. Capacity: it counts before it lists."""
    bounds = np.zeros(leading + 1, dtype=np.int64)
    for item in items:
        if item < leading:
            bounds[item + 1] += 1
    for item in range(leading):
        bounds[item + 1] += bounds[item]
    following = bounds.copy()
    where = np.empty(bounds[leading], dtype=np.int32)
    for place, item in enumerate(items):
        if item < leading:
            where[following[item]] = place
            following[item] += 1
    return np.arange(leading).astype(np.int32), bounds[:leading].copy(), bounds[1:].copy(), where, bounds[leading]


@inlined
def _counted(path: Int32s, stops: Int64s, items: Int32s, tally: Int64s) -> Int32s:
    """Count what stands behind a path's places; return those items. Capacity: `touched` has each item."""
    touched = np.empty(len(tally), dtype=np.int32)
    kinds = 0
    for end in path:
        for place in range(end + 1, stops[end]):
            item = items[place]
            if tally[item] == 0:
                touched[kinds] = item
                kinds += 1
            tally[item] += 1
    return touched[:kinds]


@inlined
def _in_order(touched: Int32s, tally: Int64s) -> Int32s:
    """Sort the items. Capacity: those with a tally are those that were touched."""
    if len(touched) * 8 < len(tally):
        return np.sort(touched)
    kinds = 0
    for item in range(len(tally)):
        if tally[item] > 0:
            touched[kinds] = item
            kinds += 1
    return touched


@inlined
def _emit(found: Int32s, filled: int, most: int, touched: Int32s, tally: Int64s, k: int, size: int) -> int:
    """Write down a path with its rare children and clear the tally. Capacity: it stops at `most` in all."""
    row = filled
    for item in touched:
        if tally[item] < k and filled < most:
            found[filled, : size - 1] = found[row, : size - 1]
            found[filled, size - 1] = item
            filled += 1
            if filled < most:
                found[filled, : size - 1] = found[row, : size - 1]
        tally[item] = 0
    return filled


@inlined
def _roomier(
    kinds: Int32s, lows: Int64s, highs: Int64s, where: Int32s, base: int, top: int, touched: Int32s, tally: Int64s
) -> tuple[Int32s, Int64s, Int64s, Int32s]:
    """Make room for another level of the branch."""
    size = base + len(touched)
    if size > len(kinds):
        more = np.zeros(size, dtype=np.int64)
        kinds = np.append(kinds, more.astype(np.int32))
        lows, highs = np.append(lows, more), np.append(highs, more)
    places = top
    for item in touched:
        places += tally[item]
    if places > len(where):
        where = np.append(where, np.zeros(places, dtype=np.int32))
    return kinds, lows, highs, where


@inlined
def _branch(
    path: Int32s, touched: Int32s, tally: Int64s, kinds: Int32s, lows: Int64s, highs: Int64s, where: Int32s,
    base: int, top: int, stops: Int64s, items: Int32s, k: int,
) -> int:  # fmt: skip
    """Write the children of a path and their places, clear the tally; return their end. Capacity: see `_roomier`."""
    for child, item in enumerate(touched):
        kinds[base + child] = item
        lows[base + child] = top
        highs[base + child] = top
        top += tally[item]
        tally[item] = base + child
    for end in path:
        for place in range(end + 1, stops[end]):
            child = tally[items[place]]
            where[highs[child]] = place
            highs[child] += 1
    for child, item in enumerate(touched):
        tally[item] = 0
        if highs[base + child] - lows[base + child] < k:
            highs[base + child] = lows[base + child]
    return top

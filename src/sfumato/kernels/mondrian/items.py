"""A range of records seen through few items: the codes that occur in it, numbered per attribute, at most 64 of them.

Letters are those of :mod:`sfumato.kernels.mondrian.items`.

An item is one code, or a run of neighboring codes of about equal count where more than 64 codes occur. The items of the
active attributes (those of two items or more) stand one after the other; each has a bitmap of the rows that show it.
A set of items of one attribute is one 64-bit word. Nothing here costs more than the rows looked at: no array of length
M is cleared or walked.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.bits import EMPTY, ONE, lowest, single, sort_numbers, without_lowest
from sfumato.kernels.jit import borrowing, interpreted_as, kernel
from sfumato.kernels.types import NUMERIC, SET, TREE, Codes, Floats, Int32s, Int64s, Space, Words, float64, int64

# The items of a range as arrays.
#
# Those of one shape are rows of one array, whose names stand here: a call pays for every array that it passes, and a
# range of twenty records is soon done.
#
# Letters: q quasi-identifying attributes, M codes of all attributes together, t tree nodes, h rows looked at, u = h/64.


# Rows of Items.attributes, int64 (6, q).
ACTIVE = 0  # the active attributes in declared order
BY_LOSS = 1  # the active attributes by falling loss
PRESENT = 2  # items of the attribute
START = 3  # its first item
GROUPED = 4  # 1 when items stand for several codes
BRANCHES = 5  # branchings of its tree below the topmost
# Rows of Items.numbers, int64 (6, 64 q).
WEIGHT = 0  # original records of the item
LEFT = 1  # the same on the left side of a cut
RIGHT = 2
FIRST = 3  # smallest code
LAST = 4
DISTINCT = 5  # codes
# Rows of Items.places, float64 (4, 64 q), in units of weighted loss.
LOW = 0  # place of the first code on the axis
HIGH = 1  # place of the last code
GAP = 2  # distance to the next item, or loss of the ancestor common with it
OWN = 3  # loss of the common ancestor of the item's codes
# Rows of Items.rates, float64 (3, q).
UNIT = 0  # loss of one value of a set, of one step on an axis, of the whole tree
TOP = 1  # loss of the common ancestor of all codes that occur
BASE = 2  # expected loss of the range
# Rows of Items.branches, float64 (3, 128 q): items FROM .. TO − 1 lie under a branching; it loses DROP less than above.
FROM = 0
TO = 1
DROP = 2


class Items(NamedTuple):
    """What losses are reckoned from; the rows of each array are named in this module."""

    attributes: Int64s  # (6, q)
    numbers: Int64s  # (6, 64 q)
    places: Floats  # (4, 64 q)
    rates: Floats  # (3, q)
    branches: Floats  # (3, 128 q)


class ItemRows(NamedTuple):
    """Which rows show which item."""

    bitmaps: Words  # (u, 64 q): rows of each item
    item: NDArray[np.uint8]  # (q, h): item of each row, counted inside its attribute
    weight: Int64s  # (h,): records of each row


class FlatTrees(NamedTuple):
    """The hierarchies, to be climbed from any code."""

    leaf: Int64s  # (M,): deepest tree node over each code, −1 for none
    node_loss: Floats  # (t,): loss of each tree node, weighted


class ItemFinder(NamedTuple):
    """Buffers that finding items takes."""

    sorted_codes: Int64s  # (h or more,): codes that occur
    item_of: NDArray[np.uint8]  # (M,): item of each code that occurs; anything elsewhere
    tally: Int64s  # (largest cardinality,), all zero between uses
    marks: Words  # (64,), all zero between uses
    trees: FlatTrees


# What neighboring items of an attribute span: gaps on an axis, branchings of a tree.
#
# An attribute's items are ``start .. start + present − 1``.


@borrowing
def measure_axis(attribute: int, offset: int, positions: Floats, items: Items) -> None:
    """Place the items of a numeric attribute on its axis, in units of weighted loss."""
    unit, places = items.rates[UNIT, attribute], items.places
    start = items.attributes[START, attribute]
    middle = 0.0
    for place in range(start, start + items.attributes[PRESENT, attribute]):
        places[LOW, place] = unit * positions[offset + items.numbers[FIRST, place]]
        places[HIGH, place] = unit * positions[offset + items.numbers[LAST, place]]
        next_middle = 0.5 * (places[LOW, place] + places[HIGH, place])
        if place > start:
            places[GAP, place - 1] = next_middle - middle
        middle = next_middle


@borrowing
def ancestor_loss(offset: int, low: int, high: int, unit: float, space: Space, trees: FlatTrees) -> float:
    """Weighted loss of the common ancestor of two codes; O(height of the tree). Ends: it climbs to the root."""
    if low == high:
        return 0.0
    node = trees.leaf[offset + low]
    while node >= 0 and not (space.tree_low[node] <= high and high < space.tree_high[node]):
        node = space.tree_parent[node]
    return unit if node < 0 else float64(trees.node_loss[node])


@borrowing
def list_branches(attribute: int, items: Items) -> int:
    """Read the tree off the losses between neighbors: what lies between two larger gaps is one branching.

    That makes two branchings per item at most, however large the tree is. Branchings still open wait at the far end of
    the attribute's part of `branches`, loss in DROP.
    Ends: each round closes a branching, and each item opens one at most. Capacity: two places for each item; what is
    listed and what waits never meet.
    """
    places, rates, branches = items.places, items.rates, items.branches
    start = items.attributes[START, attribute]
    present = items.attributes[PRESENT, attribute]
    base = 2 * start
    top = base + 2 * present
    waiting = top
    listed = base
    for place in range(present):
        own = places[OWN, start + place]
        gap = np.inf
        if place < present - 1:
            gap = max(places[GAP, start + place], max(own, places[OWN, start + place + 1]))
            places[GAP, start + place] = gap
        above = gap if place == 0 else min(gap, places[GAP, start + place - 1])
        branches[FROM, listed] = place
        branches[TO, listed] = place + 1
        branches[DROP, listed] = above - own
        listed += 1
        opened = float(place)
        while waiting < top and branches[DROP, waiting] < gap:
            loss = branches[DROP, waiting]
            opened = branches[FROM, waiting]
            waiting += 1
            above = gap if waiting == top else min(gap, branches[DROP, waiting])
            if above == np.inf:
                rates[TOP, attribute] = loss
            else:
                branches[FROM, listed] = opened
                branches[TO, listed] = place + 1
                branches[DROP, listed] = above - loss
                listed += 1
        if gap < np.inf and (waiting == top or branches[DROP, waiting] > gap):
            waiting -= 1
            branches[DROP, waiting] = gap
            branches[FROM, waiting] = opened
    return int64(listed - base)


MOST = 64  # items of one attribute
RUNS = 32  # equal shares that too many codes are grouped into; a code with a share of its own makes one more item
BITMAP_CODES = 4096  # attributes with more codes are sorted instead of marked


@kernel
def new_items(space: Space, rows: int) -> tuple[Items, ItemRows, ItemFinder]:
    """Allocate for ranges of up to `rows` rows; O(M + codes under all tree nodes)."""
    q = len(space.kinds)
    largest = int64(0)
    for attribute in range(q):
        largest = max(largest, space.offsets[attribute + 1] - space.offsets[attribute])
    items = Items(
        np.zeros((6, q), np.int64), np.zeros((6, MOST * q), np.int64), np.zeros((4, MOST * q)), _rates(space),
        np.zeros((3, 2 * MOST * q)),
    )  # fmt: skip
    shown = ItemRows(
        np.zeros((rows // 64 + 1, MOST * q), np.uint64), np.zeros((q, rows), np.uint8), np.zeros(rows, np.int64)
    )
    finder = ItemFinder(
        np.zeros(max(rows, BITMAP_CODES), np.int64), np.zeros(space.offsets[q], np.uint8), np.zeros(largest, np.int64),
        np.zeros(MOST, np.uint64), _flatten_trees(space),
    )  # fmt: skip
    return items, shown, finder


@kernel
def _rates(space: Space) -> Floats:
    rates = np.zeros((3, len(space.kinds)))
    for attribute in range(len(space.kinds)):
        rates[UNIT, attribute] = space.weights[attribute]
        if space.kinds[attribute] == SET:
            rates[UNIT, attribute] /= max(1.0, space.sizes[attribute])
        elif space.kinds[attribute] == NUMERIC and space.scales[attribute] > 0:
            rates[UNIT, attribute] /= space.scales[attribute]
    return rates


@kernel
def _flatten_trees(space: Space) -> FlatTrees:
    leaf = np.full(space.offsets[-1], -1, np.int64)
    node_loss = np.zeros(len(space.tree_low))
    for attribute in range(len(space.kinds)):
        for node in range(space.tree_starts[attribute], space.tree_starts[attribute + 1]):
            parent = space.tree_parent[node]
            above = space.weights[attribute] if parent < 0 else node_loss[parent]
            node_loss[node] = above - space.weights[attribute] * space.tree_drop[node]
            for code in range(space.tree_low[node], space.tree_high[node]):
                leaf[space.offsets[attribute] + code] = node
    return FlatTrees(leaf, node_loss)


@borrowing
def find_items(
    codes: Codes, weights: Int32s, low: int, rows: int, space: Space, items: Items, shown: ItemRows,
    finder: ItemFinder,
) -> tuple[int, int, int]:  # fmt: skip
    """Find the items of the `rows` records from `low` on; return the active attributes, total and largest weight.

    codes : unsigned (m, w); weights : int32 (m,). O(rows · q), and O(rows log rows) per attribute of many codes.
    Capacity: attributes are active once at most.
    """
    total, heaviest = _weigh_rows(weights, low, rows, shown.weight)
    active = int64(0)
    if total == 0:  # only records that are left out
        return active, total, heaviest
    attributes = items.attributes
    start = int64(0)
    for attribute in range(len(space.kinds)):
        offset = space.offsets[attribute]
        cardinality = space.offsets[attribute + 1] - offset
        attributes[START, attribute] = start
        attributes[GROUPED, attribute] = 0
        if cardinality <= MOST:
            present = _number_few(codes, low, rows, attribute, offset, items, finder.item_of)
        else:
            present = _number_many(codes, low, rows, attribute, offset, cardinality, total, items, shown.weight, finder)
        attributes[PRESENT, attribute] = present
        if present < 2:
            continue
        attributes[ACTIVE, active] = attribute
        active += 1
        if space.kinds[attribute] == NUMERIC:
            measure_axis(attribute, offset, space.positions, items)
        elif space.kinds[attribute] == TREE:
            _measure_tree(attribute, offset, space, items, finder.trees)
        start += present
    _mark_rows(codes, low, rows, active, start, space.offsets, items, shown, finder.item_of)
    return active, total, heaviest


@borrowing
def _weigh_rows(weights: Int32s, low: int, rows: int, row_weight: Int64s) -> tuple[int, int]:
    """Copy the weights of the rows that are looked at; return their total and the largest."""
    total = int64(0)
    heaviest = int64(0)
    for row in range(rows):
        weight = int64(weights[low + row])
        row_weight[row] = weight
        total += weight
        heaviest = max(heaviest, weight)
    return total, heaviest


@interpreted_as(_weigh_rows)
def _weigh_all_rows(weights: Int32s, low: int, rows: int, row_weight: Int64s) -> tuple[int, int]:
    own = row_weight[:rows]
    own[:] = weights[low : low + rows]
    return own.sum(), own.max()


@borrowing
def _measure_tree(attribute: int, offset: int, space: Space, items: Items, trees: FlatTrees) -> None:
    """Find the losses of the items' ancestors, and the branchings above them."""
    numbers, places, unit = items.numbers, items.places, items.rates[UNIT, attribute]
    start = items.attributes[START, attribute]
    for place in range(start, start + items.attributes[PRESENT, attribute]):
        before = max(start, place - 1)
        places[OWN, place] = ancestor_loss(offset, numbers[FIRST, place], numbers[LAST, place], unit, space, trees)
        places[GAP, before] = ancestor_loss(offset, numbers[LAST, before], numbers[FIRST, place], unit, space, trees)
    items.attributes[BRANCHES, attribute] = list_branches(attribute, items)


@borrowing
def _mark_rows(
    codes: Codes, low: int, rows: int, active: int, stop: int, offsets: Int64s, items: Items,
    shown: ItemRows, item_of: NDArray[np.uint8],
) -> None:  # fmt: skip
    numbers, bitmaps = items.numbers, shown.bitmaps
    for place in range(stop):
        numbers[WEIGHT, place] = 0
    for word in range((rows + 63) >> 6):
        for place in range(stop):
            bitmaps[word, place] = EMPTY
    for number in range(active):
        attribute = items.attributes[ACTIVE, number]
        offset = offsets[attribute]
        start = items.attributes[START, attribute]
        for row in range(rows):
            place = int64(item_of[offset + int64(codes[low + row, attribute])])
            shown.item[attribute, row] = place
            numbers[WEIGHT, start + place] += shown.weight[row]
            bitmaps[row >> 6, start + place] |= single(row & 63)


@interpreted_as(_mark_rows)
def _mark_all_rows(
    codes: Codes, low: int, rows: int, active: int, stop: int, offsets: Int64s, items: Items,
    shown: ItemRows, item_of: NDArray[np.uint8],
) -> None:  # fmt: skip
    weight, bitmaps = items.numbers[WEIGHT], shown.bitmaps
    weight[:stop] = 0
    bitmaps[: (rows + 63) >> 6, :stop] = EMPTY
    row = np.arange(rows)
    bits = ONE << (row & 63).astype(np.uint64)
    for attribute in items.attributes[ACTIVE, :active]:
        item = item_of[offsets[attribute] + codes[low : low + rows, attribute].astype(np.int64)]
        shown.item[attribute, :rows] = item
        place = items.attributes[START, attribute] + item
        np.add.at(weight, place, shown.weight[:rows])
        np.bitwise_or.at(bitmaps.reshape(-1), (row >> 6) * bitmaps.shape[1] + place, bits)


@borrowing
def _number(code: int, place: int, start: int, numbers: Int64s) -> None:
    """Make an item of one code."""
    numbers[FIRST, start + place] = code
    numbers[LAST, start + place] = code
    numbers[DISTINCT, start + place] = 1


@borrowing
def _number_few(
    codes: Codes, low: int, rows: int, attribute: int, offset: int, items: Items, item_of: NDArray[np.uint8]
) -> int:
    """Give the codes of an attribute numbers, 64 at most. Ends: each round clears a bit."""
    start = items.attributes[START, attribute]
    marks = EMPTY
    for row in range(rows):
        marks |= single(codes[low + row, attribute])
    present = int64(0)
    if without_lowest(marks) == EMPTY:
        return 1
    while marks != EMPTY:
        code = lowest(marks)
        marks = without_lowest(marks)
        _number(code, present, start, items.numbers)
        item_of[offset + code] = present
        present += 1
    return present


@interpreted_as(_number_few)
def _number_few_at_once(
    codes: Codes, low: int, rows: int, attribute: int, offset: int, items: Items, item_of: NDArray[np.uint8]
) -> int:
    found = np.unique(codes[low : low + rows, attribute]).astype(np.int64)
    if len(found) > 1:
        places = slice(items.attributes[START, attribute], items.attributes[START, attribute] + len(found))
        items.numbers[FIRST, places] = items.numbers[LAST, places] = found
        items.numbers[DISTINCT, places] = 1
        item_of[offset + found] = np.arange(len(found))
    return len(found)


@borrowing
def _number_many(
    codes: Codes, low: int, rows: int, attribute: int, offset: int, cardinality: int, total: int, items: Items,
    row_weight: Int64s, finder: ItemFinder,
) -> int:  # fmt: skip
    if cardinality <= BITMAP_CODES:
        present = _list_marked(codes, low, rows, attribute, finder.marks, finder.sorted_codes)
    else:
        present = _list_sorted(codes, low, rows, attribute, finder.sorted_codes)
    if present > MOST:
        items.attributes[GROUPED, attribute] = 1
        return _group(codes, low, rows, attribute, offset, present, total, items, row_weight, finder)
    start = items.attributes[START, attribute]
    for place in range(present):
        code = finder.sorted_codes[place]
        _number(code, place, start, items.numbers)
        finder.item_of[offset + code] = place
    return present


@borrowing
def _list_marked(codes: Codes, low: int, rows: int, attribute: int, marks: Words, sorted_codes: Int64s) -> int:
    """List the codes that occur, by marking. Ends: each round clears a bit. Capacity: no more codes than rows."""
    smallest = int64(codes[low, attribute]) >> 6
    largest = smallest
    for row in range(rows):
        code = int64(codes[low + row, attribute])
        marks[code >> 6] |= single(code & 63)
        smallest = min(smallest, code >> 6)
        largest = max(largest, code >> 6)
    present = 0
    for word in range(smallest, largest + 1):
        left = marks[word]
        marks[word] = EMPTY
        while left != EMPTY:
            sorted_codes[present] = 64 * word + lowest(left)
            left = without_lowest(left)
            present += 1
    return present


@interpreted_as(_list_marked)
def _list_distinct(codes: Codes, low: int, rows: int, attribute: int, marks: Words, sorted_codes: Int64s) -> int:
    found = np.unique(codes[low : low + rows, attribute])
    sorted_codes[: len(found)] = found
    return len(found)


@borrowing
def _list_sorted(codes: Codes, low: int, rows: int, attribute: int, sorted_codes: Int64s) -> int:
    """List the codes that occur, by sorting. Capacity: no more codes occur than rows."""
    for row in range(rows):
        sorted_codes[row] = codes[low + row, attribute]
    sort_numbers(sorted_codes, 0, rows)
    present = 1
    for row in range(1, rows):
        if sorted_codes[row] != sorted_codes[row - 1]:
            sorted_codes[present] = sorted_codes[row]
            present += 1
    return present


@borrowing
def _group(
    codes: Codes, low: int, rows: int, attribute: int, offset: int, present: int, total: int, items: Items,
    row_weight: Int64s, finder: ItemFinder,
) -> int:  # fmt: skip
    """Put neighboring codes together; a code that fills a share by itself stands alone, so heavy values stay exact.

    That makes an item for each share and for each code that fills one, 2 `RUNS` at most.
    Capacity: an attribute has `MOST` places, which is 2 `RUNS`.
    """
    numbers, tally = items.numbers, finder.tally
    for row in range(rows):
        tally[codes[low + row, attribute]] += row_weight[row]
    start = items.attributes[START, attribute]
    place = start - 1
    before = int64(0)
    last_share = int64(-1)
    for listed in range(present):
        code = finder.sorted_codes[listed]
        weight = tally[code]
        tally[code] = 0
        share = before * RUNS // total  # never 0: some records are kept
        before += weight
        if share != last_share or weight * RUNS >= total:
            place += 1
            numbers[FIRST, place] = code
            numbers[DISTINCT, place] = 0
            last_share = share
        numbers[LAST, place] = code
        numbers[DISTINCT, place] += 1
        finder.item_of[offset + code] = place - start
    return int64(place + 1 - start)

"""A range of records seen through few items, and the candidate cuts between them, scored by the loss to be expected.

Letters: h rows looked at, u = h/64, b bits of the largest weight.

Of the codes that occur in a range at most 64 are numbered per attribute: an item is one code, or a run of neighboring
codes of about equal count where more than 64 codes occur. The items of the active attributes (those of two items or
more) stand one after the other; each has a bitmap of the rows that show it. A set of items of one attribute is one
64-bit word. Nothing here costs more than the rows looked at: no array of length M is cleared or walked.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.bits import EMPTY, ONE, has, how_many, lowest, single, sort_numbers, without_lowest
from sfumato.kernels.jit import borrowing, inlined, interpreted_as, kernel
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


# Expected loss of a class drawn at random from one side of a cut, attribute by attribute.
#
# What a cut is worth shows only in the final classes. A side that will be cut further is therefore judged by the loss
# that a class of `draws` records, drawn from it at random with replacement, can be expected to have:
#
# * value set of m domain values: the expected number of distinct values over m, less the classes of one value;
# * numbers: every gap between neighboring values counts with the probability that the class lies on both its sides;
# * tree: the loss of the common ancestor, less what every branching below saves when the whole class falls under it.
#
# A side that cannot be cut any more loses exactly what it spans.
#
# `side` is the row of `numbers` that holds the weight
# of each item on the side, `total` their sum over one attribute, `start .. stop-1` the items of the attribute.


TABLED = 128  # sides of fewer records look their powers up


@inlined
def power(base: float, exponent: int) -> float:
    """Raise to a whole power by squaring. Ends: the exponent halves."""
    result = 1.0
    while exponent > 0:
        if exponent & 1:
            result *= base
        base *= base
        exponent >>= 1
    return result


@inlined
def spread_shares(share: float, draws: int) -> float:
    """Probability that `draws` fall neither all inside nor all outside a part of that share. Ends: the draws halve."""
    rest = 1.0 - share
    inside = 1.0
    outside = 1.0
    while draws > 0:
        if draws & 1:
            inside *= share
            outside *= rest
        share *= share
        rest *= rest
        draws >>= 1
    return 1.0 - inside - outside


@kernel
def spread_table(draws: int) -> Floats:
    """Tabulate `spread` of c/n at ``n (n + 1) / 2 + c`` for all n < TABLED; float64."""
    table = np.zeros(TABLED * (TABLED + 1) // 2)
    for total in range(1, TABLED):
        for count in range(total + 1):
            table[total * (total + 1) // 2 + count] = spread_shares(count / total, draws)  # never 0: it starts at 1
    return table


@borrowing
def expected_loss(attribute: int, kind: int, side: int, total: int, draws: int, table: Floats, items: Items) -> float:
    """Weighted loss that a random class of one side can be expected to have in one attribute."""
    start = items.attributes[START, attribute]
    stop = start + items.attributes[PRESENT, attribute]
    if kind == NUMERIC:
        return _expected_range(start, stop, side, total, draws, table, items)
    if kind == SET:
        unit = items.rates[UNIT, attribute]
        if items.attributes[GROUPED, attribute] == 1:
            return float64(unit * _expected_grouped(start, stop, side, total, draws, items.numbers))
        return float64(unit * _expected_distinct(start, stop, side, total, draws, table, items.numbers))
    count = items.attributes[BRANCHES, attribute]
    return float64(items.rates[TOP, attribute] - _expected_savings(start, count, side, total, draws, items))


@borrowing
def _expected_distinct(
    start: int, stop: int, side: int, total: int, draws: int, table: Floats, numbers: Int64s
) -> float:
    expected = 0.0
    if total < TABLED:
        row = total * (total + 1) // 2
        for place in range(start, stop):
            expected += table[row + numbers[side, place]]
    else:
        for place in range(start, stop):
            expected += spread_shares(numbers[side, place] / total, draws)
    return expected


@borrowing
def _expected_grouped(start: int, stop: int, side: int, total: int, draws: int, numbers: Int64s) -> float:
    # The codes of an item are taken as equally frequent; never more of them than records.
    expected = 0.0
    for place in range(start, stop):
        count = numbers[side, place]
        if count > 0:
            codes = min(numbers[DISTINCT, place], count)
            expected += codes * spread_shares(count / (codes * float(total)), draws)
    return expected


@borrowing
def _expected_range(start: int, stop: int, side: int, total: int, draws: int, table: Floats, items: Items) -> float:
    expected = 0.0
    below = int64(0)
    numbers, places = items.numbers, items.places
    if total < TABLED:
        row = total * (total + 1) // 2
        for place in range(start, stop - 1):
            below += numbers[side, place]
            expected += places[GAP, place] * table[row + below]
    else:
        for place in range(start, stop - 1):
            below += numbers[side, place]
            expected += places[GAP, place] * spread_shares(below / total, draws)
    return expected


@borrowing
def _expected_savings(start: int, count: int, side: int, total: int, draws: int, items: Items) -> float:
    saved = 0.0
    numbers, branches = items.numbers, items.branches
    for branch in range(2 * start, 2 * start + count):
        under = int64(0)
        for place in range(start + int(branches[FROM, branch]), start + int(branches[TO, branch])):
            under += numbers[side, place]
        if under > 0:
            saved += branches[DROP, branch] * power(under / total, draws)
    return saved


@borrowing
def exact_loss(attribute: int, kind: int, side: int, items: Items) -> float:
    """Weighted loss of one side, not empty, as one class in one attribute. Ends: both items move towards each other."""
    numbers, places = items.numbers, items.places
    start = items.attributes[START, attribute]
    stop = start + items.attributes[PRESENT, attribute]
    if kind == SET:
        found = int64(0)
        for place in range(start, stop):
            found += min(numbers[DISTINCT, place], numbers[side, place])
        return float64(items.rates[UNIT, attribute] * found) if found > 1 else 0.0
    low = start
    high = stop - 1
    while low < high and numbers[side, low] == 0:
        low += 1
    while high > low and numbers[side, high] == 0:
        high -= 1
    if kind == NUMERIC:
        return float64(places[HIGH, high] - places[LOW, low])
    loss = max(places[OWN, low], places[OWN, high])
    for place in range(low, high):
        loss = max(loss, places[GAP, place])
    return float64(loss)


# Candidate cuts of a range: which items of one attribute go left.


# Rows of Candidates.sides.
ATTRIBUTE = 0
LEFT_WEIGHT = 1


class Candidates(NamedTuple):
    """Cuts in the order in which they were proposed."""

    sides: Int64s  # (2, c): attribute and weight of the left side
    items: Words  # (c,): items put left


@borrowing
def propose(
    active: int, total: int, smallest: float, everywhere: bool, kinds: Int64s, items: Items,
    candidates: Candidates,
) -> int:  # fmt: skip
    """List the candidates in order; return how many there are: fewer than 3 for each item of an attribute."""
    count = int64(0)
    for number in range(active):
        attribute = items.attributes[ACTIVE, number]
        present = items.attributes[PRESENT, attribute]
        first = count
        if kinds[attribute] == TREE and not everywhere:
            count = _propose_children(attribute, total, smallest, count, items, candidates)
            continue
        for order in range(2 if kinds[attribute] == SET and present > 2 else 1):
            if everywhere:
                count = _propose_prefixes(attribute, order == 1, total, smallest, count, items, candidates)
            else:
                count = _propose_middle(attribute, order == 1, total, smallest, first, count, items, candidates)
        if everywhere and present > 2 and kinds[attribute] != NUMERIC:
            count = _propose_single_items(attribute, total, smallest, count, items, candidates)
    return count


@borrowing
def _keep(attribute: int, weight: int, chosen: np.uint64, count: int, candidates: Candidates) -> int:
    """Write a candidate down; return how many there are then. Capacity: 3 `MOST` for an attribute, which has fewer."""
    candidates.sides[ATTRIBUTE, count] = attribute
    candidates.sides[LEFT_WEIGHT, count] = weight
    candidates.items[count] = chosen
    return count + 1


@borrowing
def _propose_prefixes(
    attribute: int, by_frequency: bool, total: int, smallest: float, count: int, items: Items, candidates: Candidates
) -> int:
    """Propose every allowable prefix of one order."""
    start = items.attributes[START, attribute]
    present = items.attributes[PRESENT, attribute]
    chosen = EMPTY
    weight = int64(0)
    for place in range(present - 1):
        item = _heaviest(start, present, chosen, items.numbers) if by_frequency else place
        chosen |= single(item)
        weight += items.numbers[WEIGHT, start + item]
        if total - weight < smallest:
            break
        if weight >= smallest:
            count = _keep(attribute, weight, chosen, count, candidates)
    return count


@borrowing
def _propose_middle(
    attribute: int, by_frequency: bool, total: int, smallest: float, first: int, count: int, items: Items,
    candidates: Candidates,
) -> int:  # fmt: skip
    """Propose the allowable prefix nearest to half, unless it makes the same cut as candidate `first`.

    Only the last prefix below half and the first one from half on can be it: where these are not allowable, none is.
    """
    start = items.attributes[START, attribute]
    present = items.attributes[PRESENT, attribute]
    before = EMPTY
    before_weight = int64(0)
    chosen = EMPTY
    weight = int64(0)
    for place in range(present - 1):
        before = chosen
        before_weight = weight
        item = _heaviest(start, present, chosen, items.numbers) if by_frequency else place
        chosen |= single(item)
        weight += items.numbers[WEIGHT, start + item]
        if 2 * weight >= total:
            break
    fits = weight >= smallest and total - weight >= smallest
    fits_before = before_weight >= smallest and total - before_weight >= smallest
    if fits_before and (not fits or total - 2 * before_weight <= abs(2 * weight - total)):
        chosen = before
        weight = before_weight
    elif not fits:
        return count
    complement = (~EMPTY >> np.uint64(64 - present)) & ~chosen
    if count > first and (candidates.items[first] == chosen or candidates.items[first] == complement):
        return count
    return _keep(attribute, weight, chosen, count, candidates)


@borrowing
def _propose_children(
    attribute: int, total: int, smallest: float, count: int, items: Items, candidates: Candidates
) -> int:
    """Propose cuts between the children of the common ancestor: each alone, and the run of first ones nearest to half.

    Only such a cut makes both sides less general; items are neighbors across children where their ancestor is the top.
    """
    start = items.attributes[START, attribute]
    present = items.attributes[PRESENT, attribute]
    child = EMPTY
    child_weight = int64(0)
    chosen = EMPTY
    weight = int64(0)
    nearest = EMPTY
    nearest_weight = int64(-1)
    for item in range(present):
        child |= single(item)
        child_weight += items.numbers[WEIGHT, start + item]
        if item < present - 1 and items.places[GAP, start + item] < items.rates[TOP, attribute]:
            continue
        chosen |= child
        weight += child_weight
        nearer = nearest_weight < 0 or abs(2 * weight - total) < abs(2 * nearest_weight - total)
        if nearer and weight >= smallest and total - weight >= smallest:
            nearest = chosen
            nearest_weight = weight
        if child_weight >= smallest and total - child_weight >= smallest:
            count = _keep(attribute, child_weight, child, count, candidates)
        child = EMPTY
        child_weight = int64(0)
    if nearest_weight >= 0:
        count = _keep(attribute, nearest_weight, nearest, count, candidates)
    return count


@borrowing
def _heaviest(start: int, present: int, taken: np.uint64, numbers: Int64s) -> int:
    heaviest = 0
    most = int64(-1)
    for item in range(present):
        if numbers[WEIGHT, start + item] > most and not has(taken, item):
            most = numbers[WEIGHT, start + item]
            heaviest = item
    return heaviest


@borrowing
def _propose_single_items(
    attribute: int, total: int, smallest: float, count: int, items: Items, candidates: Candidates
) -> int:
    # The first and the last item alone are prefixes in code order already.
    for item in range(1, items.attributes[PRESENT, attribute] - 1):
        weight = items.numbers[WEIGHT, items.attributes[START, attribute] + item]
        if weight >= smallest and total - weight >= smallest:
            count = _keep(attribute, weight, single(item), count, candidates)
    return count


EVENNESS = 0.7  # exponent of the entropy of the split
STEPS = 1024  # steps in which the entropy is tabulated
SLACK = 1e-9  # a later candidate must be better by this part of the loss
PLANES = 128  # words of bits times bits of weights up to which bitmaps count faster than rows


class Scoring(NamedTuple):
    """What candidates are scored with."""

    draws: int  # records of the imagined class
    table: Floats  # see :func:`spread_table`
    evenness: Floats  # (STEPS + 1,): entropy of a split to the power 0.7, by share of the left side
    chosen_rows: Int64s  # (h + 1,): rows on the left side
    planes: Words  # (b, u): rows whose weight has a bit


class LookedAt(NamedTuple):
    """The range at hand."""

    active: int  # attributes with two items or more
    total: int  # records behind the rows
    rows: int
    bits: int  # of the weights, 0 where rows are counted one by one
    smallest: float  # records that a side must have, in those looked at
    base: float  # expected loss of all records together


@borrowing
def rate_range(active: int, total: int, kinds: Int64s, items: Items, scoring: Scoring) -> float:
    """Find the expected loss of the whole range and order the attributes by their part of it. Ends: places fall."""
    attributes, rates = items.attributes, items.rates
    base = 0.0
    for number in range(active):
        attribute = attributes[ACTIVE, number]
        rate = expected_loss(attribute, kinds[attribute], int64(WEIGHT), total, scoring.draws, scoring.table, items)
        rates[BASE, attribute] = rate
        base += rate
        place = number
        while place > 0 and rates[BASE, attributes[BY_LOSS, place - 1]] < rate:
            attributes[BY_LOSS, place] = attributes[BY_LOSS, place - 1]
            place -= 1
        attributes[BY_LOSS, place] = attribute
    return base


@borrowing
def slice_weights(rows: int, heaviest: int, row_weight: Int64s, planes: Words) -> int:
    """Write which rows have each bit of the weights; return the bits, 0 if bitmaps would not pay. Ends: 63 bits."""
    words = (rows + 63) >> 6
    bits = 0
    while heaviest >> bits > 0:
        bits += 1
    if bits * words > PLANES:
        return 0
    for bit in range(bits):
        for word in range(words):
            planes[bit, word] = EMPTY
    for row in range(rows):
        weight = np.uint64(row_weight[row])
        for bit in range(bits):
            planes[bit, row >> 6] |= ((weight >> np.uint64(bit)) & ONE) << np.uint64(row & 63)
    return bits


@interpreted_as(slice_weights)
def _slice_all_weights(rows: int, heaviest: int, row_weight: Int64s, planes: Words) -> int:
    words, bits = (rows + 63) >> 6, int(heaviest).bit_length()
    if bits * words > PLANES:
        return 0
    weights, place = row_weight[:rows].astype(np.uint64), np.arange(rows, dtype=np.uint64) & np.uint64(63)
    for bit in range(bits):
        has_bit = ((weights >> np.uint64(bit)) & ONE) << place
        planes[bit, :words] = np.bitwise_or.reduceat(has_bit, np.arange(0, rows, 64))
    return bits


@borrowing
def next_better(
    number: int, count: int, one_only: bool, best: float, looked: LookedAt, kinds: Int64s, items: Items,
    shown: ItemRows, scoring: Scoring, candidates: Candidates,
) -> tuple[int, float]:  # fmt: skip
    """Score the candidates from `number` on; return the best one and its score, −1 when none is better than `best`.

    With `one_only` the first one that is better is returned. Ends: candidates are scored once each.
    """
    attributes = items.attributes
    found = int64(-1)
    last = attributes[ACTIVE, looked.active - 1]
    stop = attributes[START, last] + attributes[PRESENT, last]
    while number < count:
        attribute = candidates.sides[ATTRIBUTE, number]
        chosen = candidates.items[number]
        left = candidates.sides[LEFT_WEIGHT, number]
        if looked.bits > 0:
            _count_by_bitmaps(attributes[START, attribute], chosen, stop, looked, scoring.planes, shown, items.numbers)
        else:
            _count_by_rows(attribute, chosen, stop, looked, items, shown, scoring.chosen_rows)
        even = scoring.evenness[min(STEPS - 1, max(1, int(STEPS * (left / looked.total) + 0.5)))]
        # Whatever costs more than this cannot become the best.
        limit = looked.base - best * even if best > 0 else looked.base - best
        score = looked.base - _cost_up_to(limit, left, looked, kinds, items, scoring)
        if score > 0:
            score /= even
        if score > best + SLACK * looked.base:
            best = score
            found = number
            if one_only:
                break
        number += 1
    return found, best


@borrowing
def _cost_up_to(limit: float, left: int, looked: LookedAt, kinds: Int64s, items: Items, scoring: Scoring) -> float:
    """Add up the losses of both sides, the attributes that lose most first, until `limit` is reached."""
    right = looked.total - left
    draws, table, smallest = scoring.draws, scoring.table, looked.smallest
    # Of a constant each value would be compiled for itself.
    sides = (int64(LEFT), int64(RIGHT))
    cost = 0.0
    for order in range(looked.active):
        other = items.attributes[BY_LOSS, order]
        kind = kinds[other]
        if left < 2 * smallest:
            cost += left * exact_loss(other, kind, sides[0], items)
        else:
            cost += left * expected_loss(other, kind, sides[0], left, draws, table, items)
        if right < 2 * smallest:
            cost += right * exact_loss(other, kind, sides[1], items)
        else:
            cost += right * expected_loss(other, kind, sides[1], right, draws, table, items)
        if cost >= limit:
            break
    return cost


@borrowing
def _count_by_bitmaps(
    start: int, chosen: np.uint64, stop: int, looked: LookedAt, planes: Words, shown: ItemRows,
    numbers: Int64s,
) -> None:  # fmt: skip
    """Count both sides of a cut, 64 rows at once. Ends: a set has 64 bits. Capacity: bits are below `stop`."""
    bitmaps = shown.bitmaps
    for place in range(stop):
        numbers[LEFT, place] = 0
    for word in range((looked.rows + 63) >> 6):
        side = EMPTY
        rest = chosen
        place = start
        while rest != EMPTY:
            if rest & ONE != EMPTY:
                side |= bitmaps[word, place]
            rest >>= ONE
            place += 1
        for plane in range(looked.bits):
            marked = side & planes[plane, word]
            for place in range(stop):
                numbers[LEFT, place] += how_many(bitmaps[word, place] & marked) << plane
    for place in range(stop):
        numbers[RIGHT, place] = numbers[WEIGHT, place] - numbers[LEFT, place]


@interpreted_as(_count_by_bitmaps)
def _count_whole_bitmaps(
    start: int, chosen: np.uint64, stop: int, looked: LookedAt, planes: Words, shown: ItemRows,
    numbers: Int64s,
) -> None:  # fmt: skip
    bitmaps = shown.bitmaps[: (looked.rows + 63) >> 6]
    own = [start + place for place in range(int(chosen).bit_length()) if int(chosen) >> place & 1]
    side = np.bitwise_or.reduce(bitmaps[:, own], axis=1)
    left = np.zeros(stop, np.int64)
    for plane in range(looked.bits):
        marked = side & planes[plane, : len(bitmaps)]
        left += np.bitwise_count(bitmaps[:, :stop] & marked[:, None]).sum(axis=0, dtype=np.int64) << plane
    numbers[LEFT, :stop] = left
    numbers[RIGHT, :stop] = numbers[WEIGHT, :stop] - left


@borrowing
def _count_by_rows(
    attribute: int, chosen: np.uint64, stop: int, looked: LookedAt, items: Items, shown: ItemRows,
    chosen_rows: Int64s,
) -> None:  # fmt: skip
    """Count both sides of a cut, row by row. Capacity: no more rows are picked than were looked at."""
    numbers, item = items.numbers, shown.item
    for place in range(stop):
        numbers[LEFT, place] = 0
    picked = 0
    for row in range(looked.rows):
        chosen_rows[picked] = row
        picked += int64((chosen >> np.uint64(item[attribute, row])) & ONE)
    for order in range(looked.active):
        other = items.attributes[ACTIVE, order]
        start = items.attributes[START, other]
        for pick in range(picked):
            row = chosen_rows[pick]
            numbers[LEFT, start + int64(item[other, row])] += shown.weight[row]
    for place in range(stop):
        numbers[RIGHT, place] = numbers[WEIGHT, place] - numbers[LEFT, place]


@kernel
def tabulate_evenness() -> Floats:
    """Tabulate the entropy of a split to the power 0.7 by the share of the left side; float64 (STEPS + 1,)."""
    table = np.zeros(STEPS + 1)
    for step in range(1, STEPS):
        share = step / STEPS
        # never 0: shares are inside (0, 1)
        entropy = -(share * math.log2(share) + (1.0 - share) * math.log2(1.0 - share))
        table[step] = entropy**EVENNESS
    return table

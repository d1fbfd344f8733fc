"""A range of records seen through few items: the codes that occur in it, numbered per attribute, at most 64 of them.

Letters: q quasi-identifying attributes, M codes of all attributes together, t tree nodes, h rows looked at.

An item is one code, or a run of neighboring codes of about equal count where more than 64 codes occur. A set of items
is one 64-bit word. Nothing here costs more than the rows looked at: no array of length M is cleared or walked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.bits import EMPTY, lowest, single, without_lowest
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.space import NUMERIC, SET, TREE, Space

MOST = 64  # items of one attribute; item i of attribute b stands at MOST * b + i
RUNS = 32  # equal shares that too many codes are grouped into; a code with a share of its own makes one more item
BITMAP_CODES = 4096  # attributes with more codes are sorted instead of marked


class Items(NamedTuple):
    """The items of the range at hand, and the buffers that finding them takes.

    Attributes
    ----------
    active : numpy.ndarray
        int64 (q,): attributes with two items or more come first, by falling loss once the base loss is known.
    count : numpy.ndarray
        int64 (q,): items of each attribute.
    grouped : numpy.ndarray
        bool (q,): whether items stand for more than one code.
    first, last : numpy.ndarray
        int64 (64 q,): smallest and largest code of each item.
    distinct : numpy.ndarray
        int64 (64 q,): codes that each item stands for.
    weight : numpy.ndarray
        int64 (64 q,): original records of each item.
    low_position, high_position : numpy.ndarray
        float64 (64 q,): place of the first and the last code, in units of weighted loss.
    gap : numpy.ndarray
        float64 (64 q,): loss between an item and the next: distance of numbers, or loss of the common ancestor.
    own : numpy.ndarray
        float64 (64 q,): trees: loss of the common ancestor of the item's codes.
    branch_from, branch_to : numpy.ndarray
        int64 (128 q,): trees: items ``from .. to-1`` under each branching of the codes that occur.
    branch_drop : numpy.ndarray
        float64 (128 q,): trees: loss of the branching above less loss of this one.
    branches : numpy.ndarray
        int64 (q,): number of branchings below the topmost.
    top : numpy.ndarray
        float64 (q,): trees: loss of the common ancestor of all codes that occur.
    item : numpy.ndarray
        uint8 (q, h): item of each row.
    row_weight : numpy.ndarray
        int64 (h,)
    sorted_codes : numpy.ndarray
        int64 (h or more,): codes that occur.
    item_of : numpy.ndarray
        uint8 (M,): item of each code that occurs; anything elsewhere.
    tally : numpy.ndarray
        int64 (largest cardinality,), all zero between uses.
    marks : numpy.ndarray
        uint64 (64,), all zero between uses.
    stack_loss, stack_from : numpy.ndarray
        float64 (64,) and int64 (64,): branchings that are still open.
    unit : numpy.ndarray
        float64 (q,): loss of one value of a set, of one step on an axis, of the whole tree.
    leaf : numpy.ndarray
        int64 (M,): deepest tree node over each code, −1 for none.
    node_loss : numpy.ndarray
        float64 (t,): loss of each tree node, weighted.
    """

    active: NDArray[np.int64]
    count: NDArray[np.int64]
    grouped: NDArray[np.bool_]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    distinct: NDArray[np.int64]
    weight: NDArray[np.int64]
    low_position: NDArray[np.float64]
    high_position: NDArray[np.float64]
    gap: NDArray[np.float64]
    own: NDArray[np.float64]
    branch_from: NDArray[np.int64]
    branch_to: NDArray[np.int64]
    branch_drop: NDArray[np.float64]
    branches: NDArray[np.int64]
    top: NDArray[np.float64]
    item: NDArray[np.uint8]
    row_weight: NDArray[np.int64]
    sorted_codes: NDArray[np.int64]
    item_of: NDArray[np.uint8]
    tally: NDArray[np.int64]
    marks: NDArray[np.uint64]
    stack_loss: NDArray[np.float64]
    stack_from: NDArray[np.int64]
    unit: NDArray[np.float64]
    leaf: NDArray[np.int64]
    node_loss: NDArray[np.float64]


@kernel
def new_items(space: Space, rows: int) -> Items:
    """Allocate for ranges of up to `rows` rows; O(M + codes under all tree nodes)."""
    q = len(space.kinds)
    codes = space.offsets[q]
    largest = 0
    for attribute in range(q):
        largest = max(largest, space.offsets[attribute + 1] - space.offsets[attribute])
    leaf, node_loss = _flatten_trees(space)
    return Items(
        np.zeros(q, np.int64), np.zeros(q, np.int64), np.zeros(q, np.bool_), np.zeros(MOST * q, np.int64),
        np.zeros(MOST * q, np.int64), np.zeros(MOST * q, np.int64), np.zeros(MOST * q, np.int64),
        np.zeros(MOST * q), np.zeros(MOST * q), np.zeros(MOST * q), np.zeros(MOST * q),
        np.zeros(2 * MOST * q, np.int64), np.zeros(2 * MOST * q, np.int64), np.zeros(2 * MOST * q),
        np.zeros(q, np.int64), np.zeros(q), np.zeros((q, rows), np.uint8), np.zeros(rows, np.int64),
        np.zeros(max(rows, BITMAP_CODES), np.int64), np.zeros(codes, np.uint8), np.zeros(largest, np.int64),
        np.zeros(MOST, np.uint64), np.zeros(MOST), np.zeros(MOST, np.int64), _units(space), leaf, node_loss,
    )  # fmt: skip


@kernel
def _units(space: Space) -> Any:
    unit = space.weights.copy()
    for attribute in range(len(unit)):
        if space.kinds[attribute] == SET:
            unit[attribute] /= max(1.0, space.sizes[attribute])
        elif space.kinds[attribute] == NUMERIC and space.scales[attribute] > 0:
            unit[attribute] /= space.scales[attribute]
    return unit


@kernel
def _flatten_trees(space: Space) -> Any:
    leaf = np.full(space.offsets[-1], -1, np.int64)
    node_loss = np.zeros(len(space.tree_low))
    for attribute in range(len(space.kinds)):
        for node in range(space.tree_starts[attribute], space.tree_starts[attribute + 1]):
            parent = space.tree_parent[node]
            above = space.weights[attribute] if parent < 0 else node_loss[parent]
            node_loss[node] = above - space.weights[attribute] * space.tree_drop[node]
            for code in range(space.tree_low[node], space.tree_high[node]):
                leaf[space.offsets[attribute] + code] = node
    return leaf, node_loss


@kernel
def find_items(codes: Any, weights: Any, low: int, rows: int, step: int, space: Space, items: Items) -> tuple[int, int]:
    """Find the items of in records ``low, low + step, …``; give the active attributes and the total weight.

    codes : unsigned (m, w); weights : int32 (m,). O(rows · q), and O(rows log rows) per attribute of many codes.
    """
    total = 0
    for row in range(rows):
        items.row_weight[row] = weights[low + row * step]
        total += items.row_weight[row]
    active = 0
    for attribute in range(len(space.kinds)):
        count = _number_codes(codes, low, rows, step, attribute, total, space, items)
        items.count[attribute] = count
        if count < 2:
            continue
        items.active[active] = attribute
        active += 1
        _number_rows(codes, low, rows, step, attribute, space.offsets[attribute], items)
        if space.kinds[attribute] == NUMERIC:
            _measure_axis(attribute, space, items)
        elif space.kinds[attribute] == TREE:
            _measure_tree(attribute, space, items)
    return active, total


@inlined
def _number_rows(codes: Any, low: int, rows: int, step: int, attribute: int, offset: int, items: Items) -> None:
    start = MOST * attribute
    items.weight[start : start + items.count[attribute]] = 0
    for row in range(rows):
        item = items.item_of[offset + np.int64(codes[low + row * step, attribute])]
        items.item[attribute, row] = item
        items.weight[start + np.int64(item)] += items.row_weight[row]


@inlined
def _number_codes(
    codes: Any, low: int, rows: int, step: int, attribute: int, total: int, space: Space, items: Items
) -> int:
    offset = space.offsets[attribute]
    cardinality = space.offsets[attribute + 1] - offset
    items.grouped[attribute] = False
    if cardinality <= MOST:
        return _number_marked(codes, low, rows, step, attribute, offset, items)
    if cardinality <= BITMAP_CODES:
        count = _list_marked(codes, low, rows, step, attribute, items)
    else:
        count = _list_sorted(codes, low, rows, step, attribute, items)
    if count > MOST:
        return _group(codes, low, rows, step, attribute, offset, count, total, items)
    for place in range(count):
        _name(attribute, place, items.sorted_codes[place], offset, items)
    return count


@inlined
def _name(attribute: int, place: int, code: int, offset: int, items: Items) -> None:
    items.first[MOST * attribute + place] = code
    items.last[MOST * attribute + place] = code
    items.distinct[MOST * attribute + place] = 1
    items.item_of[offset + code] = place


@inlined
def _number_marked(codes: Any, low: int, rows: int, step: int, attribute: int, offset: int, items: Items) -> int:
    marks = EMPTY
    for row in range(rows):
        marks |= single(codes[low + row * step, attribute])
    if without_lowest(marks) == EMPTY:
        return 1
    count = 0
    while marks != EMPTY:
        _name(attribute, count, lowest(marks), offset, items)
        marks = without_lowest(marks)
        count += 1
    return count


@inlined
def _list_marked(codes: Any, low: int, rows: int, step: int, attribute: int, items: Items) -> int:
    smallest = np.int64(codes[low, attribute]) >> 6
    largest = smallest
    for row in range(rows):
        code = np.int64(codes[low + row * step, attribute])
        word = code >> 6
        items.marks[word] |= single(code & 63)
        smallest = min(smallest, word)
        largest = max(largest, word)
    count = 0
    for word in range(smallest, largest + 1):
        marks = items.marks[word]
        items.marks[word] = EMPTY
        while marks != EMPTY:
            items.sorted_codes[count] = 64 * word + lowest(marks)
            marks = without_lowest(marks)
            count += 1
    return count


@inlined
def _list_sorted(codes: Any, low: int, rows: int, step: int, attribute: int, items: Items) -> int:
    for row in range(rows):
        items.sorted_codes[row] = codes[low + row * step, attribute]
    items.sorted_codes[:rows].sort()
    count = 1
    for row in range(1, rows):
        if items.sorted_codes[row] != items.sorted_codes[row - 1]:
            items.sorted_codes[count] = items.sorted_codes[row]
            count += 1
    return count


@kernel
def _group(
    codes: Any, low: int, rows: int, step: int, attribute: int, offset: int, count: int, total: int, items: Items
) -> int:
    """Put neighboring codes together; a code that fills a share by itself stands alone, so heavy values stay exact."""
    items.grouped[attribute] = True
    for row in range(rows):
        items.tally[codes[low + row * step, attribute]] += items.row_weight[row]
    place = MOST * attribute - 1
    before = 0
    last_share = -1
    for number in range(count):
        code = items.sorted_codes[number]
        weight = items.tally[code]
        items.tally[code] = 0
        share = before * RUNS // total
        before += weight
        if share != last_share or weight * RUNS >= total:
            place += 1
            items.first[place] = code
            items.distinct[place] = 0
            last_share = share
        items.last[place] = code
        items.distinct[place] += 1
        items.item_of[offset + code] = place - MOST * attribute
    return place + 1 - MOST * attribute


@inlined
def _measure_axis(attribute: int, space: Space, items: Items) -> None:
    offset = space.offsets[attribute]
    start = MOST * attribute
    middle = 0.0
    for place in range(start, start + items.count[attribute]):
        items.low_position[place] = items.unit[attribute] * space.positions[offset + items.first[place]]
        items.high_position[place] = items.unit[attribute] * space.positions[offset + items.last[place]]
        next_middle = 0.5 * (items.low_position[place] + items.high_position[place])
        if place > start:
            items.gap[place - 1] = next_middle - middle
        middle = next_middle


@kernel
def _ancestor_loss(attribute: int, low: int, high: int, space: Space, items: Items) -> float:
    if low == high:
        return 0.0
    node = items.leaf[space.offsets[attribute] + low]
    while node >= 0 and not (space.tree_low[node] <= high and high < space.tree_high[node]):
        node = space.tree_parent[node]
    return items.unit[attribute] if node < 0 else items.node_loss[node]


@kernel
def _measure_tree(attribute: int, space: Space, items: Items) -> None:
    """List the branchings of the tree that the items span: at most two per item, however large the tree is."""
    start = MOST * attribute
    count = items.count[attribute]
    for place in range(start, start + count):
        items.own[place] = _ancestor_loss(attribute, items.first[place], items.last[place], space, items)
        if place > start:
            gap = _ancestor_loss(attribute, items.last[place - 1], items.first[place], space, items)
            items.gap[place - 1] = max(gap, max(items.own[place - 1], items.own[place]))
    items.gap[start + count - 1] = np.inf
    items.branches[attribute] = 0
    height = 0
    for number in range(count):
        gap = items.gap[start + number]
        above = gap if number == 0 else min(gap, items.gap[start + number - 1])
        _add_branch(attribute, number, number + 1, above - items.own[start + number], items)
        opened = number
        while height > 0 and items.stack_loss[height - 1] < gap:
            height -= 1
            loss = items.stack_loss[height]
            opened = items.stack_from[height]
            above = gap if height == 0 else min(gap, items.stack_loss[height - 1])
            if above == np.inf:
                items.top[attribute] = loss
            else:
                _add_branch(attribute, opened, number + 1, above - loss, items)
        if height == 0 or items.stack_loss[height - 1] > gap:
            items.stack_loss[height] = gap
            items.stack_from[height] = opened
            height += 1


@inlined
def _add_branch(attribute: int, opened: int, closed: int, drop: float, items: Items) -> None:
    place = 2 * MOST * attribute + items.branches[attribute]
    items.branch_from[place] = opened
    items.branch_to[place] = closed
    items.branch_drop[place] = drop
    items.branches[attribute] += 1

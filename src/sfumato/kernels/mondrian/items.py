"""A range of records seen through few items: the codes that occur in it, numbered per attribute, at most 64 of them.

Letters: q quasi-identifying attributes, M codes of all attributes together, t tree nodes, h rows looked at, u = h/64.

An item is one code, or a run of neighboring codes of about equal count where more than 64 codes occur. The items of the
active attributes (those of two items or more) stand one after the other; each has a bitmap of the rows that show it.
A set of items of one attribute is one 64-bit word. Nothing here costs more than the rows looked at: no array of length
M is cleared or walked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.bits import EMPTY, lowest, single, without_lowest
from sfumato.kernels.jit import borrowing, kernel
from sfumato.kernels.mondrian.item_rows import (
    ACTIVE,
    BRANCHES,
    DISTINCT,
    FIRST,
    GAP,
    GROUPED,
    LAST,
    OWN,
    PRESENT,
    START,
    UNIT,
    WEIGHT,
)
from sfumato.kernels.mondrian.spans import ancestor_loss, list_branches, measure_axis
from sfumato.kernels.scalars import int64
from sfumato.kernels.space import NUMERIC, SET, TREE, Space

MOST = 64  # items of one attribute
RUNS = 32  # equal shares that too many codes are grouped into; a code with a share of its own makes one more item
BITMAP_CODES = 4096  # attributes with more codes are sorted instead of marked


class Items(NamedTuple):
    """The items of the range at hand, and the buffers that finding them takes.

    Attributes
    ----------
    attributes, numbers, places, rates, branches : numpy.ndarray
        See :mod:`sfumato.kernels.mondrian.item_rows`.
    bitmaps : numpy.ndarray
        uint64 (u, 64 q): which rows show each item.
    item : numpy.ndarray
        uint8 (q, h): item of each row, counted inside its attribute.
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
    leaf : numpy.ndarray
        int64 (M,): deepest tree node over each code, −1 for none.
    node_loss : numpy.ndarray
        float64 (t,): loss of each tree node, weighted.
    """

    attributes: NDArray[np.int64]
    numbers: NDArray[np.int64]
    places: NDArray[np.float64]
    rates: NDArray[np.float64]
    branches: NDArray[np.float64]
    bitmaps: NDArray[np.uint64]
    item: NDArray[np.uint8]
    row_weight: NDArray[np.int64]
    sorted_codes: NDArray[np.int64]
    item_of: NDArray[np.uint8]
    tally: NDArray[np.int64]
    marks: NDArray[np.uint64]
    leaf: NDArray[np.int64]
    node_loss: NDArray[np.float64]


@kernel
def new_items(space: Space, rows: int) -> Items:
    """Allocate for ranges of up to `rows` rows; O(M + codes under all tree nodes)."""
    q = len(space.kinds)
    largest = int64(0)
    for attribute in range(q):
        largest = max(largest, space.offsets[attribute + 1] - space.offsets[attribute])
    leaf, node_loss = _flatten_trees(space)
    return Items(
        np.zeros((6, q), np.int64), np.zeros((6, MOST * q), np.int64), np.zeros((4, MOST * q)), _rates(space),
        np.zeros((3, 2 * MOST * q)), np.zeros((rows // 64 + 1, MOST * q), np.uint64), np.zeros((q, rows), np.uint8),
        np.zeros(rows, np.int64), np.zeros(max(rows, BITMAP_CODES), np.int64),
        np.zeros(space.offsets[q], np.uint8), np.zeros(largest, np.int64), np.zeros(MOST, np.uint64), leaf, node_loss,
    )  # fmt: skip


@kernel
def _rates(space: Space) -> Any:
    rates = np.zeros((3, len(space.kinds)))
    for attribute in range(len(space.kinds)):
        rates[UNIT, attribute] = space.weights[attribute]
        if space.kinds[attribute] == SET:
            rates[UNIT, attribute] /= max(1.0, space.sizes[attribute])
        elif space.kinds[attribute] == NUMERIC and space.scales[attribute] > 0:
            rates[UNIT, attribute] /= space.scales[attribute]
    return rates


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


@borrowing
def find_items(
    codes: Any, weights: Any, low: int, rows: int, offsets: Any, kinds: Any, positions: Any, tree_low: Any,
    tree_high: Any, tree_parent: Any, attributes: Any, numbers: Any, places: Any, rates: Any, branches: Any,
    bitmaps: Any, item: Any, row_weight: Any, sorted_codes: Any, item_of: Any, tally: Any, marks: Any, leaf: Any,
    node_loss: Any,
) -> Any:  # fmt: skip
    """Find the items of the `rows` records from `low` on; return the active attributes, total and largest weight.

    codes : unsigned (m, w); weights : int32 (m,). O(rows · q), and O(rows log rows) per attribute of many codes.
    """
    total = int64(0)
    heaviest = int64(0)
    for row in range(rows):
        weight = int64(weights[low + row])
        row_weight[row] = weight
        total += weight
        heaviest = max(heaviest, weight)
    active = 0
    if total == 0:  # only records that are left out
        return active, total, heaviest
    start = int64(0)
    for attribute in range(len(kinds)):
        offset = offsets[attribute]
        cardinality = offsets[attribute + 1] - offset
        attributes[START, attribute] = start
        attributes[GROUPED, attribute] = 0
        if cardinality <= MOST:
            present = _number_few(codes, low, rows, attribute, start, offset, numbers, item_of)
        else:
            present = _number_many(
                codes, low, rows, attribute, start, offset, cardinality, total, attributes, numbers, row_weight,
                sorted_codes, item_of, tally, marks,
            )  # fmt: skip
        attributes[PRESENT, attribute] = present
        if present < 2:
            continue
        attributes[ACTIVE, active] = attribute
        active += 1
        if kinds[attribute] == NUMERIC:
            measure_axis(start, present, offset, rates[UNIT, attribute], positions, numbers, places)
        elif kinds[attribute] == TREE:
            for place in range(start, start + present):
                before = max(start, place - 1)
                places[OWN, place] = ancestor_loss(
                    offset, numbers[FIRST, place], numbers[LAST, place], rates[UNIT, attribute], tree_low, tree_high,
                    tree_parent, leaf, node_loss,
                )  # fmt: skip
                places[GAP, before] = ancestor_loss(
                    offset, numbers[LAST, before], numbers[FIRST, place], rates[UNIT, attribute], tree_low, tree_high,
                    tree_parent, leaf, node_loss,
                )  # fmt: skip
            attributes[BRANCHES, attribute] = list_branches(attribute, start, present, places, rates, branches)
        start += present
    _mark_rows(codes, low, rows, active, start, offsets, attributes, numbers, item_of, item, row_weight, bitmaps)
    return active, total, heaviest


@borrowing
def _mark_rows(
    codes: Any, low: int, rows: int, active: int, stop: int, offsets: Any, attributes: Any, numbers: Any,
    item_of: Any, item: Any, row_weight: Any, bitmaps: Any,
) -> None:  # fmt: skip
    for place in range(stop):
        numbers[WEIGHT, place] = 0
    for word in range((rows + 63) >> 6):
        for place in range(stop):
            bitmaps[word, place] = EMPTY
    for number in range(active):
        attribute = attributes[ACTIVE, number]
        offset = offsets[attribute]
        start = attributes[START, attribute]
        for row in range(rows):
            place = int64(item_of[offset + int64(codes[low + row, attribute])])
            item[attribute, row] = place
            numbers[WEIGHT, start + place] += row_weight[row]
            bitmaps[row >> 6, start + place] |= single(row & 63)


@borrowing
def _number_few(
    codes: Any, low: int, rows: int, attribute: int, start: int, offset: int, numbers: Any, item_of: Any
) -> int:
    marks = EMPTY
    for row in range(rows):
        marks |= single(codes[low + row, attribute])
    present = 0
    if without_lowest(marks) == EMPTY:
        return 1
    while marks != EMPTY:
        code = lowest(marks)
        marks = without_lowest(marks)
        numbers[FIRST, start + present] = code
        numbers[LAST, start + present] = code
        numbers[DISTINCT, start + present] = 1
        item_of[offset + code] = present
        present += 1
    return present


@borrowing
def _number_many(
    codes: Any, low: int, rows: int, attribute: int, start: int, offset: int, cardinality: int, total: int,
    attributes: Any, numbers: Any, row_weight: Any, sorted_codes: Any, item_of: Any, tally: Any, marks: Any,
) -> int:  # fmt: skip
    if cardinality <= BITMAP_CODES:
        present = _list_marked(codes, low, rows, attribute, marks, sorted_codes)
    else:
        present = _list_sorted(codes, low, rows, attribute, sorted_codes)
    if present > MOST:
        attributes[GROUPED, attribute] = 1
        return _group(
            codes, low, rows, attribute, start, offset, present, total, numbers, row_weight, sorted_codes,
            item_of, tally,
        )  # fmt: skip
    for place in range(present):
        code = sorted_codes[place]
        numbers[FIRST, start + place] = code
        numbers[LAST, start + place] = code
        numbers[DISTINCT, start + place] = 1
        item_of[offset + code] = place
    return present


@borrowing
def _list_marked(codes: Any, low: int, rows: int, attribute: int, marks: Any, sorted_codes: Any) -> int:
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


@borrowing
def _list_sorted(codes: Any, low: int, rows: int, attribute: int, sorted_codes: Any) -> int:
    for row in range(rows):
        sorted_codes[row] = codes[low + row, attribute]
    _sort(sorted_codes, rows)
    present = 1
    for row in range(1, rows):
        if sorted_codes[row] != sorted_codes[row - 1]:
            sorted_codes[present] = sorted_codes[row]
            present += 1
    return present


@borrowing
def _sort(values: Any, count: int) -> None:
    # Shell's sort in place: numpy's would allocate.
    gap = count
    while gap > 1:
        gap = max(1, gap * 5 // 11)
        for place in range(gap, count):
            value = values[place]
            while place >= gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value


@borrowing
def _group(
    codes: Any, low: int, rows: int, attribute: int, start: int, offset: int, present: int, total: int,
    numbers: Any, row_weight: Any, sorted_codes: Any, item_of: Any, tally: Any,
) -> int:  # fmt: skip
    """Put neighboring codes together; a code that fills a share by itself stands alone, so heavy values stay exact."""
    for row in range(rows):
        tally[codes[low + row, attribute]] += row_weight[row]
    place = start - 1
    before = int64(0)
    last_share = int64(-1)
    for listed in range(present):
        code = sorted_codes[listed]
        weight = tally[code]
        tally[code] = 0
        share = before * RUNS // total
        before += weight
        if share != last_share or weight * RUNS >= total:
            place += 1
            numbers[FIRST, place] = code
            numbers[DISTINCT, place] = 0
            last_share = share
        numbers[LAST, place] = code
        numbers[DISTINCT, place] += 1
        item_of[offset + code] = place - start
    return place + 1 - start

"""Mondrian's least-expected-loss cut: of all candidate cuts of a range take the one whose classes will lose least.

A candidate puts some items of one attribute left and the others right: a prefix in code order, a prefix by falling
frequency (attributes without order), or one item alone. Its score is the expected loss that it saves, divided by the
entropy of the split to the power 0.7, which favors the removal of what does not belong. Large ranges are judged on
their first records; the sizes and rules of the cut that is made always come from all of them. Records stand in the
order of a hash of what they hold, and keep it inside every range, so that the first ones are a sample that depends on
nothing but the records.

Letters: q attributes, h rows looked at, u = h/64, c candidates, b bits of the largest weight.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.bits import EMPTY, ONE, has
from sfumato.kernels.jit import borrowing, kernel, sized
from sfumato.kernels.mondrian.candidates import ATTRIBUTE, propose
from sfumato.kernels.mondrian.cuts import (
    Options,
    Workspace,
    count_part,
    count_whole,
    new_workspace,
    sides_hold,
    total_weight,
)
from sfumato.kernels.mondrian.expected_loss import spread_table
from sfumato.kernels.mondrian.item_rows import FIRST, LAST, PRESENT, START
from sfumato.kernels.mondrian.items import MOST, Items, find_items, new_items
from sfumato.kernels.mondrian.ranges import keep_cut, move_to_parts
from sfumato.kernels.mondrian.scores import PLANES, next_better, rate_range, slice_weights, tabulate_evenness
from sfumato.kernels.predicates import RuleArrays
from sfumato.kernels.scalars import int64
from sfumato.kernels.space import Space

SAMPLE = 1024  # records that a range is judged on
DRAWS = 1.6  # records of the imagined class over the smallest allowed


class LossWorkspace(NamedTuple):
    """Buffers of one thread for choosing by expected loss.

    Attributes
    ----------
    items : Items
        What occurs in the range at hand.
    draws : int
        Records of the imagined class.
    table : numpy.ndarray
        float64, see :func:`sfumato.kernels.mondrian.expected_loss.spread_table`.
    evenness : numpy.ndarray
        float64 (STEPS + 1,): entropy of a split to the power 0.7, by share of the left side.
    candidates : numpy.ndarray
        int64 (2, c): attribute and weight of the left side.
    candidate_items : numpy.ndarray
        uint64 (c,): items put left.
    chosen_rows : numpy.ndarray
        int64 (h + 1,): rows on the smaller side.
    planes : numpy.ndarray
        uint64 (b, u): rows whose weight has a bit.
    """

    items: Items
    draws: int
    table: NDArray[np.float64]
    evenness: NDArray[np.float64]
    candidates: NDArray[np.int64]
    candidate_items: NDArray[np.uint64]
    chosen_rows: NDArray[np.int64]
    planes: NDArray[np.uint64]


@kernel
def new_loss_workspace(space: Space, options: Options, rows: int) -> LossWorkspace:
    """Allocate for ranges that are judged on up to `rows` rows."""
    q = len(space.kinds)
    draws = max(2, int(DRAWS * options.smallest + 0.5))
    return LossWorkspace(
        new_items(space, rows), draws, spread_table(draws), tabulate_evenness(), np.zeros((2, 3 * MOST * q), np.int64),
        np.zeros(3 * MOST * q, np.uint64), np.zeros(rows + 1, np.int64), np.zeros((32, PLANES), np.uint64),
    )  # fmt: skip


@sized(lambda codes, words, weights, rows, low, high, *_: 25.0 * (high - low) * codes.shape[1])
def partition_by_loss(
    codes: Any, words: Any, weights: Any, rows: Any, low: int, high: int, most_cuts: int, space: Space,
    rules: RuleArrays, options: Options, starts: Any, made: Any,
) -> Any:  # fmt: skip
    """Cut records ``low .. high-1`` by least expected loss until no allowable cut is left or `most_cuts` are made.

    Arguments and result are those of :func:`sfumato.kernels.mondrian.mondrian.partition_range`, without regions.
    """
    size = high - low
    work = new_workspace(space, rules, options)
    loss = new_loss_workspace(space, options, min(size, SAMPLE))
    spare_words = np.empty((size, words.shape[1]), np.uint64)
    spare_weights = np.empty(size, np.int32)
    spare_rows = np.empty(size, np.int32)
    bounds = np.zeros(3, np.int64)
    waiting = np.empty((min(size, total_weight(weights, low, high) // max(1, options.smallest)) + 2, 2), np.int64)
    waiting[0, 0] = low
    waiting[0, 1] = high
    starts[low] = True
    count = 1
    cuts = 0
    smallest = options.smallest
    ruled = options.ruled
    everywhere = options.everywhere
    # Taken apart once: a range of few records costs less than handing over the whole of `space` and `loss`.
    offsets, kinds, positions = space.offsets, space.kinds, space.positions
    tree_low, tree_high, tree_parent = space.tree_low, space.tree_high, space.tree_parent
    items = loss.items
    attributes, numbers, places, rates = items.attributes, items.numbers, items.places, items.rates
    branches, bitmaps, item, row_weight = items.branches, items.bitmaps, items.item, items.row_weight
    sorted_codes, item_of, tally, marks = items.sorted_codes, items.item_of, items.tally, items.marks
    leaf, node_loss = items.leaf, items.node_loss
    draws, table, evenness, candidates = loss.draws, loss.table, loss.evenness, loss.candidates
    candidate_items, chosen_rows, planes = loss.candidate_items, loss.chosen_rows, loss.planes
    part_of = work.part_of
    while count > 0 and cuts < most_cuts:
        count -= 1
        first = waiting[count, 0]
        last = waiting[count, 1]
        size = total_weight(weights, first, last)
        if size < 2 * smallest:
            continue
        if ruled:
            count_whole(codes, weights, first, last, rules, work)
        looked_at = min(SAMPLE, last - first)
        attribute = choose_cut(
            codes, weights, first, last, looked_at, size, smallest, ruled, everywhere, offsets, kinds, positions,
            tree_low, tree_high, tree_parent, attributes, numbers, places, rates, branches, bitmaps, item, row_weight,
            sorted_codes, item_of, tally, marks, leaf, node_loss, draws, table, evenness, candidates, candidate_items,
            chosen_rows, planes, part_of, rules, work,
        )  # fmt: skip
        if attribute < 0 and looked_at < last - first:
            attribute = _choose_from_all(codes, weights, first, last, size, space, rules, options, work)
        if attribute < 0:
            continue
        move_to_parts(
            codes, words, weights, rows, first, last, attribute, part_of, 2, bounds, spare_words, spare_weights,
            spare_rows,
        )  # fmt: skip
        cuts += 1
        starts[bounds[1]] = True
        keep_cut(attribute, first, last, 2, bounds, made)
        for part in range(2):
            waiting[count, 0] = bounds[part]
            waiting[count, 1] = bounds[part + 1]
            count += 1
    return waiting[:count].copy(), np.zeros((1, len(kinds), 2))


@kernel
def _choose_from_all(
    codes: Any, weights: Any, low: int, high: int, size: int, space: Space, rules: RuleArrays, options: Options,
    work: Workspace,
) -> int:  # fmt: skip
    """Choose the cut of a large range on all its records, after the sample has found none."""
    loss = new_loss_workspace(space, options, high - low)
    items = loss.items
    return choose_cut(
        codes, weights, low, high, high - low, size, options.smallest, options.ruled, options.everywhere,
        space.offsets, space.kinds, space.positions, space.tree_low, space.tree_high, space.tree_parent,
        items.attributes, items.numbers, items.places, items.rates, items.branches, items.bitmaps, items.item,
        items.row_weight, items.sorted_codes, items.item_of, items.tally, items.marks, items.leaf, items.node_loss,
        loss.draws, loss.table, loss.evenness, loss.candidates, loss.candidate_items, loss.chosen_rows, loss.planes,
        work.part_of, rules, work,
    )  # fmt: skip


@borrowing
def choose_cut(
    codes: Any, weights: Any, low: int, high: int, rows: int, size: int, smallest: int, ruled: bool, everywhere: bool,
    offsets: Any, kinds: Any, positions: Any, tree_low: Any, tree_high: Any, tree_parent: Any, attributes: Any,
    numbers: Any, places: Any, rates: Any, branches: Any, bitmaps: Any, item: Any, row_weight: Any, sorted_codes: Any,
    item_of: Any, tally: Any, marks: Any, leaf: Any, node_loss: Any, draws: int, table: Any, evenness: Any,
    candidates: Any, candidate_items: Any, chosen_rows: Any, planes: Any, part_of: Any, rules: RuleArrays,
    work: Workspace,
) -> int:  # fmt: skip
    """Choose the cut that saves most expected loss, looking at the first `rows` records; −1 when none is allowable.

    With rules, ``work.whole`` holds the sensitive values of the range.
    `part_of` then gives the part of every code that occurs. Ties go to the earlier attribute, then to code order,
    falling frequency, one item alone, then to the earlier place.
    """
    active, total, heaviest = find_items(
        codes, weights, low, rows, offsets, kinds, positions, tree_low, tree_high, tree_parent, attributes,
        numbers, places, rates, branches, bitmaps, item, row_weight, sorted_codes, item_of, tally, marks, leaf,
        node_loss,
    )  # fmt: skip
    if active == 0 or total == 0:
        return -1
    share = smallest * (total / size)  # never 0: the range has records
    base = total * rate_range(active, total, draws, kinds, table, attributes, numbers, places, rates, branches)
    bits = slice_weights(rows, heaviest, row_weight, planes)
    # Where the middle places fail, others may still do: rules can refuse a place, trees have no order of frequency.
    for anywhere in range(1 if everywhere else 0, 2):
        count = propose(
            active, total, share, anywhere == 1, kinds, attributes, numbers, places, rates, candidates, candidate_items
        )
        best = -np.inf
        winner = int64(-1)
        number = int64(0)
        while number < count:
            number, score = next_better(
                number, count, ruled, best, base, active, total, rows, bits, share, kinds, attributes, numbers, places,
                rates, branches, item, row_weight, bitmaps, draws, table, evenness, candidates, candidate_items,
                chosen_rows, planes,
            )  # fmt: skip
            if number < 0:
                break
            if ruled:
                attribute = candidates[ATTRIBUTE, number]
                _fill_parts(
                    codes,
                    low,
                    high,
                    rows,
                    attribute,
                    candidate_items[number],
                    offsets,
                    attributes,
                    numbers,
                    item,
                    part_of,
                )
                if _rules_hold(codes, weights, low, high, attribute, size, smallest, rules, work):
                    best = score
                    winner = number
                number += 1
            else:
                winner = number
                number = count
        if winner >= 0:
            attribute = candidates[ATTRIBUTE, winner]
            _fill_parts(
                codes, low, high, rows, attribute, candidate_items[winner], offsets, attributes, numbers, item, part_of
            )
            if rows == high - low or _sizes_hold(codes, weights, low, high, attribute, size, smallest, part_of):
                return int64(attribute)
    return -1


@borrowing
def _fill_parts(
    codes: Any, low: int, high: int, rows: int, attribute: int, chosen: Any, offsets: Any, attributes: Any,
    numbers: Any, item: Any, part_of: Any,
) -> None:  # fmt: skip
    """Set `part_of` for every code of the attribute in the range."""
    if rows == high - low:
        for row in range(high - low):
            part_of[codes[low + row, attribute]] = 0 if has(chosen, item[attribute, row]) else 1
        return
    start = attributes[START, attribute]
    stop = start + attributes[PRESENT, attribute]
    cardinality = offsets[attribute + 1] - offsets[attribute]
    if cardinality <= high - low:
        for code in range(cardinality):
            part_of[code] = _part(code, start, stop, chosen, numbers)
    else:
        for record in range(low, high):
            code = int64(codes[record, attribute])
            part_of[code] = _part(code, start, stop, chosen, numbers)


@borrowing
def _part(code: int, start: int, stop: int, chosen: Any, numbers: Any) -> int:
    """Side of a code that the sample may have missed: by the threshold in code order, else with the rest."""
    low = start
    high = stop
    while high - low > 1:
        middle = (low + high) // 2
        if numbers[FIRST, middle] <= code:
            low = middle
        else:
            high = middle
    is_prefix = chosen & (chosen + ONE) == EMPTY  # all 64 items are never on one side
    known = is_prefix or (numbers[FIRST, low] <= code and code <= numbers[LAST, low])
    return 0 if known and has(chosen, low - start) else 1


@borrowing
def _left_size(codes: Any, weights: Any, low: int, high: int, attribute: int, part_of: Any) -> int:
    left = int64(0)
    for record in range(low, high):
        left += weights[record] * int64(1 - part_of[codes[record, attribute]])
    return left


@borrowing
def _sizes_hold(
    codes: Any, weights: Any, low: int, high: int, attribute: int, size: int, smallest: int, part_of: Any
) -> bool:
    left = _left_size(codes, weights, low, high, attribute, part_of)
    return left >= smallest and size - left >= smallest


@kernel
def _rules_hold(
    codes: Any, weights: Any, low: int, high: int, attribute: int, size: int, smallest: int, rules: RuleArrays,
    work: Workspace,
) -> bool:  # fmt: skip
    """Decide on all records whether both sides are large enough and satisfy every rule."""
    left = _left_size(codes, weights, low, high, attribute, work.part_of)
    if left < smallest or size - left < smallest:
        return False
    if work.margin < 0:
        count_part(codes, weights, low, high, attribute, 0, rules, work, work.left)
    return sides_hold(left, size, rules, work)

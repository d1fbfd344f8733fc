"""Mondrian's least-expected-loss cut: of all candidate cuts of a range take the one whose classes will lose least.

A candidate puts some items of one attribute left and the others right: a prefix in code order, a prefix by falling
frequency (attributes without order), or one item alone. Its score is the expected loss that it saves, divided by the
entropy of the split to the power 0.7, which favors the removal of what does not belong. Large ranges are judged on
their first records; the sizes and rules of the cut that is made always come from all of them. Records stand in the
order of a hash of what they hold, and keep it inside every range, so that the first ones are a sample that depends on
nothing but the records.

Letters are those of :mod:`sfumato.kernels.mondrian.items`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.bits import EMPTY, ONE, has
from sfumato.kernels.jit import borrowing, interpreted_as, kernel, sized
from sfumato.kernels.mondrian.cuts import (
    Options,
    Workspace,
    count_part,
    count_whole,
    counts_sides,
    new_workspace,
    sides_hold,
    total_weight,
)
from sfumato.kernels.mondrian.items import (
    FIRST,
    LAST,
    MOST,
    PRESENT,
    START,
    ItemFinder,
    ItemRows,
    Items,
    find_items,
    new_items,
)
from sfumato.kernels.mondrian.ranges import LaidRecords, keep_cut, move_to_parts, spare_for
from sfumato.kernels.mondrian.scores import (
    ATTRIBUTE,
    PLANES,
    Candidates,
    LookedAt,
    Scoring,
    next_better,
    propose,
    rate_range,
    slice_weights,
    spread_table,
    tabulate_evenness,
)
from sfumato.kernels.predicates import LARGEST_SHARE, RuleArrays, holds
from sfumato.kernels.types import Codes, Flags, Floats, Int32s, Int64s, Space, int64

SAMPLE = 1024  # records that a range is judged on
DRAWS = 1.6  # records of the imagined class over the smallest allowed


class LossWorkspace(NamedTuple):
    """Buffers of one thread for choosing by expected loss.

    Attributes
    ----------
    items : Items
        What occurs in the range at hand.
    shown : ItemRows
    finder : ItemFinder
    scoring : Scoring
    candidates : Candidates
    """

    items: Items
    shown: ItemRows
    finder: ItemFinder
    scoring: Scoring
    candidates: Candidates


@kernel
def new_loss_workspace(space: Space, options: Options, rows: int) -> LossWorkspace:
    """Allocate for ranges that are judged on up to `rows` rows."""
    most = 3 * MOST * len(space.kinds)
    draws = max(2, int(DRAWS * options.smallest + 0.5))
    items, shown, finder = new_items(space, rows)
    scoring = Scoring(
        draws, spread_table(draws), tabulate_evenness(), np.zeros(rows + 1, np.int64), np.zeros((32, PLANES), np.uint64)
    )
    return LossWorkspace(
        items, shown, finder, scoring, Candidates(np.zeros((2, most), np.int64), np.zeros(most, np.uint64))
    )


@sized(lambda records, low, high, *_: 7.0 * (high - low) * records.codes.shape[1])
def partition_by_loss(
    records: LaidRecords, low: int, high: int, most_cuts: int, space: Space, rules: RuleArrays, options: Options,
    starts: Flags, made: Int32s,
) -> tuple[Int64s, Floats]:  # fmt: skip
    """Cut records ``low .. high-1`` by least expected loss until no allowable cut is left or `most_cuts` are made.

    Arguments and result are those of :func:`sfumato.kernels.mondrian.mondrian.partition_range`, without regions.
    """
    codes, weights = records.codes, records.weights
    size = high - low
    work = new_workspace(space, rules, options)
    loss = new_loss_workspace(space, options, min(size, SAMPLE))
    spare = spare_for(low, high, records)
    bounds = np.zeros(3, np.int64)
    waiting = np.empty((min(size, total_weight(weights, low, high) // max(1, options.smallest)) + 2, 2), np.int64)
    waiting[0, 0] = low
    waiting[0, 1] = high
    starts[low] = True
    count = 1
    cuts = 0
    while count > 0 and cuts < most_cuts:
        count -= 1
        first = waiting[count, 0]
        last = waiting[count, 1]
        size = total_weight(weights, first, last)
        if size < 2 * options.smallest:
            continue
        if options.ruled and size < 2 * rules.safe_size:
            count_whole(codes, weights, first, last, rules, work)
            if _surely_whole(work.whole, options.smallest, rules):
                continue
        looked_at = min(SAMPLE, last - first)
        attribute = choose_cut(codes, weights, first, last, looked_at, size, space, rules, options, loss, work)
        if attribute < 0 and looked_at < last - first:
            # The sample has found none. What is kept for all records serves the ranges that follow, too.
            looked_at = last - first
            loss = new_loss_workspace(space, options, looked_at)
            attribute = choose_cut(codes, weights, first, last, looked_at, size, space, rules, options, loss, work)
        if attribute < 0:
            continue
        move_to_parts(records, first, last, attribute, work.part_of, 2, bounds, spare)
        cuts += 1
        starts[bounds[1]] = True
        keep_cut(attribute, first, last, 2, bounds, made)
        for part in range(2):
            waiting[count, 0] = bounds[part]
            waiting[count, 1] = bounds[part + 1]
            count += 1
    return waiting[:count].copy(), np.zeros((1, len(space.kinds), 2))


@borrowing
def _surely_whole(counts: Int64s, smallest: int, rules: RuleArrays) -> bool:
    """Tell whether no cut of a range leaves enough to the side of the person who has most records."""
    if rules.apart >= 0:
        return False
    for rule in range(len(rules.codes)):
        if rules.codes[rule] == LARGEST_SHARE:
            start, stop = rules.offsets[rules.attributes[rule]], rules.offsets[rules.attributes[rule] + 1]
            first = rules.value_offsets[rules.attributes[rule]]
            records = 0
            most = 0
            for place in range(stop - start):
                if counts[start + place] > 0:
                    records += counts[start + place] * rules.numbers[first + place]
                    most = max(most, rules.numbers[first + place])
            # The other side has a record of everybody in it, at least.
            if records < most * rules.first[rule] + smallest:
                return True
    return False


@borrowing
def choose_cut(
    codes: Codes, weights: Int32s, low: int, high: int, rows: int, size: int, space: Space,
    rules: RuleArrays, options: Options, loss: LossWorkspace, work: Workspace,
) -> int:  # fmt: skip
    """Choose the cut that saves most expected loss, looking at the first `rows` records; −1 when none is allowable.

    With rules, ``work.whole`` holds the sensitive values of the range, unless one side is surely large enough.
    ``work.part_of`` then gives the part of every code that occurs. Ties go to the earlier attribute, then to code
    order, falling frequency, one item alone, then to the earlier place.
    """
    items, shown, scoring, candidates = loss.items, loss.shown, loss.scoring, loss.candidates
    active, total, heaviest = find_items(codes, weights, low, rows, space, items, shown, loss.finder)
    if active == 0 or total == 0:
        return -1
    share = options.smallest * (total / size)  # never 0: the range has records
    base = total * rate_range(active, total, space.kinds, items, scoring)
    bits = slice_weights(rows, heaviest, shown.weight, scoring.planes)
    looked = LookedAt(active, total, rows, bits, share, base)
    # Where the middle places fail, others may still do: rules can refuse a place, trees have no order of frequency.
    for anywhere in range(1 if options.everywhere else 0, 2):
        count = propose(active, total, share, anywhere == 1, space.kinds, items, candidates)
        best = -np.inf
        winner = int64(-1)
        number = int64(0)
        while number < count:
            number, score = next_better(
                number, count, options.ruled, best, looked, space.kinds, items, shown, scoring, candidates
            )
            if number < 0:
                break
            if options.ruled:
                attribute = candidates.sides[ATTRIBUTE, number]
                chosen = candidates.items[number]
                _fill_parts(codes, low, high, rows, attribute, chosen, space.offsets, items, shown.item, work.part_of)
                if _rules_hold(codes, weights, low, high, attribute, size, options.smallest, rules, work):
                    best = score
                    winner = number
                number += 1
            else:
                winner = number
                number = count
        if winner >= 0:
            attribute = candidates.sides[ATTRIBUTE, winner]
            chosen = candidates.items[winner]
            _fill_parts(codes, low, high, rows, attribute, chosen, space.offsets, items, shown.item, work.part_of)
            if rows == high - low or _sizes_hold(
                codes, weights, low, high, attribute, size, options.smallest, work.part_of
            ):
                return int64(attribute)
    return -1


@borrowing
def _fill_parts(
    codes: Codes, low: int, high: int, rows: int, attribute: int, chosen: np.uint64, offsets: Int64s,
    items: Items, item: NDArray[np.uint8], part_of: Int32s,
) -> None:  # fmt: skip
    """Set `part_of` for every code of the attribute in the range."""
    if rows == high - low:
        _fill_shown(codes, low, high, attribute, chosen, item, part_of)
        return
    start = items.attributes[START, attribute]
    stop = start + items.attributes[PRESENT, attribute]
    cardinality = offsets[attribute + 1] - offsets[attribute]
    if cardinality <= high - low:
        for code in range(cardinality):
            part_of[code] = _part(code, start, stop, chosen, items.numbers)
    else:
        for record in range(low, high):
            code = int64(codes[record, attribute])
            part_of[code] = _part(code, start, stop, chosen, items.numbers)


@borrowing
def _fill_shown(
    codes: Codes, low: int, high: int, attribute: int, chosen: np.uint64, item: NDArray[np.uint8], part_of: Int32s
) -> None:
    """Set `part_of` where every record of the range was looked at."""
    for row in range(high - low):
        part_of[codes[low + row, attribute]] = 0 if has(chosen, item[attribute, row]) else 1


@interpreted_as(_fill_shown)
def _fill_all_shown(
    codes: Codes, low: int, high: int, attribute: int, chosen: np.uint64, item: NDArray[np.uint8], part_of: Int32s
) -> None:
    is_right = (chosen >> item[attribute, : high - low].astype(np.uint64)) & ONE == EMPTY
    part_of[codes[low:high, attribute]] = is_right


@borrowing
def _part(code: int, start: int, stop: int, chosen: np.uint64, numbers: Int64s) -> int:
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
def _left_size(codes: Codes, weights: Int32s, low: int, high: int, attribute: int, part_of: Int32s) -> int:
    left = int64(0)
    for record in range(low, high):
        left += weights[record] * int64(1 - part_of[codes[record, attribute]])
    return left


@interpreted_as(_left_size)
def _whole_left_size(codes: Codes, weights: Int32s, low: int, high: int, attribute: int, part_of: Int32s) -> int:
    is_left = part_of[codes[low:high, attribute]] == 0
    return int64(weights[low:high].sum(where=is_left, dtype=np.int64))


@borrowing
def _sizes_hold(
    codes: Codes, weights: Int32s, low: int, high: int, attribute: int, size: int, smallest: int, part_of: Int32s
) -> bool:
    left = _left_size(codes, weights, low, high, attribute, part_of)
    return left >= smallest and size - left >= smallest


@kernel
def _rules_hold(
    codes: Codes, weights: Int32s, low: int, high: int, attribute: int, size: int, smallest: int, rules: RuleArrays,
    work: Workspace,
) -> bool:  # fmt: skip
    """Decide on all records whether both sides are large enough and satisfy every rule."""
    left = _left_size(codes, weights, low, high, attribute, work.part_of)
    if left < smallest or size - left < smallest:
        return False
    fewer = min(left, size - left)
    if fewer >= rules.safe_size:
        return True
    if size - fewer >= rules.safe_size:
        part = 0 if left == fewer else 1
        count_part(codes, weights, low, high, attribute, part, rules, work, work.left)
        return holds(fewer, work.left, rules, work.scratch)
    if counts_sides(work):
        count_part(codes, weights, low, high, attribute, 0, rules, work, work.left)
    return sides_hold(left, size, rules, work)

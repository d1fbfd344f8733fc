"""Mondrian's recursion over ranges of records: cut, move the records, go on in every part.

Letters: m distinct records, q quasi-identifying attributes.
The work is a list of ranges that share nothing, so that threads may take one each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.bits import EMPTY, ONE, has
from sfumato.kernels.expected_loss import (
    ATTRIBUTE,
    FIRST,
    LAST,
    MOST,
    PLANES,
    PRESENT,
    START,
    Candidates,
    ItemFinder,
    ItemRows,
    Items,
    LookedAt,
    Scoring,
    find_items,
    new_items,
    next_better,
    propose,
    rate_range,
    slice_weights,
    spread_table,
    tabulate_evenness,
)
from sfumato.kernels.jit import borrowing, inlined, interpreted_as, kernel, sized
from sfumato.kernels.mondrian.cuts import (
    NOT_KEPT,
    LaidRecords,
    Options,
    Workspace,
    clear_histogram,
    count_part,
    count_range,
    count_whole,
    counts_sides,
    halve_by_order,
    keep_cut,
    measure_range,
    median_code,
    move_to_parts,
    new_workspace,
    room_at_median,
    sides_hold,
    spare_for,
    total_weight,
    widest_cut,
    widest_first,
)
from sfumato.kernels.predicates import LARGEST_SHARE, RuleArrays, holds
from sfumato.kernels.types import Codes, Flags, Floats, Int32s, Int64s, Space, int64

# Mondrian's least-expected-loss cut: of all candidate cuts of a range take the one whose classes will lose least.
#
# A candidate puts some items of one attribute left and the others right: a prefix in code order, a prefix by falling
# frequency (attributes without order), or one item alone. Its score is the expected loss that it saves, divided by the
# entropy of the split to the power 0.7, which favors the removal of what does not belong. Large ranges are judged on
# their first records; the sizes and rules of the cut that is made always come from all of them. Records stand in the
# order of a hash of what they hold, and keep it inside every range, so that the first ones are a sample that depends on
# nothing but the records.
#
# Letters are those of :mod:`sfumato.kernels.expected_loss`.


SAMPLE = 1024  # records that a range is judged on
DRAWS = 1.6  # records of the imagined class over the smallest allowed


class LossWorkspace(NamedTuple):
    """Buffers of one thread for choosing by expected loss."""

    items: Items  # what occurs in the range at hand
    shown: ItemRows
    finder: ItemFinder
    scoring: Scoring
    candidates: Candidates
    # (q, 2): the records on which a cut along each attribute is decided: those of the range, or what counts of it
    spans: Int64s


@kernel
def new_loss_workspace(space: Space, options: Options, rows: int) -> LossWorkspace:
    """Allocate for ranges that are judged on up to `rows` rows."""
    most = 3 * MOST * len(space.kinds)
    draws = max(2, int(DRAWS * options.smallest + 0.5))
    items, shown, finder = new_items(space, rows)
    scoring = Scoring(
        draws, spread_table(draws), tabulate_evenness(), np.zeros(rows + 1, np.int64), np.zeros((32, PLANES), np.uint64)
    )
    candidates = Candidates(np.zeros((2, most), np.int64), np.zeros(most, np.uint64))
    return LossWorkspace(items, shown, finder, scoring, candidates, np.zeros((len(space.kinds), 2), np.int64))


@sized(lambda records, low, high, *_: 7.0 * (high - low) * records.codes.shape[1])
def partition_by_loss(
    records: LaidRecords, low: int, high: int, most_cuts: int, space: Space, rules: RuleArrays, options: Options,
    starts: Flags, made: Int32s,
) -> tuple[Int64s, Floats]:  # fmt: skip
    """Cut records ``low .. high-1`` by least expected loss until no allowable cut is left or `most_cuts` are made.

    Arguments and result are those of :func:`sfumato.kernels.mondrian.mondrian.partition_range`, without regions.
    Ends: each round is done with a range or cuts it into two with records. Capacity: ranges that wait are disjoint,
    each with a smallest class and a record.
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
        sample = min(SAMPLE, last - first)
        loss.spans[:, 0] = first
        loss.spans[:, 1] = last
        attribute = choose_cut(codes, weights, first, last, sample, size, space, rules, options, loss, work)
        if attribute < 0 and sample < last - first:
            # The sample has found none. What is kept for all records serves the ranges that follow, too.
            sample = last - first
            loss = new_loss_workspace(space, options, sample)
            loss.spans[:, 0] = first
            loss.spans[:, 1] = last
            attribute = choose_cut(codes, weights, first, last, sample, size, space, rules, options, loss, work)
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

    What the sample proposes is decided on ``loss.spans``.

    With rules, ``work.whole`` holds the sensitive values of the range, unless one side is surely large enough.
    ``work.part_of`` then gives the part of every code that occurs. Ties go to the earlier attribute, then to code
    order, falling frequency, one item alone, then to the earlier place. Ends: candidates are scored once each.
    """
    whole = rows == high - low
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
                first, last = loss.spans[attribute]
                _fill_parts(
                    codes, first, last, whole, attribute, chosen, space.offsets, items, shown.item, work.part_of
                )
                if _rules_hold(codes, weights, first, last, attribute, size, options.smallest, rules, work):
                    best = score
                    winner = number
                number += 1
            else:
                winner = number
                number = count
        if winner >= 0:
            attribute = candidates.sides[ATTRIBUTE, winner]
            chosen = candidates.items[winner]
            first, last = loss.spans[attribute]
            _fill_parts(codes, first, last, whole, attribute, chosen, space.offsets, items, shown.item, work.part_of)
            if whole or _sizes_hold(codes, weights, first, last, attribute, size, options.smallest, work.part_of):
                return int64(attribute)
    return -1


@kernel
def choose_first_cut(
    codes: Codes, weights: Int32s, spans: Int64s, rows: int, space: Space, rules: RuleArrays, options: Options
) -> tuple[int, Int32s]:  # fmt: skip
    """Choose the cut of a range of which only counts are here, as :func:`partition_by_loss` chooses it for its records.

    codes : unsigned (h, w), weights : int32 (h,): the first `rows` records of the range, which has more; then for each
    attribute, at ``spans``, int64 (q, 2), what the range counts of its codes and the sensitive values beside them.
    Returns the attribute, −1 for none, and int32, the side of each of its codes that occurs.
    """
    work = new_workspace(space, rules, options)
    first, last = spans[0]
    size = total_weight(weights, first, last)
    if size < 2 * options.smallest:
        return -1, work.part_of
    if options.ruled and size < 2 * rules.safe_size:
        count_whole(codes, weights, first, last, rules, work)
        if _surely_whole(work.whole, options.smallest, rules):
            return -1, work.part_of
    loss = new_loss_workspace(space, options, rows)
    loss.spans[:] = spans
    attribute = choose_cut(codes, weights, 0, rows + 1, rows, size, space, rules, options, loss, work)
    return attribute, work.part_of


@borrowing
def _fill_parts(
    codes: Codes, low: int, high: int, whole: bool, attribute: int, chosen: np.uint64, offsets: Int64s,
    items: Items, item: NDArray[np.uint8], part_of: Int32s,
) -> None:  # fmt: skip
    """Set `part_of` for every code of the attribute in the range, of which the `whole` was looked at, or not."""
    if whole:
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
    """Side of a code that the sample may have missed: by threshold, or with the rest. Ends: the range halves."""
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


# Deciding classes that were cut without a look at who has which sensitive value.
#
# Letters: m distinct records, w codes a record.


@kernel
def classes_hold(
    codes: Codes, weights: Int32s, starts: Flags, space: Space, rules: RuleArrays, options: Options
) -> bool:
    """Tell whether every class satisfies every rule with the sensitive values that its records have.

    codes : unsigned (m, w); weights : int32 (m,); starts : bool (m,), set at the first record of every class.
    """
    work = new_workspace(space, rules, options)
    low = 0
    for high in range(1, len(weights) + 1):
        if high < len(weights) and not starts[high]:
            continue
        count_range(codes, weights, low, high, rules, work, work.whole)
        if not holds(total_weight(weights, low, high), work.whole, rules, work.scratch):
            return False
        low = high
    return True


# What is left to each class by the cuts of Mondrian: regions that meet, where the classes' own values leave gaps.
#
# Letters: b cuts, c classes, q attributes, v codes of an attribute (the missing value's among them).
#
# A cut is a row (attribute, first class, first class on the right, end of the classes). Each takes from the classes on
# either side what is the other's; in which order does not matter, so that they come in any.


@kernel
def narrow_ranges(
    cuts: Int64s, tight: Int64s, heights: Int32s, offsets: Int64s,
    sizes: Int64s, low: Int32s, high: Int32s,
) -> None:  # fmt: skip
    """Narrow the range of every class by every cut.

    cuts : int64 (b, 4); tight : int64 (2, c, q), smallest and largest code of each class; heights : int32 (all codes),
    how much speaks for ending a range after a code; offsets : int64 (q + 1,), where those of an attribute stand; sizes
    : int64 (q,), code of the missing value; low, high : int32 (c, q), narrowed here, never below `tight`.
    """
    for cut in range(len(cuts)):
        attribute, first, middle, last = cuts[cut]
        left = tight[1, first, attribute]
        for owner in range(first, middle):
            left = max(left, tight[1, owner, attribute])
        right = tight[0, middle, attribute]
        for owner in range(middle, last):
            right = min(right, tight[0, owner, attribute])
        # Equal values on both sides, as relaxed cuts make them, are in both ranges.
        start = right
        if left < right:
            start = _border(left, right, sizes[attribute], heights[offsets[attribute] : offsets[attribute + 1]]) + 1
            left = start - 1
        for owner in range(first, middle):
            high[owner, attribute] = min(high[owner, attribute], left)
        for owner in range(middle, last):
            low[owner, attribute] = max(low[owner, attribute], start)


@inlined
def _border(left: int, right: int, size: int, heights: Int32s) -> int:
    """Choose the last code of the left range, of ``left .. right-1``: the highest border, the middle of equal ones."""
    if right == size:
        return size - 1
    best = (left + right - 1) // 2
    for code in range(left, right):
        if heights[code] > heights[best]:
            best = code
    return best


@kernel
def occurring(class_of: Int32s, codes: Codes, found: Flags) -> None:
    """Mark the codes of each class. class_of : int32 (n,); codes : unsigned (n,); found : bool (c, v), False."""
    for record in range(len(class_of)):
        if class_of[record] >= 0:
            found[class_of[record], codes[record]] = True


@kernel
def narrow_sets(
    cuts: Int64s, found: Flags, left: Flags, right: Flags,
    allowed: Flags,
) -> None:  # fmt: skip
    """Narrow the value sets of one attribute by every cut of it.

    A value on neither side goes to the side of fewer classes, where it costs least; one on both stays in both. cuts :
    int64 (b, 4), of this attribute alone; found, allowed : bool (c, v), codes of each class, and those left to it,
    narrowed here; left, right : bool (v,), overwritten.
    """
    for cut in range(len(cuts)):
        _, first, middle, last = cuts[cut]
        left[:] = False
        right[:] = False
        for owner in range(first, middle):
            left |= found[owner]
        for owner in range(middle, last):
            right |= found[owner]
        small_left = middle - first <= last - middle
        for code in range(len(left)):
            in_left, in_right = left[code], right[code]
            if not in_right and (in_left or small_left):
                for owner in range(middle, last):
                    allowed[owner, code] = False
            elif not in_left:
                for owner in range(first, middle):
                    allowed[owner, code] = False


def partition_range(
    records: LaidRecords, low: int, high: int, region: Floats, most_cuts: int, space: Space,
    rules: RuleArrays, options: Options, starts: Flags, made: Int32s = NOT_KEPT,
) -> tuple[Int64s, Floats]:  # fmt: skip
    """Cut records ``low .. high-1`` until no allowable cut is left, or until `most_cuts` cuts are made.

    region : float64 (q, 2); starts : bool (m,), set at the first record of every part made here; made : int32 (m, 3),
    at the first record of every part but the first of a cut its attribute, and first record and end of what was cut;
    int32 (0, 3) where nobody asks. Returns int64 (open, 2), the parts that were not looked at, and float64 (open, q,
    2), their regions.
    """
    if options.least_loss:
        return partition_by_loss(records, low, high, most_cuts, space, rules, options, starts, made)
    return partition_by_width(records, low, high, region, most_cuts, space, rules, options, starts, made)


@kernel
def partition_by_width(
    records: LaidRecords, low: int, high: int, region: Floats, most_cuts: int, space: Space,
    rules: RuleArrays, options: Options, starts: Flags, made: Int32s,
) -> tuple[Int64s, Floats]:  # fmt: skip
    """Cut records ``low .. high-1`` by the textbook rules; see :func:`partition_range`.

    Ends: each round is done with a range or cuts it into parts with records. Capacity: `most` ranges wait at most, as
    the comment says.
    """
    codes, weights = records.codes, records.weights
    work = new_workspace(space, rules, options)
    spare = spare_for(low, high, records)
    # Ranges that wait are disjoint and each holds at least the smallest class, and a record.
    most = min(high - low, total_weight(weights, low, high) // max(1, options.smallest)) + 2
    waiting = np.empty((most, 2), np.int64)
    regions = np.empty((most if options.regions else 1, region.shape[0], 2), np.float64)
    bounds = np.empty(len(work.parts) + 1, np.int64)
    waiting[0, 0] = low
    waiting[0, 1] = high
    regions[0] = region
    count = 1
    cuts = 0
    starts[low] = True
    while count > 0 and cuts < most_cuts:
        count -= 1
        first = waiting[count, 0]
        last = waiting[count, 1]
        box = regions[count].copy() if options.regions else regions[0]
        if options.relaxed:
            attribute, parts = _halve(records, first, last, space, rules, options, box, work, bounds, spare)
        else:
            attribute, parts = widest_cut(codes, weights, first, last, space, rules, options, box, work)
            if parts > 0:
                move_to_parts(records, first, last, attribute, work.part_of, parts, bounds, spare)
        if parts == 0:
            continue
        cuts += 1
        keep_cut(attribute, first, last, parts, bounds, made)
        for part in range(parts):
            starts[bounds[part]] = True
            waiting[count, 0] = bounds[part]
            waiting[count, 1] = bounds[part + 1]
            if options.regions:
                regions[count] = box
                edge = space.positions[space.offsets[attribute] + _last_left(attribute, work)]
                regions[count, attribute, 1 - part] = edge
            count += 1
    return waiting[:count].copy(), regions[: count if options.regions else 1].copy()


@kernel
def _last_left(attribute: int, work: Workspace) -> int:
    last = work.minimum[attribute]
    for code in range(work.minimum[attribute], work.maximum[attribute] + 1):
        if work.part_of[code] == 0:
            last = code
    return int64(last)


@kernel
def _halve(
    records: LaidRecords, low: int, high: int, space: Space, rules: RuleArrays, options: Options,
    region: Floats, work: Workspace, bounds: Int64s, spare: LaidRecords,
) -> tuple[int, int]:  # fmt: skip
    """Relaxed cut: exact halves along the widest attribute, equal values split where needed; 0 or 2 parts of it.

    An attribute of one value is cut only when all are; then the first one is.
    """
    codes, weights = records.codes, records.weights
    size = high - low
    if size < 2 * options.smallest:
        return 0, 0
    measure_range(codes, low, high, work)
    if options.ruled:
        count_whole(codes, weights, low, high, rules, work)
    order = widest_first(space, options, region, work)
    widest = order[0]
    all_equal = work.minimum[widest] == work.maximum[widest]
    for attribute in order:
        if work.minimum[attribute] == work.maximum[attribute] and not all_equal:
            continue
        if all_equal and attribute != 0:
            continue
        median = median_code(codes, weights, low, high, attribute, size, work)
        clear_histogram(attribute, work)
        if options.ruled:
            if counts_sides(work):
                _count_left_half(codes, low, high, attribute, median, rules, work)
            if not sides_hold(size // 2, size, rules, work):
                continue
        bounds[0] = low
        bounds[1] = halve_by_order(records, low, high, attribute, median, spare)
        bounds[2] = high
        return attribute, 2
    return 0, 0


@kernel
def _count_left_half(
    codes: Codes, low: int, high: int, attribute: int, median: int, rules: RuleArrays, work: Workspace
) -> None:
    """Count into ``work.left`` the sensitive values of the records that `halve_by_order` would put left."""
    work.left[:] = 0
    first = len(work.minimum)
    room = room_at_median(codes, low, high, attribute, median)
    for record in range(low, high):
        code = codes[record, attribute]
        if code > median or (code == median and room <= 0):
            continue
        if code == median:
            room -= 1
        for column in range(len(rules.offsets) - 1):
            work.left[rules.offsets[column] + int64(codes[record, first + column])] += 1

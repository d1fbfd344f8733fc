"""Mondrian's recursion over ranges of records: cut, move the records, go on in every part.

Letters: m distinct records, q quasi-identifying attributes.
The work is a list of ranges that share nothing, so that threads may take one each.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.mondrian.cuts import (
    Options,
    Workspace,
    clear_histogram,
    count_range,
    count_whole,
    counts_sides,
    measure_range,
    median_code,
    new_workspace,
    sides_hold,
    total_weight,
    widest_cut,
    widest_first,
)
from sfumato.kernels.mondrian.least_loss import partition_by_loss
from sfumato.kernels.mondrian.ranges import (
    NOT_KEPT,
    LaidRecords,
    halve_by_order,
    keep_cut,
    move_to_parts,
    room_at_median,
    spare_for,
)
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.types import Codes, Flags, Floats, Int32s, Int64s, Space, int64

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
    how much speaks for ending a range after a code; offsets : int64 (q + 1,), where those of an attribute stand;
    sizes : int64 (q,), code of the missing value; low, high : int32 (c, q), narrowed here, never below `tight`.
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

    A value on neither side goes to the side of fewer classes, where it costs least; one on both stays in both.

    cuts : int64 (b, 4), of this attribute alone; found, allowed : bool (c, v), codes of each class, and those left to
    it, narrowed here; left, right : bool (v,), overwritten.
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
    int32 (0, 3) where nobody asks.

    Returns int64 (open, 2), the parts that were not looked at, and float64 (open, q, 2), their regions.
    """
    if options.least_loss:
        return partition_by_loss(records, low, high, most_cuts, space, rules, options, starts, made)
    return partition_by_width(records, low, high, region, most_cuts, space, rules, options, starts, made)


@kernel
def partition_by_width(
    records: LaidRecords, low: int, high: int, region: Floats, most_cuts: int, space: Space,
    rules: RuleArrays, options: Options, starts: Flags, made: Int32s,
) -> tuple[Int64s, Floats]:  # fmt: skip
    """Cut records ``low .. high-1`` by the textbook rules; see :func:`partition_range`."""
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

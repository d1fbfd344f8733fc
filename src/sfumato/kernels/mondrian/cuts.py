"""Textbook cuts of Mondrian: the widest attribute first, at the median (strict), or into the children of a node.

Letters: q quasi-identifying attributes, s sensitive attributes that a rule looks at, v their values together, m
distinct records. A record's codes stand in one row: its q quasi-identifying codes, its s sensitive ones, padding.

A cut comes back as the attribute and the number of parts; `part_of` then gives the part of each of its codes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sfumato.kernels.bits import sort_numbers
from sfumato.kernels.jit import borrowing, inlined, interpreted_as, kernel
from sfumato.kernels.predicates import GUARDED, K_MAP, SLACK, RuleArrays, holds
from sfumato.kernels.types import TREE, Codes, Floats, Int32s, Int64s, Space, Words, float64, int64


class Options(NamedTuple):
    """How cuts are chosen."""

    smallest: int  # records that every class needs at least (k, or 1)
    ruled: bool  # whether some rule looks at more than the class size
    relaxed: bool  # split equal values to reach exact halves
    fallback: bool  # also try the cut below the median
    least_loss: bool  # choose the attribute by the expected loss of the final classes instead of by width
    everywhere: bool  # with `least_loss`: try every place, not only the allowable one nearest to the median
    regions: bool  # measure widths on the region that the cuts have left, not on the data in it
    by_tree: bool  # cut attributes with a hierarchy into the children of the common ancestor
    # Negative: a cut is allowable when its parts satisfy the rules. Else nobody looks at who has which sensitive value:
    # the values with which a part must satisfy the rules are imagined from those of the range (:func:`imagine`).
    margin: float = -1.0


class Workspace(NamedTuple):
    """Buffers of one thread, so that choosing a cut allocates nothing."""

    # `minimum`, `maximum`: (q,): smallest and largest code of each attribute in the range
    minimum: Int64s
    maximum: Int64s
    widths: Floats  # (q,)
    histogram: Int64s  # (largest cardinality + 1,), all zero between uses
    part_of: Int32s  # (largest cardinality,)
    parts: Int64s  # (largest cardinality + 1,): sizes of the parts
    # `whole`, `left`, `right`: (v,): sensitive counts of the range and of the two sides
    whole: Int64s
    left: Int64s
    right: Int64s
    scratch: Floats  # for the rules
    # (v,): the values of each sensitive attribute from the most frequent of the range to the least; kept only where
    # sides are imagined
    falling: Int64s
    margin: float  # that of the options
    # The attribute that says what records stand for in a population, −1 for none. It follows from quasi-identifying
    # values, so that sides are counted by it, and never imagined.
    known: int


@kernel
def new_workspace(space: Space, rules: RuleArrays, options: Options) -> Workspace:
    """Allocate the buffers for one thread."""
    q = len(space.kinds)
    largest = 0
    for attribute in range(q):
        largest = max(largest, space.offsets[attribute + 1] - space.offsets[attribute])
    v = rules.offsets[-1]
    return Workspace(
        np.zeros(q, np.int64),
        np.zeros(q, np.int64),
        np.zeros(q, np.float64),
        np.zeros(largest + 1, np.int64),
        np.zeros(largest, np.int32),
        np.zeros(largest + 1, np.int64),
        np.zeros(v, np.int64),
        np.zeros(v, np.int64),
        np.zeros(v, np.int64),
        np.zeros(rules.scratch_size + 1, np.float64),
        np.zeros(v, np.int64),
        options.margin,
        _known(rules),
    )


@inlined
def _known(rules: RuleArrays) -> int:
    known = -1
    for rule in range(len(rules.codes)):
        if rules.codes[rule] >= K_MAP:
            known = rules.attributes[rule]
    return known


@inlined
def counts_sides(work: Workspace) -> bool:
    """Tell whether the values of a side are counted: not where all of them are imagined."""
    return bool(work.margin < 0 or work.known >= 0)


@borrowing
def measure_range(codes: Codes, low: int, high: int, work: Workspace) -> None:
    """Find the smallest and largest code of every quasi-identifying attribute among records ``low .. high-1``."""
    q = len(work.minimum)
    for attribute in range(q):
        work.minimum[attribute] = codes[low, attribute]
        work.maximum[attribute] = codes[low, attribute]
    for record in range(low + 1, high):
        for attribute in range(q):
            code = int64(codes[record, attribute])
            work.minimum[attribute] = min(work.minimum[attribute], code)
            work.maximum[attribute] = max(work.maximum[attribute], code)


@borrowing
def count_range(
    codes: Codes, weights: Int32s, low: int, high: int, rules: RuleArrays, work: Workspace, counts: Int64s
) -> None:
    """Count the sensitive values of records ``low .. high-1`` into the flat histogram `counts`, int64 (v,)."""
    counts[:] = 0
    s = len(rules.offsets) - 1
    first = len(work.minimum)
    for record in range(low, high):
        for column in range(s):
            counts[rules.offsets[column] + int64(codes[record, first + column])] += weights[record]


@interpreted_as(count_range)
def _count_all(
    codes: Codes, weights: Int32s, low: int, high: int, rules: RuleArrays, work: Workspace, counts: Int64s
) -> None:
    counts[:] = 0
    _add_counts(codes[low:high, len(work.minimum) :], weights[low:high], rules, counts)


def _add_counts(values: Codes, weights: Int32s, rules: RuleArrays, counts: Int64s) -> None:
    for column in range(len(rules.offsets) - 1):
        np.add.at(counts, rules.offsets[column] + values[:, column].astype(np.int64), weights)


@borrowing
def count_whole(codes: Codes, weights: Int32s, low: int, high: int, rules: RuleArrays, work: Workspace) -> None:
    """Count the sensitive values of a range that is to be cut into ``work.whole``."""
    count_range(codes, weights, low, high, rules, work, work.whole)
    if work.margin < 0:
        return
    size = total_weight(weights, low, high)
    for column in range(len(rules.offsets) - 1):
        start, stop = rules.offsets[column], rules.offsets[column + 1]
        for value in range(start, stop):
            work.falling[value] = (size - work.whole[value]) * stop + value
        sort_numbers(work.falling, start, stop)
        for place in range(start, stop):
            work.falling[place] %= stop


@borrowing
def total_weight(weights: Int32s, low: int, high: int) -> int:
    """Original records that the distinct records ``low .. high-1`` stand for."""
    total = 0
    for record in range(low, high):
        total += weights[record]
    return total


@inlined
def widest_first(space: Space, options: Options, region: Floats, work: Workspace) -> Int64s:
    """Order the attributes by falling normalized width, ties in declared order; int64 (q,)."""
    for attribute in range(len(work.widths)):
        work.widths[attribute] = -_width(attribute, space, options, region, work)
    return np.argsort(work.widths, kind="mergesort")


@inlined
def _width(attribute: int, space: Space, options: Options, region: Floats, work: Workspace) -> float:
    low = work.minimum[attribute]
    high = work.maximum[attribute]
    if low == high:
        return 0.0
    if options.regions:
        extent = region[attribute, 1] - region[attribute, 0]
    elif options.by_tree and space.kinds[attribute] == TREE:
        return float64(space.weights[attribute] * tree_loss(attribute, low, high, space))
    else:
        first = space.offsets[attribute]
        extent = space.positions[first + high] - space.positions[first + low]
    if space.scales[attribute] == 0:
        return 0.0
    return float64(space.weights[attribute] * extent / space.scales[attribute])


@inlined
def common_node(attribute: int, low: int, high: int, space: Space) -> int:
    """Lowest tree node that covers the codes `low` and `high`; −1 is the root."""
    found = -1
    for node in range(space.tree_starts[attribute], space.tree_starts[attribute + 1]):
        if space.tree_low[node] <= low and high < space.tree_high[node]:
            found = node
    return found


@inlined
def tree_loss(attribute: int, low: int, high: int, space: Space) -> float:
    """Leaves under the common ancestor of two codes over all leaves; 0 for a single value."""
    if low == high:
        return 0.0
    node = common_node(attribute, low, high, space)
    if node < 0:
        return 1.0
    return float64((space.tree_high[node] - space.tree_low[node]) / space.sizes[attribute])


@kernel
def widest_cut(
    codes: Codes, weights: Int32s, low: int, high: int, space: Space, rules: RuleArrays, options: Options,
    region: Floats, work: Workspace,
) -> tuple[int, int]:  # fmt: skip
    """Choose the widest attribute that has an allowable cut; (−1, 0) when none has.

    region : float64 (q, 2), the bounds that earlier cuts left; read only with ``options.regions``.
    """
    size = total_weight(weights, low, high)
    if size < 2 * options.smallest:
        return -1, 0
    measure_range(codes, low, high, work)
    if options.ruled:
        count_whole(codes, weights, low, high, rules, work)
    for attribute in widest_first(space, options, region, work):
        if work.minimum[attribute] == work.maximum[attribute]:
            continue
        if options.by_tree and space.kinds[attribute] == TREE:
            parts = _cut_by_tree(codes, weights, low, high, attribute, space, rules, options, work)
        else:
            parts = _cut_at_median(codes, weights, low, high, attribute, size, rules, options, work)
        if parts > 0:
            return attribute, parts
    return -1, 0


@kernel
def median_code(codes: Codes, weights: Int32s, low: int, high: int, attribute: int, size: int, work: Workspace) -> int:
    """Count the attribute's codes into ``work.histogram`` and return the lower median, at most the largest of them."""
    for record in range(low, high):
        work.histogram[codes[record, attribute]] += weights[record]
    below = 0
    for code in range(work.minimum[attribute], work.maximum[attribute]):
        below += work.histogram[code]
        if 2 * below >= size:
            return int64(code)
    return int64(work.maximum[attribute])


@inlined
def clear_histogram(attribute: int, work: Workspace) -> None:
    """Set the used part of ``work.histogram`` back to zero."""
    work.histogram[work.minimum[attribute] : work.maximum[attribute] + 1] = 0


@kernel
def _cut_at_median(
    codes: Codes, weights: Int32s, low: int, high: int, attribute: int, size: int, rules: RuleArrays, options: Options,
    work: Workspace,
) -> int:  # fmt: skip
    median = median_code(codes, weights, low, high, attribute, size, work)
    below = 0
    for code in range(work.minimum[attribute], median):
        below += work.histogram[code]
    up_to = below + work.histogram[median]
    clear_histogram(attribute, work)
    # Of "<= median" and "< median" the one closer to half comes first; the other is tried when it is not allowable.
    first, first_size, second, second_size = median, up_to, median - 1, below
    if options.fallback and abs(2 * below - size) < abs(2 * up_to - size):
        first, first_size, second, second_size = second, second_size, first, first_size
    if _allowable(codes, weights, low, high, attribute, first, first_size, size, rules, options, work):
        return _threshold(attribute, first, work)
    if options.fallback and _allowable(
        codes, weights, low, high, attribute, second, second_size, size, rules, options, work
    ):
        return _threshold(attribute, second, work)
    return 0


@inlined
def _threshold(attribute: int, last_left: int, work: Workspace) -> int:
    for code in range(work.minimum[attribute], work.maximum[attribute] + 1):
        work.part_of[code] = 0 if code <= last_left else 1
    return 2


@kernel
def _allowable(
    codes: Codes, weights: Int32s, low: int, high: int, attribute: int, last_left: int, left_size: int, size: int,
    rules: RuleArrays, options: Options, work: Workspace,
) -> bool:  # fmt: skip
    if left_size < options.smallest or size - left_size < options.smallest:
        return False
    if not options.ruled:
        return True
    if counts_sides(work):
        _threshold(attribute, last_left, work)
        count_part(codes, weights, low, high, attribute, 0, rules, work, work.left)
    return sides_hold(left_size, size, rules, work)


@borrowing
def count_part(
    codes: Codes, weights: Int32s, low: int, high: int, attribute: int, part: int, rules: RuleArrays, work: Workspace,
    counts: Int64s,
) -> None:  # fmt: skip
    """Count the sensitive values of one part of the cut in ``work.part_of`` into `counts`, int64 (v,)."""
    counts[:] = 0
    s = len(rules.offsets) - 1
    first = len(work.minimum)
    for record in range(low, high):
        if work.part_of[codes[record, attribute]] == part:
            for column in range(s):
                counts[rules.offsets[column] + int64(codes[record, first + column])] += weights[record]


@interpreted_as(count_part)
def _count_whole_part(
    codes: Codes, weights: Int32s, low: int, high: int, attribute: int, part: int, rules: RuleArrays, work: Workspace,
    counts: Int64s,
) -> None:  # fmt: skip
    counts[:] = 0
    own = low + np.flatnonzero(work.part_of[codes[low:high, attribute]] == part)
    _add_counts(codes[own, len(work.minimum) :], weights[own], rules, counts)


@borrowing
def sides_hold(left_size: int, size: int, rules: RuleArrays, work: Workspace) -> bool:
    """Tell whether both sides satisfy every rule, from ``work.left`` and ``work.whole``, or as they are imagined."""
    for value in range(len(work.whole)):
        work.right[value] = work.whole[value] - work.left[value]
    if work.margin >= 0:
        return imagined_holds(left_size, size, rules, work, work.left) and imagined_holds(
            size - left_size, size, rules, work, work.right
        )
    return bool(
        holds(left_size, work.left, rules, work.scratch) and holds(size - left_size, work.right, rules, work.scratch)
    )


@borrowing
def imagined_holds(part_size: int, size: int, rules: RuleArrays, work: Workspace, counts: Int64s) -> bool:
    """Tell whether a part of a range satisfies every rule with the values that it is imagined to have.

    counts : int64 (v,), overwritten but for what records stand for in a population, which is that of the part.
    """
    imagine(part_size, size, -1, rules, work, counts)
    if not holds(part_size, counts, rules, work.scratch):
        return False
    for rule in range(len(rules.codes)):
        if rules.codes[rule] == GUARDED:
            imagine(part_size, size, int64(rules.second[rule]), rules, work, counts)
            if not holds(part_size, counts, rules, work.scratch):
                return False
    return True


@borrowing
def imagine(part_size: int, size: int, guard: int, rules: RuleArrays, work: Workspace, counts: Int64s) -> None:
    """Fill `counts`, int64 (v,), with values that a part of a range may have, less diverse than chance makes them.

    Each value in turn, the most frequent of the range first, is taken as often as a part drawn at random has it and
    `margin` standard deviations more, until the part is full. Values that the rule with bit `guard` guards come before
    all others; −1: none do. With a huge margin the part is as little diverse as it can be, or has as many guarded
    values: no other way to share the values out breaks a rule that this one satisfies.
    """
    apart = (size - part_size) / max(1, size - 1)
    for column in range(len(rules.offsets) - 1):
        if column == work.known:
            continue
        room = part_size
        for guarded in range(1, -1, -1):
            for place in range(rules.offsets[column], rules.offsets[column + 1]):
                value = work.falling[place]
                if guarded != (guard >= 0 and (rules.guards[value] >> guard) & 1 == 1):
                    continue
                share = work.whole[value] / size
                # never below 0: no part is above the whole
                spread = math.sqrt(part_size * share * (1.0 - share) * apart)
                most = min(float(work.whole[value]), math.ceil(part_size * share + work.margin * spread - SLACK))
                counts[value] = min(room, int(most))
                room -= counts[value]


@kernel
def _cut_by_tree(
    codes: Codes, weights: Int32s, low: int, high: int, attribute: int, space: Space, rules: RuleArrays,
    options: Options, work: Workspace,
) -> int:  # fmt: skip
    parts = _children(codes, low, high, attribute, space, work)
    work.parts[:parts] = 0
    for record in range(low, high):
        work.parts[work.part_of[codes[record, attribute]]] += weights[record]
    for part in range(parts):
        if work.parts[part] < options.smallest:
            return 0
    if options.ruled:
        for part in range(parts):
            if counts_sides(work):
                count_part(codes, weights, low, high, attribute, part, rules, work, work.left)
            if work.margin >= 0:
                size = total_weight(weights, low, high)
                if not imagined_holds(work.parts[part], size, rules, work, work.left):
                    return 0
            elif not holds(work.parts[part], work.left, rules, work.scratch):
                return 0
    return parts


@kernel
def _children(codes: Codes, low: int, high: int, attribute: int, space: Space, work: Workspace) -> int:
    """Assign parts to the children of the common ancestor that occur; a missing value is a child of the root."""
    parent = common_node(attribute, work.minimum[attribute], work.maximum[attribute], space)
    for record in range(low, high):
        work.histogram[codes[record, attribute]] = 1
    parts = 0
    last_child = -2
    for code in range(work.minimum[attribute], work.maximum[attribute] + 1):
        if work.histogram[code] == 0:
            continue
        child = _child_of(attribute, code, parent, space)
        if child != last_child or child == -1:
            last_child = child
            parts += 1
        work.part_of[code] = parts - 1
    clear_histogram(attribute, work)
    return parts


@inlined
def _child_of(attribute: int, code: int, parent: int, space: Space) -> int:
    for node in range(space.tree_starts[attribute], space.tree_starts[attribute + 1]):
        if space.tree_parent[node] == parent and space.tree_low[node] <= code and code < space.tree_high[node]:
            return node
    return -1


NOT_KEPT = np.empty((0, 3), np.int32)
"""In place of an array for the cuts that are made, where nobody asks for them."""


class LaidRecords(NamedTuple):
    """Records as they are moved: codes are read, words are moved, which is several times faster."""

    codes: Codes  # unsigned (m, w): a view of the same memory as `words`
    words: Words  # (m, u)
    weights: Int32s  # (m,): original records that each stands for
    rows: Int32s  # (m,): where each stood before it was moved


@inlined
def spare_for(low: int, high: int, records: LaidRecords) -> LaidRecords:
    """Return room for records ``low .. high-1`` while they are moved; its codes are not used."""
    size = high - low
    return LaidRecords(
        records.codes[:0], np.empty((size, records.words.shape[1]), np.uint64), np.empty(size, np.int32),
        np.empty(size, np.int32),
    )  # fmt: skip


@kernel
def move_to_parts(
    records: LaidRecords, low: int, high: int, attribute: int, part_of: Int32s, parts: int,
    bounds: Int64s, spare: LaidRecords,
) -> None:  # fmt: skip
    """Sort records ``low .. high-1`` by the part of their code, keeping their order inside a part.

    part_of : int32, one per code; bounds : int64 (parts + 1,), filled with the first record of each part and `high`;
    spare : as :func:`spare_for` makes it.
    """
    bounds[0] = low
    bounds[parts] = high
    if parts == 2:
        for record in range(low, high):
            spare.weights[record - low] = part_of[records.codes[record, attribute]]
        bounds[1] = _move_to_sides(records, low, high, spare)
    else:
        _sort_by_part(records, low, high, attribute, part_of, parts, bounds, spare)


@inlined
def _sort_by_part(
    records: LaidRecords, low: int, high: int, attribute: int, part_of: Int32s, parts: int,
    bounds: Int64s, spare: LaidRecords,
) -> None:  # fmt: skip
    size = high - low
    # The codes are a view of the words, so parts are read before anything is overwritten.
    part_at = np.empty(size, np.int32)
    place = np.zeros(parts + 1, np.int64)
    place[0] = low
    for record in range(size):
        part_at[record] = part_of[records.codes[low + record, attribute]]
        place[part_at[record] + 1] += 1
        _copy(records, low + record, spare, record)
    for part in range(parts):
        place[part + 1] += place[part]
        bounds[part] = place[part]
    for record in range(size):
        part = part_at[record]
        _copy(spare, record, records, place[part])
        place[part] += 1


@inlined
def _copy(records: LaidRecords, source: int, to: LaidRecords, target: int) -> None:
    for word in range(records.words.shape[1]):
        to.words[target, word] = records.words[source, word]
    to.weights[target] = records.weights[source]
    to.rows[target] = records.rows[source]


@kernel
def _move_to_sides(records: LaidRecords, low: int, high: int, spare: LaidRecords) -> int:
    """Move records left where ``spare.weights`` says 0 and right where it says 1; return the first on the right.

    A record is copied to the end of both sides and only one of them moves on: which one it is cannot be guessed, and a
    wrong guess costs more than a copy that is written over. Nothing is lost by that, as both ends stand at the record
    or before it. Capacity: `spare` has a place for each record.
    """
    words, weights, rows = records.words, records.weights, records.rows
    spare_words, spare_weights, spare_rows = spare.words, spare.weights, spare.rows
    left = low
    for record in range(low, high):
        right = spare_weights[record - low]
        spared = record - left
        for word in range(words.shape[1]):
            moved = words[record, word]
            spare_words[spared, word] = moved
            words[left, word] = moved
        weight = weights[record]
        spare_weights[spared] = weight
        weights[left] = weight
        row = rows[record]
        spare_rows[spared] = row
        rows[left] = row
        left += 1 - right
    for record in range(high - left):
        _copy(spare, record, records, left + record)
    return left


@interpreted_as(_move_to_sides)
def _sort_by_side(records: LaidRecords, low: int, high: int, spare: LaidRecords) -> int:
    is_right = spare.weights[: high - low]
    order = low + np.argsort(is_right, kind="stable")
    for column in (records.words, records.weights, records.rows):
        column[low:high] = column[order]
    return int64(high - np.count_nonzero(is_right))


@kernel
def room_at_median(codes: Codes, low: int, high: int, attribute: int, median: int) -> int:
    """Count the records equal to the median that fit into the left half, floor(n/2), beside the smaller ones."""
    room = (high - low) // 2
    for record in range(low, high):
        if codes[record, attribute] < median:
            room -= 1
    return room


@kernel
def halve_by_order(records: LaidRecords, low: int, high: int, attribute: int, median: int, spare: LaidRecords) -> int:
    """Split into floor(n/2) and the rest: below the median left, above right, equal ones in order until left is full.

    The relaxed cut of Mondrian; weights must all be 1. Returns the first record of the right half.
    """
    room = room_at_median(records.codes, low, high, attribute, median)
    for record in range(low, high):
        code = records.codes[record, attribute]
        fits = code == median and room > 0
        room -= fits
        spare.weights[record - low] = 0 if code < median or fits else 1
    return _move_to_sides(records, low, high, spare)


@inlined
def keep_cut(attribute: int, low: int, high: int, parts: int, bounds: Int64s, made: Int32s) -> None:
    """Note at the first record of each part but the first how records ``low .. high-1`` were cut.

    bounds : int64 (parts + 1,); made : int32 (m, 3), attribute, `low` and `high`, or no rows at all.
    """
    if len(made) > 0:
        for part in range(1, parts):
            made[bounds[part], 0] = attribute
            made[bounds[part], 1] = low
            made[bounds[part], 2] = high

"""Moving records between the parts of a cut, in place and in a stable order.

Letters: m records, w codes a record, u 64-bit words a record.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.jit import inlined, interpreted_as, kernel
from sfumato.kernels.types import Codes, Int32s, Int64s, Words, int64

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
    or before it.
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

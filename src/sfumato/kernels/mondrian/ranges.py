"""Moving records between the parts of a cut, in place and in a stable order.

Letters: m records, w codes a record, u 64-bit words a record. `codes` and `words` are two views of one buffer: codes
are read, words are moved, which is several times faster than moving codes one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.kernels.jit import inlined, kernel

NOT_KEPT = np.empty((0, 3), np.int32)
"""In place of an array for the cuts that are made, where nobody asks for them."""


@kernel
def move_to_parts(
    codes: Any, words: Any, weights: Any, rows: Any, low: int, high: int, attribute: int, part_of: Any, parts: int,
    bounds: Any, spare_words: Any, spare_weights: Any, spare_rows: Any,
) -> None:  # fmt: skip
    """Sort records ``low .. high-1`` by the part of their code, keeping their order inside a part.

    codes : unsigned (m, w); words : uint64 (m, u); weights, rows : int32 (m,); part_of : int32, one per code;
    bounds : int64 (parts + 1,), filled with the first record of each part and `high`; spare_* hold high − low records.
    """
    bounds[0] = low
    bounds[parts] = high
    if parts == 2:
        for record in range(low, high):
            spare_weights[record - low] = part_of[codes[record, attribute]]
        bounds[1] = _move_to_sides(words, weights, rows, low, high, spare_words, spare_weights, spare_rows)
    else:
        _sort_by_part(
            codes, words, weights, rows, low, high, attribute, part_of, parts, bounds, spare_words, spare_weights,
            spare_rows,
        )  # fmt: skip


@inlined
def _sort_by_part(
    codes: Any, words: Any, weights: Any, rows: Any, low: int, high: int, attribute: int, part_of: Any, parts: int,
    bounds: Any, spare_words: Any, spare_weights: Any, spare_rows: Any,
) -> None:  # fmt: skip
    size = high - low
    # The codes are a view of the words, so parts are read before anything is overwritten.
    part_at = np.empty(size, np.int32)
    place = np.zeros(parts + 1, np.int64)
    place[0] = low
    for record in range(size):
        part_at[record] = part_of[codes[low + record, attribute]]
        place[part_at[record] + 1] += 1
        _copy(words, weights, rows, low + record, spare_words, spare_weights, spare_rows, record)
    for part in range(parts):
        place[part + 1] += place[part]
        bounds[part] = place[part]
    for record in range(size):
        part = part_at[record]
        _copy(spare_words, spare_weights, spare_rows, record, words, weights, rows, place[part])
        place[part] += 1


@inlined
def _copy(
    words: Any, weights: Any, rows: Any, source: int, to_words: Any, to_weights: Any, to_rows: Any, target: int
) -> None:
    for word in range(words.shape[1]):
        to_words[target, word] = words[source, word]
    to_weights[target] = weights[source]
    to_rows[target] = rows[source]


@kernel
def _move_to_sides(
    words: Any, weights: Any, rows: Any, low: int, high: int, spare_words: Any, spare_weights: Any, spare_rows: Any
) -> int:
    """Move records left where `spare_weights` says 0 and right where it says 1; return the first on the right.

    A record is copied to the end of both sides and only one of them moves on: which one it is cannot be guessed, and a
    wrong guess costs more than a copy that is written over. Nothing is lost by that, as both ends stand at the record
    or before it.
    """
    left = low
    width = words.shape[1]
    for record in range(low, high):
        right = spare_weights[record - low]
        spared = record - left
        for word in range(width):
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
        _copy(spare_words, spare_weights, spare_rows, record, words, weights, rows, left + record)
    return left


@kernel
def room_at_median(codes: Any, low: int, high: int, attribute: int, median: int) -> int:
    """Count the records equal to the median that fit into the left half, floor(n/2), beside the smaller ones."""
    room = (high - low) // 2
    for record in range(low, high):
        if codes[record, attribute] < median:
            room -= 1
    return room


@kernel
def halve_by_order(
    codes: Any, words: Any, weights: Any, rows: Any, low: int, high: int, attribute: int, median: int,
    spare_words: Any, spare_weights: Any, spare_rows: Any,
) -> int:  # fmt: skip
    """Split into floor(n/2) and the rest: below the median left, above right, equal ones in order until left is full.

    The relaxed cut of Mondrian; weights must all be 1. Returns the first record of the right half.
    """
    room = room_at_median(codes, low, high, attribute, median)
    for record in range(low, high):
        code = codes[record, attribute]
        fits = code == median and room > 0
        room -= fits
        spare_weights[record - low] = 0 if code < median or fits else 1
    return _move_to_sides(words, weights, rows, low, high, spare_words, spare_weights, spare_rows)


@inlined
def keep_cut(attribute: int, low: int, high: int, parts: int, bounds: Any, made: Any) -> None:
    """Note at the first record of each part but the first how records ``low .. high-1`` were cut.

    bounds : int64 (parts + 1,); made : int32 (m, 3), attribute, `low` and `high`, or no rows at all.
    """
    if len(made) > 0:
        for part in range(1, parts):
            made[bounds[part], 0] = attribute
            made[bounds[part], 1] = low
            made[bounds[part], 2] = high

"""Moving records between the parts of a cut, in place and in a stable order.

Letters: m records, w codes a record, u 64-bit words a record. `codes` and `words` are two views of one buffer: codes
are read, words are moved, which is several times faster than moving codes one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.kernels.jit import kernel


@kernel
def move_to_parts(
    codes: Any, words: Any, weights: Any, rows: Any, low: int, high: int, attribute: int, part_of: Any, parts: int,
    bounds: Any, spare_words: Any, spare_weights: Any, spare_rows: Any,
) -> None:  # fmt: skip
    """Sort records ``low .. high-1`` by the part of their code, keeping their order inside a part.

    codes : unsigned (m, w); words : uint64 (m, u); weights, rows : int32 (m,); part_of : int32, one per code;
    bounds : int64 (parts + 1,), filled with the first record of each part and `high`; spare_* hold high − low records.
    """
    for part in range(parts + 1):
        bounds[part] = 0
    for record in range(low, high):
        bounds[part_of[codes[record, attribute]] + 1] += 1
    bounds[0] = low
    for part in range(parts):
        bounds[part + 1] += bounds[part]
    if parts == 2:
        _move_to_halves(
            codes, words, weights, rows, low, high, attribute, part_of, spare_words, spare_weights, spare_rows
        )
        return
    size = high - low
    for record in range(size):
        _copy(words, weights, rows, low + record, spare_words, spare_weights, spare_rows, record)
    place = bounds[:parts].copy()
    # The codes are a view of the words, so parts are read before anything is overwritten.
    part_at = _parts(codes, low, high, attribute, part_of)
    for record in range(size):
        part = part_at[record]
        _copy(spare_words, spare_weights, spare_rows, record, words, weights, rows, place[part])
        place[part] += 1


@kernel
def _parts(codes: Any, low: int, high: int, attribute: int, part_of: Any) -> Any:
    part_at = np.empty(high - low, np.int32)
    for record in range(low, high):
        part_at[record - low] = part_of[codes[record, attribute]]
    return part_at


@kernel
def _copy(
    words: Any, weights: Any, rows: Any, source: int, to_words: Any, to_weights: Any, to_rows: Any, target: int
) -> None:
    for word in range(words.shape[1]):
        to_words[target, word] = words[source, word]
    to_weights[target] = weights[source]
    to_rows[target] = rows[source]


@kernel
def _move_to_halves(
    codes: Any, words: Any, weights: Any, rows: Any, low: int, high: int, attribute: int, part_of: Any,
    spare_words: Any, spare_weights: Any, spare_rows: Any,
) -> None:  # fmt: skip
    left = low
    spared = 0
    for record in range(low, high):
        if part_of[codes[record, attribute]] == 0:
            if left != record:
                _copy(words, weights, rows, record, words, weights, rows, left)
            left += 1
        else:
            _copy(words, weights, rows, record, spare_words, spare_weights, spare_rows, spared)
            spared += 1
    for record in range(spared):
        _copy(spare_words, spare_weights, spare_rows, record, words, weights, rows, left + record)


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
    left = low
    spared = 0
    for record in range(low, high):
        code = codes[record, attribute]
        goes_left = code < median
        if code == median and room > 0:
            goes_left = True
            room -= 1
        if goes_left:
            if left != record:
                _copy(words, weights, rows, record, words, weights, rows, left)
            left += 1
        else:
            _copy(words, weights, rows, record, spare_words, spare_weights, spare_rows, spared)
            spared += 1
    for record in range(spared):
        _copy(spare_words, spare_weights, spare_rows, record, words, weights, rows, left + record)
    return left

"""Joining labels into lines, eight bytes at a time. Letters: b records, q columns, v labels, z words of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Int64s, Words, int64

_WORD = 8  # bytes
_AHEAD = 256  # records whose labels are looked up before they are joined


@kernel
def join_labels(label_of: Int64s, places: NDArray[np.uint32], words: Words, lines: Words) -> int:
    """Write the labels of each record into `lines`, one after another; return the bytes written.

    label_of : int64 (q, b), the label that each cell shows; places : uint32 (v, 2), first word and bytes of each label,
    at least one; words : uint64 (z,), labels as little-endian words, each filled up with zeros to a whole word; lines :
    uint64, with room for the bytes of all cells and one word more. Cost O(bytes / 8).
    Ends: each round writes a word of the label. Capacity: no word begins behind the bytes that are written.
    """
    columns = label_of.shape[0]
    firsts = np.empty(_AHEAD * columns, np.uint64)
    found = np.empty((_AHEAD * columns, 2), np.int64)
    pending = np.uint64(0)
    bits = int64(0)
    target = int64(0)
    for low in range(0, label_of.shape[1], _AHEAD):
        high = min(low + _AHEAD, label_of.shape[1])
        _look_up(label_of, low, high, places, words, firsts, found)
        for cell in range((high - low) * columns):
            text = firsts[cell]
            word = found[cell, 0]
            left = found[cell, 1]
            while True:
                # A full word moves the target on, else the same place is written again: a branch would be guessed
                # wrong every other time. No shift is by 64, which machines do not agree on.
                whole = pending | (text << np.uint64(bits))
                carry = (text >> np.uint64(1)) >> np.uint64(63 - bits)
                bits += 8 * min(left, _WORD)
                lines[target] = whole
                is_full = bits >> 6
                pending = carry if is_full else whole
                target += is_full
                bits &= 63
                left -= _WORD
                if left <= 0:
                    break
                word += 1
                text = words[word]
    lines[target] = pending
    return _WORD * target + (bits >> 3)


@inlined
def _look_up(
    label_of: Int64s, low: int, high: int, places: NDArray[np.uint32], words: Words, firsts: Words, found: Int64s
) -> None:
    """Fetch what the cells of some records need: waits for memory overlap in so short a loop."""
    columns = label_of.shape[0]
    for column in range(columns):
        for record in range(low, high):
            label = label_of[column, record]
            cell = (record - low) * columns + column
            found[cell, 0] = places[label, 0]
            found[cell, 1] = places[label, 1]
            firsts[cell] = words[places[label, 0]]

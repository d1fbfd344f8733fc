"""What every class spans: smallest and largest codes, and sums of numbers.

Letters: n records, q columns, c classes, v codes of a column (the missing value's among them).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import inlined, linear
from sfumato.kernels.types import Codes, Floats, Int32s, Int64s, int64
from sfumato.randomness import GOLDEN, hashed


def class_boxes(
    class_of: Int32s, codes: Codes, count: int, columns: Sequence[int] | None = None
) -> tuple[Codes, Codes]:
    """Return the smallest and the largest code of each class in each column, or in some columns.

    class_of : int32 (n,), -1 for records in no class. codes : unsigned (n, q). count : number of classes c, each with
    at least one record. Returns two views of the dtype of `codes`, (c, q). One pass, O(n · q).
    """
    top = np.iinfo(codes.dtype).max
    chosen = np.arange(codes.shape[1]) if columns is None else np.array(columns, dtype=np.int64)
    boxes = np.zeros((count, 2, len(chosen)), dtype=codes.dtype)
    # Both ends of a class share a cache line; two arrays would cost twice the misses.
    boxes[:, 0, :] = top
    _widen(class_of, codes, chosen, boxes)
    return boxes[:, 0, :], boxes[:, 1, :]


@linear
def _widen(class_of: Int32s, codes: Codes, columns: Int64s, boxes: Codes) -> None:
    for record in range(codes.shape[0]):
        owner = class_of[record]
        if owner < 0:
            continue
        for place in range(len(columns)):
            code = codes[record, columns[place]]
            if code < boxes[owner, 0, place]:
                boxes[owner, 0, place] = code
            if code > boxes[owner, 1, place]:
                boxes[owner, 1, place] = code


@linear
def class_sums(class_of: Int32s, codes: Codes, numbers: Floats, count: int) -> Floats:
    """Sum the numbers behind the codes of each class, in record order.

    class_of : int32 (n,), -1 for records in no class. codes : unsigned (n,). numbers : float64 (v,). Returns float64
    (count,). One pass, O(n).
    """
    sums = np.zeros(count, dtype=np.float64)
    for record in range(codes.shape[0]):
        owner = class_of[record]
        if owner >= 0:
            sums[owner] += numbers[codes[record]]
    return sums


# Value sets: which codes meet in each class, equal sets numbered alike.
#
# Letters: n records, m records in a class, q columns, c classes, v codes of a column, g distinct sets, z members of all
# distinct sets together.


Number = TypeVar("Number", bound=np.generic)


def class_starts(sizes: Int64s) -> Int64s:
    """Return where each class begins when records are laid out class by class; int64 (c + 1,). sizes : (c,)."""
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


@linear
def group_by_class(class_of: Int32s, codes: Codes, columns: Int64s, starts: Int64s) -> Codes:
    """Lay the codes of some columns out class by class, in record order inside a class.

    class_of : int32 (n,), -1 for records in no class. codes : unsigned (n, q). columns : int64 (p,). starts : int64 (c
    + 1,). Returns the dtype of `codes`, (m, p), row-major: one write per record. O(n · p).
    """
    place = starts[:-1].copy()
    grouped = np.empty((starts[-1], len(columns)), dtype=codes.dtype)
    for record in range(codes.shape[0]):
        owner = class_of[record]
        if owner < 0:
            continue
        target = place[owner]
        place[owner] = target + 1
        for column in range(len(columns)):
            grouped[target, column] = codes[record, columns[column]]
    return grouped


def value_sets(grouped: Codes, starts: Int64s, cardinality: int) -> tuple[Int32s, Int64s, Int32s]:
    """Return the set of codes of each class, equal sets numbered alike in order of first appearance.

    grouped : unsigned (m,), one column laid out class by class. starts : int64 (c + 1,). cardinality : above every
    code. Returns the set of each class int32 (c,), where each set begins int64 (g + 1,), and the members of all sets
    int32 (z,), rising inside a set. O(m + c + z log z), memory 8 v + 12 c bytes and the sets themselves.
    """
    # Fixed words of 63 bits, one per code: a set's hash is their exclusive or, whatever the order of its members.
    words = (hashed(np.arange(1, cardinality + 1, dtype=np.uint64) * np.uint64(GOLDEN)) >> np.uint64(1)).astype(
        np.int64
    )
    set_of, members, bounds = _number_sets(grouped, starts, words)
    return set_of, bounds, members


@linear
def _number_sets(grouped: Codes, starts: Int64s, words: Int64s) -> tuple[Int32s, Int32s, Int64s]:
    """Give equal sets one number. Capacity: what is full grows first; `found` has a place for each code."""
    count = len(starts) - 1
    set_of = np.empty(count, dtype=np.int32)
    stamp = np.full(len(words), -1, dtype=np.int32)
    found = np.empty(len(words), dtype=np.int32)
    table = np.full(256, -1, dtype=np.int32)
    hashes = np.empty(64, dtype=np.int64)
    bounds = np.zeros(65, dtype=np.int64)
    members = np.empty(256, dtype=np.int32)
    known = 0
    for owner in range(count):
        size, hashed = _distinct(grouped, starts[owner], starts[owner + 1], owner, words, stamp, found)
        slot = _slot(table, hashes, hashed, bounds, members, stamp, owner, size)
        if table[slot] < 0:
            members = _with_room(members, bounds[known] + size)
            members[bounds[known] : bounds[known] + size] = np.sort(found[:size])
            bounds[known + 1] = bounds[known] + size
            hashes[known] = hashed
            table[slot] = known
            known += 1
            set_of[owner] = known - 1
            if known == len(hashes):
                hashes = _with_room(hashes, 2 * known)
                bounds = _with_room(bounds, 2 * known + 1)
                table = _rebuilt(hashes, known)
        else:
            set_of[owner] = table[slot]
    return set_of, members[: bounds[known]].copy(), bounds[: known + 1].copy()


@inlined
def _distinct(
    grouped: Codes, first: int, stop: int, owner: int, words: Int64s, stamp: Int32s, found: Int32s
) -> tuple[int, int]:
    """Collect the distinct codes of one class in `found`; `stamp` remembers the last class that had each code.

    Capacity: `found` has a place for each code.
    """
    size = 0
    hashed = int64(0)
    for position in range(first, stop):
        code = grouped[position]
        if stamp[code] != owner:
            stamp[code] = owner
            found[size] = code
            size += 1
            hashed ^= words[code]
    return size, hashed


@inlined
def _slot(
    table: Int32s, hashes: Int64s, hashed: int, bounds: Int64s, members: Int32s, stamp: Int32s, owner: int, size: int
) -> int:
    """Find the slot of the set that `stamp` marks for `owner`, or an empty one. Ends: three of four are empty."""
    slot = hashed & (len(table) - 1)
    while table[slot] >= 0:
        known = table[slot]
        if hashes[known] == hashed and bounds[known + 1] - bounds[known] == size:
            equal = True
            for position in range(bounds[known], bounds[known + 1]):
                if stamp[members[position]] != owner:
                    equal = False
                    break
            if equal:
                return slot
        slot = (slot + 1) & (len(table) - 1)
    return slot


@inlined
def _with_room(array: NDArray[Number], needed: int) -> NDArray[Number]:
    if needed <= len(array):
        return array
    roomier = np.empty(max(needed, 2 * len(array)), dtype=array.dtype)
    roomier[: len(array)] = array
    return roomier


@inlined
def _rebuilt(hashes: Int64s, known: int) -> Int32s:
    """Enter all known sets into a table with room for more. Ends: three slots of four are empty."""
    table = np.full(4 * len(hashes), -1, dtype=np.int32)
    for index in range(known):
        slot = hashes[index] & (len(table) - 1)
        while table[slot] >= 0:
            slot = (slot + 1) & (len(table) - 1)
        table[slot] = index
    return table

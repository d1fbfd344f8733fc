"""Grouping equal records, counting values by class. Letters: n records, q columns, u keys, c classes, v values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import inlined, interpreted_as, linear, sized
from sfumato.kernels.types import Codes, Int32s, Int64s, int64

KEY_BITS = 62
"""Widest key of :func:`group_packed`, so that it stays a non-negative int64 with room to mix."""

_BATCH = 128  # records that are looked up together

# An odd multiplier below 2**31: times 32 bits it stays below 2**63, so that mixing never overflows, compiled or not.
_MIX = 0x5BD1E995
_LOW = 0x7FFFFFFF


@sized(lambda codes: 0.05 * codes.size)  # in the form for whole arrays, as below
def column_maxima(codes: NDArray[np.integer]) -> Int64s:
    """Return the largest code of each column; int64 (q,), −1 where there is no record. codes : (n, q)."""
    maxima = np.full(codes.shape[1], -1, dtype=np.int64)
    for record in range(codes.shape[0]):
        for column in range(codes.shape[1]):
            maxima[column] = max(maxima[column], int64(codes[record, column]))
    return maxima


@interpreted_as(column_maxima)
def _maxima_of_columns(codes: NDArray[np.integer]) -> Int64s:
    return codes.max(axis=0).astype(np.int64) if len(codes) else np.full(codes.shape[1], -1, np.int64)


@sized(lambda codes, *_: 0.1 * codes.size)
def group_packed(codes: NDArray[np.integer], stops: Int64s, shifts: Int64s) -> tuple[Int32s, int]:
    """Give equal records the same number, in order of first appearance.

    codes : non-negative integers (n, q). stops : int64 (u,), the columns are packed into u keys, each ending before its
    stop. shifts : int64 (q,), the lowest bit of each column in its key; no column may reach the next one's bits or bit
    62. Returns int32 (n,) and the number of groups. Open addressing with linear probing, at most half full; whole keys
    are compared, so the result is exact. Cost O(n · q), memory 4 n + 8 u + 8 to twice that for each group.
    Ends: half of the slots are empty. Capacity: room for a batch of new groups is made before it.
    """
    class_of = np.empty(len(codes), dtype=np.int32)
    group_keys = np.empty((1 << 12, len(stops)), dtype=np.int64)
    table = np.full(1 << 13, -1, dtype=np.int32)
    keys = np.empty((_BATCH, len(stops)), dtype=np.int64)
    slots = np.empty(_BATCH, dtype=np.int64)
    count = int64(0)
    for low in range(0, len(codes), _BATCH):
        size = min(_BATCH, len(codes) - low)
        if count + size > len(group_keys):
            group_keys, table = _grown(group_keys, count)
        _pack(codes, low, size, stops, shifts, keys)
        _look_up(keys, size, group_keys, table, slots)
        for record in range(size):
            slot = slots[record]
            while table[slot] >= 0 and _differ(keys, record, group_keys, table[slot]):
                slot = (slot + 1) & (len(table) - 1)
            if table[slot] < 0:
                table[slot] = count
                for place in range(len(stops)):
                    group_keys[count, place] = keys[record, place]
                count += 1
            class_of[low + record] = table[slot]
    return class_of, count


@interpreted_as(group_packed)
def _group_by_sorting(codes: NDArray[np.integer], stops: Int64s, shifts: Int64s) -> tuple[Int32s, int]:
    if not len(codes):
        return np.empty(0, np.int32), 0
    group = np.zeros(len(codes), np.int64)
    start = 0
    for stop in stops:
        keys = np.zeros(len(codes), np.int64)
        for column in range(start, stop):
            keys |= codes[:, column].astype(np.int64) << shifts[column]
        distinct, own = np.unique(keys, return_inverse=True)
        # Both factors stay below the number of records.
        group = np.unique(group * len(distinct) + own, return_inverse=True)[1]
        start = stop
    _, firsts, group = np.unique(group, return_index=True, return_inverse=True)
    number = np.empty(len(firsts), np.int32)
    number[np.argsort(firsts)] = np.arange(len(firsts), dtype=np.int32)
    return number[group], len(firsts)


@inlined
def _pack(codes: NDArray[np.integer], low: int, size: int, stops: Int64s, shifts: Int64s, keys: Int64s) -> None:
    start = 0
    for place in range(len(stops)):
        for record in range(size):
            key = int64(0)
            for column in range(start, stops[place]):
                key |= int64(codes[low + record, column]) << shifts[column]
            keys[record, place] = key
        start = stops[place]


@inlined
def _look_up(keys: Int64s, size: int, group_keys: Int64s, table: Int32s, slots: Int64s) -> int:
    """Find the first slot of each record, and touch what stands there: waits for memory overlap in so short a loop."""
    for record in range(size):
        slots[record] = _mixed(keys, record) & (len(table) - 1)
    touched = int64(0)
    for record in range(size):
        touched ^= group_keys[max(table[slots[record]], 0), 0]
    return touched


@inlined
def _mixed(keys: Int64s, row: int) -> int:
    # Neighbouring records differ in few bits; two rounds spread both halves of a key over the low bits of the slot.
    mixed = int64(0)
    for place in range(keys.shape[1]):
        key = keys[row, place] ^ mixed
        half = (key & _LOW) * _MIX
        half = ((half >> 29) ^ half ^ (key >> 31)) & _LOW
        spread = half * _MIX
        mixed = spread ^ (spread >> 29)
    return mixed


@inlined
def _differ(keys: Int64s, record: int, group_keys: Int64s, group: int) -> bool:
    differ = False
    for place in range(keys.shape[1]):
        differ |= keys[record, place] != group_keys[group, place]
    return differ


@inlined
def _grown(group_keys: Int64s, count: int) -> tuple[Int64s, Int32s]:
    """Make room for twice as many groups. Ends: three slots of four are empty."""
    roomier = np.empty((2 * len(group_keys), group_keys.shape[1]), dtype=np.int64)
    table = np.full(2 * len(roomier), -1, dtype=np.int32)
    for group in range(count):
        # One by one: the broadcasting of whole arrays takes seconds to compile.
        for place in range(group_keys.shape[1]):
            roomier[group, place] = group_keys[group, place]
        slot = _mixed(roomier, group) & (len(table) - 1)
        while table[slot] >= 0:
            slot = (slot + 1) & (len(table) - 1)
        table[slot] = group
    return roomier, table


@linear
def first_records(class_of: Int32s, count: int) -> Int64s:
    """Return the first record of each class by first appearance; int64 (count,). Capacity: groups below `count`."""
    firsts = np.empty(count, dtype=np.int64)
    groups = 0
    for record in range(len(class_of)):
        if class_of[record] == groups:
            firsts[groups] = record
            groups += 1
    return firsts


@linear
def histogram(class_of: Int32s, codes: Codes, size: int) -> Int64s:
    """Count codes by value among records in a class; int64 (size,); class_of: int32 (n,), −1 for suppressed ones."""
    counts = np.zeros(size, dtype=np.int64)
    for record in range(len(class_of)):
        if class_of[record] >= 0:
            counts[codes[record]] += 1
    return counts


@linear
def count_values(
    class_of: Int32s, count: int, codes: Codes, value_of: Int32s, totals: Int64s
) -> tuple[Int64s, Int32s, Int64s]:
    """Count the values of each class as compressed rows.

    class_of : int32 (n,), −1 for suppressed records; codes : unsigned (n,); value_of : int32 (codes,), the value ``0 ..
    v-1`` behind each code; totals : int64 (v,), records in a class that have the value. Returns starts int64 (count +
    1,), values int32 (z,) rising inside a class, counts int64 (z,). The records are laid out by value first; taking
    them in that order hands every class its values in rising order. Cost O(n + v + count).
    """
    by_value = _sorted_by_value(class_of, codes, value_of, totals)
    starts = _class_starts(class_of, count)
    ends = starts[:count].copy()
    values = np.empty(starts[count], dtype=np.int32)
    counts = np.empty(starts[count], dtype=np.int32)
    record = 0
    for value in range(len(totals)):
        for _ in range(totals[value]):
            owner = by_value[record]
            record += 1
            end = ends[owner]
            if end > starts[owner] and values[end - 1] == value:
                counts[end - 1] += 1
            else:
                values[end] = value
                counts[end] = 1
                ends[owner] = end + 1
    return _compressed(starts, ends, values, counts)


@inlined
def _sorted_by_value(class_of: Int32s, codes: Codes, value_of: Int32s, totals: Int64s) -> Int32s:
    """List the class of each record, value by value. Capacity: `totals` counts the records that have a class."""
    place = np.zeros(len(totals) + 1, dtype=np.int64)
    for value in range(len(totals)):
        place[value + 1] = place[value] + totals[value]
    owners = np.empty(place[len(totals)], dtype=np.int32)
    for record in range(len(class_of)):
        if class_of[record] >= 0:
            value = value_of[codes[record]]
            owners[place[value]] = class_of[record]
            place[value] += 1
    return owners


@inlined
def _class_starts(class_of: Int32s, count: int) -> Int64s:
    starts = np.zeros(count + 1, dtype=np.int64)
    for owner in class_of:
        if owner >= 0:
            starts[owner + 1] += 1
    for owner in range(count):
        starts[owner + 1] += starts[owner]
    return starts


@inlined
def _compressed(starts: Int64s, ends: Int64s, values: Int32s, counts: Int32s) -> tuple[Int64s, Int32s, Int64s]:
    tight = np.zeros(len(starts), dtype=np.int64)
    for owner in range(len(ends)):
        tight[owner + 1] = tight[owner] + ends[owner] - starts[owner]
    tight_values = np.empty(tight[len(ends)], dtype=np.int32)
    tight_counts = np.empty(tight[len(ends)], dtype=np.int64)
    for owner in range(len(ends)):
        for offset in range(ends[owner] - starts[owner]):
            tight_values[tight[owner] + offset] = values[starts[owner] + offset]
            tight_counts[tight[owner] + offset] = counts[starts[owner] + offset]
    return tight, tight_values, tight_counts

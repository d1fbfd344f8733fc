"""Buckets of records whose sensitive values all differ.

Letters: n records, p parts of them, v values of all parts together, l values in a bucket, b buckets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Int32s, Int64s


@kernel
def sorted_by_value(order: Int64s, codes: NDArray[np.integer], starts: Int64s) -> Int64s:
    """Sort records by the codes of their values; those of one value stay in the order given.

    order : int64 (n,). codes : whole numbers (n,), 0 or above and below v. starts : int64 (v + 1,), where each value
    begins. Returns int64 (n,). Cost O(n + v). Capacity: each record once.
    """
    after = starts[:-1].copy()
    records = np.empty(len(order), dtype=np.int64)
    for place in range(len(order)):
        record = order[place]
        code = codes[record]
        records[after[code]] = record
        after[code] += 1
    return records


@kernel
def largest_first(starts: Int64s, parts: Int64s, size: int) -> tuple[Int32s, Int64s]:
    """Take one record each of the `size` values of which most are left in a part, while it has so many values.

    Values of which equally many are left: by their order. starts : int64 (v + 1,), where each value of each part begins
    among records that are sorted by part and value. parts : int64 (p + 1,), first value of each part. Returns int32
    (n,), the bucket at each place, −1 where none was left to join; and int64 (p + 1,), first bucket of each part. Cost
    O(n log v). Ends: each round takes `size` records. Capacity: what was taken makes room for what returns.
    """
    bucket_at = np.full(starts[-1], -1, dtype=np.int32)
    heap = np.empty(np.diff(parts).max(), dtype=np.int64)
    taken = np.empty(size, dtype=np.int64)
    after = starts[:-1].copy()
    buckets = np.zeros(len(parts), dtype=np.int64)
    for part in range(len(parts) - 1):
        first = parts[part]
        values = parts[part + 1] - first
        held = _fill(heap, starts, first, values)
        count = buckets[part]
        while held >= size:
            held = _take(heap, held, taken)
            for chosen in range(size):
                key = taken[chosen]
                value = first + values - 1 - key % values
                bucket_at[after[value]] = count
                after[value] += 1
                if key >= 2 * values:
                    heap[held] = key - values
                    _rise(heap, held)
                    held += 1
            count += 1
        buckets[part + 1] = count
    return bucket_at, buckets


@kernel
def join_left(bucket_at: Int32s, starts: Int64s, parts: Int64s, buckets: Int64s, draws: Int64s) -> None:
    """Put every record without a bucket into one of its part that lacks its value, chosen by the draw at its place.

    bucket_at : int32 (n,), written to; −1 at no more than one place of a value in a part. draws : int64 (n,), 0 or
    above. The others are those of :func:`largest_first`. Where every bucket has the value, it stays without.
    Cost O(n + l b). Ends: so many buckets lack the value as the walk passes.
    """
    lacking = np.empty(np.diff(buckets).max(), dtype=np.bool_)
    for part in range(len(parts) - 1):
        first = buckets[part]
        count = buckets[part + 1] - first
        for value in range(parts[part], parts[part + 1]):
            last = starts[value + 1] - 1
            if last < starts[value] or bucket_at[last] >= 0:
                continue
            lacking[:count] = True
            for place in range(starts[value], last):
                lacking[bucket_at[place] - first] = False
            # Records of a value take buckets in turn, so that only the last is ever left.
            room = count - (last - starts[value])
            if room <= 0:
                continue
            passed = draws[last] % room
            bucket = 0
            # So many buckets lack it: the walk ends at one of them.
            while not lacking[bucket] or passed > 0:
                passed -= lacking[bucket]
                bucket += 1
            bucket_at[last] = first + bucket


@inlined
def _fill(heap: Int64s, starts: Int64s, first: int, values: int) -> int:
    """Make a heap of the values of a part, rising keys first; return how many. Capacity: the largest part fits."""
    held = 0
    for value in range(values):
        left = starts[first + value + 1] - starts[first + value]
        if left:
            heap[held] = left * values + (values - 1 - value)
            held += 1
    for place in range(held // 2 - 1, -1, -1):
        _sink(heap, held, place)
    return held


@inlined
def _take(heap: Int64s, held: int, taken: Int64s) -> int:
    """Move the largest keys out of the heap until `taken` is full; return how many it still holds."""
    for chosen in range(len(taken)):
        taken[chosen] = heap[0]
        held -= 1
        heap[0] = heap[held]
        _sink(heap, held, 0)
    return held


@inlined
def _sink(heap: Int64s, held: int, place: int) -> None:
    """Move the key at `place` below every larger one. Ends: each round goes down a level of the heap."""
    key = heap[place]
    child = 2 * place + 1
    while child < held:
        if child + 1 < held and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= key:
            break
        heap[place] = heap[child]
        place = child
        child = 2 * place + 1
    heap[place] = key


@inlined
def _rise(heap: Int64s, place: int) -> None:
    """Move the key at `place` above every smaller one. Ends: each round climbs a level of the heap."""
    key = heap[place]
    while place > 0:
        parent = (place - 1) // 2
        if heap[parent] >= key:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = key

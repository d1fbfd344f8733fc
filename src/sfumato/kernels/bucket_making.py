"""Buckets of records whose sensitive values all differ.

Letters: n records, v values, l values in a bucket, b buckets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import inlined, kernel


@kernel
def sorted_by_value(
    order: NDArray[np.int64], codes: NDArray[np.unsignedinteger], starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Sort records by the codes of their values; those of one value stay in the order given.

    order : int64 (n,). codes : unsigned (n,), below v. starts : int64 (v + 1,), where each value begins. Returns
    int64 (n,). Cost O(n + v).
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
def largest_first(starts: NDArray[np.int64], size: int) -> tuple[NDArray[np.int32], int]:
    """Take one record each of the `size` values of which most are left, ties by code, while there are so many values.

    starts : int64 (v + 1,), where each value begins among records that are sorted by value. Returns int32 (n,), the
    bucket at each place, −1 where none was left to join; and the number of buckets. Cost O(n log v).
    """
    values = len(starts) - 1
    bucket_at = np.full(starts[-1], -1, dtype=np.int32)
    after = starts[:-1].copy()
    # Keys rise with the records left, and fall with the code.
    heap = np.empty(values, dtype=np.int64)
    held = 0
    for code in range(values):
        left = starts[code + 1] - starts[code]
        if left:
            heap[held] = left * values + (values - 1 - code)
            held += 1
    for place in range(held // 2 - 1, -1, -1):
        _sink(heap, held, place)
    taken = np.empty(size, dtype=np.int64)
    count = 0
    while held >= size:
        for chosen in range(size):
            key = heap[0]
            held -= 1
            heap[0] = heap[held]
            _sink(heap, held, 0)
            taken[chosen] = key
        for chosen in range(size):
            key = taken[chosen]
            code = values - 1 - key % values
            bucket_at[after[code]] = count
            after[code] += 1
            if key >= 2 * values:
                heap[held] = key - values
                _rise(heap, held)
                held += 1
        count += 1
    return bucket_at, count


@inlined
def _sink(heap: NDArray[np.int64], held: int, place: int) -> None:
    """Move the key at `place` below every larger one."""
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
def _rise(heap: NDArray[np.int64], place: int) -> None:
    """Move the key at `place` above every smaller one."""
    key = heap[place]
    while place > 0:
        parent = (place - 1) // 2
        if heap[parent] >= key:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = key

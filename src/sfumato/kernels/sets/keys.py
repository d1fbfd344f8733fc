"""Combinations of items written down as numbers, for a recount that sorts them."""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import kernel
from sfumato.kernels.types import Int32s, Int64s


@kernel
def combination_keys(
    places: Int64s, heads: Int64s, stops: Int64s, items: Int32s, size: int, base: int, total: int
) -> Int64s:
    """Write down every combination of `size` items that begins at one of some places.

    places : int64 (p,), of `items`. heads : int64 (p,): the number of each place's item, the leading digit. stops :
    int64 (p,): where the record of each place ends. items : int32, below `base`, rising inside a record. total : how
    many combinations there are. Returns int64 (total,): the number whose digits, to `base`, are the head and the other
    items. It must fit 63 bits.
    """
    keys, filled = np.empty(total, dtype=np.int64), 0
    chosen = np.empty(size, dtype=np.int64)
    for entry in range(len(places)):
        stop = stops[entry]
        for part in range(size):
            chosen[part] = places[entry] + part
        if chosen[size - 1] >= stop:
            continue
        while True:
            key = heads[entry]
            for part in range(1, size):
                key = key * base + items[chosen[part]]
            keys[filled] = key
            filled += 1
            part = size - 1
            while part > 0 and chosen[part] == stop - size + part:
                part -= 1
            if part == 0:
                break
            chosen[part] += 1
            for later in range(part + 1, size):
                chosen[later] = chosen[later - 1] + 1
    return keys

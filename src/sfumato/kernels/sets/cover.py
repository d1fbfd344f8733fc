"""Which items to take away so that no rare combination is left."""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import kernel
from sfumato.kernels.types import Flags, Int32s, Int64s


@kernel
def covering_items(combinations: Int32s, weights: Int64s) -> Flags:
    """Choose items so that every combination has one of them: each time the one in most of those left per weight.

    combinations : int32 (c, size), of items below d. weights : int64 (d,), ≥ 1 for items that occur: what taking one
    away costs. Returns bool (d,). Ties go to the smaller item. Cost O(c · size + d · chosen).
    """
    count, size = len(weights), combinations.shape[1]
    holders = np.zeros(count, dtype=np.int64)
    for place in range(len(combinations)):
        for part in range(size):
            holders[combinations[place, part]] += 1
    bounds = np.zeros(count + 1, dtype=np.int64)
    for item in range(count):
        bounds[item + 1] = bounds[item] + holders[item]
    following, where = bounds[:count].copy(), np.empty(bounds[count], dtype=np.int64)
    for place in range(len(combinations)):
        for part in range(size):
            item = combinations[place, part]
            where[following[item]] = place
            following[item] += 1
    chosen, is_open = np.zeros(count, dtype=np.bool_), np.ones(len(combinations), dtype=np.bool_)
    while True:
        best = -1
        for item in range(count):
            if holders[item] and (best < 0 or holders[item] * weights[best] > holders[best] * weights[item]):
                best = item
        if best < 0:
            return chosen
        chosen[best] = True
        for entry in range(bounds[best], bounds[best + 1]):
            place = where[entry]
            if is_open[place]:
                is_open[place] = False
                for part in range(size):
                    holders[combinations[place, part]] -= 1

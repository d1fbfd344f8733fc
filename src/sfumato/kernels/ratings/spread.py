"""How far the sensitive ratings around a record deviate.

Letters: c groups, v members that groups are made of (records, or vectors of equal ones), q sensitive issues.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Floats, Int32s, Int64s, float64

SKIP, DIVIDED_BY_ALL, LITERAL = 0, 1, 2
"""What missing ratings do to a standard deviation."""


@kernel
def measure_groups(
    group_starts: Int64s, members: Int64s, weights: Int64s, sum_starts: Int64s, sum_issues: Int32s, sums: Int64s,
    count: int, nulls: int, low: float, step: float,
) -> tuple[Int64s, Floats, Int32s]:  # fmt: skip
    """Count the records of each group and find the sensitive issue that deviates least.

    group_starts, members : compressed rows, int64 (c + 1,) and (entries,). weights : int64 (v,), records behind each
    member. sum_starts, sum_issues, sums : as :func:`~sfumato.kernels.ratings.masks.summed_ratings` returns
    them. count : q. nulls : one of the constants above. low, step : of the scale.
    Returns sizes int64 (c,), smallest deviations float64 (c,), infinite where q is 0, and the first issue that has it,
    int32 (c,), −1 where q is 0. Cost O(members and their sums).
    """
    groups = len(group_starts) - 1
    sizes = np.zeros(groups, dtype=np.int64)
    spreads = np.full(groups, np.inf)
    flattest = np.full(groups, -1, dtype=np.int32)
    totals = np.zeros((count, 3), dtype=np.int64)
    for group in range(groups):
        for place in range(group_starts[group], group_starts[group + 1]):
            member = members[place]
            sizes[group] += weights[member]
            for entry in range(sum_starts[member], sum_starts[member + 1]):
                for column in range(3):
                    totals[sum_issues[entry], column] += sums[entry, column]
        for issue in range(count):
            spread = deviation(totals, issue, sizes[group], nulls, low, step)
            if spread < spreads[group]:
                spreads[group], flattest[group] = spread, issue
            if spread == 0:
                break
        for place in range(group_starts[group], group_starts[group + 1]):
            for entry in range(sum_starts[members[place]], sum_starts[members[place] + 1]):
                totals[sum_issues[entry], :] = 0
    return sizes, spreads, flattest


@inlined
def deviation(totals: Any, issue: int, size: int, nulls: int, low: float, step: float) -> float:
    """Return the standard deviation of one issue; whole numbers until the last step, so that 0 is exact."""
    given, total = totals[issue, 0], totals[issue, 1]
    if given == 0:
        return 0.0
    scaled = given * totals[issue, 2] - total * total
    if nulls == SKIP:
        # never 0: see above; the mean of squares is not below the square of the mean
        return float64(math.sqrt(scaled) / given * step)
    squares = scaled / given * step * step
    if nulls == LITERAL:
        mean = low + step * (total / given)  # never 0: see above
        squares += (size - given) * mean * mean
    return math.sqrt(squares / size)  # never 0: some are given

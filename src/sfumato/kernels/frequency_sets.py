"""Frequency sets: climb to higher levels, collect what has become equal, and decide every class at once.

Letters: m rows (distinct combinations), w columns, p of them nodes of attributes and s sensitive values after them,
c classes, r rules, v values of all sensitive attributes together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.predicates import RuleArrays, holds


@kernel
def climbed(
    codes: NDArray[np.int32], columns: NDArray[np.int64], starts: NDArray[np.int64], climbs: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Take some columns and replace their nodes by those of a higher level.

    codes : int32 (m, w). columns : int64 (u,), the columns to take. starts : int64 (u,), where the climb of each begins
    in `climbs`, −1 to copy the column. climbs : int32, number of the higher node for each lower one, climb after climb.
    Returns int32 (m, u). Cost O(m · u).
    """
    higher = np.empty((len(codes), len(columns)), dtype=np.int32)
    for row in range(len(codes)):
        for place in range(len(columns)):
            code = codes[row, columns[place]]
            start = starts[place]
            higher[row, place] = climbs[start + code] if start >= 0 else code
    return higher


@kernel
def collected(
    codes: NDArray[np.int32], group_of: NDArray[np.int32], count: int, weights: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Keep one row of each group of equal rows, with the sum of their weights.

    codes : int32 (m, w). group_of : int32 (m,), numbered by first appearance. weights : int64 (m,).
    Returns int32 (count, w) and int64 (count,). Cost O(m + count · w).
    """
    rows = np.empty((count, codes.shape[1]), dtype=np.int32)
    sums = np.zeros(count, dtype=np.int64)
    seen = 0
    for row in range(len(codes)):
        group = group_of[row]
        if group == seen:
            rows[seen] = codes[row]
            seen += 1
        sums[group] += weights[row]
    return rows, sums


@kernel
def judged(
    class_of: NDArray[np.int32],
    count: int,
    codes: NDArray[np.int32],
    first: int,
    weights: NDArray[np.int64],
    rules: RuleArrays,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Count the records of every class and decide whether it satisfies every rule.

    class_of : int32 (m,). codes : int32 (m, p + s), `first` = p. weights : int64 (m,).
    Returns sizes int64 (count,) and verdicts bool (count,). Cost O(m · s + count · r · v).
    """
    starts, order = _by_class(class_of, count)
    sizes = np.zeros(count, dtype=np.int64)
    verdicts = np.zeros(count, dtype=np.bool_)
    counts = np.zeros(max(1, rules.offsets[-1]), dtype=np.int64)
    scratch = np.empty(rules.scratch_size, dtype=np.float64)
    attributes = len(rules.offsets) - 1
    for number in range(count):
        for place in range(starts[number], starts[number + 1]):
            row = order[place]
            sizes[number] += weights[row]
            for attribute in range(attributes):
                counts[rules.offsets[attribute] + codes[row, first + attribute]] += weights[row]
        verdicts[number] = holds(sizes[number], counts, rules, scratch)
        for place in range(starts[number], starts[number + 1]):
            for attribute in range(attributes):
                counts[rules.offsets[attribute] + codes[order[place], first + attribute]] = 0
    return sizes, verdicts


@inlined
def _by_class(class_of: NDArray[np.int32], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    starts = np.zeros(count + 1, dtype=np.int64)
    for number in class_of:
        starts[number + 1] += 1
    for number in range(count):
        starts[number + 1] += starts[number]
    ends = starts[:count].copy()
    order = np.empty(len(class_of), dtype=np.int64)
    for row in range(len(class_of)):
        order[ends[class_of[row]]] = row
        ends[class_of[row]] += 1
    return starts, order

"""Who has which sensitive value inside a bucket: chances over all ways to hand out the bucket's values.

Letters: b buckets, n rows of all buckets together, z pairs of a bucket and a distinct value of it, e entries: pairs of
a row and a value of its bucket, row after row, values in the order of the bucket's list.

A way to hand out the values weighs the product of the entries' weights; each value is handed out as often as the bucket
has it. Small buckets are worked out exactly, by going through the numbers of values handed out to the first rows, from
both ends; in larger ones rows and values are scaled in turn until both sums are right (Sinkhorn), which is the usual
approximation.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Floats, Int64s


@kernel
def matching_chances(rows: Int64s, values: Int64s, counts: Int64s, weights: Floats, exact: int, rounds: int) -> Floats:
    """Work out the chance of each entry.

    rows, values : int64 (b + 1,), rows and values of each bucket. counts : int64 (z,), how often each value is in its
    bucket; they add up to the bucket's rows. weights : float64 (e,), above 0. exact : most states of a bucket, the
    product of count + 1 over its values, that are gone through. rounds : of scaling. Returns float64 (e,): the chances
    of a row add up to 1, those of a value to its count. Cost O(e · rounds), or O(states · values) where that is exact.
    """
    chances = np.empty(len(weights))
    first = 0
    for bucket in range(len(rows) - 1):
        height, width = rows[bucket + 1] - rows[bucket], values[bucket + 1] - values[bucket]
        held = counts[values[bucket] : values[bucket + 1]]
        block = weights[first : first + height * width].reshape(height, width)
        chances_of_block = chances[first : first + height * width].reshape(height, width)
        states = _states(held, exact)
        if states <= exact:
            _count_exactly(held, block, chances_of_block, states)
        else:
            _scale(held, block, chances_of_block, rounds)
        first += height * width
    return chances


@inlined
def _states(held: Int64s, most: int) -> int:
    """Return the number of states of a bucket, or one more than `most`."""
    states = 1
    for count in held:
        states *= count + 1
        if states > most:
            return most + 1
    return states


@inlined
def _count_exactly(held: Int64s, block: Floats, chances: Floats, states: int) -> None:
    """Write the chances of one bucket; a state is how often each value was handed out, as a number of mixed base."""
    width = len(held)
    strides = np.ones(width + 1, dtype=np.int64)
    for value in range(width):
        strides[value + 1] = strides[value] * (held[value] + 1)
    ahead, behind = np.zeros(states), np.zeros(states)
    handed = np.zeros(width, dtype=np.int64)
    ahead[0], behind[states - 1] = 1.0, 1.0
    row = 0
    for state in range(states - 1):
        for value in range(width):
            if handed[value] < held[value]:
                ahead[state + strides[value]] += ahead[state] * block[row, value]
        row += _step_up(handed, held)
    chances[:] = 0.0
    for state in range(states - 2, -1, -1):
        row += _step_down(handed, held)
        for value in range(width):
            if handed[value] < held[value]:
                onwards = block[row, value] * behind[state + strides[value]]
                behind[state] += onwards
                chances[row, value] += ahead[state] * onwards / ahead[states - 1]


@inlined
def _step_up(handed: Int64s, held: Int64s) -> int:
    """Go to the next state and return by how much the number of values handed out changes."""
    change = 0
    for value in range(len(held)):
        if handed[value] < held[value]:
            handed[value] += 1
            return change + 1
        change -= handed[value]
        handed[value] = 0
    return change


@inlined
def _step_down(handed: Int64s, held: Int64s) -> int:
    """Go to the state before and return by how much the number of values handed out changes."""
    change = 0
    for value in range(len(held)):
        if handed[value] > 0:
            handed[value] -= 1
            return change - 1
        change += held[value]
        handed[value] = held[value]
    return change


@inlined
def _scale(held: Int64s, block: Floats, chances: Floats, rounds: int) -> None:
    """Write the chances of one bucket by scaling values to their counts and rows to 1 in turn."""
    chances[:] = block
    for _ in range(rounds):
        for value in range(len(held)):
            total = 0.0
            for row in range(len(chances)):
                total += chances[row, value]
            for row in range(len(chances)):
                chances[row, value] *= held[value] / total
        for row in range(len(chances)):
            total = 0.0
            for value in range(len(held)):
                total += chances[row, value]
            for value in range(len(held)):
                chances[row, value] /= total

"""What even cuts of slices leave open: who may have which sensitive value, so that the halves come out as they are.

Letters: n records, q attributes, c cuts, s strata, b buckets, g groups of records whose values may be exchanged.

A cut sends the lower half of every stratum left. So there is a border for each stratum, with its records on the left at
or below it and those on the right at or above. A record that has a value of another stratum may lie on the wrong side
of that one's border; worlds with few such records are searched by simulated annealing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import borrowing, kernel
from sfumato.kernels.slices.cuts import CutSpace, bucket_widths, widest
from sfumato.kernels.types import Int32s, Int64s, int64

UNEVEN = -1

_MULTIPLIER = 48271
_MODULUS = 2147483647


class EvenCuts(NamedTuple):
    """Even cuts, and where they lie above each bucket.

    Attributes
    ----------
    attribute_of : numpy.ndarray
        int64 (c,): the attribute of each cut.
    firsts : numpy.ndarray
        int64 (c + 1,): where the records of each cut start in `rows`.
    rows : numpy.ndarray
        int64: the records of each cut by rising code of its attribute; of equal ones those of the first half first.
    sides : numpy.ndarray
        int8, as long as `rows`: 1 in the second half of the cut, else 0.
    starts : numpy.ndarray
        int64 (b + 1,): where the cuts above each bucket start in `above`.
    above : numpy.ndarray
        int64: cuts above each bucket.
    second : numpy.ndarray
        int64: 1 where the bucket lies in the second half of the cut, as long as `above`.
    bucket_of : numpy.ndarray
        int64 (n,).
    codes : numpy.ndarray
        int64 (n, q).
    """

    attribute_of: Int64s
    firsts: Int64s
    rows: Int64s
    sides: NDArray[np.int8]
    starts: Int64s
    above: Int64s
    second: Int64s
    bucket_of: Int64s
    codes: Int64s


class Exchanging(NamedTuple):
    """The state of a walk from world to world; changed in place.

    Attributes
    ----------
    strata : numpy.ndarray
        int64 (n,): the stratum of each record.
    group_of : numpy.ndarray
        int64 (n,): records of one group may exchange their strata.
    starts, members : numpy.ndarray
        int64 (g + 1,), (n,): the records of each group.
    borders : numpy.ndarray
        int32 (c, s): the border of each stratum in each cut, a code.
    """

    strata: Int64s
    group_of: Int64s
    starts: Int64s
    members: Int64s
    borders: Int32s


@kernel
def attributes_cut(order: Int64s, cuts: Int64s, space: CutSpace, strata: Int64s, count: int) -> Int64s:
    """Return the attribute of each cut, int64 (c,): the widest that leads to these halves; `UNEVEN` for medians.

    strata : int64 (n,), below `count`.
    """
    found = np.full(len(cuts), UNEVEN, np.int64)
    highest = np.full(count, -1, np.int64)
    widths = np.zeros(len(space.scales))
    for cut in range(len(cuts)):
        rows = order[cuts[cut, 0] : cuts[cut, 2]]
        first = cuts[cut, 1] - cuts[cut, 0]
        bucket_widths(rows, space, widths)
        attribute = widest(widths)
        while attribute >= 0:
            even = space.balanced[attribute]
            for place in range(first):
                stratum = strata[rows[place]] if even else 0
                highest[stratum] = max(highest[stratum], int64(space.codes[rows[place], attribute]))
            fits = True
            for place in range(first, len(rows)):
                stratum = strata[rows[place]] if even else 0
                fits = fits and int64(space.codes[rows[place], attribute]) >= highest[stratum]
            for place in range(first):
                highest[strata[rows[place]]] = -1
            highest[0] = -1
            if fits:
                found[cut] = attribute if even else UNEVEN
                break
            attribute = widest(widths)
    return found


@kernel
def place_borders(even: EvenCuts, strata: Int64s, borders: Int32s) -> int:
    """Put each border where the fewest records are on the wrong side of it; return how many are. Cost O(n depth)."""
    count = borders.shape[1]
    wrong = np.zeros(count, np.int64)
    least = np.zeros(count, np.int64)
    total = 0
    for cut in range(len(even.attribute_of)):
        low = even.firsts[cut]
        high = even.firsts[cut + 1]
        attribute = even.attribute_of[cut]
        for place in range(low, high):
            stratum = strata[even.rows[place]]
            borders[cut, stratum] = -1
            wrong[stratum] += 1 - even.sides[place]
            least[stratum] = wrong[stratum]
        for place in range(low, high):
            row = even.rows[place]
            stratum = strata[row]
            if even.sides[place] == 1:
                wrong[stratum] += 1
                continue
            wrong[stratum] -= 1
            if wrong[stratum] < least[stratum]:
                least[stratum] = wrong[stratum]
                borders[cut, stratum] = even.codes[row, attribute]
        for place in range(low, high):
            stratum = strata[even.rows[place]]
            total += least[stratum]
            wrong[stratum] = 0
            least[stratum] = 0
    return total


@kernel
def exchange(even: EvenCuts, state: Exchanging, proposals: int, coldness: float, seed: Int64s) -> int:
    """Propose exchanges between two records of a group; return how many were made.

    coldness : an exchange that puts one record more on a wrong side is made with the probability exp(−coldness). seed :
    int64 (1,), 1 .. 2**31 − 2, changed in place. Cost O(depth) for a proposal.
    """
    made = 0
    for _ in range(proposals):
        one = _draw(seed, len(state.strata))
        group = state.group_of[one]
        first = state.starts[group]
        other = state.members[first + _draw(seed, state.starts[group + 1] - first)]
        here = state.strata[one]
        there = state.strata[other]
        allowed = _slack(seed, coldness)
        if here == there:
            continue
        more = _wrong(one, there, even, state) + _wrong(other, here, even, state)
        if more > 0:
            more -= _wrong(one, here, even, state) + _wrong(other, there, even, state)
        if more > allowed:
            continue
        state.strata[one] = there
        state.strata[other] = here
        made += 1
    return made


@borrowing
def _draw(state: Int64s, below: int) -> int:
    state[0] = (state[0] * _MULTIPLIER) % _MODULUS
    return int64(state[0] % below)


@borrowing
def _slack(state: Int64s, coldness: float) -> float:
    state[0] = (state[0] * _MULTIPLIER) % _MODULUS
    # never 0: no power of the multiplier is a multiple of the prime
    return -math.log(state[0] / _MODULUS) / coldness


@borrowing
def _wrong(row: int, stratum: int, even: EvenCuts, state: Exchanging) -> int:
    """Count the cuts on the wrong side of whose border a record would be if it were of a stratum."""
    bucket = even.bucket_of[row]
    found = 0
    for place in range(even.starts[bucket], even.starts[bucket + 1]):
        cut = even.above[place]
        code = even.codes[row, even.attribute_of[cut]]
        border = state.borders[cut, stratum]
        if even.second[place] == 1:
            found += 1 if code < border else 0
        else:
            found += 1 if code > border else 0
    return found

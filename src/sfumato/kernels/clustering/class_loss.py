"""What a class of records loses, attribute by attribute, from the range of its codes.

Letters: q attributes, M codes of all attributes together (the missing values included), p powers of two.

A common ancestor costs as much as the dearest gap between neighboring leaves of its range: leaves are numbered depth
first. Trees are therefore tables of gaps, and the largest of any range is found in two steps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sfumato.kernels.jit import borrowing, inlined, kernel
from sfumato.kernels.types import NUMERIC, SET, Codes, Floats, Int64s, float64, int64

# Comparing sums of fractions that floats do not hold exactly.
#
# 1/3 + 1/6 and 1/2 are the same distance, and the first of equally near candidates is taken: rounding must not decide.
# Sums are therefore compared by the cell of a fine grid that they lie in. Cells, unlike a tolerance, make an order.
# Their edges lie at the golden ratio, which fractions of small whole numbers keep further away from than from any
# other.


CELLS = 2.0**30
"""Cells in one unit of loss."""
LAST = 2.0**61
"""The last cell: losses above it, and what is no number, lie there, so that every loss has a cell below 2**62."""

_EDGE = (math.sqrt(5.0) - 1.0) / 2.0


@inlined
def cell(loss: float) -> int:
    """Return the cell of a loss; 0 for the smallest ones."""
    place = loss * CELLS + _EDGE
    return math.floor(place if place < LAST else LAST)


@inlined
def upper_edge(number: int) -> float:
    """Return a loss that is above all losses of a cell."""
    return (number + 1) / CELLS


TABLED = 256
"""Codes of an attribute up to which it pays to tabulate what each would cost a class, every time the class changes."""


class ClassLoss(NamedTuple):
    """A loss of classes as arrays; every attribute's weight is in the figures."""

    offsets: Int64s  # (q + 1,): attribute ``j`` owns global codes ``offsets[j] .. offsets[j+1]-1``.
    kinds: Int64s  # (q,): NUMERIC, SET or TREE
    places: Floats  # (M,): numeric attributes: where each code lies, in units of loss; infinity for the missing value
    # (p, M): trees: entry ``[i, code]`` is the largest loss of a common ancestor of neighbors among ``code .. code +
    # 2**i``.
    gaps: Floats
    # largest i with ``2**i`` up to the index, 0 at index 0; as long as the largest attribute, and one more
    powers: Int64s
    tops: Floats  # (q,): loss of the whole domain
    # `units`, `bases`: (q,): a set of m > 1 values costs ``m units - bases``
    units: Floats
    bases: Floats


@borrowing
def range_loss(attribute: int, low: int, high: int, loss: ClassLoss) -> float:
    """Loss of the codes ``low .. high`` of a numeric attribute or a tree; of a set of just those two otherwise."""
    if low == high:
        return 0.0
    start = loss.offsets[attribute]
    if loss.kinds[attribute] == NUMERIC:
        return float64(min(loss.places[start + high] - loss.places[start + low], loss.tops[attribute]))
    if loss.kinds[attribute] == SET:
        return float64(2.0 * loss.units[attribute] - loss.bases[attribute])
    power = loss.powers[high - low]
    return float64(max(loss.gaps[power, start + low], loss.gaps[power, start + high - (1 << power)]))


@borrowing
def pair_loss(codes: Codes, first: int, second: int, loss: ClassLoss) -> float:
    """Loss that two records have as one class, for each of them; codes : unsigned (m, q)."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        one = int64(codes[first, attribute])
        other = int64(codes[second, attribute])
        total += range_loss(attribute, min(one, other), max(one, other), loss)
    return total


@borrowing
def set_loss(attribute: int, distinct: int, loss: ClassLoss) -> float:
    """Loss of a set of `distinct` values."""
    return 0.0 if distinct < 2 else distinct * loss.units[attribute] - loss.bases[attribute]


@kernel
def doubled_gaps(gaps: Floats, offsets: Int64s, powers: int) -> Floats:
    """Return the largest gap of every range of 2**i neighbors; float64 (powers, M).

    gaps : float64 (M,), between each code and the next; the last one of each attribute is not read.
    """
    table = np.zeros((powers, len(gaps)))
    table[0] = gaps
    for attribute in range(len(offsets) - 1):
        for power in range(1, powers):
            half = 1 << (power - 1)
            for code in range(offsets[attribute], offsets[attribute + 1] - 2 * half):
                table[power, code] = max(table[power - 1, code], table[power - 1, code + half])
    return table

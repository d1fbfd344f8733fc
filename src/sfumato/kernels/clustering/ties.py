"""Comparing sums of fractions that floats do not hold exactly.

1/3 + 1/6 and 1/2 are the same distance, and the first of equally near candidates is taken: rounding must not decide.
Sums are therefore compared by the cell of a fine grid that they lie in. Cells, unlike a tolerance, make an order. Their
edges lie at the golden ratio, which fractions of small whole numbers keep further away from than from any other.
"""

from __future__ import annotations

import math

from sfumato.kernels.jit import inlined

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

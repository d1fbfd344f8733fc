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

_EDGE = (math.sqrt(5.0) - 1.0) / 2.0


@inlined
def cell(loss: float) -> int:
    """Return the cell of a finite loss; 0 for the smallest ones."""
    return math.floor(loss * CELLS + _EDGE)


@inlined
def upper_edge(number: int) -> float:
    """Return a loss that is above all losses of a cell."""
    return (number + 1) / CELLS

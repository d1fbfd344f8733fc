"""Sorting in place: numpy's would allocate, and takes longer to compile than most kernels."""

from __future__ import annotations

from sfumato.kernels.jit import borrowing
from sfumato.kernels.types import Int64s


@borrowing
def sort_numbers(values: Int64s, low: int, high: int) -> None:
    """Sort ``values[low:high]``, rising: Shell's way."""
    gap = high - low
    while gap > 1:
        gap = max(1, gap * 5 // 11)
        for place in range(low + gap, high):
            value = values[place]
            while place >= low + gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value

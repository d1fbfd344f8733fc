"""Sets of up to 64 small numbers as one unsigned word: the two machine instructions that numpy does not spell.

Every function takes and returns numpy's uint64 where a set is meant and int where a number is meant; an empty set is no
valid argument of `lowest`. Each has a plain twin for interpreted kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.kernels.jit import Plain, borrowing, inlined
from sfumato.kernels.types import Int64s

# Sorting in place: numpy's would allocate, and takes longer to compile than most kernels.


@borrowing
def sort_numbers(values: Int64s, low: int, high: int) -> None:
    """Sort ``values[low:high]``, rising: Shell's way. Ends: gaps shrink to 1, and places fall."""
    gap = high - low
    while gap > 1:
        gap = max(1, gap * 5 // 11)
        for place in range(low + gap, high):
            value = values[place]
            while place >= low + gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value


EMPTY = np.uint64(0)
ONE = np.uint64(1)


class _Instruction(Plain):
    """One machine instruction, and the same in Python."""

    def __init__(self, plain: Callable[[np.uint64], int], name: str, *, non_zero: bool = False) -> None:
        self.plain = plain
        self._name = name
        self._non_zero = non_zero

    def __call__(self, word: np.uint64) -> int:
        return int(self.plain(word))

    @cached_property
    def _numba_type_(self) -> Any:
        from sfumato.kernels.compiled import instruction

        return instruction(self._name, non_zero=self._non_zero)


def _plain_trailing(word: np.uint64) -> int:
    return (int(word) & -int(word)).bit_length() - 1


def _plain_ones(word: np.uint64) -> int:
    return int(word).bit_count()


# The flag says that the set is not empty, which spares a test.
_trailing = _Instruction(_plain_trailing, "cttz", non_zero=True)
_ones = _Instruction(_plain_ones, "ctpop")


@inlined
def single(number: int) -> np.uint64:
    """Return the set that holds `number` alone, 0 <= number < 64."""
    return ONE << np.uint64(number)


@inlined
def without_lowest(word: np.uint64) -> np.uint64:
    """Return the set without its smallest number; the set must not be empty."""
    return word & (word - ONE)


@inlined
def lowest(word: np.uint64) -> int:
    """Smallest number of a set."""
    return _trailing(word)


@inlined
def how_many(word: np.uint64) -> int:
    """Count the numbers of a set."""
    return _ones(word)


@inlined
def has(word: np.uint64, number: int) -> bool:
    """Tell whether the set holds `number`."""
    return bool((word >> np.uint64(number)) & ONE != EMPTY)

"""Sets of up to 64 small numbers as one unsigned word: the three machine instructions that numpy does not spell.

Every function takes and returns numpy's uint64 where a set is meant and int where a number is meant; an empty set is no
valid argument of `lowest` and `highest`. Each has a plain twin for runs with ``NUMBA_DISABLE_JIT=1``.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from sfumato.kernels.jit import inlined

EMPTY = np.uint64(0)
ONE = np.uint64(1)
COMPILED = not getattr(numba.config, "DISABLE_JIT", False)


def _plain_trailing(word: Any) -> int:
    return (int(word) & -int(word)).bit_length() - 1


def _plain_leading(word: Any) -> int:
    return 64 - int(word).bit_length()


def _plain_ones(word: Any) -> int:
    return int(word).bit_count()


def _instruction(name: str, *flags: Any) -> Any:
    def of_word(typing_context: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, name)(arguments[0], *flags)

        return types.int64(types.uint64), generate

    return intrinsic(of_word)


# The flag says that the set is not empty, which spares a test.
_trailing = _instruction("cttz", cgutils.true_bit) if COMPILED else _plain_trailing
_leading = _instruction("ctlz", cgutils.true_bit) if COMPILED else _plain_leading
_ones = _instruction("ctpop") if COMPILED else _plain_ones


@inlined
def single(number: Any) -> Any:
    """Return the set that holds `number` alone, 0 <= number < 64."""
    return ONE << np.uint64(number)


@inlined
def without_lowest(word: Any) -> Any:
    """Return the set without its smallest number; the set must not be empty."""
    return word & (word - ONE)


@inlined
def lowest(word: Any) -> int:
    """Smallest number of a set."""
    return _trailing(word)


@inlined
def highest(word: Any) -> int:
    """Largest number of a set."""
    return 63 - _leading(word)


@inlined
def how_many(word: Any) -> int:
    """Count the numbers of a set."""
    return _ones(word)


@inlined
def has(word: Any, number: Any) -> bool:
    """Tell whether the set holds `number`."""
    return (word >> np.uint64(number)) & ONE != EMPTY

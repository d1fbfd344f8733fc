"""Exact arithmetic on the decimals that people write.

Values, widths and borders are scaled by one power of ten and compared as whole numbers, so that 0.3 is the left border
of the fourth bin of width 0.1 and not, by rounding, a member of the third.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from sfumato.errors import HierarchyError

Number = int | float


@dataclass(frozen=True)
class DecimalScale:
    """Finite numbers as exact whole numbers of ``10 ** -decimals``.

    Attributes
    ----------
    decimals : int
        Digits behind the point, 0 or more.
    """

    decimals: int

    @classmethod
    def fitting(cls, numbers: Iterable[Number]) -> DecimalScale:
        """Choose the smallest scale on which all of `numbers` are whole."""
        exponents = (_decimal(number).as_tuple().exponent for number in numbers if not isinstance(number, int))
        return cls(max((-exponent for exponent in exponents if isinstance(exponent, int) and exponent < 0), default=0))

    def whole(self, number: Number) -> int:
        """Scale up a number on whose decimals the scale was fitted."""
        if isinstance(number, int):
            return number * int(10**self.decimals)
        return int(_decimal(number).scaleb(self.decimals))

    def text(self, whole: int) -> str:
        """Write a scaled number as a plain decimal, without a point where it is whole."""
        before, after = divmod(abs(whole), 10**self.decimals)
        digits = f"{after:0{self.decimals}d}".rstrip("0") if after else ""
        return f"{'-' if whole < 0 else ''}{before}{'.' if digits else ''}{digits}"


def check_finite(numbers: Iterable[Number], what: str) -> None:
    """Raise a :class:`~sfumato.errors.HierarchyError` for `what` that counts the numbers that are not finite."""
    endless = sum(not math.isfinite(number) for number in numbers)
    if endless:
        raise HierarchyError(f"{what}: {endless} value(s) are not finite numbers; make them missing")


def _decimal(number: float) -> Decimal:
    """Read a float as the shortest decimal that names it, which is what its text shows."""
    return Decimal(repr(number))

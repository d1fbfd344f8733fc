"""What every model of the library does with its parameters: check them, keep them plain, hand them back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, ClassVar

from sfumato.errors import PolicyError, raise_all
from sfumato.models.says import Says


@dataclass(frozen=True)
class Limit:
    """Which numbers a parameter takes.

    Attributes
    ----------
    low, high : float
        The range.
    whole : bool
        Whether only whole numbers are taken.
    above : bool
        Whether `low` itself is excluded.
    """

    low: float
    high: float = math.inf
    whole: bool = False
    above: bool = False

    def describe(self) -> str:
        """Say it in words, to complete "must be ..."."""
        what = "a whole number" if self.whole else "a number"
        if math.isfinite(self.high):
            return (
                f"{what} {'above' if self.above else 'from'} {self.low:g} {'up ' if self.above else ''}to {self.high:g}"
            )
        return f"{what} {'above' if self.above else 'of at least'} {self.low:g}"

    def takes(self, value: object) -> bool:
        """Tell whether `value` is within the limit; a bool is no number here."""
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        try:
            number = float(value)
        except OverflowError:
            return False
        return (
            math.isfinite(number) and number <= self.high and (number > self.low if self.above else number >= self.low)
        )


@dataclass(frozen=True)
class CheckedModel(Says):
    """Base of the models: parameters are checked at construction and kept as plain numbers, whole ones as int."""

    name: ClassVar[str]
    limits: ClassVar[Mapping[str, Limit]]

    def __post_init__(self) -> None:
        """Check all parameters at once."""
        raise_all(PolicyError, self._problems())
        for parameter in self.limits:
            object.__setattr__(self, parameter, _plain(getattr(self, parameter)))

    def parameters(self) -> Mapping[str, Any]:
        """Return the parameters as plain values; those left out stay out."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def _problems(self) -> list[str]:
        return [
            f"{self.name}: {parameter} must be {limit.describe()}"
            for parameter, limit in self.limits.items()
            if not limit.takes(getattr(self, parameter))
        ]


def _plain(value: float) -> int | float:
    """Write whole numbers as int (64 bits: what a policy file holds), so that 3.0 reads and is recorded as 3."""
    number = float(value)
    return int(value) if isinstance(value, Integral) or (number.is_integer() and abs(number) < 2.0**63) else number

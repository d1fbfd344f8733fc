"""The scale that ratings lie on: a grid of evenly spaced numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, raise_all
from sfumato.settings import is_finite_number

LARGEST = 4096
"""Most values of a scale, so that sums of squares over very many records stay exact in 64 bits."""

_CLOSE = 1e-9  # of a step: what decimal fractions lose as floats
MOST_DECIMALS = 6


@dataclass(frozen=True)
class Scale:
    """The ratings that may be given: ``low``, ``low + step``, ... ``high``.

    Parameters
    ----------
    low, high
        Smallest and largest rating.
    step
        From one rating to the next: 1 for whole numbers, 0.5 for half stars.

    Raises
    ------
    InputError
        When these are not numbers, `high` lies below `low`, or no whole number of steps leads from one to the other.

    Notes
    -----
    A rating is kept as its place on the scale, ``0 .. size-1``. *Missing against rated.* The paper's scales are
    ``1 .. r``, and its dissimilarity of a missing and a given rating is r. Here r is `span`, one step more than the
    largest difference of two ratings: the paper's r on ``1 .. r``, 5 on half stars from 0.5 to 5, and 21 on −10 .. 10.
    """

    low: float
    high: float
    step: float = 1.0

    def __post_init__(self) -> None:
        """Check the three numbers and keep them as float."""
        numbers = (self.low, self.high, self.step)
        if not all(map(is_finite_number, numbers)):
            raise InputError("scale: low, high and step must be numbers")
        for name, value in zip(("low", "high", "step"), numbers, strict=True):
            object.__setattr__(self, name, float(value))
        raise_all(InputError, self._problems())

    @property
    def size(self) -> int:
        """Number of ratings on the scale."""
        return round((self.high - self.low) / self.step) + 1

    @property
    def span(self) -> float:
        """The dissimilarity r of a missing and a given rating: one step more than the distance of the two ends."""
        return self.size * self.step

    def values(self) -> NDArray[np.float64]:
        """Return every rating, rising; float64 (size,)."""
        return (self.low + self.step * np.arange(self.size)).astype(np.float64)

    def codes(self, ratings: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the place of each rating on the scale, −1 where it is not on it; int64, shaped as `ratings`."""
        places = (ratings - self.low) / self.step
        nearest = np.rint(np.where(np.isfinite(places), places, -1.0))
        # Large floats are always near some whole number.
        nearest = np.clip(nearest, -1, self.size)
        on_scale = (nearest >= 0) & (nearest < self.size) & (np.abs(places - nearest) <= _CLOSE * self.size)
        return np.where(on_scale, nearest, -1).astype(np.int64)

    def steps_within(self, distance: float) -> int:
        """Return how many steps two ratings may be apart so that they differ by at most `distance`."""
        return min(math.floor(distance / self.step + _CLOSE), self.size - 1)

    def covers_all(self, distance: float) -> bool:
        """Tell whether even a missing and a given rating are within `distance`, so that all records are proximate."""
        return distance >= self.span - _CLOSE * self.step

    def _problems(self) -> list[str]:
        if self.step <= 0:
            return ["scale: step must be above 0"]
        if self.high < self.low:
            return ["scale: high lies below low"]
        steps = (self.high - self.low) / self.step
        if steps >= LARGEST:
            return [f"scale: there are more than {LARGEST} ratings on it; take a larger step"]
        if abs(steps - round(steps)) > _CLOSE * max(steps, 1.0):
            return ["scale: no whole number of steps leads from low to high"]
        return []


def scale_of(given: object) -> Scale | None:
    """Return a scale from ``Scale``, ``(low, high)`` or ``(low, high, step)``; None stays None.

    Raises
    ------
    InputError
        When it is none of these.
    """
    if given is None or isinstance(given, Scale):
        return given
    if isinstance(given, (tuple, list)) and len(given) in (2, 3):
        return Scale(*given)
    raise InputError("scale must be a Scale, (low, high) or (low, high, step), for example (0.5, 5, 0.5)")


def found_scale(ratings: Sequence[float]) -> Scale:
    """Return the coarsest scale that holds all these ratings: from the lowest to the highest of them.

    Parameters
    ----------
    ratings
        At least one, in any order.

    Raises
    ------
    InputError
        When the scale would be finer than ratings are.
    """
    if not all(map(math.isfinite, ratings)):
        raise InputError("some ratings are not finite; correct them or list them as missing")
    decimals = [Decimal(repr(float(rating))) for rating in ratings]
    places = max(0, *(-int(number.as_tuple().exponent) for number in decimals))
    if places > MOST_DECIMALS:
        raise InputError(f"ratings have more than {MOST_DECIMALS} decimals; round them, or give the scale")
    whole = sorted({int(number.scaleb(places)) for number in decimals})
    step = reduce(math.gcd, (high - low for low, high in pairwise(whole)), 0) or 10**places
    unit = Decimal(1).scaleb(-places)
    return Scale(float(whole[0] * unit), float(whole[-1] * unit), float(step * unit))

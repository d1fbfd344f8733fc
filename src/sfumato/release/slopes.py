"""Ends of a least-squares line where each record is known by intervals alone.

With centred outcomes the slope is Sxy / Sxx, and Sxx = min over c of Σ(x − c)². For a positive slope the upper end is a
concave problem in x and c together, which is solved; the lower end takes the least over every interval's two ends for
each c, which no x goes below. Where outcomes are intervals, too, both sums are bounded apart.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_STEPS = 60
_MARGIN = 1e-7
"""Share by which ends found by iteration are moved outwards."""


def slope_bounds(x_low: _Floats, x_high: _Floats, y_low: _Floats, y_high: _Floats) -> list[tuple[float, float]]:
    """Return outer bounds of intercept and slope of y on x for every choice inside; infinite where x may be equal."""
    least = _least_spread(x_low, x_high)
    scale = float(np.maximum(np.abs(x_low), np.abs(x_high)).max())
    if least <= 1e-12 * len(x_low) * max(scale, 1.0) ** 2:
        return [(-np.inf, np.inf)] * 2
    if (y_low < y_high).any():
        low, high = _apart(x_low, x_high, y_low, y_high, least)
    else:
        centred = y_low - y_low.mean()
        high, low = _upper(x_low, x_high, centred), -_upper(x_low, x_high, -centred)
    margin = _MARGIN * max(abs(low), abs(high))
    low, high = low - margin, high + margin
    products = [slope * mean for slope in (low, high) for mean in (float(x_low.mean()), float(x_high.mean()))]
    intercept = (float(y_low.mean()) - max(products), float(y_high.mean()) - min(products))
    return [intercept, (low, high)]


def _best(value: Callable[[float], float], low: float, high: float, steps: int = _STEPS) -> float:
    """Return where a concave function of one number is largest, by golden section."""
    ratio = (5**0.5 - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = value(left), value(right)
    for _ in range(steps):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = value(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = value(left)
    return (low + high) / 2


def _least_spread(low: _Floats, high: _Floats) -> float:
    """Return the least Σ(x − mean)² over all x in their intervals, less what a search may miss."""

    def outside(centre: float) -> float:
        return -float((np.clip(centre, low, high) - centre) @ (np.clip(centre, low, high) - centre))

    centre = _best(outside, float(low.min()), float(high.max()))
    return -outside(centre) * (1 - _MARGIN)


def _upper(low: _Floats, high: _Floats, y: _Floats) -> float:
    """Return a bound that no slope of centred outcomes `y` on x goes above."""
    rising = float(np.maximum(y * low, y * high).sum())
    if rising <= 0:
        # No slope is positive: the least of the mirrored one, with its sign turned.
        return -_lower(low, high, -y)
    slope = 0.0
    for _ in range(_STEPS):
        # The x that beats this slope by most; its own slope is the next one, which rises to the greatest.
        x = _farthest(low, high, y, slope)
        spread = float(((x - x.mean()) ** 2).sum())
        found = float(y @ x) / spread if spread else np.inf
        if found <= slope * (1 + 1e-13):
            break
        slope = found
    return slope


def _farthest(low: _Floats, high: _Floats, y: _Floats, slope: float) -> _Floats:
    """Return the x inside the intervals for which Σ y·x − slope·Sxx is largest."""
    if not slope:
        return np.where(y > 0, high, low)

    def chosen(centre: float) -> _Floats:
        return np.clip(centre + y / (2 * slope), low, high)

    def gain(centre: float) -> float:
        x = chosen(centre)
        return float(y @ x - slope * ((x - centre) @ (x - centre)))

    return chosen(_best(gain, float(low.min()), float(high.max())))


def _lower(low: _Floats, high: _Floats, y: _Floats) -> float:
    """Return a bound, at least 0, that no slope of `y` on x goes below, where none is negative."""

    def holds(slope: float) -> bool:
        def least(centre: float) -> float:
            ends = [y * x - slope * (x - centre) ** 2 for x in (low, high)]
            return float(np.minimum(*ends).sum())

        return least(_best(least, float(low.min()), float(high.max()), 40)) >= 0

    middle = (low + high) / 2
    below, above = 0.0, float(y @ middle / ((middle - middle.mean()) ** 2).sum())
    for _ in range(40):
        tried = (below + above) / 2
        below, above = (tried, above) if holds(tried) else (below, tried)
    return below


def _apart(x_low: _Floats, x_high: _Floats, y_low: _Floats, y_high: _Floats, least: float) -> tuple[float, float]:
    """Bound Sxy and Sxx by themselves, and divide."""

    def most(centre: float) -> float:
        return -float((np.maximum(np.abs(x_low - centre), np.abs(x_high - centre)) ** 2).sum())

    greatest = -most(_best(most, float(x_low.min()), float(x_high.max())))
    centre = float(((x_low + x_high) / 2).mean())
    y = (y_low - y_high.mean(), y_high - y_low.mean())
    products = [one * (x - centre) for one in y for x in (x_low, x_high)]
    low, high = float(np.minimum.reduce(products).sum()), float(np.maximum.reduce(products).sum())
    return min(low / least, low / greatest), max(high / least, high / greatest)

"""Where a function that is first positive and then negative changes its sign."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt

_STEPS = 60
_CLOSE = 1e-14
_NEAR = 0.01


def sign_change(function: Callable[[float], float], low: float, high: float, near: float | None = None) -> float:
    """Return where `function` becomes negative, or the end of the range where it does not change its sign.

    Parameters
    ----------
    function
        Positive, then negative.
    low, high
        The range.
    near
        A place in it near which the change is likely.

    Notes
    -----
    Ridders' method: each step asks the function twice, and about doubles the digits; one that finds nothing better
    halves the range. C. J. F. Ridders, IEEE Transactions on Circuits and Systems 26(11), 1979.
    """
    low, left, high, right = _around(function, low, high, near)
    if left <= 0:
        return low
    if right > 0:
        return high
    last = inf
    for _ in range(_STEPS):
        half = (high - low) / 2
        middle = low + half
        inside = function(middle)
        # The signs of the ends differ, so that what is under the root is positive.
        guess = middle + half * inside / sqrt(inside * inside - left * right)
        found = function(guess)
        if abs(guess - last) <= _CLOSE * max(1.0, abs(guess)) or found == 0 or half <= _CLOSE * abs(middle):
            return guess
        last = guess
        for place, value in sorted(((middle, inside), (guess, found))):
            if value > 0:
                low, left = place, value
            elif place < high:
                high, right = place, value
                break
    return (low + high) / 2


def _around(
    function: Callable[[float], float], low: float, high: float, near: float | None
) -> tuple[float, float, float, float]:
    """Return a range in which the sign changes, and the values at its ends: a small one where the place was likely."""
    if near is None:
        return low, function(low), high, function(high)
    width, start, stop = _NEAR, low, high
    at = min(max(near, low), high)
    left = right = function(at)
    if left > 0:
        start = at
        while right > 0 and at < high:
            start, left = at, right
            at = min(high, at + width)
            right, width = function(at), 4 * width
        return start, left, at, right
    stop = at
    while left <= 0 and at > low:
        stop, right = at, left
        at = max(low, at - width)
        left, width = function(at), 4 * width
    return at, left, stop, right

"""Pitman's estimate of population uniques."""

from __future__ import annotations

from math import exp, lgamma, log, log1p
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.uniqueness.roots import sign_change
from sfumato.classes.uniqueness.size_counts import SizeCounts

_LEAST, _MOST = 1e-7, 1 - 1e-9
_SMALL = 1e-3
"""α below which sums are added up term by term."""
_SERIES = 10
Real = TypeVar("Real", float, NDArray[np.float64])
_NEWTON = 0.01
"""α above which, and below 1 less which, Newton's method is tried."""
_STEPS = 20
_CLOSE = 1e-11


def pitman(counts: SizeCounts, fraction: float) -> float:
    """Estimate the share of the population that is unique in it.

    The classes of sample and population are assumed to follow Pitman's sampling formula with parameters θ and α, which
    are estimated from the sample by maximum likelihood.

    Parameters
    ----------
    counts
        Sizes of the sample's classes.
    fraction
        Sampling fraction, above 0 to 1.

    Returns
    -------
    float
        Expected uniques among the N records of the population, over N; 0 if the sample has none.

    Notes
    -----
    θ and α are found by Newton's method; where it does not get there, θ for each α where the slope of the likelihood
    changes its sign, and α in the same way for the best θ.
    *Departures*: the exact expectation Γ(θ+1) / Γ(θ+α) · N Γ(θ+α+N−1) / Γ(θ+N) instead of its limit for large N; if α
    tends to 0, Ewens' formula is used rather than no answer.

    References
    ----------
    N. Hoshino, "Applying Pitman's sampling formula to microdata disclosure risk assessment", 2001.
    """
    if not counts.of_size(1):
        return 0.0
    population = counts.records / fraction
    if counts.total == counts.records:
        # All records differ: the likelihood grows up to α = 1, at which everybody is unique.
        return 1.0
    theta, alpha = pitman_parameters(counts)
    return min(1.0, _expected_uniques(theta, alpha, population) / population)


def pitman_parameters(counts: SizeCounts) -> tuple[float, float]:
    """Return the θ and α of the largest likelihood; α from 1e-7, which stands for Ewens' formula."""
    return _by_newton(counts) or _by_sign_changes(counts)


def _by_newton(counts: SizeCounts) -> tuple[float, float] | None:
    """Return where both slopes are 0, by Newton's method; None where it does not get there, or α is small.

    It starts at the limit of large samples for α, the share of classes that are alone, with the best θ for it.
    """
    alpha = min(max(counts.of_size(1) / counts.total, _NEWTON), 1 - _NEWTON)
    theta = _theta(counts, alpha)
    for _ in range(_STEPS):
        inside, bend = _inside(counts, alpha)
        by_theta, by_alpha = _slope_theta(counts, theta, alpha), _outside(counts, theta, alpha) - inside
        in_theta, mixed, in_alpha = _curvatures(counts, theta, alpha, bend)
        determinant = in_theta * in_alpha - mixed * mixed
        # There is a hill only where the likelihood falls on all sides.
        if in_theta >= 0 or determinant <= 0:
            return None
        step_theta = (by_theta * in_alpha - by_alpha * mixed) / determinant
        step_alpha = (by_alpha * in_theta - by_theta * mixed) / determinant
        theta, alpha = theta - step_theta, alpha - step_alpha
        if not (_NEWTON < alpha < 1 - _NEWTON and theta > -alpha):
            return None
        if abs(step_alpha) <= _CLOSE * alpha and abs(step_theta) <= _CLOSE * (theta + alpha):
            return theta, alpha
    return None


def _curvatures(counts: SizeCounts, theta: float, alpha: float, inside: float) -> tuple[float, float, float]:
    """Return the second derivatives of the log-likelihood: twice by θ, by both, twice by α; `inside` is of classes."""
    place, last = theta / alpha, counts.total - 1
    gain, bend = _digamma_gain(place + 1, last), _trigamma_gain(place + 1, last)
    in_theta = bend / alpha**2 - _trigamma_gain(theta + 1, counts.records - 1)
    mixed = -(gain + place * bend) / alpha**2
    return in_theta, mixed, (place * (2 * gain + place * bend) - last) / alpha**2 - inside


def _by_sign_changes(counts: SizeCounts) -> tuple[float, float]:
    """Return the same by looking for α where the slope with the best θ changes its sign; slow and sure."""
    # The best θ moves little with α: each is looked for near the one before.
    theta = _theta(counts, _LEAST)

    def slope(alpha: float) -> float:
        nonlocal theta
        theta = _theta(counts, alpha, theta)
        return _slope_alpha(counts, theta, alpha)

    alpha = sign_change(slope, _LEAST, _MOST)
    return _theta(counts, alpha, theta), alpha


def _theta(counts: SizeCounts, alpha: float, near: float | None = None) -> float:
    """Return the likeliest θ above −α for an α, which may be `near`; the logarithm of θ + α is looked for."""
    low, high = log(1e-9), log(1e4 * counts.records)
    likely = None if near is None else log(max(near + alpha, 1e-9))
    return exp(sign_change(lambda place: _slope_theta(counts, exp(place) - alpha, alpha), low, high, likely)) - alpha


def _slope_theta(counts: SizeCounts, theta: float, alpha: float) -> float:
    """Return the derivative of the log-likelihood by θ: Σ 1 / (θ + i α) − Σ 1 / (θ + i)."""
    classes = _digamma_gain(theta / alpha + 1, counts.total - 1)
    return classes / alpha - _digamma_gain(theta + 1, counts.records - 1)


def _slope_alpha(counts: SizeCounts, theta: float, alpha: float) -> float:
    """Return the derivative of the log-likelihood by α: Σ i / (θ + i α) − Σ over classes of Σ 1 / (i − α)."""
    return _outside(counts, theta, alpha) - _inside(counts, alpha)[0]


def _outside(counts: SizeCounts, theta: float, alpha: float) -> float:
    """Return Σ i / (θ + i α), i from 1 to below the number of classes."""
    if alpha < _SMALL:
        # The closed form is a small difference of large numbers.
        places = np.arange(1, counts.total)
        return float((places / (theta + places * alpha)).sum())
    return (counts.total - 1 - theta * _digamma_gain(theta / alpha + 1, counts.total - 1) / alpha) / alpha


def _inside(counts: SizeCounts, alpha: float) -> tuple[float, float]:
    """Return Σ over classes of Σ 1 / (i − α), and of Σ 1 / (i − α)², each i from 1 to below the size."""
    once = squared = 0.0
    # Term by term up to where the series have all digits.
    for i, larger in enumerate(counts.larger_than[:_SERIES], 1):
        term = 1 / (i - alpha)
        once += larger * term
        squared += larger * term * term
    sizes, classes = counts.above(_SERIES + 1)
    if len(sizes):
        start, stops = _SERIES + 1 - alpha, sizes.astype(np.float64) - alpha
        once += float(classes @ (_digamma_series(stops) - _digamma_series(start)))
        squared += float(classes @ (_trigamma_series(start) - _trigamma_series(stops)))
    return once, squared


def _expected_uniques(theta: float, alpha: float, population: float) -> float:
    kept = lgamma(theta + alpha + population - 1) - lgamma(theta + population)
    return population * exp(lgamma(theta + 1) - lgamma(theta + alpha) + kept)


def _digamma_gain(start: float, way: float) -> float:
    """Return how much :func:`digamma` grows from a positive number on, without losing digits; numbers, for speed."""
    stop, steps = start + way, 0.0
    # From there on the series has all digits.
    while start < _SERIES:
        steps += 1 / (start * stop)  # never 0: positive
        start, stop = start + 1, stop + 1
    low, high = 1 / (start * start), 1 / (stop * stop)
    curve = _curve(low) - _curve(high) + way * (start + stop) * low * high / 12
    return log1p(way / start) + way * (steps + 0.5 / (start * stop)) + curve


def _curve(square: float) -> float:
    """Return the terms of the asymptotic series after the first."""
    return -square * square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132)))


def _trigamma_gain(start: float, way: float) -> float:
    """Return how much the derivative of :func:`digamma` grows from a positive number on, which is downwards."""
    return _trigamma(start + way) - _trigamma(start)


def _trigamma(value: float) -> float:
    below = 0.0
    while value < _SERIES:
        below += 1 / (value * value)
        value += 1
    return below + _trigamma_series(value)


def _trigamma_series(values: Real) -> Real:
    """Return the derivative of :func:`digamma` from where the series has all digits."""
    square = 1 / (values * values)
    series = square * (1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30)))
    return (1 + 0.5 / values + series) / values


def _digamma_series(values: Real) -> Real:
    """Return :func:`digamma` from where the series has all digits."""
    square = 1 / (values * values)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    found: Real = np.log(values) - 0.5 / values - series
    return found


def digamma(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithmic derivative of Γ at positive numbers, to about 12 digits; float64, same shape."""
    shifted = np.asarray(values, dtype=np.float64)
    correction = np.zeros_like(shifted)
    for _ in range(_SERIES):
        correction = correction + 1 / shifted
        shifted = shifted + 1
    return _digamma_series(shifted) - correction

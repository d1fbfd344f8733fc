"""Pitman's estimate of population uniques."""

from __future__ import annotations

from math import exp, lgamma, log, log1p

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.uniqueness.roots import sign_change
from sfumato.classes.uniqueness.size_counts import SizeCounts

_LEAST, _MOST = 1e-7, 1 - 1e-9
_SMALL = 1e-3
"""α below which sums are added up term by term."""
_SERIES = 10


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
    θ is found for each α where the slope of the likelihood changes its sign, and α in the same way for the best θ.
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
    if alpha < _SMALL:
        # The closed form is a small difference of large numbers.
        places = np.arange(1, counts.total)
        outside = float((places / (theta + places * alpha)).sum())
    else:
        outside = (counts.total - 1 - theta * _digamma_gain(theta / alpha + 1, counts.total - 1) / alpha) / alpha
    ends = digamma(np.append(counts.sizes.astype(np.float64) - alpha, 1 - alpha))
    return float(outside - (counts.classes * (ends[:-1] - ends[-1])).sum())


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


def digamma(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithmic derivative of Γ at positive numbers, to about 12 digits; float64, same shape."""
    shifted = np.asarray(values, dtype=np.float64)
    correction = np.zeros_like(shifted)
    for _ in range(10):
        correction = correction + 1 / shifted
        shifted = shifted + 1
    square = 1 / (shifted * shifted)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    result: NDArray[np.float64] = np.log(shifted) - 0.5 / shifted - series - correction
    return result

"""Pitman's estimate of population uniques."""

from __future__ import annotations

from math import exp, lgamma, log

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.uniqueness.size_counts import SizeCounts

_STEPS = 60
_LEAST, _MOST = 1e-7, 1 - 1e-9


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
    θ is found by bisection for each α, and α by bisection on the likelihood of the best θ. *Departures*: the exact
    expectation Γ(θ+1) / Γ(θ+α) · N Γ(θ+α+N−1) / Γ(θ+N) instead of its limit for large N; if α tends to 0, Ewens'
    formula is used rather than no answer.

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
    low, high = _LEAST, _MOST
    if _slope_alpha(counts, _theta(counts, low), low) <= 0:
        return _theta(counts, low), low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _slope_alpha(counts, _theta(counts, middle), middle) > 0:
            low = middle
        else:
            high = middle
    return _theta(counts, low), low


def _theta(counts: SizeCounts, alpha: float) -> float:
    """Return the likeliest θ above −α for an α, by bisection on the logarithm of θ + α."""
    low, high = log(1e-9), log(1e4 * counts.records)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _slope_theta(counts, exp(middle) - alpha, alpha) > 0:
            low = middle
        else:
            high = middle
    return exp(low) - alpha


def _slope_theta(counts: SizeCounts, theta: float, alpha: float) -> float:
    """Return the derivative of the log-likelihood by θ: Σ 1 / (θ + i α) − Σ 1 / (θ + i)."""
    classes = _digamma(theta / alpha + counts.total) - _digamma(theta / alpha + 1)
    return classes / alpha - (_digamma(theta + counts.records) - _digamma(theta + 1))


def _slope_alpha(counts: SizeCounts, theta: float, alpha: float) -> float:
    """Return the derivative of the log-likelihood by α: Σ i / (θ + i α) − Σ over classes of Σ 1 / (i − α)."""
    ends = digamma(np.array([theta / alpha + counts.total, theta / alpha + 1, 1 - alpha]))
    inverse = (ends[0] - ends[1]) / alpha
    inside = counts.classes * (digamma(counts.sizes.astype(np.float64) - alpha) - ends[2])
    return float((counts.total - 1 - theta * inverse) / alpha - inside.sum())


def _expected_uniques(theta: float, alpha: float, population: float) -> float:
    kept = lgamma(theta + alpha + population - 1) - lgamma(theta + population)
    return population * exp(lgamma(theta + 1) - lgamma(theta + alpha) + kept)


def _digamma(value: float) -> float:
    """Return :func:`digamma` of one positive number: it is asked for thousands of times."""
    correction = 0.0
    for _ in range(10):
        correction += 1 / value  # never 0: positive
        value += 1
    square = 1 / (value * value)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return log(value) - 0.5 / value - series - correction


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

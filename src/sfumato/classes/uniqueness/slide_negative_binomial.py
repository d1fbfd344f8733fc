"""The slide negative binomial estimate of population uniques."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.uniqueness.roots import sign_change
from sfumato.classes.uniqueness.size_counts import SizeCounts

_GRID = np.concatenate([np.logspace(-9, -2, 200), np.linspace(0.01, 0.99, 400)[1:], 1 - np.logspace(-2, -9, 200)[1:]])
"""Values of β between which the search looks for solutions."""


def slide_negative_binomial(counts: SizeCounts, fraction: float) -> float | None:
    """Estimate the share of the population that is unique in it.

    The size of a population class, less one, is negative binomial with parameters α and β, so K classes have K β^α
    uniques. α and β are chosen so that the expected numbers of sample classes of one and of two records equal the
    observed ones; K is Shlosser's modified estimate of the number of classes of the population.

    Parameters
    ----------
    counts
        Sizes of the sample's classes.
    fraction
        Sampling fraction π, above 0 to 1.

    Returns
    -------
    float or None
        None if no α and β fit. If several do, the pair whose population is nearest to the real size.

    Notes
    -----
    α follows from β in closed form, as the positive root of a quadratic; β is found between neighbours on
    a grid where the sign changes, instead of Newton's method in both from one start, which may miss the solution.

    References
    ----------
    G. Chen, S. Keller-McNulty, "Estimation of identification disclosure risk in microdata", 1998; for K: P. J. Haas and
    others, "Sampling-based estimation of the number of distinct values of an attribute", 1995.
    """
    ones, twos = counts.of_size(1), counts.of_size(2)
    if not ones:
        return 0.0
    if fraction >= 1:
        return ones / counts.records
    classes = shlosser(counts, fraction)
    if not twos or not np.isfinite(classes):
        return None
    population = counts.records / fraction
    found = [(beta, _alpha(beta, fraction, twos / ones)) for beta in _roots(classes, fraction, ones, twos)]
    shares = [(abs(classes * (1 + alpha * (1 - beta) / beta) - population), beta, alpha) for beta, alpha in found]
    if not shares:
        return None
    _, beta, alpha = min(shares)
    return float(min(1.0, classes * beta**alpha / population))


def shlosser(counts: SizeCounts, fraction: float) -> float:
    """Estimate the number of classes of the population (Shlosser's estimate as modified by Haas and others)."""
    sizes, classes = counts.sizes.astype(np.float64), counts.classes
    squared = fraction * fraction
    missed = ((1 - fraction) ** sizes * classes).sum()
    once = (sizes * fraction * (1 - fraction) ** (sizes - 1) * classes).sum()
    spread = (sizes * squared * (1 - squared) ** (sizes - 1) * classes).sum()
    # (1 − π)^i ((1 + π)^i − 1), written so that large classes do not overflow.
    scale = (((1 - squared) ** sizes - (1 - fraction) ** sizes) * classes).sum()
    return float(counts.total + counts.of_size(1) * spread / scale * (missed / once) ** 2)


def _alpha(beta: float, fraction: float, ratio: float) -> float:
    """Return the α that makes the expected ratio of pairs to uniques in the sample the observed one."""
    kept = (1 - beta) * (1 - fraction)
    rest = 1 - kept
    square = fraction * (1 - beta) * kept
    linear = fraction * (1 - beta) * (2 - kept) - 2 * ratio * rest * kept
    constant = -2 * ratio * rest * rest
    # The quadratic's positive root, in the form that loses no digits.
    root = sqrt(linear * linear - 4 * square * constant)
    return -2 * constant / (linear + root) if linear > 0 else (root - linear) / (2 * square)


def _excess(beta: float, classes: float, fraction: float, ones: int, twos: int) -> float:
    """Return the expected uniques of the sample over the observed ones, less one."""
    alpha = _alpha(beta, fraction, twos / ones)
    kept = (1 - beta) * (1 - fraction)
    rest = 1 - kept
    return float(classes * fraction * (beta / rest) ** alpha * (1 + alpha * kept / rest) / ones - 1)


def _roots(classes: float, fraction: float, ones: int, twos: int) -> list[float]:
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        values = _grid_excess(classes, fraction, ones, twos)
        changes = np.isfinite(values[:-1]) & np.isfinite(values[1:]) & (values[:-1] * values[1:] <= 0)
    return [
        _between(float(_GRID[place]), float(_GRID[place + 1]), bool(values[place] > 0), classes, fraction, ones, twos)
        for place in np.flatnonzero(changes)
    ]


def _grid_excess(classes: float, fraction: float, ones: int, twos: int) -> NDArray[np.float64]:
    """Return :func:`_excess` on the whole grid at once; what a root is looked for between, no more."""
    kept = (1 - _GRID) * (1 - fraction)
    rest, ratio = 1 - kept, twos / ones
    square = fraction * (1 - _GRID) * kept
    linear = fraction * (1 - _GRID) * (2 - kept) - 2 * ratio * rest * kept
    constant = -2 * ratio * rest * rest
    root = np.sqrt(linear * linear - 4 * square * constant)
    alpha = np.where(linear > 0, -2 * constant / (linear + root), (root - linear) / (2 * square))
    excess: NDArray[np.float64] = classes * fraction * (_GRID / rest) ** alpha * (1 + alpha * kept / rest) / ones - 1
    return excess


def _between(low: float, high: float, falling: bool, classes: float, fraction: float, ones: int, twos: int) -> float:
    sign = 1 if falling else -1
    return sign_change(lambda beta: sign * _excess(beta, classes, fraction, ones, twos), low, high)

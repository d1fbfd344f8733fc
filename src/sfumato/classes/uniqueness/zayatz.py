"""Zayatz' estimate of population uniques."""

from __future__ import annotations

from math import lgamma, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.uniqueness.size_counts import SizeCounts

_SERIES = 12
"""Numbers from which on the series of log Γ has all digits."""


def zayatz(counts: SizeCounts, fraction: float) -> float:
    """Estimate the share of the population that is unique in it.

    The classes of the population are assumed to have the sizes of those of the sample. Bayes' rule then gives the
    probability that a sample unique is unique in the population, with each size sampled without replacement.

    Parameters
    ----------
    counts
        Sizes of the sample's classes.
    fraction
        Sampling fraction, above 0 to 1.

    Returns
    -------
    float
        0 if the sample has no uniques.

    References
    ----------
    L. Zayatz, "Estimation of the percent of unique population elements on a microdata file using the sample", 1991;
    as F. K. Dankar and others, "Estimating the re-identification risk of clinical data sets", 2012, appendix A.
    """
    uniques = counts.of_size(1)
    if not uniques:
        return 0.0
    population = round(counts.records / fraction)
    alone = _one_sampled(counts.sizes, counts.records, population)
    expected = float((counts.classes / counts.total * alone).sum())
    probability = uniques / counts.total * counts.records / population / expected
    return uniques * probability / counts.records


def most_alone(share: float, records: int, fraction: float) -> float:
    """Return the share of `records` alone in the sample above which the estimate is above `share`.

    Notes
    -----
    Of n records u are alone. A class of i ≥ 2 records has one of them sampled with a chance of at most i n / N · c, for
    c = (N − n) / (N − 1). So the estimate is at least u² / (n (u + (n − u) c)), which grows with u.
    """
    population = round(records / fraction)
    rest = (population - records) / max(population - 1, 1)
    linear = share * (1 - rest)
    return (linear + sqrt(linear * linear + 4 * share * rest)) / 2


def _one_sampled(sizes: NDArray[np.int64], sample: int, population: int) -> NDArray[np.float64]:
    """Return the probability, for each size, that a population class has exactly one sampled record; float64 (z,)."""
    others = population - sample
    possible = sizes <= others + 1
    # Product over the size − 1 records that are left out: (others − i) / (population − 1 − i).
    some = sizes[possible].astype(np.float64)
    left_out = _rise(others - some + 2, some - 1) - _rise(population - some + 1, some - 1)
    found = np.zeros(len(sizes))
    # A product of shares; logarithms of huge numbers are rounded beyond it.
    found[possible] = some * sample / population * np.exp(np.minimum(left_out, 0.0))
    return found


def _rise(start: NDArray[np.float64], way: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log Γ(start + way) − log Γ(start) of numbers of at least 1; float64, same shape."""
    return log_gamma(start + way) - log_gamma(start)


def log_gamma(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of Γ at numbers of at least 1, to about 12 digits; float64, same shape."""
    small = values < _SERIES
    if small.any():
        found = np.empty_like(values)
        found[small] = [lgamma(value) for value in values[small].tolist()]
        found[~small] = log_gamma(values[~small])
        return found
    square = 1 / (values * values)
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / values
    result: NDArray[np.float64] = (values - 0.5) * np.log(values) - values + 0.5 * log(2 * pi) + series
    return result

"""Zayatz' estimate of population uniques."""

from __future__ import annotations

from math import lgamma

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.uniqueness.size_counts import SizeCounts


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


def _one_sampled(sizes: NDArray[np.int64], sample: int, population: int) -> NDArray[np.float64]:
    """Return the probability, for each size, that a population class has exactly one sampled record; float64 (z,)."""
    return np.array([_hypergeometric_one(int(size), sample, population) for size in sizes])


def _hypergeometric_one(size: int, sample: int, population: int) -> float:
    others = population - sample
    if size - 1 > others:
        return 0.0
    # Product over the size − 1 records that are left out: (others − i) / (population − 1 − i).
    left_out = lgamma(others + 1) - lgamma(others - size + 2) - lgamma(population) + lgamma(population - size + 1)
    return size * sample / population * float(np.exp(left_out))

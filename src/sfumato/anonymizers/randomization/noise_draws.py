"""Noise for numbers: as wide as a share of their spread, alone or correlated like the columns themselves."""

from __future__ import annotations

import numpy as np

from sfumato.anonymizers.randomization.draws import Floats, draw_normal


def plain_noise(values: Floats, amount: float, seed: int | None) -> Floats:
    """Draw normal noise for every column by itself.

    Parameters
    ----------
    values
        float64 (n, a); NaN where missing.
    amount
        Standard deviation of the noise, as a multiple of that of the column.
    seed
        None draws from the operating system.

    Returns
    -------
    numpy.ndarray
        float64 (n, a). The variance of a column grows by the factor ``1 + amount²`` on average; covariances stay.
    """
    drawn = draw_normal(values.size, seed).reshape(values.shape)
    return drawn * (amount * _deviations(values))


def correlated_noise(values: Floats, amount: float, seed: int | None) -> Floats:
    """Draw normal noise whose covariance is ``amount²`` times that of the columns.

    So correlations stay what they were on average, and every covariance grows by the factor ``1 + amount²``. They are
    measured on the records without a missing value; columns that vary only elsewhere get plain noise.

    Parameters and the shape of what is returned are those of :func:`plain_noise`.
    """
    drawn = draw_normal(values.size, seed).reshape(values.shape)
    complete = values[~np.isnan(values).any(axis=1)]
    if len(complete) < 2:
        return drawn * (amount * _deviations(values))
    scale = _deviations(values)
    divisor = np.where(scale > 0, scale, 1.0)
    centered = (complete - complete.mean(axis=0)) / divisor
    covariance = centered.T @ centered / len(complete)
    lone = np.diag(covariance) <= 0
    covariance[lone, lone] = (scale[lone] > 0).astype(np.float64)
    # A square root of a covariance that may be singular: a Cholesky factor would not exist.
    powers, directions = np.linalg.eigh(covariance)
    root = directions * np.sqrt(np.maximum(powers, 0.0))
    noise: Floats = (drawn @ root.T) * (amount * scale)
    return noise


def _deviations(values: Floats) -> Floats:
    """Return the standard deviation of what is present in each column, 0 where nothing is; no square overflows."""
    present = ~np.isnan(values)
    counts = np.maximum(present.sum(axis=0), 1)
    filled = np.where(present, values, 0.0)
    largest = np.maximum(np.abs(filled).max(axis=0, initial=0.0), np.finfo(np.float64).tiny)
    filled = filled / largest
    centered = np.where(present, filled - filled.sum(axis=0) / counts, 0.0)
    deviations: Floats = np.sqrt((centered**2).sum(axis=0) / counts) * largest
    return deviations

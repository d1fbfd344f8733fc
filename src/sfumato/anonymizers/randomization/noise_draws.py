"""Noise for numbers: as wide as a share of their spread, alone or correlated like the columns themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.randomization.draws import Floats, draw_normal
from sfumato.errors import InputError

_FOLLOWS = 1e-12
"""The share of a column's variance below which the columns before it leave nothing open but rounding."""


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
    centered = np.asfortranarray((complete - complete.mean(axis=0)) / divisor)
    root = _square_root(_covariance(centered), lone=scale > 0)
    noise = np.zeros_like(drawn)
    for direction, weights in enumerate(root.T):
        noise += drawn[:, direction, None] * weights
    return noise * (amount * scale)


def exact_noise(values: Floats, amount: float, seed: int | None) -> Floats:
    """Draw correlated noise that has exactly the covariance asked for, mean 0, and nothing in common with the columns.

    That is so over the records without a missing value; all others get :func:`correlated_noise`. Parameters and the
    shape of what is returned are those of :func:`plain_noise`.

    Raises
    ------
    InputError
        When there are too few such records: no more than twice as many as columns.

    Notes
    -----
    What is drawn is freed from its mean, from what follows of it from the columns, and from what its columns have in
    common, one column after the other; then it is correlated as the columns are. Cost O(a² n).
    """
    drawn = draw_normal(values.size, seed).reshape(values.shape)
    whole = ~np.isnan(values).any(axis=1)
    count, width = int(whole.sum()), values.shape[1]
    if count <= 2 * width:
        raise InputError(
            f"noise: exact needs more than {2 * width:,} records without a missing value for {width:,} columns, and "
            f"there are {count:,}; leave exact out, or columns"
        )
    scale = _deviations(values)
    centered = (values[whole] - values[whole].mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    free = _freed(np.column_stack([centered, drawn[whole] - drawn[whole].mean(axis=0)]))[:, width:]
    drawn[whole] = free
    root = _square_root(_covariance(np.asfortranarray(centered)), lone=scale > 0)
    noise = np.zeros_like(drawn)
    for direction, weights in enumerate(root.T):
        noise += drawn[:, direction, None] * weights
    return noise * (amount * scale)


def _freed(columns: Floats) -> Floats:
    """Free each column of mean 0, float64 (n, b), from those before it, and make its variance 1, or 0."""
    found = np.zeros_like(columns, order="F")
    for place, column in enumerate(columns.T):
        whole, rest = float((column * column).sum()), column.copy()
        # Twice, as the first time leaves what was rounded.
        for _ in range(2):
            for before in found[:, :place].T:
                rest = rest - before * ((before * rest).sum() / len(rest))
        left = float((rest * rest).sum())
        if left > _FOLLOWS * whole:
            found[:, place] = rest * np.sqrt(len(rest) / left)
    return found


def root_of(centered: Floats) -> Floats:
    """Return the lower root, float64 (a, a), of the covariance of columns with mean 0, (n, a); alike on any machine."""
    return _square_root(_covariance(np.asfortranarray(centered)), lone=np.zeros(centered.shape[1], dtype=np.bool_))


# Sums and roots of a library for matrices differ in their last digits from processor to processor; these do not.


def _covariance(centered: Floats) -> Floats:
    columns = centered.T
    return np.array([[(one * other).sum() for other in columns] for one in columns]) / len(centered)


def _square_root(covariance: Floats, lone: NDArray[np.bool_]) -> Floats:
    """Return a lower root, float64 (a, a), by Cholesky's rule, of a matrix that may be singular.

    What is left of a column once the columns before it are known is 0 where it follows from them. `lone` marks columns
    that vary: if they do so only in records that are not complete, nothing is known of them, and they get noise of
    their own.
    """
    root = np.zeros_like(covariance)
    for column, whole in enumerate(np.diag(covariance).tolist()):
        if whole <= 0:
            root[column, column] = float(lone[column])
            continue
        rest = covariance[column:, column] - (root[column:, :column] * root[column, :column]).sum(axis=1)
        if rest[0] > _FOLLOWS * whole:
            root[column:, column] = rest / np.sqrt(rest[0])
    return root


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

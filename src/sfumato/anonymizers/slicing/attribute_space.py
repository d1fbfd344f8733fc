"""Attributes as points, so that they can be clustered by their distances from centers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError

_NOTHING = 1e-12
"""Eigenvalues below this share of the largest are rounding."""


def scaled_coordinates(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Place attributes so that they lie about as far from each other as `distances` says: classical scaling.

    Parameters
    ----------
    distances
        float64 (a, a), symmetric, 0 on the diagonal; ``1 - φ²`` here.

    Returns
    -------
    numpy.ndarray
        float64 (a, p), one row for each attribute; p is the number of positive eigenvalues of ``-J D² J / 2``. Where
        the distances are those of no points at all, as with φ², the negative ones are left out.

    Raises
    ------
    InputError
        When `distances` is not square and finite.

    Notes
    -----
    Cost O(a³). *Source.* Torgerson 1952; that attributes are clustered in this space is our choice, as the paper of
    overlapping slicing names none.
    """
    count = len(distances)
    if distances.shape != (count, count) or not np.isfinite(distances).all():
        raise InputError("attribute space: distances must be a square matrix of finite numbers")
    squared = distances**2
    centered = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-(centered + centered.T) / 4)
    kept = values > _NOTHING * max(float(values.max(initial=0.0)), _NOTHING)
    coordinates: NDArray[np.float64] = vectors[:, kept] * np.sqrt(values[kept])
    return coordinates if kept.any() else np.zeros((count, 1))

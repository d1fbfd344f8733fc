"""Possibilistic memberships: how typical a point is of each cluster, whatever the other clusters are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.slicing.fuzzy import FuzzyClusters


def typicalities(found: FuzzyClusters, fuzzifier: float = 2.0) -> NDArray[np.float64]:
    """Return ``1 / (1 + (d_ij² / η_i)^{1/(m−1)})``, where η_i is the mean squared distance inside cluster i.

    Parameters
    ----------
    found
        Where fuzzy c-means or c-medoids has converged.
    fuzzifier
        m, above 1.

    Returns
    -------
    numpy.ndarray
        float64 (a, c). Rows need not sum to 1: a point far from everything is typical of nothing.

    Notes
    -----
    A cluster whose points all lie in its center is typical of these alone. *Source.* Krishnapuram, Keller, "A
    possibilistic approach to clustering", 1993, with K = 1; the paper of overlapping slicing calls it adaptive.
    """
    weights = found.memberships**fuzzifier
    total = weights.sum(axis=0)
    spread = np.where(total > 0, (weights * found.squares).sum(axis=0) / np.where(total > 0, total, 1.0), 0.0)
    relative = np.where(found.squares == 0, 0.0, np.inf)
    inside = np.broadcast_to(spread > 0, relative.shape)
    np.divide(found.squares, spread[None, :], out=relative, where=inside)
    typical: NDArray[np.float64] = 1.0 / (1.0 + relative ** (1.0 / (fuzzifier - 1.0)))
    return typical

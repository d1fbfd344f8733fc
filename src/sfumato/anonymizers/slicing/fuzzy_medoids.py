"""Fuzzy c-medoids: as fuzzy c-means, with attributes themselves as centers, so that only their distances are needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.slicing.fuzzy import MOST_ROUNDS, FuzzyClusters, best_of, farthest_first, memberships_of


def fuzzy_c_medoids(distances: NDArray[np.float64], clusters: int, fuzzifier: float = 2.0) -> FuzzyClusters:
    """Find medoids and degrees of membership that make ``Σ u_ij^m d_ij`` small, where degrees of a point sum to 1.

    Parameters
    ----------
    distances
        float64 (a, a), symmetric, 0 on the diagonal.
    clusters
        How many, 1 to a.
    fuzzifier
        m, above 1.

    Returns
    -------
    FuzzyClusters
        Its ``squares`` are `distances` of points and medoids, which take the place of squared ones.

    Notes
    -----
    No luck is involved, see :func:`sfumato.anonymizers.slicing.fuzzy.fuzzy_c_means`. A medoid belongs to its own
    cluster alone, and no attribute is the medoid of two. Each round costs O(a² c).

    *Source.* Krishnapuram, Joshi, Nasraoui, Yi, "Low-complexity fuzzy relational clustering", 2001.
    """
    return best_of(_from_medoids(distances, start, fuzzifier) for start in farthest_first(distances, clusters))


def _from_medoids(distances: NDArray[np.float64], medoids: NDArray[np.int64], fuzzifier: float) -> FuzzyClusters:
    best = _outcome(distances, medoids, fuzzifier)
    for _ in range(MOST_ROUNDS):
        medoids = _moved(distances, best.memberships**fuzzifier)
        outcome = _outcome(distances, medoids, fuzzifier)
        # Medoids are few: as long as the objective falls, none comes twice.
        if not outcome.objective < best.objective:
            break
        best = outcome
    return best


def _outcome(distances: NDArray[np.float64], medoids: NDArray[np.int64], fuzzifier: float) -> FuzzyClusters:
    squares = np.ascontiguousarray(distances[:, medoids])
    degrees = memberships_of(squares, fuzzifier)
    return FuzzyClusters(degrees, squares, float((degrees**fuzzifier * squares).sum()))


def _moved(distances: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Take the best medoid of every cluster that is not taken yet."""
    costs = distances @ weights
    chosen: list[int] = []
    for cluster in range(weights.shape[1]):
        costs[chosen, cluster] = np.inf
        chosen.append(int(costs[:, cluster].argmin()))
    return np.array(chosen)

"""Overlapping k-medoids (OPC): every attribute joins all centers that it is similar enough to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.slicing.fuzzy import MOST_STARTS

Quality = tuple[int, float]


def overlapping_medoids(distances: NDArray[np.float64], clusters: int, similarity: float) -> NDArray[np.float64]:
    """Choose centers whose clusters are large, and which lie far apart.

    A cluster is everything that is at least `similarity` similar to its center, ``1 - distance / largest distance``; so
    clusters overlap, and some attributes may be in none.

    Parameters
    ----------
    distances
        float64 (a, a), symmetric, 0 on the diagonal.
    clusters
        How many, 1 to a.
    similarity
        0 (everything is in every cluster) to 1 (only what is at no distance is in one).

    Returns
    -------
    numpy.ndarray
        float64 (a, c): similarity of each attribute to each center, as degrees of membership.

    Notes
    -----
    Deterministic: starts from each attribute in turn and adds the one with the largest product of crowding value (how
    many it is similar to) and distance from the centers before; then exchanges a center for another attribute as long
    as the clusters get larger, or as large with centers farther apart. Each round costs O(a² c).

    *Source.* Chen, Hu, "An overlapping cluster algorithm to provide non-exhaustive clustering", EJOR 2006. Its
    functions are not at hand: the two goals are its, the order between them and the exchange are ours. Departures: it
    draws its starts at random; and clusters that are the same count once here, as columns that are do.
    """
    largest = float(distances.max(initial=0.0))
    similar = 1.0 - distances / largest if largest > 0 else np.ones_like(distances)
    near = similar >= similarity
    starts = (_crowded(near, distances, first, clusters) for first in range(min(len(near), MOST_STARTS)))
    outcomes = [_exchanged(near, distances, start) for start in starts]
    best = max(outcomes, key=lambda centers: _quality(near, distances, centers))
    return np.ascontiguousarray(similar[:, sorted(best)])


def _crowded(near: NDArray[np.bool_], distances: NDArray[np.float64], first: int, count: int) -> list[int]:
    crowding = near.sum(axis=1)
    centers = [first]
    while len(centers) < count:
        worth = crowding * distances[centers].min(axis=0)
        worth[centers] = -1.0
        centers.append(int(worth.argmax()))
    return centers


def _exchanged(near: NDArray[np.bool_], distances: NDArray[np.float64], centers: list[int]) -> list[int]:
    quality = _quality(near, distances, centers)
    while True:
        others = [
            [*centers[:place], new, *centers[place + 1 :]]
            for place in range(len(centers))
            for new in range(len(near))
            if new not in centers
        ]
        best = max(others, key=lambda candidate: _quality(near, distances, candidate), default=centers)
        reached = _quality(near, distances, best)
        if not reached > quality:
            return centers
        centers, quality = best, reached


def _quality(near: NDArray[np.bool_], distances: NDArray[np.float64], centers: list[int]) -> Quality:
    """Objects in different clusters first, then how far apart centers are."""
    apart = float(distances[np.ix_(centers, centers)].sum())
    return int(np.unique(near[centers], axis=0).sum()), round(apart, 9)

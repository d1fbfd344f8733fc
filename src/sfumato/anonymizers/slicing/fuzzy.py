"""Fuzzy c-means: points belong to every cluster to a degree, the more the nearer they are to its center."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

FuzzyDistance = Literal["euclidean", "dot-product"]

TOLERANCE = 1e-9
MOST_ROUNDS = 1000
MOST_STARTS = 32


@dataclass(frozen=True, eq=False, repr=False)
class FuzzyClusters:
    """Clusters that points belong to by degrees.

    Attributes
    ----------
    memberships : numpy.ndarray
        float64 (a, c), from 0 to 1.
    squares : numpy.ndarray
        float64 (a, c): squared distance of every point from every center.
    objective : float
        ``Σ u^m d²``, which is to be small.
    """

    memberships: NDArray[np.float64]
    squares: NDArray[np.float64]
    objective: float


def fuzzy_c_means(
    points: NDArray[np.float64], clusters: int, fuzzifier: float = 2.0, distance: FuzzyDistance = "euclidean"
) -> FuzzyClusters:
    """Find centers and degrees of membership that make ``Σ u_ij^m d_ij²`` small, where degrees of a point sum to 1.

    Parameters
    ----------
    points
        float64 (a, p).
    clusters
        How many, 1 to a.
    fuzzifier
        m, above 1; the nearer to 1 the crisper.
    distance
        ``"dot-product"``: ``1 - cos`` of the angle between point and center, points and centers brought to length 1
        (Klawonn, Keller 1999). A point at the origin has no direction; its distance is the Euclidean one.

    Notes
    -----
    No luck is involved: it starts from up to 32 sets of centers, each a point and those that are farthest from all
    before, and the best outcome is taken. A point in the place of centers belongs to these alone, in equal parts
    (Thomas, Raju, Wangmo 2009), so that nothing is divided by zero. Each round costs O(a c p).

    *Sources.* Dunn 1973; Bezdek 1981. The paper of overlapping slicing prints the distance between two points where
    that of point and center is meant, and the criterion of convergence without its minus.
    """
    shaped = _directed(points) if distance == "dot-product" else points
    return best_of(
        _from_centers(shaped, shaped[start], fuzzifier, distance)
        for start in farthest_first(squared_distances(shaped, shaped, "euclidean"), clusters)
    )


def best_of(outcomes: Iterator[FuzzyClusters]) -> FuzzyClusters:
    """Return the first outcome of smallest objective; those that differ by rounding count as equal."""
    best = next(outcomes)
    for outcome in outcomes:
        if outcome.objective < best.objective - TOLERANCE * max(1.0, best.objective):
            best = outcome
    return best


def farthest_first(squares: NDArray[np.float64], count: int, most: int = MOST_STARTS) -> Iterator[NDArray[np.int64]]:
    """Start from each point in turn, and add the point that is farthest from all before, `count` in all."""
    for first in range(min(len(squares), most)):
        chosen = [first]
        nearest = squares[first].copy()
        while len(chosen) < count:
            nearest[chosen] = -1.0
            chosen.append(int(nearest.argmax()))
            nearest = np.minimum(nearest, squares[chosen[-1]])
        yield np.array(chosen)


def memberships_of(squares: NDArray[np.float64], fuzzifier: float) -> NDArray[np.float64]:
    """Return degrees of membership, float64 (a, c), rows sum to 1, from squared distances of the same shape."""
    on_center = squares == 0
    nearest = squares.min(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Relative to the nearest center: no power overflows.
        closeness = (nearest / squares) ** (1.0 / (fuzzifier - 1.0))
    closeness = np.where(nearest == 0, on_center, closeness)
    degrees: NDArray[np.float64] = closeness / closeness.sum(axis=1, keepdims=True)
    return degrees


def squared_distances(
    points: NDArray[np.float64], centers: NDArray[np.float64], distance: FuzzyDistance
) -> NDArray[np.float64]:
    """Return the squared distance of every point from every center; float64 (a, c)."""
    apart = points[:, None, :] - centers[None, :, :]
    euclidean: NDArray[np.float64] = np.einsum("acp,acp->ac", apart, apart)
    if distance == "euclidean":
        return euclidean
    # Of two directions the squared Euclidean distance is 2 (1 - cos).
    directed = (points != 0).any(axis=1)[:, None] & (centers != 0).any(axis=1)[None, :]
    return np.where(directed, euclidean / 2, euclidean)


def _from_centers(
    points: NDArray[np.float64], centers: NDArray[np.float64], fuzzifier: float, distance: FuzzyDistance
) -> FuzzyClusters:
    squares = squared_distances(points, centers, distance)
    degrees = memberships_of(squares, fuzzifier)
    for _ in range(MOST_ROUNDS):
        weights = degrees**fuzzifier
        total = weights.sum(axis=0)
        # A center that nobody belongs to stays where it is.
        moved = np.where((total > 0)[:, None], weights.T @ points / np.where(total > 0, total, 1.0)[:, None], centers)
        centers = _directed(moved) if distance == "dot-product" else moved
        squares = squared_distances(points, centers, distance)
        before, degrees = degrees, memberships_of(squares, fuzzifier)
        if np.abs(degrees - before).max() < TOLERANCE:
            break
    return FuzzyClusters(degrees, squares, float((degrees**fuzzifier * squares).sum()))


def _directed(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bring points to length 1; those at the origin stay."""
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    directed: NDArray[np.float64] = np.where(lengths > 0, points / np.where(lengths > 0, lengths, 1.0), 0.0)
    return directed

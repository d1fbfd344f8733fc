"""Post-randomization (PRAM): every category is kept with a probability, or replaced by another at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.randomization.draws import Floats, draw_uniform


def transition_matrix(counts: NDArray[np.integer], retention: float, *, invariant: bool) -> Floats:
    """Return the probabilities with which each category is published as each other.

    Parameters
    ----------
    counts
        Integers (d,): how often each category occurs, ≥ 1.
    retention
        Probability of keeping a category, 0 to 1.
    invariant
        False: all other categories are equally likely. True: with probability ``1 - retention`` a category is drawn by
        the frequencies of the column, its own among them, so that expected frequencies stay what they were.

    Returns
    -------
    numpy.ndarray
        float64 (d, d); rows (original categories) sum to 1.
    """
    size = len(counts)
    kept = retention * np.eye(size)
    if invariant:
        return kept + (1.0 - retention) * np.asarray(counts / counts.sum())[None, :]
    if size == 1:
        return np.ones((1, 1))
    return kept + (1.0 - retention) / (size - 1) * (1.0 - np.eye(size))


def post_randomized(
    codes: NDArray[np.integer], counts: NDArray[np.integer], retention: float, *, invariant: bool, seed: int | None
) -> NDArray[np.int64]:
    """Draw a category for every record, as :func:`transition_matrix` says.

    Parameters
    ----------
    codes
        Integers (n,): category of each record, ``0 .. d-1``.
    counts, retention, invariant
        As in :func:`transition_matrix`.
    seed
        None draws from the operating system.

    Returns
    -------
    numpy.ndarray
        int64 (n,). Cost O(n log d); the matrix is never made.
    """
    size = len(counts)
    uniform = draw_uniform(2 * len(codes), seed)
    keeps, chosen = uniform[: len(codes)] < retention, uniform[len(codes) :]
    if invariant:
        bounds = np.cumsum(counts) / counts.sum()
        other = np.minimum(np.searchsorted(bounds, chosen, side="right"), size - 1)
    elif size == 1:
        other = np.zeros(len(codes), dtype=np.int64)
    else:
        # One of the other d - 1 categories: so many steps further round.
        other = (codes + 1 + (chosen * (size - 1)).astype(np.int64)) % size
    return np.where(keeps, codes, other).astype(np.int64)


def original_counts(published: Floats, matrix: Floats) -> Floats:
    """Estimate, without bias, how often each category occurred before post-randomization.

    Solves ``published = original @ matrix``. Single estimates may be below 0.

    Parameters
    ----------
    published
        float64 (d,): how often each category was published.
    matrix
        float64 (d, d), from :func:`transition_matrix`; no retention so small that it cannot be inverted.
    """
    return np.linalg.solve(matrix.T, published).astype(np.float64)

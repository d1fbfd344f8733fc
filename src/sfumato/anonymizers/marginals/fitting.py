"""Iterative proportional fitting: the joint distribution of largest entropy that agrees with count tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TOLERANCE = 1e-9
"""Largest difference to a count, as a share of all records, at which fitting ends."""

ROUNDS = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class FittedTable:
    """What fitting came to.

    Attributes
    ----------
    weights : numpy.ndarray
        float64 (m,): expected records of every combination.
    rounds : int
        Passes over all tables.
    difference : float
        Largest difference to a count that is left, as a share of all records.
    """

    weights: Floats
    rounds: int
    difference: float

    @property
    def converged(self) -> bool:
        """Whether every count is met."""
        return self.difference <= TOLERANCE


def fit(cells: Sequence[NDArray[np.integer]], counts: Sequence[Floats], *, rounds: int = ROUNDS) -> FittedTable:
    """Fit weights of combinations to count tables, one after the other, until all agree.

    Letters: m combinations that can occur, c cells of a table.

    Parameters
    ----------
    cells
        For each table, integers (m,): the cell that every combination falls into.
    counts
        For each table, float64 (c,): its counts, above 0; all tables count the same records.
    rounds
        Passes after which it gives up.

    Returns
    -------
    Fitted
        Of tables whose sets form no circle after two passes; of others when the tolerance is reached.

    Notes
    -----
    Starts from equal weights, so that the limit has the largest entropy. Cost O(m) for each table and pass; memory
    O(m). *Source.* W. E. Deming, F. F. Stephan, "On a least squares adjustment of a sampled frequency table when the
    expected marginal totals are known", 1940.
    """
    total = float(counts[0].sum())
    weights = np.full(len(cells[0]), total / max(len(cells[0]), 1))
    difference = np.inf
    done = 0
    while done < rounds and difference > TOLERANCE:
        for cell, count in zip(cells, counts, strict=True):
            held = np.bincount(cell, weights, len(count))
            weights *= np.divide(count, held, out=np.zeros_like(held), where=held > 0)[cell]
        difference = _largest_difference(weights, cells, counts) / total
        done += 1
    return FittedTable(weights, done, float(difference))


def _largest_difference(weights: Floats, cells: Sequence[NDArray[np.integer]], counts: Sequence[Floats]) -> float:
    return max(
        float(np.abs(np.bincount(cell, weights, len(count)) - count).max(initial=0.0))
        for cell, count in zip(cells, counts, strict=True)
    )

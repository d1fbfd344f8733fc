"""Special uniques: records that a few columns single out (SUDA2), and their scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.combinations import minimal_uniques

MOST_COLUMNS = 62
"""Most columns: a set of them fits into one machine word."""


@dataclass(frozen=True, eq=False)
class SpecialUniques:
    """Minimal sample uniques of up to `size` columns, and the scores of the records that have them.

    `names`: All columns, q. `size`: Most columns of a minimal unique that was searched for. `records`: Number of
    records n. `record`: int64 (u,): record of each minimal unique. `columns`: int64 (u,): its columns as bits.
    `estimate`: DIS: probability that a match with a sample unique is right; None without a sampling fraction.
    """

    names: tuple[str, ...]
    size: int
    records: int
    record: NDArray[np.int64]
    columns: NDArray[np.int64]
    estimate: float | None

    def __repr__(self) -> str:
        """Count what was found."""
        return f"SpecialUniques({len(self.record)} minimal uniques of up to {self.size} columns)"

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of columns of each minimal unique, int64 (u,)."""
        return np.bitwise_count(self.columns).astype(np.int64)

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """SUDA score of each record, float64 (n,); 0 for records without a minimal unique.

        A minimal unique of k of the q columns counts (q − k)(q − k − 1) … (q − size): the fewer columns, the higher. A
        factor that would be 0 (if `size` is q) counts as 1.
        """
        scores: NDArray[np.float64] = np.bincount(self.record, weights=self._values, minlength=self.records)  # type: ignore[assignment]
        return scores

    @cached_property
    def contributions(self) -> NDArray[np.float64]:
        """Share of the sum of all scores to which each column contributes, float64 (q,); shares overlap."""
        total = max(float(self._values.sum()), 1.0)
        holding = [(self.columns >> column) & 1 for column in range(len(self.names))]
        return np.array([float((held * self._values).sum()) / total for held in holding])

    @cached_property
    def dis_scores(self) -> NDArray[np.float64] | None:
        """DIS-SUDA score of each record, float64 (n,) in [0, 1), or None without a sampling fraction.

        A record of score s gets a s / (1 + a s), with the one a that makes the mean over the records with a minimal
        unique equal to DIS.
        """
        if self.estimate is None:
            return None
        positive = self.scores > 0
        levels, counts = np.unique(self.scores[positive], return_counts=True)
        return _calibrated(self.scores, levels, counts, self.estimate)

    def of_size(self, size: int) -> tuple[int, int]:
        """Return how many minimal uniques have that many columns, and how many records have one of them."""
        chosen = self.sizes == size
        return int(chosen.sum()), len(np.unique(self.record[chosen]))

    def of_record(self, row: int) -> list[tuple[str, ...]]:
        """Return the columns of every minimal unique of the record with that row number (from 1)."""
        chosen = self.columns[self.record == row - 1]
        return [tuple(name for bit, name in enumerate(self.names) if int(bits) >> bit & 1) for bits in chosen]

    @property
    def found(self) -> int:
        """Number of records with a minimal unique."""
        return int(np.count_nonzero(self.scores))

    @cached_property
    def _values(self) -> NDArray[np.float64]:
        width = len(self.names)
        value = [prod(max(1, width - factor) for factor in range(size, self.size + 1)) for size in range(self.size + 1)]
        return np.array(value, dtype=np.float64)[self.sizes]


def find_special_uniques(
    names: tuple[str, ...],
    columns: NDArray[np.unsignedinteger],
    weights: NDArray[np.int64],
    record_of: NDArray[np.int32],
    size: int,
    fraction: float | None,
) -> SpecialUniques:
    """Find every minimal sample unique of up to `size` columns.

    `names`: Names of the q columns, at most 62. `columns`: Unsigned (q, m): codes of the distinct records, one row for
    each column. `weights`: int64 (m,): records behind each. `record_of`: int32 (n,): distinct record of each record.
    `size`: 1 to q. `fraction`: Sampling fraction, for DIS; None leaves it out.

    Exact. Sets of columns are visited so that subsets come first. Each class splits the class of a shorter set,
    and is left alone once it holds one distinct record. Cost O(t · m) at most for t sets.

    *Departures.* The score is that of the manual of SUDA (Elliot and others, 2005) for a largest size that the user
    picks. DIS is Skinner and Elliot's θ = π n₁ / (π n₁ + 2 (1 − π) n₂) from the uniques n₁ and pairs n₂ of the table;
    spreading it over records is an addition here: see :attr:`SpecialUniques.dis_scores`.

    References
    ----------
    A. M. Manning, D. J. Haglin, J. A. Keane, "A recursive search algorithm for statistical disclosure assessment",
    2008; M. Elliot and others, "SUDA: a program for detecting special uniques", 2005; C. J. Skinner, M. J. Elliot, "A
    measure of disclosure risk for microdata", 2002.
    """
    owner, bits = minimal_uniques(columns, weights, size, int(columns.max(initial=0)) + 1)
    # A unique record is the only one behind its distinct record.
    row_of = np.empty(len(weights), dtype=np.int64)
    row_of[record_of] = np.arange(len(record_of))
    order = np.lexsort((bits, row_of[owner]))
    return SpecialUniques(names, size, len(record_of), row_of[owner][order], bits[order], _estimate(weights, fraction))


def _estimate(weights: NDArray[np.int64], fraction: float | None) -> float | None:
    if fraction is None:
        return None
    uniques, pairs = np.count_nonzero(weights == 1), np.count_nonzero(weights == 2)
    likely = fraction * uniques
    return float(likely / (likely + 2 * (1 - fraction) * pairs)) if likely else 0.0


def _calibrated(
    scores: NDArray[np.float64], levels: NDArray[np.float64], counts: NDArray[np.int64], mean: float
) -> NDArray[np.float64]:
    if not len(levels) or mean <= 0:
        return np.zeros(len(scores))
    if mean >= 1:
        return (scores > 0).astype(np.float64)
    low, high = 1e-300, 1e300
    for _ in range(200):
        middle = float(np.sqrt(low) * np.sqrt(high))
        odds = levels * middle
        reached = float((counts * (odds / (1 + odds))).sum()) / int(counts.sum())
        low, high = (middle, high) if reached < mean else (low, middle)
    odds = scores * low
    return odds / (1 + odds)

"""Non-uniform entropy: the bits that a reader lacks to know every original value."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.generalized import GeneralizedColumn, GeneralizedTable
from sfumato.metrics.cells import records_with


def entropy_loss(generalized: GeneralizedTable) -> float:
    """Sum −log2 Pr(original value | published value) over all cells, in bits; lower is better.

    The probability is the share of the original value among all records of the original column whose value the
    published one covers; ``*`` and suppressed cells cover every record. A mean covers the range of its class.

    Notes
    -----
    De Waal and Willenborg, "Information loss through global recoding and local suppression", Netherlands Official
    Statistics 1999; Gionis and Tassa, "k-anonymization with minimal loss of information", IEEE TKDE 2009. Departure:
    weights do not count. Cost O(n) to count the original values, then O(c) per attribute: the original values of all
    cells together are the original column, in whatever order the rows are.
    """
    return sum(_column_entropies(generalized)[0])


def normalized_entropy(generalized: GeneralizedTable) -> float:
    """Divide the entropy by that of the fully suppressed table; in [0, 1], and 0 if that table loses nothing."""
    lost, most = map(sum, _column_entropies(generalized))
    return lost / most if most else 0.0


def _column_entropies(generalized: GeneralizedTable) -> tuple[list[float], list[float]]:
    """Return the bits that each attribute lost, and those that it would lose fully suppressed."""
    lost, most = [], []
    everything = generalized.height * float(np.log2(generalized.height))
    for index, column in enumerate(generalized.columns):
        occurrences = generalized.frequencies[index]
        known = _bits(occurrences, occurrences)
        covered = _covered_records(column, occurrences)
        among = _bits(records_with(column, generalized.sizes), covered)
        suppressed = generalized.suppressed * float(np.log2(generalized.height))
        # Rounding must not turn an unchanged column into a negative loss.
        lost.append(max(among + suppressed - known, 0.0))
        most.append(max(everything - known, 0.0))
    return lost, most


def _bits(records: NDArray[np.int64], counts: NDArray[np.int64]) -> float:
    """Sum records times the bits of their counts: equal counts as whole numbers first, so that no order matters."""
    different, places = np.unique(counts, return_inverse=True)
    together = np.bincount(places, weights=records)
    return math.fsum((together * np.log2(np.maximum(different, 1))).tolist())


def _covered_records(column: GeneralizedColumn, occurrences: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the original records that each generalized value covers, int64 (g,)."""
    if column.members is None:
        return _between(occurrences, column.low, column.high + 1)
    return _between(occurrences[column.members.codes], column.members.starts[:-1], column.members.starts[1:])


def _between(counts: NDArray[np.int64], starts: NDArray[np.integer], stops: NDArray[np.integer]) -> NDArray[np.int64]:
    below = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=below[1:])
    summed: NDArray[np.int64] = below[stops] - below[starts]
    return summed

"""How far the distributions that buckets show lie from the records: the reconstruction error of Anatomy."""

from __future__ import annotations

import numpy as np

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts
from sfumato.models.shares import class_of_pairs


def reconstruction_error(counts: SensitiveCounts, statistics: ClassStatistics) -> float:
    """Return the RCE: squared distance between each record's value and the distribution of its bucket, summed.

    For a record with value v in bucket G it is ``1 − 2 c(v)/|G| + Σ c²/|G|²``, which sums to ``|G| − Σ c²/|G|`` over
    the bucket. 0 where every bucket has one value.

    References
    ----------
    X. Xiao, Y. Tao, "Anatomy: simple and effective privacy preservation", VLDB 2006.
    """
    squares = np.bincount(class_of_pairs(counts), weights=counts.counts.astype(np.float64) ** 2)
    return float((statistics.sizes - squares / statistics.sizes).sum())


def least_reconstruction_error(records: int, l: float) -> float:  # noqa: E741 - the letter of the literature
    """Return the RCE that no buckets with shares of at most ``1/l`` can stay below: ``n (1 − 1/l)``."""
    return records * (1 - 1 / l)

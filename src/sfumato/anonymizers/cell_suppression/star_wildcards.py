"""The cheapest cells to star so that every record is compatible with k records, when a star matches every value."""

from __future__ import annotations

import numpy as np

from sfumato.anonymizers.cell_suppression.fewest_stars import StarAssignment
from sfumato.anonymizers.cell_suppression.star_patterns import DistinctRows, Patterns
from sfumato.kernels.stars.star_wildcards import star_until_compatible

WORTHWHILE = (*(4.0**power for power in range(16, -1, -1)), 0.0)
"""Records that a star of mean cost must satisfy in each sweep, at least."""


def compatible_records(distinct: DistinctRows, patterns: Patterns) -> StarAssignment:
    """Find few stars after which every record is compatible with k records.

    A starred record is compatible with its whole group, which has k records, and serves all its members. Groups where
    few stars satisfy many records come first. Where it is cheaper, k − 1 records of nothing but stars serve everybody.
    Cost O(z k) for z memberships.
    """
    last = int(np.searchsorted(patterns.choices.pattern_of, len(patterns.starred) - 1))
    return min((_found(distinct, patterns, first) for first in (0, last)), key=lambda found: found.cost)


def _found(distinct: DistinctRows, patterns: Patterns, first: int) -> StarAssignment:
    counts = np.zeros(patterns.choices.group_of.shape, dtype=np.int32)
    unit = float(patterns.choices.cost[-1]) / max(1, int(patterns.starred[-1].sum()))
    worthwhile = np.array(WORTHWHILE) / max(unit, 1e-300)
    star_until_compatible(distinct.weights, patterns.choices, counts, worthwhile, first)
    return StarAssignment(counts, float((counts.sum(axis=0) * patterns.choices.cost).sum()), 0.0)

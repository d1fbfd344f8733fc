"""The paper's two searches, for study and for comparison with the default one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.ratings.proximate import pairwise_balls, slicing_balls
from sfumato.published.checks.ratings.measures import Measures, ProximityQuery, measured, trimmed
from sfumato.published.checks.ratings.vectors import each_record, sums_of


def pairwise(question: ProximityQuery) -> Measures:
    """Find what is around every record from the distances of all pairs. Cost O(n · z)."""
    return _measured(question, *pairwise_balls(*question.public, question.steps, question.null))


def slicing(question: ProximityQuery) -> Measures:
    """Find what is around every record by cutting candidates issue by issue (the paper's algorithm 1).

    Cost O(n² · p) at worst for p non-sensitive issues.
    """
    width = len(question.ratings.names)
    return _measured(question, *slicing_balls(*question.public, question.steps, question.null, width))


def _measured(
    question: ProximityQuery, starts: NDArray[np.int64], members: NDArray[np.int64], evaluations: int
) -> Measures:
    ratings = question.ratings
    records = each_record(ratings.height)
    everybody = np.ones(ratings.height, dtype=np.bool_)
    sums = sums_of(ratings, records, everybody) if question.needs_spread else None
    groups = trimmed(question, starts, members, records.example)
    return measured(question, *groups, records.weights, sums).with_evaluations(evaluations)

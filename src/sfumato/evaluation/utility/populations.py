"""Populations whose sensitive values are compared before and after: random predicates on quasi-identifying columns."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.evaluation.utility.original import Original
from sfumato.evaluation.utility.queries import Workload
from sfumato.evaluation.utility.workload import drawn_workload

SELECTIVITY = 0.1


def large_populations(original: Original, names: Sequence[str], count: int, *, seed: int | None = None) -> Workload:
    """Draw populations by up to two quasi-identifying attributes, each expected to hold a tenth of all records."""
    return drawn_workload(
        original, count, dimensions=min(2, len(names)), selectivity=SELECTIVITY, attributes=names, seed=seed
    )

"""Populations whose sensitive values are compared before and after: random predicates on quasi-identifying columns."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.table.table import Table
from sfumato.utility.queries import Workload
from sfumato.utility.workload import query_workload

SELECTIVITY = 0.1


def large_populations(table: Table, names: Sequence[str], count: int, *, seed: int | None = None) -> Workload:
    """Draw populations by up to two quasi-identifying attributes, each expected to hold a tenth of all records."""
    return query_workload(
        table, count, dimensions=min(2, len(names)), selectivity=SELECTIVITY, attributes=names, seed=seed
    )

"""Populations whose sensitive values are compared before and after: random predicates on quasi-identifying columns."""

from __future__ import annotations

from sfumato.table.schema import Schema
from sfumato.table.table import Table
from sfumato.utility.queries import Workload
from sfumato.utility.workload import query_workload

SELECTIVITY = 0.1


def large_populations(table: Table, count: int, *, seed: int | None = None) -> Workload:
    """Draw populations by up to two quasi-identifying attributes, each expected to hold a tenth of all records."""
    quasi = table.schema.quasi_identifying
    insensitive = (*table.schema.insensitive, *table.schema.sensitive)
    schema = Schema(quasi_identifying=quasi, identifying=table.schema.identifying, insensitive=insensitive)
    kinds = {name: kind for name, kind in table.kinds.items() if name in quasi}
    plain = Table(table.frame, schema, kinds, table.source)
    return query_workload(plain, count, dimensions=min(2, len(quasi)), selectivity=SELECTIVITY, seed=seed)

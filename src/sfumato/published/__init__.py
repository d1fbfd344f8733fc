"""Published data: one class for each kind of release. Attacks, metrics and the verifier see nothing else."""

from __future__ import annotations

from sfumato.published.apart import BucketizedTables, MarginalTables, SlicedTable
from sfumato.published.protocol import Published, PublishedTable, RandomizedTable, sensitive_names

KINDS: dict[str, type[Published]] = {
    kind.kind: kind for kind in (PublishedTable, SlicedTable, BucketizedTables, MarginalTables, RandomizedTable)
}
"""Kind in ``release.json`` → class."""

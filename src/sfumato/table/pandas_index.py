"""The index of a pandas frame, which Arrow tables and Parquet files keep as columns like others.

An index numbers the records in the order of the original, or names people. Nobody gave it a role, so that it is never
published, not even where columns without a role are kept; a schema may name it like any column.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any


def index_columns(metadata: Mapping[Any, Any] | None) -> frozenset[str]:
    """Return the columns that were the index of a pandas frame, as the metadata of an Arrow schema say."""
    written = (metadata or {}).get("pandas") or (metadata or {}).get(b"pandas")
    try:
        columns = json.loads(written or "{}").get("index_columns", [])
    except (ValueError, AttributeError):
        return frozenset()
    return frozenset(name for name in columns if isinstance(name, str))


def without_index(source: Any, roles: Collection[str]) -> tuple[str, ...]:
    """Return the names of a source's columns but for those of an index that have no role."""
    index: frozenset[str] = getattr(source, "index", frozenset())
    return tuple(name for name in source.names if name in roles or name not in index)

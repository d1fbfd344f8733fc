"""What a kind of values allows, and how its values are written as text."""

from __future__ import annotations

from sfumato.hierarchy.specification import text_of as text_of
from sfumato.table.schema import Kind


def is_measured(kind: Kind) -> bool:
    """Tell whether values of this kind lie on a line, so that ranges and means make sense."""
    return kind in (Kind.NUMERIC, Kind.DATE)

"""Hierarchies: trees over the values of one attribute, and the builders that describe them, loaded when used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.hierarchy.tree import HierarchySpecification
from sfumato.registry import Registry, loaded

if TYPE_CHECKING:
    from sfumato.hierarchy.draft import draft_hierarchy, draft_rule, hierarchy_from_policy
    from sfumato.hierarchy.level_table import (
        Flat,
        Groups,
        HierarchyTable,
        flat,
        groups,
        hierarchy_text,
        read_hierarchy,
        write_hierarchy,
    )
    from sfumato.hierarchy.ranges import Dates, Intervals, Prefixes, dates, intervals, prefixes
    from sfumato.hierarchy.tree import Hierarchy, Level, hierarchy_from_paths


HIERARCHY_KINDS = Registry(
    {
        "intervals": "sfumato.hierarchy.ranges:Intervals",
        "prefixes": "sfumato.hierarchy.ranges:Prefixes",
        "dates": "sfumato.hierarchy.ranges:Dates",
        "groups": "sfumato.hierarchy.level_table:Groups",
        "table": "sfumato.hierarchy.draft:table_of_rows",
        "file": "sfumato.hierarchy.level_table:read_hierarchy",
        "flat": "sfumato.hierarchy.level_table:Flat",
    }
)
"""What a policy's ``kind`` names; the keys beside it are the parameters."""

_HOMES = {
    "draft": ("draft_hierarchy", "draft_rule", "hierarchy_from_policy"),
    "level_table": (
        *("Flat", "Groups", "HierarchyTable", "flat", "groups"),
        *("hierarchy_text", "read_hierarchy", "write_hierarchy"),
    ),
    "ranges": ("Dates", "Intervals", "Prefixes", "dates", "intervals", "prefixes"),
    "tree": ("Hierarchy", "Level", "hierarchy_from_paths"),
}
_PLACES = {name: f"{__name__}.{home}:{name}" for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return loaded(_PLACES[name])

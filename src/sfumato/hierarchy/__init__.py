"""Hierarchies: trees over the values of one attribute, and the builders that describe them, loaded when used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.hierarchy.specification import HierarchySpecification
from sfumato.registry import Registry, loaded

if TYPE_CHECKING:
    from sfumato.hierarchy.date_units import Dates, Prefixes, dates, prefixes
    from sfumato.hierarchy.draft import draft_hierarchy, draft_rule, hierarchy_from_policy
    from sfumato.hierarchy.level_table import Flat, HierarchyTable, flat
    from sfumato.hierarchy.numeric_intervals import Intervals, intervals
    from sfumato.hierarchy.table_file import hierarchy_text, read_hierarchy, write_hierarchy
    from sfumato.hierarchy.tree import Hierarchy, Level, hierarchy_from_paths
    from sfumato.hierarchy.value_groups import Groups, groups

__all__ = [
    "HIERARCHY_KINDS",
    "Dates",
    "Flat",
    "Groups",
    "Hierarchy",
    "HierarchySpecification",
    "HierarchyTable",
    "Intervals",
    "Level",
    "Prefixes",
    "dates",
    "draft_hierarchy",
    "draft_rule",
    "flat",
    "groups",
    "hierarchy_from_paths",
    "hierarchy_from_policy",
    "hierarchy_text",
    "intervals",
    "prefixes",
    "read_hierarchy",
    "write_hierarchy",
]

HIERARCHY_KINDS = Registry(
    {
        "intervals": "sfumato.hierarchy.numeric_intervals:Intervals",
        "prefixes": "sfumato.hierarchy.date_units:Prefixes",
        "dates": "sfumato.hierarchy.date_units:Dates",
        "groups": "sfumato.hierarchy.value_groups:Groups",
        "table": "sfumato.hierarchy.draft:table_of_rows",
        "file": "sfumato.hierarchy.table_file:read_hierarchy",
        "flat": "sfumato.hierarchy.level_table:Flat",
    }
)
"""What a policy's ``kind`` names; the keys beside it are the parameters."""

_HOMES = {
    "date_units": ("Dates", "Prefixes", "dates", "prefixes"),
    "draft": ("draft_hierarchy", "draft_rule", "hierarchy_from_policy"),
    "level_table": ("Flat", "HierarchyTable", "flat"),
    "numeric_intervals": ("Intervals", "intervals"),
    "table_file": ("hierarchy_text", "read_hierarchy", "write_hierarchy"),
    "tree": ("Hierarchy", "Level", "hierarchy_from_paths"),
    "value_groups": ("Groups", "groups"),
}
_PLACES = {name: f"{__name__}.{home}:{name}" for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return loaded(_PLACES[name])

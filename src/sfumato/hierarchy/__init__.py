"""Hierarchies: trees over the values of one attribute, and the builders that describe them."""

from sfumato.hierarchy.date_units import Dates, Prefixes, dates, prefixes
from sfumato.hierarchy.draft import HIERARCHY_KINDS, draft_hierarchy, draft_rule, hierarchy_from_policy
from sfumato.hierarchy.level_table import Flat, HierarchyTable, flat
from sfumato.hierarchy.numeric_intervals import Intervals, intervals
from sfumato.hierarchy.specification import HierarchySpecification
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

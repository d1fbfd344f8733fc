"""Hierarchies in policy files: from plain TOML values to a description."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any

from sfumato.errors import HierarchyError, PolicyError, raise_all
from sfumato.hierarchy.date_units import Dates, Prefixes
from sfumato.hierarchy.level_table import Flat, HierarchyTable
from sfumato.hierarchy.numeric_intervals import Intervals
from sfumato.hierarchy.specification import HierarchySpecification
from sfumato.hierarchy.table_file import read_hierarchy
from sfumato.hierarchy.value_groups import Groups


def _table(rows: Any) -> HierarchyTable:
    return HierarchyTable(rows)


HIERARCHY_KINDS: dict[str, Callable[..., HierarchySpecification]] = {
    "intervals": Intervals,
    "prefixes": Prefixes,
    "dates": Dates,
    "groups": Groups,
    "table": _table,
    "file": read_hierarchy,
    "flat": Flat,
}
"""What a policy's ``kind`` names; the keys beside it are the parameters."""


def hierarchy_from_policy(
    mapping: Mapping[str, Any], folder: str | os.PathLike[str] | None = None
) -> HierarchySpecification:
    """Read back what :meth:`HierarchySpecification.to_policy` wrote.

    Parameters
    ----------
    mapping
        Plain values with a ``kind`` among the keys of ``HIERARCHY_KINDS``; keys of several words have hyphens, as
        everywhere in policies, and are also known with underscores.
    folder
        Folder that relative paths of hierarchy files start from, usually the folder of the policy. None: the current
        one.

    Raises
    ------
    PolicyError
        With every wrong key at once, or with what the hierarchy itself finds wrong.
    """
    if not isinstance(mapping, Mapping):
        raise PolicyError("a hierarchy must be a table of keys with a kind")
    kind = mapping.get("kind")
    if not isinstance(kind, str) or kind not in HIERARCHY_KINDS:
        raise PolicyError(f"kind: must be one of {', '.join(HIERARCHY_KINDS)}")
    constructor = HIERARCHY_KINDS[kind]
    settings = {key.replace("-", "_"): value for key, value in mapping.items() if key != "kind"}
    # Only the caller may name the folder, never the policy.
    known = {key: value for key, value in inspect.signature(constructor).parameters.items() if key != "folder"}
    raise_all(PolicyError, _key_problems(kind, settings, known))
    place = {"folder": folder} if kind == "file" else {}
    try:
        return constructor(**settings, **place)
    except HierarchyError as error:
        raise PolicyError(*error.problems) from None


def _key_problems(kind: str, settings: Mapping[str, Any], known: Mapping[str, inspect.Parameter]) -> list[str]:
    problems = [
        f"{key}: is not a key of kind {kind}; its keys are {', '.join(known).replace('_', '-') or 'none'}"
        for key in settings
        if key not in known
    ]
    problems.extend(
        f"{key}: is missing, kind {kind} needs it"
        for key, parameter in known.items()
        if parameter.default is parameter.empty and key not in settings
    )
    return problems

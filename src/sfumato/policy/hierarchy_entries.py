"""Hierarchies in a policy: one entry for every kind, and which of them a release may show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from sfumato.errors import PolicyError
from sfumato.hierarchy import HIERARCHY_KINDS, HierarchySpecification, hierarchy_from_policy
from sfumato.policy.entries import AlsoWritten, LazyEntries, PolicyPart, problems_reported

_RULES = ("intervals", "prefixes", "dates", "flat")
"""Kinds that are rules; every other kind lists original values."""

ROLES_WITH_SETTINGS = ("quasi-identifying", "sensitive")

_Rows = Annotated[tuple[tuple[str, ...], ...], Field(min_length=1)]


class TableHierarchy(PolicyPart):
    """A hierarchy row by row.

    Attributes
    ----------
    rows
        Each with an original value first, then ever coarser labels.
    """

    kind: Literal["table"]
    rows: _Rows

    @model_validator(mode="after")
    def _is_a_hierarchy(self) -> Self:
        with problems_reported(self.keys()):
            self.build()
        return self

    def build(self) -> HierarchySpecification:
        """Return the description of the hierarchy."""
        return hierarchy_from_policy(self.model_dump())


class FileHierarchy(PolicyPart):
    """A hierarchy in a file of separated text.

    Attributes
    ----------
    path
        Where the file is.
    separator
        The character between its fields; guessed unless given.
    """

    kind: Literal["file"]
    path: Annotated[str, Field(min_length=1)]
    separator: Annotated[str, Field(min_length=1, max_length=1)] | None = None

    def build(self) -> HierarchySpecification:
        """Read the file."""
        return hierarchy_from_policy(self.model_dump())


class WithheldHierarchy(PolicyPart):
    """What a published policy says about a hierarchy that lists original values: that there was one, and its kind.

    Attributes
    ----------
    was
        Its kind.
    """

    kind: Literal["withheld"]
    was: str | None = None

    def build(self) -> HierarchySpecification:
        """Refuse; there is nothing to build it from."""
        raise PolicyError("hierarchy was withheld from the published policy; give it again")


_KINDS = LazyEntries(
    {
        **{kind: built for kind, built in HIERARCHY_KINDS.items() if isinstance(built, type)},
        "table": TableHierarchy,
        "file": FileHierarchy,
        "withheld": WithheldHierarchy,
    },
    tag="kind",
    short={"intervals": {"borders": AlsoWritten("array", "number")}},
)
HierarchyEntry: Any = Annotated[Any, _KINDS, AlsoWritten("string")]
"""Type of a hierarchy in a policy: a table with its ``kind``, or the path of a file."""


def described_hierarchy(hierarchy: HierarchySpecification) -> dict[str, Any]:
    """Write the description of a hierarchy as plain values; a kind that this library does not know is withheld."""
    described = dict(hierarchy.to_policy())
    return described if described.get("kind") in HIERARCHY_KINDS else {"kind": "withheld"}


def lists_values(entry: Any) -> bool:
    """Tell whether a hierarchy is more than a rule, so that a release may not show it."""
    return entry.kind not in _RULES


def published_hierarchy(entry: Any) -> Any:
    """Return what a release says about a hierarchy: a rule unchanged, of any other only that it existed."""
    if entry is None or entry.kind == "withheld" or not lists_values(entry):
        return entry
    return WithheldHierarchy(kind="withheld", was=entry.kind)


def moved_files(mapping: Mapping[str, Any], move: Callable[[str], str]) -> dict[str, Any]:
    """Return a policy's plain values with `move` applied to the path of every file that it names.

    These are hierarchies, a query, a population, and of ratings a list of sensitive issues. Values of a wrong type stay
    unchanged.
    """
    moved = _with_hierarchies(mapping, lambda hierarchy: _moved(hierarchy, move))
    for part, key in (("source", "query"), ("sensitive", "file")):
        said = moved.get(part)
        if isinstance(said, Mapping) and isinstance(said.get(key), str):
            moved[part] = {**said, key: move(said[key])}
    people = moved.get("population")
    return {**moved, "population": move(people)} if isinstance(people, str) and people else moved


def spelled_out(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Return a policy's plain values without short forms.

    These are lists of columns, hierarchies that are just a path, and intervals with a single list of borders.

    Values of a wrong type stay unchanged.
    """
    columns = mapping.get("columns")
    if not isinstance(columns, Mapping):
        return _with_hierarchies(mapping, _as_table)
    settled = {role: _with_settings(columns[role]) for role in ROLES_WITH_SETTINGS if role in columns}
    return _with_hierarchies({**mapping, "columns": {**columns, **settled}}, _as_table)


def _with_settings(given: Any) -> Any:
    if isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given):
        return {name: {} for name in given}
    return given


def _as_table(hierarchy: Any) -> Any:
    if isinstance(hierarchy, str):
        return {"kind": "file", "path": hierarchy}
    if isinstance(hierarchy, Mapping) and hierarchy.get("kind") == "intervals" and _is_flat(hierarchy.get("borders")):
        return {**hierarchy, "borders": [hierarchy["borders"]]}
    return hierarchy


def _is_flat(borders: Any) -> bool:
    return isinstance(borders, (list, tuple)) and any(isinstance(border, (int, float)) for border in borders)


def _moved(hierarchy: Any, move: Callable[[str], str]) -> Any:
    if isinstance(hierarchy, str):
        return move(hierarchy)
    if isinstance(hierarchy, Mapping) and isinstance(hierarchy.get("path"), str):
        return {**hierarchy, "path": move(hierarchy["path"])}
    return hierarchy


def _with_hierarchies(mapping: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    columns, sets = mapping.get("columns"), mapping.get("sets")
    changed = dict(mapping)
    if isinstance(columns, Mapping):
        changed["columns"] = {role: _in_role(given, change) for role, given in columns.items()}
    if isinstance(sets, Mapping) and "hierarchy" in sets:
        changed["sets"] = {**sets, "hierarchy": change(sets["hierarchy"])}
    return changed


def _in_role(given: Any, change: Callable[[Any], Any]) -> Any:
    if not isinstance(given, Mapping):
        return given
    return {
        name: {**settings, "hierarchy": change(settings["hierarchy"])}
        if isinstance(settings, Mapping) and "hierarchy" in settings
        else settings
        for name, settings in given.items()
    }

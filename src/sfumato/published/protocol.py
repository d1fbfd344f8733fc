"""What every kind of published data has in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
import polars as pl

from sfumato.numbers import counted
from sfumato.table.row_order import settled_rows


@runtime_checkable
class Published(Protocol):
    """Tables that a recipient holds; frozen dataclasses that refuse contradictions when built: all may be changed."""

    kind: ClassVar[str]
    """The name in ``release.json``, e.g. ``"sliced-table"``."""
    whole_numbers: ClassVar[tuple[str, ...]]
    """Columns that the kind itself adds, which hold whole numbers; no attribute may have their names."""
    promising: ClassVar[bool]
    """Whether this kind can promise privacy models; if not, it is published without any."""
    publishes_chosen: ClassVar[bool]
    """Whether such a release may hold only some of the quasi-identifying and sensitive columns."""
    limits: ClassVar[tuple[str, ...]]
    """What this kind of data does not hide, in sentences for reports."""

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return every table under the name of its file, without ending."""
        ...

    @property
    def structure(self) -> dict[str, Any]:
        """Return what a reader must know besides the tables, as plain values for ``release.json``."""
        ...

    @classmethod
    def assemble(cls, tables: Mapping[str, pl.DataFrame], structure: Mapping[str, Any]) -> Self:
        """Rebuild the value from what was written; raise ``InputError`` when the parts do not fit each other."""
        ...


Some = TypeVar("Some", bound=Published)


def order_by_content(published: Some) -> Some:
    """Return a release whose rows, and what is drawn of them, stand in an order that depends on what they hold."""
    if isinstance(getattr(published, "records", None), np.ndarray):
        return published
    rows = {name: settled_rows(table) for name, table in published.tables.items()}
    return type(published).assemble(rows, published.structure)


def sensitive_names(published: Published) -> tuple[str, ...]:
    """Return the names of the sensitive attributes that are published."""
    named = published.structure["sensitive"]
    return (named,) if isinstance(named, str) else tuple(named)


def structure_text(structure: Mapping[str, Any], name: str) -> str:
    """Return one text of a structure, or raise ValueError."""
    value = structure.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} is not a text")
    return value


def structure_names(structure: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return one list of names of a structure, or raise ValueError."""
    value = structure.get(name)
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise ValueError(f"{name} is not a list of names")
    return tuple(value)


def structure_columns(structure: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Return the lists of names under ``columns`` of a structure, or raise ValueError."""
    entries = structure.get("columns")
    if not isinstance(entries, list):
        raise ValueError("columns is not a list")
    return tuple(structure_names({"columns": entry}, "columns") for entry in entries)


def column_problems(what: str, frame: pl.DataFrame, names: Sequence[str], *, alone: bool = True) -> list[str]:
    """Say which of `names` a table lacks or has twice, and, if they are `alone`, what else it has."""
    if len(set(names)) < len(names):
        return [f"{what}: a column is named twice"]
    missing = [f"{what}: has no column {name!r}" for name in names if name not in frame.columns]
    # Not by name: if a file lost its header, the names are values.
    more = len(set(frame.columns) - set(names)) if alone else 0
    return [*missing, *([f"{what}: has {counted(more, 'column')} too many"] if more else [])]


MOST_NAMES = 30
"""Most columns of one role that a line of text names; the others are counted."""


@dataclass(frozen=True)
class Roles:
    """The roles that a recount used.

    * `quasi_identifying`: what an attacker may know.
    * `sensitive`: what must stay hidden.
    * `unprotected`: insensitive columns, which are published unchanged: no model protects them.
    """

    quasi_identifying: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    unprotected: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, list[str]]:
        """Return plain values, for JSON."""
        return {name: list(getattr(self, name)) for name in ("quasi_identifying", "sensitive", "unprotected")}

    def lines(self) -> list[str]:
        """Return what a reader should know, as lines of text."""
        protected = [
            f"{role} {named(names)}"
            for role, names in (("quasi-identifying", self.quasi_identifying), ("sensitive", self.sensitive))
            if names
        ]
        lines = [f"roles: {'; '.join(protected)}"] if protected else []
        return [*lines, *([f"unprotected: {named(self.unprotected)}"] if self.unprotected else [])]


def roles_of(published: Published) -> Roles:
    """Return the roles of all attributes from published tables of any kind and their structure."""
    structure, sensitive = published.structure, sensitive_names(published)
    if "columns" in structure:
        attributes = list(dict.fromkeys(name for column in structure["columns"] for name in column))
        unprotected = tuple(structure.get("insensitive", ()))
        hidden = {*sensitive, *unprotected}
        return Roles(tuple(name for name in attributes if name not in hidden), sensitive, unprotected)
    quasi = tuple(structure["quasi_identifying"])
    own = {*quasi, *sensitive, *published.whole_numbers, *getattr(published, "added", ())}
    columns = dict.fromkeys(name for frame in published.tables.values() for name in frame.columns)
    return Roles(quasi, sensitive, tuple(name for name in columns if name not in own))


def named(names: Iterable[str]) -> str:
    """List names in a line of text; names that could be misread as several names or lines are quoted."""
    listed = [_plain(name) for name in names]
    more = len(listed) - MOST_NAMES
    return ", ".join(listed[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _plain(name: str) -> str:
    is_plain = name.isprintable() and name == name.strip() and name and not {",", ";", "'"} & {*name}
    return name if is_plain else repr(name)

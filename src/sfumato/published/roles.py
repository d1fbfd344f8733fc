"""The roles of published columns, as the release itself gives them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sfumato.published.protocol import Published, sensitive_names

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

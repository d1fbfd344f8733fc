"""Columns that are published as they are, or nearly: whether somebody has said so who knew what is in them.

A model protects quasi-identifying columns and what they say of sensitive ones. Everything else passes through.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from sfumato.table.identification import Look, Sort
from sfumato.table.schema import Kind, Role, Schema

NEVER_PUBLISHED = (Role.IDENTIFYING, Role.PERSON, Role.WISHED_K, Role.WISHED_L)
MANY_CATEGORIES = 50
"""Of so many categories sets say little."""
MANY_COLUMNS = 12
"""So many quasi-identifying columns are more than classes of a few records can share."""


class Looked(Protocol):
    """A table, in memory or not, whose columns were looked at."""

    @property
    def schema(self) -> Schema:
        """The roles."""
        ...

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Kind of every quasi-identifying and sensitive column."""
        ...

    @property
    def passing(self) -> Collection[str]:
        """Columns without a role of their own that are published."""
        ...

    def look(self, name: str) -> Look:
        """Return what a column looks like."""
        ...


def passing_problems(table: Looked) -> Iterator[str]:
    """Name every column that must not be published unless somebody says so.

    These are columns without a role of their own that look as if they identified people, and quasi-identifying ones of
    which classes would publish sets of exact values: categories without a hierarchy of which more than half differ, or
    that reach a person by themselves.
    """
    for name in _undecided(table, table.schema.insensitive):
        look = table.look(name)
        if name in table.passing and look.sorts:
            yield (
                f"column {name!r} has no role and would be published as it is, but {look.sentence()}; give it a role "
                f"(--identifying {name} removes it), or {_way_out(name, 'it is')}"
            )
    for name in _undecided(table, _bare_categories(table)):
        look = table.look(name)
        if look.is_mostly_distinct or (look.by_value is not None and look.by_value.is_direct):
            yield (
                f"column {name!r} is quasi-identifying without a hierarchy, but {_why_not_sets(look)}, so that sets of "
                f"its values would be published; give it a hierarchy (sfumato hierarchy TABLE {name} drafts one), "
                f"remove it (--identifying {name}), or {_way_out(name, 'such sets are')}"
            )


def passing_notes(table: Looked, published: Collection[str]) -> tuple[str, ...]:
    """Tell of insensitive and sensitive columns that look as if they identified people, though their role is declared.

    And of columns that are said to be published, and never are. `published` are the columns of the published tables. Of
    sensitive columns only texts count: they are there to be analysed, and numbers may differ between all records.
    """
    schema = table.schema
    private = [name for name in schema.sensitive if table.kinds[name] is Kind.CATEGORICAL]
    suspicious = {
        **{name: table.look(name).sorts for name in _undecided(table, schema.insensitive)},
        **{name: _of_texts(table.look(name)) for name in _undecided(table, private)},
    }
    looking = (
        f"Column {name!r} is {schema.roles[name]}, and its values are published as they are: "
        f"{table.look(name).sentence()}. Remove it unless it is needed; publish={name!r} (--publish {name}) says so."
        for name, sorts in suspicious.items()
        if sorts and name in published and name not in table.passing
    )
    never = (
        f"Column {name!r} is never published: its role is {schema.roles[name]}. publish={name!r} does not change that."
        for name in schema.publish
        if schema.roles.get(name) in NEVER_PUBLISHED
    )
    return (*looking, *never)


def advice_on_columns(table: Looked) -> tuple[str, ...]:
    """Say which quasi-identifying columns need a hierarchy, and that there are many of them."""
    needing = tuple(
        f"Column {name!r} has {table.look(name).distinct:,} categories and no hierarchy, so that classes publish sets "
        f"of them; `sfumato hierarchy TABLE {name}` drafts one."
        for name in _bare_categories(table)
        if table.look(name).distinct >= MANY_CATEGORIES
    )
    count = len(table.schema.quasi_identifying)
    if count < MANY_COLUMNS:
        return needing
    return (
        *needing,
        f"There are {count} quasi-identifying columns: with so many nearly every record is unlike all others, and "
        "what is published is wide. `sfumato risk` on them says which to leave out first.",
    )


def _undecided(table: Looked, names: Collection[str]) -> list[str]:
    """Return those of some columns of which nobody has said that they are to be published."""
    return [name for name in names if name not in table.schema.publish]


def _bare_categories(table: Looked) -> list[str]:
    """Return the quasi-identifying columns of which classes publish sets of values."""
    quasi = table.schema.quasi_identifying
    return [name for name in quasi if quasi[name].hierarchy is None and table.kinds[name] is Kind.CATEGORICAL]


def _of_texts(look: Look) -> tuple[Sort, ...]:
    by_value = look.by_value
    return (by_value,) if by_value is not None and (by_value.is_direct or by_value is Sort.FREE_TEXT) else ()


def _why_not_sets(look: Look) -> str:
    mostly = f"most of its values differ ({look.distinct:,} values in {look.known:,} records)"
    parts = (look.sentence(), mostly if look.is_mostly_distinct and not look.is_nearly_unique else "")
    return ", ".join(filter(None, parts))


def _way_out(name: str, what: str) -> str:
    return f"say that {what} to be published: --publish {name} (in Python publish=[{name!r}])"

"""Columns that are published as they are, or nearly: whether somebody has said so who knew what is in them.

A model protects quasi-identifying columns and what they say of sensitive ones. Everything else passes through.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sfumato.table.identification import Look, Sort
from sfumato.table.schema import Kind, Role
from sfumato.table.table import Table


def passing_problems(table: Table) -> Iterator[str]:
    """Name every column that must not be published unless somebody says so.

    These are columns without a role of their own that look as if they identified people, and quasi-identifying ones of
    which classes would publish sets of codes: categories without a hierarchy that are nearly unique, or reach a person
    by themselves.
    """
    for name, look in _not_yet_said(table):
        if name in table.passing and look.sorts:
            yield (
                f"column {name!r} has no role and would be published as it is, but {look.sentence()}; give it a role "
                f"(--identifying {name} removes it), or say that it is to be published: --publish {name} "
                f"(in Python publish=[{name!r}])"
            )
        elif _makes_sets_of_codes(table, name, look):
            yield (
                f"column {name!r} is quasi-identifying without a hierarchy, but {look.sentence()}, so that sets of its "
                f"values would be published; give it a hierarchy (sfumato hierarchy drafts one), remove it "
                f"(--identifying {name}), or say that such sets are to be published: --publish {name} "
                f"(in Python publish=[{name!r}])"
            )


def passing_notes(table: Table, published: Collection[str]) -> tuple[str, ...]:
    """Tell of insensitive and sensitive columns that look as if they identified people, though their role is declared.

    `published` are the columns of the published tables. Of sensitive columns only their values count: they are there to
    be analysed, and may differ between all records.
    """
    roles = table.schema.roles
    told = []
    for name, look in _not_yet_said(table):
        if name not in published:
            continue
        suspicious = look.sorts if roles[name] is Role.INSENSITIVE else _of_texts(look)
        if name not in table.passing and suspicious and roles[name] in (Role.INSENSITIVE, Role.SENSITIVE):
            told.append(
                f"Column {name!r} is {roles[name]}, and its values are published as they are: {look.sentence()}. "
                f"Remove it unless it is needed; publish={name!r} (--publish {name}) says that it is."
            )
    return tuple(told)


def _not_yet_said(table: Table) -> Iterator[tuple[str, Look]]:
    return ((name, look) for name, look in table.looks.items() if name not in table.schema.publish)


def _makes_sets_of_codes(table: Table, name: str, look: Look) -> bool:
    attribute = table.schema.quasi_identifying.get(name)
    if attribute is None or attribute.hierarchy is not None or table.kinds.get(name) is not Kind.CATEGORICAL:
        return False
    return look.is_nearly_unique or (look.by_value is not None and look.by_value.is_direct)


def _of_texts(look: Look) -> bool:
    return look.by_value is not None and (look.by_value.is_direct or look.by_value is Sort.FREE_TEXT)

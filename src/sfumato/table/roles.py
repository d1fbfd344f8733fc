"""Match the names of a source with the schema: which columns are needed, and for what."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sfumato.errors import SchemaError, SfumatoError
from sfumato.table.header import Header
from sfumato.table.schema import Role, Schema

OF_PEOPLE = (Role.PERSON, Role.WISHED_K, Role.WISHED_L)
"""Roles of columns that are read and not published."""


@dataclass(frozen=True)
class RoleAssignment:
    """Columns that a table keeps, and what is wrong with the roles.

    Attributes
    ----------
    schema : Schema
        ``others="keep"`` columns have become insensitive.
    passing : frozenset of str
        Insensitive columns to which nobody gave that role: those of ``others="keep"``.
    kept : tuple of str
        Quasi-identifying, sensitive and insensitive columns that the source has, in its order; the columns
        of people and of what they wish for last.
    errors : tuple of SfumatoError
        Missing columns and columns without a role.
    """

    schema: Schema
    passing: frozenset[str]
    kept: tuple[str, ...]
    errors: tuple[SfumatoError, ...]


def assign_roles(header: Header, schema: Schema) -> RoleAssignment:
    """Give every column of a source its role, and note all that are missing or left over."""
    roles = schema.roles
    absent = [name for name in roles if name not in set(header.names)]
    others = header.where(lambda name: name not in roles)
    errors = []
    if absent:
        available = header.listed(range(len(header.names)))
        errors.append(SchemaError(f"missing column(s): {header.missing(absent)}; available are {available}"))
    if others and schema.others == "error":
        errors.append(
            SchemaError(
                f"column(s) without a role: {header.listed(others)}; give each a role, or decide for all of them: "
                "others='drop' or 'keep' (on the command line --others drop)"
            )
        )
    # After an error, only the schema's own columns are checked, because messages about them name the column.
    passing = tuple(header.names[index] for index in others) if schema.others == "keep" and not errors else ()
    if passing:
        schema = replace(schema, insensitive=(*schema.insensitive, *passing))
    removed = (Role.IDENTIFYING, *OF_PEOPLE)
    kept = tuple(name for name in header.names if schema.roles.get(name, Role.IDENTIFYING) not in removed)
    people = tuple(name for name in header.names if schema.roles.get(name) in OF_PEOPLE)
    return RoleAssignment(schema, frozenset(passing), (*kept, *people), tuple(errors))

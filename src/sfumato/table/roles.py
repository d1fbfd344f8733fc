"""Which columns of a source are needed, and for what: its names against the schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sfumato.errors import InputError, SchemaError, SfumatoError
from sfumato.table.schema import Role, Schema

MOST_COLUMNS = 10_000
"""Wider sources are refused: they are transposed, or were read with the wrong separator."""

_MOST_LISTED = 50


@dataclass(frozen=True)
class Assignment:
    """Columns that a table keeps, and what is wrong with the roles.

    Attributes
    ----------
    schema : Schema
        ``others="keep"`` columns have become insensitive.
    kept : tuple of str
        Quasi-identifying, sensitive and insensitive columns that the source has, in its order.
    errors : tuple of SfumatoError
        Missing columns and columns without a role.
    """

    schema: Schema
    kept: tuple[str, ...]
    errors: tuple[SfumatoError, ...]


def check_names(names: Sequence[str]) -> None:
    """Refuse a source whose columns cannot be told apart.

    Raises
    ------
    InputError
        When there are no columns, too many, or several of one name.
    """
    if not names:
        raise InputError("there are no columns")
    if len(names) > MOST_COLUMNS:
        raise InputError(f"there are {len(names)} columns, at most {MOST_COLUMNS} can be read; check the separator")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(f"several columns have the same name: {_listed(repeated)}; rename them")
    blank = [name for name in names if name != name.strip().removeprefix("\ufeff") or not name]
    if blank:
        raise InputError(f"column name(s) that are empty or have blanks around them: {_listed(blank)}; rename them")
    # Polars takes such a name for a regular expression, wherever it stands.
    patterns = [name for name in names if name.startswith("^") and name.endswith("$")]
    if patterns:
        raise InputError(f"column name(s) that begin with ^ and end with $: {_listed(patterns)}; rename them")


def assign_roles(names: Sequence[str], schema: Schema) -> Assignment:
    """Give every column of a source its role, noting all that is missing or left over."""
    roles = schema.roles
    absent = [name for name in roles if name not in set(names)]
    others = [name for name in names if name not in roles]
    if schema.others == "keep":
        schema = replace(schema, insensitive=(*schema.insensitive, *others))
    kept = tuple(name for name in names if schema.roles.get(name, Role.IDENTIFYING) is not Role.IDENTIFYING)
    if len(absent) == len(roles):
        # The first row is then probably a record, whose values no message may show.
        text = (
            "no column of the schema is in the table; check the separator, and the header (a file without one needs "
            "header=False, on the command line --no-header)"
        )
        return Assignment(schema, kept, (SchemaError(text),))
    errors = []
    if absent:
        errors.append(SchemaError(f"missing column(s): {_listed(absent)}; available are {_listed(names)}"))
    if others and schema.others == "error":
        errors.append(
            SchemaError(
                f"column(s) without a role: {_listed(others)}; give each a role, or decide for all of them: "
                "others='drop' or 'keep' (on the command line --others drop)"
            )
        )
    return Assignment(schema, kept, tuple(errors))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_MOST_LISTED])
    return shown if len(names) <= _MOST_LISTED else f"{shown} and {len(names) - _MOST_LISTED} more"

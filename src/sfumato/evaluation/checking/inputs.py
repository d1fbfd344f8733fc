"""What a check looks at: the published texts of the quasi-identifying columns, and the sensitive values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import polars as pl

from sfumato.errors import InputError, PolicyError, SchemaError, raise_all
from sfumato.table.reading import read_table
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.table import Table


def read_texts(source: object, schema: Schema, **reading: Any) -> Table:
    """Read a table whose quasi-identifying cells may be anything: ``[20-30)``, ``2*``, ``*``.

    Quasi-identifying values are kept as they are written, blanks included, since whoever holds the table can tell them
    apart. Blanks around sensitive values are dropped: with them one disease would count as two.

    Parameters
    ----------
    source
        As :func:`sfumato.read_table` takes it.
    schema
        Hierarchies, kinds and domains of quasi-identifying columns are not looked at; other roles are not read.
    **reading
        Arguments of :func:`sfumato.read_table`.
    """
    texts = dict.fromkeys(schema.quasi_identifying, Attribute(kind=Kind.CATEGORICAL))
    read = Schema(quasi_identifying=texts, sensitive=schema.sensitive, others="drop", person=schema.person)
    stripped = list(schema.sensitive) if reading.get("strip", True) else []
    return read_table(source, read, **{**reading, "strip": stripped})


def opened(table: object, quasi_identifying: object, sensitive: object, person: str | None = None) -> Table:
    """Read a table, or take one that was already read; it keeps the two roles alone.

    Parameters
    ----------
    table, quasi_identifying, sensitive, person
        As :func:`sfumato.check` takes them.

    Raises
    ------
    SfumatoError
        With everything that is wrong with the arguments, or else with the table and its columns.
    """
    problems = [
        f"{name}: must be a list of column names"
        for name, given in (("quasi_identifying", quasi_identifying), ("sensitive", sensitive))
        if isinstance(given, str)
    ]
    if not isinstance(table, Table) and not quasi_identifying:
        problems.append("quasi_identifying: name the columns that an attacker may know")
    if isinstance(table, Table) and person not in (None, table.schema.person):
        problems.append("person: the table was read with another person column, or with none; read it again")
    raise_all(PolicyError, problems)
    if isinstance(table, Table):
        return _narrowed(table, quasi_identifying, sensitive)
    roles: dict[str, Any] = {"quasi_identifying": quasi_identifying, "sensitive": sensitive or ()}
    schema = Schema(**roles, others="drop", person=person)
    return read_texts(os.fspath(table) if isinstance(table, os.PathLike) else table, schema)


def private_part(table: Table) -> Table:
    """Return the sensitive columns alone, as columns to encode."""
    # One by one: polars takes a name like `*` for a pattern when it selects.
    columns = pl.DataFrame([table.frame.get_column(name) for name in table.schema.sensitive])
    kinds = {name: table.kinds[name] for name in table.schema.sensitive}
    return Table(columns, Schema(quasi_identifying=table.schema.sensitive), kinds, table.source)


def _narrowed(table: Table, quasi_identifying: Any, sensitive: Any) -> Table:
    """Give a table that was read other roles, as far as it has the columns."""
    known = {**table.schema.quasi_identifying, **table.schema.sensitive}
    quasi = table.schema.quasi_identifying if quasi_identifying is None else quasi_identifying
    private = table.schema.sensitive if sensitive is None else sensitive
    roles = {"quasi_identifying": _settled(quasi, known), "sensitive": _settled(private, known)}
    schema = Schema(**roles, others="drop", person=table.schema.person)
    wanted = [*schema.quasi_identifying, *schema.sensitive]
    absent = [name for name in wanted if name not in table.frame.columns]
    raise_all(InputError, [f"column {name!r} is not in the table" for name in absent])
    unread = [name for name in schema.sensitive if name not in known]
    raise_all(SchemaError, [f"column {name!r} was read as insensitive; read it as sensitive" for name in unread])
    columns = pl.DataFrame([table.frame.get_column(name) for name in wanted])
    kinds = {name: kind for name, kind in table.kinds.items() if name in wanted}
    return Table(columns, schema, kinds, table.source, table.people, table.repeated, keyless=table.keyless)


def _settled(given: Any, known: Mapping[str, Attribute]) -> Any:
    """Add the settings that a column was read with to a list of names."""
    if isinstance(given, Mapping) or not all(isinstance(name, str) for name in given) or len(set(given)) < len(given):
        return given  # the schema says what is wrong with it
    return {name: known.get(name) for name in given}

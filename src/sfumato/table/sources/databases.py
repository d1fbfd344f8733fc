"""A table or query of a database as a source of columns."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import polars as pl

from sfumato.errors import InputError, PolicyError
from sfumato.table.databases.address import Address, address_of, is_database
from sfumato.table.databases.protocol import Relation, Session, connector
from sfumato.table.distinct import as_categories_where_few
from sfumato.table.sources.protocol import Family
from sfumato.whole_files import read_regular_text

_MOST_NAMED = 5


@dataclass(frozen=True, eq=False, repr=False)
class DatabaseSource:
    """Names of the columns of a table or query, and how to read them.

    Attributes
    ----------
    address : Address
    table, query : str or None
        One of them.
    names : tuple of str
    """

    address: Address
    table: str | None
    query: str | None
    names: tuple[str, ...]

    is_text = False
    """Values have types of their own."""
    reads_roles_alone = True
    """Columns to which nobody gave a role are never read."""

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Read columns, and no others, at one state of the database.

        Raises
        ------
        InputError
            When there are no records, a column is of a type that cannot be published, or the database goes away.
        """
        with connector(self.address).reading(self.address) as session:
            relation = _relation(session, self.table, self.query)
            frame = session.read(relation, names)
        if not frame.height:
            raise InputError(f"the {relation.label} returns no records")
        return as_categories_where_few(frame.get_columns())


def database_source(url: str, *, table: str | None = None, query: str | PathLike[str] | None = None) -> DatabaseSource:
    """Open a table, or a query, and read the names of its columns.

    Parameters
    ----------
    url
        As :func:`sfumato.table.databases.address.address_of` reads it. A table that it names counts before `table`.
    table
        With its schema before a dot where it needs one.
    query
        A file with one SELECT.

    Raises
    ------
    PolicyError
        When there is a password in the URL, or not one of table and query is named.
    InputError
        When there is no such table or database, the query cannot be run, or a driver is not installed.
    """
    address = address_of(url)
    table = address.table or table
    if (table is None) == (query is None):
        said = "are both named; leave one of them out" if table else "is missing; name one, such as clinic.visits"
        raise PolicyError(f"table or query {said}")
    sql = None if query is None else _sql_in(Path(query))
    with connector(address).reading(address) as session:
        names = _names(session, table, sql)
    return DatabaseSource(address, table, sql, tuple(names))


def _relation(session: Session, table: str | None, query: str | None) -> Relation:
    # The line end closes a comment in the last line of the query.
    return session.table(table) if table is not None else Relation(f"({query}\n)", "query")


def _names(session: Session, table: str | None, query: str | None) -> list[str]:
    if table is not None:
        known = session.tables()
        if table not in known:
            raise InputError(f"there is no table {table!r} that this user may read; {_nearest(table, known)}")
    return session.names(_relation(session, table, query))


def _nearest(table: str, known: Sequence[str]) -> str:
    """Name the tables whose names are most like one."""
    if not known:
        return "there is none at all"
    folded = {name.lower(): name for name in known}
    short = {name.rpartition(".")[2].lower(): name for name in known}
    near = difflib.get_close_matches(table.lower(), folded, _MOST_NAMED, 0.5)
    near_short = difflib.get_close_matches(table.rpartition(".")[2].lower(), short, _MOST_NAMED, 0.6)
    found = list(dict.fromkeys([*(folded[name] for name in near), *(short[name] for name in near_short)]))
    listed = found[:_MOST_NAMED] or list(known[:_MOST_NAMED])
    return f"{'the nearest are' if found else 'there are'} {', '.join(map(repr, listed))}"


def _sql_in(path: Path) -> str:
    try:
        text = read_regular_text(path).strip().rstrip(";").strip()
    except (OSError, ValueError):
        raise InputError(f"{path.name}: the file of the query cannot be read; check the path") from None
    if not text:
        raise InputError(f"{path.name}: the file of the query is empty; it needs one SELECT")
    return text


FAMILY = Family(
    recognizes=lambda given: is_database(given.value),
    open=lambda given: database_source(str(given.value), table=given.place.table, query=given.place.query),
)

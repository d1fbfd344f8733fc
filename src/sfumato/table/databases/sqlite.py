"""SQLite, by its ADBC driver.

Every value has a type of its own there, and the driver takes the first rows for all. So the values are looked at
before: columns with any text are read as text, and texts that are all ISO dates, as SQLite keeps dates, as dates.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import Any
from urllib.parse import quote

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.table.databases.address import Address, existing_file
from sfumato.table.databases.protocol import (
    Relation,
    absent,
    as_texts,
    grouped_sql,
    in_own_words,
    parted,
    quoted,
    refuse_types,
)

texts_only = True
longest_name = 1_000_000
folds_case = True

_TYPES = ("null", "integer", "real", "text", "blob")
"""Types of values, the one last that decides about a column where there are several."""
_CASTS = {"text": "CAST({} AS TEXT)", "real": "CAST({} AS REAL)", "integer": "{}", "null": "CAST({} AS TEXT)"}
_VIEW = "sfumato_source"
"""What is read: a view says which types were declared, also behind a query."""
_OBJECTS = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"

_REASONS = {
    "not a database": "the file is no SQLite database; check the path",
    "malformed": "the database file is damaged; get a whole copy",
    "locked": "another program writes to the database; try again when it is done",
    "readonly": "the database may not be written; check its permissions",
    "full": "the disk is full; nothing was changed",
    "prepare query": "the query cannot be run; try it in sqlite3",
    "failed to open": "the database file cannot be opened; check its folder and permissions",
}
"""Words in what the driver says → what it means."""


@dataclass(frozen=True, eq=False, repr=False)
class SqliteSession:
    """A transaction; see :class:`sfumato.table.databases.protocol.Session`."""

    cursor: Any

    def table(self, name: str) -> Relation:
        """Return a table that somebody names."""
        return Relation(quoted(name.removeprefix("main.")), f"table {name}")

    def tables(self) -> list[str]:
        """Return the names of all tables."""
        found = [name for (name,) in self._rows(_OBJECTS)]
        return [*found, *(f"main.{name}" for name in found)]

    def names(self, relation: Relation) -> list[str]:
        """Return the names of all columns."""
        query = relation.sql.startswith("(")
        if query:
            # Compiled and not run: what does not fit here, such as ATTACH, would make files.
            self.cursor.execute(f"EXPLAIN SELECT * FROM {relation.sql}")
        # Behind FROM, the names of columns that are there twice are changed.
        self.cursor.execute(relation.sql[1:-1] if query else f"SELECT * FROM {relation.sql} LIMIT 0")
        return [column[0] for column in self.cursor.description]

    def read(self, relation: Relation, names: Sequence[str], *, as_written: bool = False) -> pl.DataFrame:
        """Read some columns."""
        with self._viewed(relation, names) as types:
            chosen = ", ".join(f"{_CASTS[kind].format(quoted(name))} AS {quoted(name)}" for name, kind in types.items())
            self.cursor.execute(f"SELECT {chosen} FROM temp.{_VIEW}")
            frame = pl.DataFrame(self.cursor.fetch_record_batch())
            declared = {name: kind for _, name, kind, *_ in self._rows(f"PRAGMA temp.table_info({_VIEW})")}
        return (
            frame if as_written else frame.with_columns([_as_declared(frame[name], declared[name]) for name in names])
        )

    def count(self, relation: Relation, names: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Return the distinct rows of some columns, and how many records have each."""
        with self._viewed(relation, names) as types:
            # By their bytes: other collations may take different texts for the same.
            casts = {name: f"{_CASTS[kind].format(quoted(name))} COLLATE BINARY" for name, kind in types.items()}
            self.cursor.execute(grouped_sql(casts, f"temp.{_VIEW}"))
            return parted(pl.DataFrame(self.cursor.fetch_record_batch()))

    @contextmanager
    def _viewed(self, relation: Relation, names: Sequence[str]) -> Iterator[dict[str, str]]:
        """Make the view while the block goes on; give the type by which each column is read."""
        self.cursor.execute(f"CREATE TEMP VIEW {_VIEW} AS SELECT * FROM {relation.sql}")
        rows, types = self._types(names)
        refuse_types([(name, "BLOB") for name, kind in types.items() if kind == "blob"])
        # The driver takes the types of the first batch for all.
        self.cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(max(1, rows))})
        yield types
        self.cursor.execute(f"DROP VIEW temp.{_VIEW}")

    def held(self, schema: str) -> list[str] | None:
        """Return the names of everything in a schema: all tables whose names begin with its name."""
        begin = f"{schema}_"
        found = [name.removeprefix(begin) for (name,) in self._rows(_OBJECTS) if name.startswith(begin)]
        return found or None

    def within(self, schema: str, table: str) -> Relation:
        """Return a table of a schema."""
        return Relation(quoted(f"{schema}_{table}"), f"table {schema}_{table}")

    def create_schema(self, schema: str) -> None:
        """Do nothing: schemas are beginnings of names."""

    def drop(self, schema: str, tables: Sequence[str]) -> None:
        """Take tables out of a schema."""
        for table in tables:
            self._rows(f"DROP TABLE {quoted(f'{schema}_{table}')}")

    def write(self, schema: str, table: str, frame: pl.DataFrame) -> None:
        """Make a table of a frame."""
        self.cursor.adbc_ingest(f"{schema}_{table}", as_texts(frame), mode="create")

    def _types(self, names: Sequence[str]) -> tuple[int, dict[str, str]]:
        """Count the rows, and find the type by which each column is read."""
        cases = " ".join(f"WHEN '{kind}' THEN {number}" for number, kind in enumerate(_TYPES))
        largest = ", ".join(f"MAX(CASE typeof({quoted(name)}) {cases} END)" for name in names)
        rows, *found = self._rows(f"SELECT COUNT(*), {largest} FROM temp.{_VIEW}")[0]
        return rows, {name: _TYPES[number or 0] for name, number in zip(names, found, strict=True)}

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        self.cursor.execute(sql)
        return list(self.cursor.fetchall())


@contextmanager
def reading(address: Address) -> Iterator[SqliteSession]:
    """Open a database for reading alone, at one state."""
    with _connected(f"file:{quote(existing_file(address))}?mode=ro") as (_, cursor), in_own_words(_explained):
        yield SqliteSession(cursor)


@contextmanager
def writing(address: Address) -> Iterator[SqliteSession]:
    """Open a database, or make its file, for one transaction, which is committed when the block ends well."""
    is_new = not os.path.exists(address.target)
    try:
        with _connected(f"file:{quote(address.target)}?mode=rwc") as (connection, cursor), in_own_words(_explained):
            yield SqliteSession(cursor)
            connection.commit()
            is_new = False
    finally:
        if is_new:
            with suppress(OSError):
                os.unlink(address.target)


def end_interrupted(address: Address) -> None:
    """Roll back what a killed program has left: whoever writes does so, and takes the journal away."""
    with _connected(f"file:{quote(existing_file(address))}?mode=rw") as (connection, cursor), in_own_words(_explained):
        cursor.execute(f"CREATE TABLE sfumato_{token_hex(4)} (a)")
        connection.rollback()


@contextmanager
def _connected(target: str) -> Iterator[tuple[Any, Any]]:
    try:
        from adbc_driver_sqlite import dbapi
    except ImportError:
        raise absent("adbc-driver-sqlite") from None
    with in_own_words(_explained):
        connection = dbapi.connect(target)
    with closing(connection), closing(connection.cursor()) as cursor:
        yield connection, cursor


def _as_declared(column: pl.Series, declared: str) -> pl.Series:
    """Return a column as what SQLite has no type for: a boolean where 0 and 1 are declared such, or dates."""
    if column.dtype == pl.String:
        return _dates_in(column)
    is_boolean = column.dtype == pl.Int64 and "BOOL" in declared.upper() and column.is_between(0, 1).all()
    return column.cast(pl.Boolean) if is_boolean else column


def _dates_in(texts: pl.Series) -> pl.Series:
    """Return texts that are all ISO dates, or dates with times, as such; others as they are."""
    distinct = texts.drop_nulls().unique()
    if distinct.str.contains(r"^\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d+)?)?$").all():
        dates = distinct.str.len_bytes().max() == 10
        read = texts.str.to_date("%F", strict=False) if dates else _times_in(texts)
        if read.null_count() == texts.null_count():
            return read
    return texts


def _times_in(texts: pl.Series) -> pl.Series:
    whole = texts.str.replace("T", " ", literal=True)
    return (
        whole.str.pad_end(19, "#")
        .str.replace(r"^(.{10})#+$", "${1} 00:00:00")
        .str.to_datetime("%F %T%.f", time_unit="us", strict=False)
    )


def _explained(error: Exception) -> str:
    message = str(error)
    known = [meaning for word, meaning in _REASONS.items() if word in message]
    return known[0] if known else "the database file cannot be read or written; check the disk, and that it is whole"

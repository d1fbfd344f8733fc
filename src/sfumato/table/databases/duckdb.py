"""DuckDB, by its own package.

A connection reaches its own file and nothing else: a query reads no other file, no address and no variable of the
program that runs it, and no extension is loaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.table.databases.address import Address, existing_file
from sfumato.table.databases.protocol import (
    ROWS,
    Relation,
    absent,
    as_texts,
    grouped_sql,
    in_own_words,
    parted,
    quoted,
    refuse_types,
)

texts_only = False
longest_name = 1_000_000
folds_case = True

_PLAIN = """BOOLEAN TINYINT SMALLINT INTEGER BIGINT UTINYINT USMALLINT UINTEGER UBIGINT FLOAT DOUBLE VARCHAR DATE TIME
TIMESTAMP TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS""".split()  # noqa: SIM905
_CASTS = {
    "TIMESTAMP WITH TIME ZONE": "{}::TIMESTAMP",
    "HUGEINT": "{}::DECIMAL(38, 0)",
    "UUID": "{}::VARCHAR",
    "UHUGEINT": "{}::VARCHAR",
}
_CONFINED: dict[str, Any] = {
    **dict.fromkeys(
        ("enable_external_access", "autoinstall_known_extensions", "autoload_known_extensions",
         "allow_persistent_secrets", "python_enable_replacements"), "false"
    ),
    "lock_configuration": "true",
}  # fmt: skip
_TABLES = """
SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal AND database_name = current_database()
UNION SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal AND database_name = current_database()
ORDER BY 1, 2
"""

_REASONS = {
    "disabled by configuration": "the query, or a view, reads a file outside of the database; read that into a "
    "table of it in DuckDB",
    "not a valid DuckDB": "the file is no DuckDB database; check the path",
    "Could not set lock": "another program has the database open; close it there first",
    "different configuration": "this program has the database open; close that connection first",
    "No space left": "the disk is full; nothing was changed",
    "Permission denied": "the database may not be opened; check its permissions",
    "Cannot open file": "the database file cannot be opened; check its folder and permissions",
}
"""Words in what DuckDB says → what it means."""
_OF_QUERIES = {"BinderException", "CatalogException", "ParserException", "ConversionException", "OutOfRangeException"}


@dataclass(frozen=True, eq=False, repr=False)
class DuckdbSession:
    """A transaction; see :class:`sfumato.table.databases.protocol.Session`."""

    connection: Any

    def table(self, name: str) -> Relation:
        """Return a table that somebody names."""
        return Relation(quoted(*name.split(".", 1)), f"table {name}")

    def tables(self) -> list[str]:
        """Return the names of all tables."""
        found = self.connection.execute(_TABLES).fetchall()
        return [*(name for schema, name in found if schema == "main"), *(".".join(names) for names in found)]

    def names(self, relation: Relation) -> list[str]:
        """Return the names of all columns."""
        if not relation.sql.startswith("("):
            return list(self.connection.sql(f"FROM {relation.sql}").columns)
        query = relation.sql[1:-1]
        statements = self.connection.extract_statements(query)
        if len(statements) != 1 or statements[0].type.name != "SELECT":
            raise InputError("the query is not one SELECT; a source is only read")
        # Behind FROM, the names of columns that are there twice are changed.
        return list(self.connection.sql(query).columns)

    def read(self, relation: Relation, names: Sequence[str], *, as_written: bool = False) -> pl.DataFrame:
        """Read some columns."""
        return self._fetched(self._selected(relation, names))

    def batches(self, relation: Relation, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield some columns, as they are computed."""
        for batch in self.connection.sql(self._selected(relation, names)).to_arrow_reader(ROWS):
            if batch.num_rows:
                yield pl.DataFrame(batch)

    def rows(self, relation: Relation) -> int:
        """Count the rows."""
        return int(self.connection.sql(f"SELECT COUNT(*) FROM {relation.sql}").fetchall()[0][0])

    def _selected(self, relation: Relation, names: Sequence[str]) -> str:
        _, casts = self._casts(relation, names)
        chosen = ", ".join(f"{cast} AS {quoted(name)}" for name, cast in casts.items())
        return f"SELECT {chosen} FROM {relation.sql}"

    def count(self, relation: Relation, names: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Return the distinct rows of some columns, and how many records have each."""
        types, casts = self._casts(relation, names)
        # By their bytes: other collations may take different texts for the same.
        bytewise = {
            name: f"{cast} COLLATE C" if types[name] == "VARCHAR" or cast.endswith("::VARCHAR") else cast
            for name, cast in casts.items()
        }
        return parted(self._fetched(grouped_sql(bytewise, relation.sql)))

    def _casts(self, relation: Relation, names: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
        """Return the type of each column, and how it is read; raise InputError where no table can hold it."""
        types = {name: kind for name, kind, *_ in self.connection.execute(f"DESCRIBE FROM {relation.sql}").fetchall()}
        casts = {name: _cast(quoted(name), types[name]) for name in names}
        refuse_types([(name, types[name]) for name, cast in casts.items() if cast is None])
        return types, {name: cast for name, cast in casts.items() if cast is not None}

    def _fetched(self, sql: str) -> pl.DataFrame:
        # Of a relation itself polars asks for types that DuckDB complains about on stderr when the program ends.
        return pl.DataFrame(pa.RecordBatchReader.from_stream(self.connection.sql(sql)))

    def held(self, schema: str) -> list[str] | None:
        """Return the names of everything in a schema."""
        known = "SELECT 1 FROM duckdb_schemas() WHERE database_name = current_database() AND schema_name = ?"
        if not self.connection.execute(known, [schema]).fetchall():
            return None
        return [name for owner, name in self.connection.execute(_TABLES).fetchall() if owner == schema]

    def within(self, schema: str, table: str) -> Relation:
        """Return a table of a schema."""
        return Relation(quoted(schema, table), f"table {table}")

    def create_schema(self, schema: str) -> None:
        """Make a schema."""
        self.connection.execute(f"CREATE SCHEMA {quoted(schema)}")

    def drop(self, schema: str, tables: Sequence[str]) -> None:
        """Take tables out of a schema."""
        for table in tables:
            self.connection.execute(f"DROP TABLE {quoted(schema, table)}")

    def write(self, schema: str, table: str, frame: pl.DataFrame) -> None:
        """Make a table of a frame."""
        self.connection.register("sfumato_frame", as_texts(frame).to_arrow())
        self.connection.execute(f"CREATE TABLE {quoted(schema, table)} AS FROM sfumato_frame")
        self.connection.unregister("sfumato_frame")


@contextmanager
def reading(address: Address) -> Iterator[DuckdbSession]:
    """Open a database for reading alone, at one state."""
    with _connected(existing_file(address), read_only=True) as connection, in_own_words(_explained):
        yield DuckdbSession(connection)


@contextmanager
def writing(address: Address) -> Iterator[DuckdbSession]:
    """Open a database, or make its file, for one transaction, which is committed when the block ends well."""
    is_new = not os.path.exists(address.target)
    try:
        with _connected(address.target, read_only=False) as connection, in_own_words(_explained):
            yield DuckdbSession(connection)
            connection.commit()
            is_new = False
    finally:
        if is_new:
            for file in (address.target, f"{address.target}.wal"):
                with suppress(OSError):
                    os.unlink(file)


def end_interrupted(address: Address) -> None:
    """Take in what a killed program has committed, and have the log taken away that it has left."""
    with _connected(existing_file(address), read_only=False) as connection, in_own_words(_explained):
        connection.rollback()
        connection.execute("FORCE CHECKPOINT")
        if os.path.exists(f"{address.target}.wal"):
            # A log without a whole commit goes with the next one.
            trial = quoted(f"sfumato_{token_hex(4)}")
            connection.execute(f"CREATE SCHEMA {trial}; DROP SCHEMA {trial}; FORCE CHECKPOINT")


@contextmanager
def _connected(target: str, *, read_only: bool) -> Iterator[Any]:
    try:
        import duckdb
    except ImportError:
        raise absent("duckdb") from None
    with in_own_words(_explained):
        connection = duckdb.connect(target, read_only=read_only, config=_CONFINED)
    with closing(connection):
        with in_own_words(_explained):
            connection.begin()
        yield connection


def _cast(column: str, kind: str) -> str | None:
    """Write a column so that it arrives as a table holds it; None where no table can."""
    if kind in _PLAIN or kind.startswith("DECIMAL("):
        return column
    return f"{column}::VARCHAR" if kind.startswith("ENUM(") else _CASTS[kind].format(column) if kind in _CASTS else None


def _explained(error: Exception) -> str:
    message = str(error)
    known = [meaning for word, meaning in _REASONS.items() if word in message]
    if known:
        return known[0]
    if type(error).__name__ in _OF_QUERIES:
        return "the query cannot be run; try it in duckdb"
    return "the database file cannot be read or written; check the disk, and that it is whole"

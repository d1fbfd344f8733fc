"""PostgreSQL, by its ADBC driver.

What the driver returns as something that no table holds is cast in SQL. Transactions are REPEATABLE READ, and READ
ONLY where nothing is written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.kernels.compiled import load_ahead
from sfumato.table.databases.address import Address
from sfumato.table.databases.protocol import Relation, absent, grouped_sql, in_own_words, parted, quoted, refuse_types

# Exact decimal numbers that arrive as text.


_DIGITS = 38


def numbers_in(texts: pl.Series) -> pl.Series:
    """Return plain decimals as equal whole numbers or decimals, as texts where too narrow; ``NaN`` is missing.

    If one is infinite, all are floating-point numbers.
    """
    texts = _without_nan(texts)
    if texts.str.contains("Infinity", literal=True).any():
        return texts.cast(pl.Float64)
    behind = texts.str.extract(r"\.(\d+)$").str.len_bytes()
    scale = 0 if behind.null_count() == len(behind) else int(behind.to_numpy()[behind.is_not_null()].max())
    if scale > _DIGITS:
        return texts
    numbers = texts.cast(pl.Decimal(_DIGITS, scale) if scale else pl.Int64, strict=False)
    return numbers if numbers.null_count() == texts.null_count() else texts


def _without_nan(texts: pl.Series) -> pl.Series:
    return texts.set((texts == "NaN").fill_null(False), None)


texts_only = False
longest_name = 63
folds_case = False

_PLAIN = {"int2", "int4", "int8", "float4", "float8", "bool", "date", "timestamp", "time", "text", "varchar"}
_CASTS = {
    "numeric": "{}::text",
    "money": "{}::numeric::text",
    "oid": "{}::int8",
    "timestamptz": "{}::timestamp",
    "uuid": "{}::text",
    "macaddr": "{}::text",
    "macaddr8": "{}::text",
    "char": "{}::text",
}
"""Casts of types that the driver returns otherwise than a table holds them; times are those of the session's zone."""
_TEXTS = {"S", "E", "I"}
"""Categories of types that are texts: strings, enumerations, network addresses."""
_NUMBERS = {"numeric", "money"}

_TYPES = """
WITH RECURSIVE asked AS (
    SELECT {typed} FROM (SELECT 1) AS one LEFT JOIN (SELECT * FROM {relation} AS q LIMIT 0) AS q ON true
),
base AS (
    SELECT ord, t.oid, t.typname, t.typtype, t.typcategory, t.typbasetype
    FROM asked, unnest(ARRAY[{oids}]) WITH ORDINALITY AS a(oid, ord) JOIN pg_type AS t ON t.oid = a.oid
    UNION ALL
    SELECT ord, t.oid, t.typname, t.typtype, t.typcategory, t.typbasetype
    FROM base JOIN pg_type AS t ON t.oid = base.typbasetype WHERE base.typtype = 'd'
)
SELECT typname::text, typcategory::text FROM base WHERE typtype <> 'd' ORDER BY ord
"""
_TABLES = """
SELECT CASE WHEN short THEN relname::text ELSE nspname || '.' || relname END
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace,
    unnest(ARRAY[pg_table_is_visible(c.oid), false]) AS short
WHERE relkind IN ('r', 'v', 'm', 'f', 'p') AND nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
    AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
GROUP BY 1 ORDER BY 1
"""
_HELD = """
SELECT relname::text FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace
WHERE n.nspname = $1 AND relkind IN ('r', 'v', 'm', 'f', 'p', 'S') ORDER BY 1
"""

_STATES = {
    "28": "the database refused the user or the password; check both, PGUSER and PGPASSWORD, and the password file",
    "3D000": "there is no such database on the server; check its name",
    "42501": "the database user may not do this; have the right granted",
    "42601": "the query is not valid SQL; try it in psql",
    "42703": "the query names a column that is not there; try it in psql",
    "42": "the query cannot be run; try it in psql",
    "25006": "the query would change the database; a source is only read",
    "22": "the query fails on a value, or the database cannot keep one; nothing was changed",
    "53100": "the database server has no space left; nothing was changed",
    "53": "the database server lacks memory or connections; try again later",
    "57014": "the database stopped the query (a time limit, or somebody cancelled it)",
    "2BP01": "something else in the database depends on the release that is there; drop that first",
    "55P03": "somebody is using the release that is there; nothing was changed, try again later",
    "40": "somebody else changed the same tables at the same time; nothing was changed, try again",
    "42P06": "somebody else made the schema at the same time; nothing was changed",
    "42P07": "somebody else made the tables at the same time; nothing was changed",
}
"""SQLSTATE, or how it begins → what it means; the longest that fits counts."""
_LOST = "the connection to the database broke off; nothing was changed, try again when the server is there"

PATIENCE = 10
"""Seconds that a server has for its first answer."""
_CONNECTING = {
    "password": _STATES["28"],
    "no pg_hba.conf entry": "the database server does not let this user in from this machine",
    "role ": "there is no such database user; check PGUSER, the URL or the service",
    "database ": "there is no such database on the server; check its name",
    "definition of service": "the service file does not define this service; check PGSERVICE and PGSERVICEFILE",
    "URI": "the URL of the database cannot be read; write postgresql://host/database",
    "translate host name": "there is no such host; check the URL of the database",
    "timeout expired": "the database server does not answer in time; check host, port and network, or give it longer "
    "with connect_timeout in the URL, in seconds",
    "SSL": "the server and the sslmode that was asked for do not agree",
}
"""Words in what libpq says when it cannot connect → what it means."""


@dataclass(frozen=True, eq=False, repr=False)
class PostgresSession:
    """A transaction; see :class:`sfumato.table.databases.protocol.Session`."""

    cursor: Any

    def table(self, name: str) -> Relation:
        """Return a table that somebody names."""
        return Relation(quoted(*name.split(".", 1)), f"table {name}")

    def tables(self) -> list[str]:
        """Return the names of all tables."""
        return [name for (name,) in self._rows(_TABLES)]

    def names(self, relation: Relation) -> list[str]:
        """Return the names of all columns."""
        return list(self.cursor.adbc_execute_schema(f"SELECT * FROM {relation.sql} AS q").names)

    def read(self, relation: Relation, names: Sequence[str], *, as_written: bool = False) -> pl.DataFrame:
        """Read some columns."""
        types, casts = self._casts(relation, names)
        chosen = ", ".join(f"{cast} AS {quoted(name)}" for name, cast in casts.items())
        return self._fetched(f"SELECT {chosen} FROM {relation.sql} AS q", types)

    def batches(self, relation: Relation, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield some columns, as the server sends them."""
        types, casts = self._casts(relation, names)
        numbers = self._number_types(relation, [name for name, (kind, _) in types.items() if kind in _NUMBERS])
        chosen = ", ".join(f"{cast} AS {quoted(name)}" for name, cast in casts.items())
        self.cursor.execute(f"SELECT {chosen} FROM {relation.sql} AS q")
        for batch in self.cursor.fetch_record_batch():
            frame = pl.DataFrame(batch)
            _refuse_infinite(frame)
            if frame.height:
                yield frame.with_columns([_without_nan(frame[name]).cast(dtype) for name, dtype in numbers.items()])

    def rows(self, relation: Relation) -> int:
        """Return how many rows the server expects; nothing is run."""
        plan = "\n".join(line for (line,) in self._rows(f"EXPLAIN SELECT * FROM {relation.sql} AS q", copies=False))
        found = re.search(r"rows=(\d+)", plan)
        return int(found[1]) if found else 0

    def _number_types(self, relation: Relation, names: Sequence[str]) -> dict[str, pl.DataType]:
        """Return the type that exact numbers get: it follows from the extremes and the most digits behind the point."""
        found = {}
        for name in names:
            number = f"q.{quoted(name)}::numeric"
            extremes = f"min({number})::text, max({number})::text, max(scale({number}))::int"
            [(low, high, scale)] = self._rows(
                f"SELECT {extremes} FROM {relation.sql} AS q WHERE {number} <> 'NaN'::numeric"
            )
            longest = f"0.{'0' * scale}" if scale else None
            found[name] = numbers_in(pl.Series([low, high, longest], dtype=pl.String)).dtype
        return found

    def count(self, relation: Relation, names: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Return the distinct rows of some columns, and how many records have each."""
        types, casts = self._casts(relation, names)
        # By their bytes: other collations may take different texts for the same.
        bytewise = {name: f'{cast} COLLATE "C"' if _is_text(*types[name]) else cast for name, cast in casts.items()}
        return parted(self._fetched(grouped_sql(bytewise, f"{relation.sql} AS q"), types))

    def _casts(self, relation: Relation, names: Sequence[str]) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
        """Return the type of each column, and how it is read; raise InputError where no table can hold it."""
        types = dict(zip(names, self._types(relation, names), strict=True))
        casts = {name: _cast(name, *kind) for name, kind in types.items()}
        refuse_types([(name, types[name][0]) for name, cast in casts.items() if cast is None])
        return types, {name: cast for name, cast in casts.items() if cast is not None}

    def _fetched(self, sql: str, types: Mapping[str, tuple[str, str]]) -> pl.DataFrame:
        self.cursor.execute(sql)
        frame = pl.DataFrame(_announced(self.cursor.fetch_record_batch()))
        _refuse_infinite(frame)
        numbers = [numbers_in(frame[name]) for name, (kind, _) in types.items() if kind in _NUMBERS]
        return frame.with_columns(numbers)

    def held(self, schema: str) -> list[str] | None:
        """Return the names of everything in a schema."""
        if not self._rows("SELECT 1 FROM pg_namespace WHERE nspname = $1", schema):
            return None
        return [name for (name,) in self._rows(_HELD, schema)]

    def within(self, schema: str, table: str) -> Relation:
        """Return a table of a schema."""
        return Relation(quoted(schema, table), f"table {table}")

    def create_schema(self, schema: str) -> None:
        """Make a schema."""
        self.cursor.execute(f"CREATE SCHEMA {quoted(schema)}")

    def drop(self, schema: str, tables: Sequence[str]) -> None:
        """Take tables out of a schema."""
        for table in tables:
            self.cursor.execute(f"DROP TABLE {quoted(schema, table)}")

    def write(self, schema: str, table: str, frame: pl.DataFrame) -> None:
        """Make a table of a frame."""
        # In Arrow, categories are dictionaries, which the driver writes as texts without a copy of all of them.
        self.cursor.adbc_ingest(table, frame.to_arrow(), mode="create", db_schema_name=schema)

    def _types(self, relation: Relation, names: Sequence[str]) -> list[tuple[str, str]]:
        """Return name and category of the type of each column, of domains those of what they are made of."""
        numbered = range(len(names))
        typed = ", ".join(f"pg_typeof(q.{quoted(name)})::oid AS t{i}" for i, name in zip(numbered, names, strict=True))
        sql = _TYPES.format(typed=typed, relation=relation.sql, oids=", ".join(f"t{i}" for i in numbered))
        return [(name, category) for name, category in self._rows(sql)]

    def _rows(self, sql: str, *parameters: str, copies: bool = True) -> list[tuple[Any, ...]]:
        self.cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": str(copies).lower()})
        self.cursor.execute(sql, parameters or None)
        rows = list(self.cursor.fetchall())
        self.cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "true"})
        return rows


@contextmanager
def reading(address: Address) -> Iterator[PostgresSession]:
    """Open a database for reading alone, at one state."""
    with _connected(address) as connection, closing(connection.cursor()) as cursor, in_own_words(_explained):
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield PostgresSession(cursor)


@contextmanager
def writing(address: Address) -> Iterator[PostgresSession]:
    """Open a database for one transaction, which is committed when the block ends well."""
    with _connected(address) as connection, closing(connection.cursor()) as cursor, in_own_words(_explained):
        cursor.execute("SET LOCAL lock_timeout = '30s'")
        yield PostgresSession(cursor)
        connection.commit()


def end_interrupted(address: Address) -> None:
    """Do nothing: a server ends what its clients have left."""


@contextmanager
def _connected(address: Address) -> Iterator[Any]:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise absent("adbc-driver-postgresql") from None
    try:
        connection = dbapi.connect(_patient(address.for_driver))
    except Exception as error:
        raise InputError(_not_connected(str(error))) from None
    with closing(connection):
        yield connection


def _patient(target: str) -> str:
    """Add how long an answer is waited for, where neither the URL nor the environment says it."""
    if "connect_timeout" in target or os.environ.get("PGCONNECT_TIMEOUT"):
        return target
    return f"{target}{'&' if '?' in target else '?'}connect_timeout={PATIENCE}"


def _announced(batches: Any) -> Any:
    """Have kernels loaded while rows arrive, once a first batch shows that there are many."""
    import pyarrow as pa

    def passed_on() -> Iterator[Any]:
        for batch in batches:
            load_ahead(batch.num_rows)
            yield batch

    return pa.RecordBatchReader.from_batches(batches.schema, passed_on())


def _cast(name: str, kind: str, category: str) -> str | None:
    """Write a column so that the driver returns it as a table holds it; None where no table can."""
    column = f"q.{quoted(name)}"
    if kind in _PLAIN:
        return column
    return f"{column}::text" if category in _TEXTS else _CASTS[kind].format(column) if kind in _CASTS else None


def _is_text(kind: str, category: str) -> bool:
    """Tell whether a column is read as text, which collations compare."""
    return category in _TEXTS or _CASTS.get(kind, "").endswith("::text")


def _refuse_infinite(frame: pl.DataFrame) -> None:
    """Refuse dates and times that Python cannot hold; the driver returns them as the smallest and largest numbers."""
    days = 719_163, 2_932_896
    bounds = {pl.Date: (-days[0], days[1]), pl.Datetime: (-days[0] * 86_400_000_000, (days[1] + 1) * 86_400_000_000)}
    for column in frame:
        low, high = bounds.get(column.dtype.base_type(), (0, 0))
        if high and not column.to_physical().is_between(low, high).all():
            raise InputError(
                f"column {column.name!r} holds 'infinity', or dates outside the years 1 to 9999; replace it in a query"
            )


def _explained(error: Exception) -> str:
    state = getattr(error, "sqlstate", None) or ""
    known = [begin for begin in _STATES if state.startswith(begin)]
    if known:
        return _STATES[max(known, key=len)]
    if not state or state.startswith(("08", "57P")):
        return _LOST
    return f"the database refused this (SQLSTATE {state}); nothing was changed"


def _not_connected(message: str) -> str:
    known = [meaning for word, meaning in _CONNECTING.items() if word in message]
    return known[0] if known else "no database server answers; check host, port and whether it runs"

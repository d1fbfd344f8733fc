"""SQLite, by its ADBC driver.

Every value has a type of its own there, and the driver takes the first rows for all. So the values are looked at
before: columns with any text are read as text, and texts that are all ISO dates, as SQLite keeps dates, as dates.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import Any
from urllib.parse import quote

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, raise_all
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

texts_only = True
longest_name = 1_000_000
folds_case = True

_TYPES = ("null", "integer", "real", "text", "blob")
"""Types of values, the one last that decides about a column where there are several."""
_CASTS = {"text": "CAST({} AS TEXT)", "real": "CAST({} AS REAL)", "integer": "{}", "null": "CAST({} AS TEXT)"}
_FIRST = {"text": "''", "real": "0.0", "integer": "0", "null": "''"}
_READ = {"text": pl.String, "real": pl.Float64, "integer": pl.Int64, "null": pl.String}
_TIME = pl.Datetime("us")
OTHER_ROWS = "the database gave other rows than it had counted; nothing was published"
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
        with self._viewed(relation, names) as (_, types):
            empty = pl.DataFrame(schema={name: _READ[kind] for name, kind in types.items()})
            frame = pl.concat([empty, *self._streamed(types)])
            return frame if as_written else _as_declared(frame, self._declared(types, [frame]))

    def batches(self, relation: Relation, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield some columns, as they are computed; texts that are all dates so far are gone through before."""
        with self._viewed(relation, names) as (rows, types):
            declared = self._declared(types, self._streamed(types))
            for frame in self._streamed(types):
                rows -= frame.height
                yield _as_declared(frame, declared)
        raise_all(InputError, [OTHER_ROWS] if rows else [])

    def rows(self, relation: Relation) -> int:
        """Count the rows."""
        return int(self._rows(f"SELECT COUNT(*) FROM {relation.sql}")[0][0])

    def _streamed(self, types: Mapping[str, str]) -> Iterator[pl.DataFrame]:
        """Yield columns of the view by the types of their values."""
        # The driver takes the types of the first rows for all; the first of all has them, and is left out.
        typed = ", ".join(f"{_FIRST[kind]} AS {quoted(name)}" for name, kind in types.items())
        chosen = ", ".join(_CASTS[kind].format(quoted(name)) for name, kind in types.items())
        self.cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(ROWS)})
        # The driver goes on with the rows of a statement that it is given again, if not all of them were read.
        self._rows("SELECT 1")
        self.cursor.execute(f"SELECT {typed} UNION ALL SELECT {chosen} FROM temp.{_VIEW}")
        first = 1
        for batch in self.cursor.fetch_record_batch():
            frame = pl.DataFrame(batch)[first:]
            first = 0
            if frame.height:
                yield frame

    def count(self, relation: Relation, names: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Return the distinct rows of some columns, and how many records have each."""
        with self._viewed(relation, names) as (_, types):
            # By their bytes: other collations may take different texts for the same.
            casts = {name: f"{_CASTS[kind].format(quoted(name))} COLLATE BINARY" for name, kind in types.items()}
            self.cursor.execute(grouped_sql(casts, f"temp.{_VIEW}"))
            return parted(pl.DataFrame(self.cursor.fetch_record_batch()))

    @contextmanager
    def _viewed(self, relation: Relation, names: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
        """Make the view while the block goes on; give the number of rows, and the type by which each column is read."""
        self.cursor.execute(f"CREATE TEMP VIEW {_VIEW} AS SELECT * FROM {relation.sql}")
        rows, types = self._types(names)
        refuse_types([(name, "BLOB") for name, kind in types.items() if kind == "blob"])
        # The driver takes the types of the first batch for all.
        self.cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(max(1, rows))})
        yield rows, types
        self.cursor.execute(f"DROP VIEW temp.{_VIEW}")

    def _declared(self, types: Mapping[str, str], frames: Iterable[pl.DataFrame]) -> dict[str, pl.DataType]:
        """Return the types that SQLite does not have: booleans, where 0 and 1 are declared such, and dates."""
        # Of `frames` as many are looked at as decide.
        declared = {name: kind for _, name, kind, *_ in self._rows(f"PRAGMA temp.table_info({_VIEW})")}
        found: dict[str, pl.DataType] = {}
        for name, kind in types.items():
            if kind == "integer" and "BOOL" in declared[name].upper():
                [(both,)] = self._rows(
                    f"SELECT MIN({quoted(name)}) >= 0 AND MAX({quoted(name)}) <= 1 FROM temp.{_VIEW}"
                )
                found |= {name: pl.Boolean()} if both else {}
        dates = dict[str, pl.DataType | None].fromkeys(name for name, kind in types.items() if _READ[kind] == pl.String)
        for frame in frames:
            dates = {name: _dates_in(frame[name], before) for name, before in dates.items()}
            dates = {name: dtype for name, dtype in dates.items() if dtype != pl.String}
            if not dates:
                break
        return found | {name: dtype or _TIME for name, dtype in dates.items()}

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


def _as_declared(frame: pl.DataFrame, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Return columns as what SQLite has no type for."""
    turned = {
        name: frame[name].cast(dtype) if dtype == pl.Boolean else _read_dates(frame[name], dtype)
        for name, dtype in types.items()
    }
    return frame.with_columns(list(turned.values()))


def _dates_in(texts: pl.Series, before: pl.DataType | None) -> pl.DataType | None:
    """Tell whether texts are all ISO dates, or dates with times; `before`: what those before them are, None nothing."""
    distinct = texts.drop_nulls().unique()
    if not len(distinct):
        return before
    if not distinct.str.contains(r"^\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d+)?)?$").all():
        return pl.String()
    dtype = pl.Date() if distinct.str.len_bytes().max() == 10 and before != _TIME else _TIME
    return pl.String() if _read_dates(distinct, dtype).null_count() else dtype


def _read_dates(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    return texts.str.to_date("%F", strict=False) if dtype == pl.Date else _times_in(texts)


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

"""What every database can do, whichever it is, and its tables and queries as sources of columns."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from shlex import quote
from typing import Protocol, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, SfumatoError
from sfumato.hierarchy.tree import text_of
from sfumato.table.databases.address import Address, address_of
from sfumato.table.distinct import as_categories_where_few
from sfumato.whole_files import read_regular_text

# Frames as every database keeps them, so that what is read back is what was written.


def storable(frame: pl.DataFrame, *, texts_only: bool) -> pl.DataFrame:
    """Return a frame with plain numbers, texts, booleans, dates and times to the microsecond, or with texts alone.

    Numbers that 64 bits cannot distinguish, times of day and the like become texts. NaN is missing, and -0.0 becomes
    0.0.
    """
    return pl.DataFrame([_stored(column, texts_only) for column in frame])


def _stored(column: pl.Series, texts_only: bool) -> pl.Series:
    dtype = column.dtype
    if dtype.is_integer():
        whole = column.cast(pl.Int64, strict=False)
        return whole if whole.null_count() == column.null_count() else column.cast(pl.String)
    if dtype.is_float():
        # Convert by way of text, so that 0.1 stays 0.1.
        exact = column.cast(pl.String).cast(pl.Float64) if dtype == pl.Float32 else column.cast(pl.Float64)
        return exact.fill_nan(None) + 0.0
    if isinstance(dtype, pl.Decimal):
        number = column.cast(pl.Float64)
        return number if number.n_unique() == column.n_unique() else column.cast(pl.String)
    if dtype in (pl.Boolean, pl.Date, pl.Datetime) and not texts_only:
        return column.cast(pl.Datetime("us")) if dtype == pl.Datetime else column
    if isinstance(dtype, (pl.Enum, pl.Categorical)):
        return column
    return text_of(column)


def as_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a storable frame with texts in the place of categories."""
    return frame.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String))


@dataclass(frozen=True)
class Relation:
    """A table or a query."""

    sql: str  # what stands behind FROM
    label: str  # what messages call it


ROWS = 1 << 16
"""Rows that a database is asked for at a time, where it can be told."""


class Session(Protocol):
    """A database inside one transaction, which sees one state of it."""

    def table(self, name: str) -> Relation:
        """Return a table that somebody names, with its schema before a dot where it needs one."""
        ...

    def tables(self) -> list[str]:
        """Return the names of all tables and views that may be read, as :meth:`table` takes them."""
        ...

    def names(self, relation: Relation) -> list[str]:
        """Return the names of all columns, in order, as often as they are there."""
        ...

    def read(self, relation: Relation, names: Sequence[str], *, as_written: bool = False) -> pl.DataFrame:
        """Read some columns as numbers, texts, booleans, dates and times; raise InputError for any other type.

        What :meth:`write` has written comes back `as_written`: no text is taken for a date.
        """
        ...

    def batches(self, relation: Relation, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield what :meth:`read` returns, of the same types, a batch of rows at a time; no batch is empty."""
        ...

    def rows(self, relation: Relation) -> int:
        """Return how many rows there are, about, without reading them where that can be."""
        ...

    def count(self, relation: Relation, names: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Return the distinct rows of some columns as they were written, and how many records have each.

        The database groups them. Texts are different where any byte is, whatever order the database has for them.
        """
        ...

    def held(self, schema: str) -> list[str] | None:
        """Return the names of everything in a schema, or None where there is no such schema."""
        ...

    def within(self, schema: str, table: str) -> Relation:
        """Return a table of a schema."""
        ...

    def create_schema(self, schema: str) -> None:
        """Make a schema."""
        ...

    def drop(self, schema: str, tables: Sequence[str]) -> None:
        """Take tables out of a schema, which stays."""
        ...

    def write(self, schema: str, table: str, frame: pl.DataFrame) -> None:
        """Make a table of a frame that :func:`sfumato.table.databases.protocol.storable` has returned."""
        ...


class Connector(Protocol):
    """The module that knows a database."""

    texts_only: bool
    """Whether it has no booleans, dates and times, so that they are written as text."""
    longest_name: int
    """Bytes of a name; longer ones are cut off."""
    folds_case: bool
    """Whether columns whose names differ in case alone are the same."""

    def reading(self, address: Address) -> AbstractContextManager[Session]:
        """Open it for reading alone, at one state."""
        ...

    def writing(self, address: Address) -> AbstractContextManager[Session]:
        """Open it for writing; all is there when the block ends well, and nothing of it otherwise."""
        ...

    def end_interrupted(self, address: Address) -> None:
        """Have a database that is a file finish, or roll back, what a killed program has left, by its own means."""
        ...


def connector(address: Address) -> Connector:
    """Return the module that knows a database."""
    return cast(Connector, import_module(f"sfumato.table.databases.{address.kind}"))


def quoted(*names: str) -> str:
    """Write a name with its schema as SQL does."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def grouped_sql(casts: Mapping[str, str], relation: str, count: str = "count(*)") -> str:
    """Write the query that counts equal rows, the count last; `casts` says by name how each column is read."""
    chosen = ", ".join(f"{cast} AS {quoted(name)}" for name, cast in casts.items())
    places = ", ".join(str(place + 1) for place in range(len(casts)))
    return f"SELECT {chosen}, {count} AS {quoted(_unused(casts))} FROM {relation} GROUP BY {places}"


def parted(counted: pl.DataFrame) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Part what :func:`grouped_sql` asks for into rows and counts."""
    counts = counted.to_series(counted.width - 1).cast(pl.Int64).to_numpy()
    return counted[:, :-1], counts


def _unused(names: Mapping[str, str]) -> str:
    """Return a name that no column has, whether or not its case counts."""
    taken, name = {each.lower() for each in names}, "records"
    while name in taken:
        name += "_"
    return name


_DRIVERS = {"adbc_driver_manager", "_duckdb", "duckdb", "pyarrow", "polars"}


@contextmanager
def in_own_words(explain: Callable[[Exception], str]) -> Iterator[None]:
    """Replace every error of a driver by a sentence of our own."""
    try:
        yield
    except SfumatoError:
        raise
    except Exception as error:
        # Some streams end with errors of the system or of who reads them; all else is a fault of this program.
        if isinstance(error, OSError) or type(error).__module__.partition(".")[0] in _DRIVERS:
            raise InputError(explain(error)) from None
        raise


def absent(package: str) -> InputError:
    """Say that a driver is not installed."""
    return InputError(
        f"reading and writing databases needs the package {package}; install it with: pip install 'sfumato[databases]'"
    )


def refuse_types(found: Sequence[tuple[str, str]]) -> None:
    """Raise InputError when columns, of which name and type are given, are of types that no table holds."""
    if found:
        raise InputError(
            *(
                f"column {name!r} is of type {kind}, which cannot be published; convert it to numbers, text, dates or "
                "booleans in a query"
                for name, kind in found
            )
        )


_MOST_NAMED = 5


@dataclass(frozen=True, eq=False, repr=False)
class DatabaseSource:
    """Names of the columns of a table or query, and how to read them."""

    address: Address
    table: str | None
    query: str | None
    names: tuple[str, ...]

    is_text = False
    """Values have types of their own."""
    reads_roles_alone = True
    """Columns to which nobody gave a role are never read."""

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Read columns, and no others, at one state of the database; refused of types that cannot be published."""
        with connector(self.address).reading(self.address) as session:
            relation = _relation(session, self.table, self.query)
            frame = session.read(relation, names)
        _refuse_nothing(relation, frame.height)
        return as_categories_where_few(frame.get_columns())

    def batches(self, names: Sequence[str], texts: object = None) -> Iterator[list[pl.Series]]:
        """Read columns a batch at a time, in one transaction; see :class:`~sfumato.table.large.batches.BatchSource`."""
        height = 0
        with connector(self.address).reading(self.address) as session:
            relation = _relation(session, self.table, self.query)
            for frame in session.batches(relation, names):
                height += frame.height
                yield frame.get_columns()
        _refuse_nothing(relation, height)

    def rows(self) -> int:
        """Return how many records there are, about, without reading them where that can be."""
        with connector(self.address).reading(self.address) as session:
            return session.rows(_relation(session, self.table, self.query))


def _refuse_nothing(relation: Relation, height: int) -> None:
    if not height:
        raise InputError(f"the {relation.label} returns no records")


def database_source(url: str, *, table: str | None = None, query: str | PathLike[str] | None = None) -> DatabaseSource:
    """Open a table, which the URL may name, or a query, and read the names of its columns; a password is refused."""
    address = address_of(url)
    table = address.table or table
    if table and query is not None:
        raise PolicyError("table or query are both named; leave one of them out")
    sql = None if query is None else _sql_in(Path(query))
    with connector(address).reading(address) as session:
        table = _only_table(session) if table is None and sql is None else table
        names = _names(session, table, sql)
    return DatabaseSource(address, table, sql, tuple(names))


def _only_table(session: Session) -> str:
    """Return the name of the only table or view; say the names of several."""
    names = session.tables()
    # Most have two names, with their schema and without it.
    short = Counter(name.partition(".")[2] for name in names)
    twice = {name for name in names if short[name] == 1}
    found = [name for name in names if name in twice or not (short[name] or name.partition(".")[2] in twice)]
    if len(found) == 1:
        return found[0]
    ways = " or ".join(f"--set {quote(f'source.table={name}')}" for name in found[:_MOST_NAMED])
    there = f"the database has {len(found):,}: {ways}" if found else "the database has none that this user may read"
    raise PolicyError(f"table or query is missing; {there}")


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

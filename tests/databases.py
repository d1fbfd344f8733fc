"""Databases for tests: one of each kind, in which a test may do what it likes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

KINDS = ("postgresql", "sqlite", "duckdb")


@dataclass(frozen=True)
class Database:
    """A database, and how to run statements in it: one transaction, the rows of the last."""

    kind: str
    url: str
    run: Callable[..., list[tuple[Any, ...]]]


_CLEARED = """
DO $$ DECLARE one text; BEGIN
    FOR one IN SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema' LOOP
        EXECUTE format('DROP SCHEMA %I CASCADE', one);
    END LOOP;
END $$
"""


def on_server(server: Any) -> Database:
    """Return the empty database `test_db` of a server."""
    import adbc_driver_postgresql.dbapi as dbapi

    if not server.run("SELECT 1 FROM pg_database WHERE datname = 'test_db'"):
        with dbapi.connect(server.url(), autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE test_db")
    url = server.url(database="test_db")

    def run(*statements: str) -> list[tuple[Any, ...]]:
        with dbapi.connect(url) as connection, connection.cursor() as cursor:
            rows = []
            for statement in statements:
                cursor.execute(statement)
                rows = list(cursor.fetchall()) if cursor.description else []
            connection.commit()
            return rows

    # A database of its own for each test takes longer than most tests.
    run(_CLEARED, "CREATE SCHEMA public", "GRANT USAGE ON SCHEMA public TO public")
    return Database("postgresql", url, run)


def in_file(kind: str, path: Path) -> Database:
    """Make a database that is a file."""

    def run(*statements: str) -> list[tuple[Any, ...]]:
        connect: Any = sqlite3.connect if kind == "sqlite" else duckdb.connect
        with closing(connect(str(path))) as connection:
            rows = [connection.execute(statement).fetchall() for statement in statements]
            connection.commit() if kind == "sqlite" else None
            return rows[-1]

    return Database(kind, f"{kind}:///{path}", run)


def people(count: int = 400) -> pl.DataFrame:
    """Return records of every type that is published, a few of them incomplete."""
    rows = range(count)
    return pl.DataFrame(
        {
            "name": [f"geheim {i}" for i in rows],
            "age": [20 + i * 7 % 60 for i in rows],
            "zip": [f"0{1000 + i * 3 % 40}" if i % 29 else None for i in rows],
            "wage": [i * 37 % 100 / 4 for i in rows],
            "disease": [("flu", "cold", 'x"=1', "ångström")[i * 5 % 4] for i in rows],
            "paid": [i % 3 == 0 if i % 31 else None for i in rows],
            "never": pl.Series([None] * count, dtype=pl.String),
        }
    ).with_columns(born=pl.date(1950, 1, 1) + pl.duration(days=pl.int_range(pl.len()) * 11 % 9000))

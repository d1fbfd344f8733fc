"""The way to a Spark server, and to a table there."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sfumato.errors import InputError, PolicyError
from sfumato.table.sources.other_files import scheme_of
from sfumato.table.sources.protocol import CsvFormat, library
from sfumato.table.sources.spark import SparkSource, asking_spark, spark_source

REMOTE = "SPARK_REMOTE"
PORT = 15002
"""Where a Spark Connect server listens unless it is said otherwise."""
PATIENCE = 10.0
"""Seconds that a server has to answer."""
RETRIES = 5
"""Times that a request is repeated: some twenty seconds; the client would go on for ten minutes."""
NOTHING = "Spark finds no such table; check the path as the server sees it, or the name"

NO_SESSION = f"{REMOTE}: no session can be had there; check the address, and what the server asks for"
NO_LOCAL = (
    f"{REMOTE}: no Spark can be started on this machine. It needs the whole of Spark "
    f"(pip install 'pyspark[connect]') and Java. Install both, or name a server (sc://host:{PORT})"
)

_TEXTS = (".csv", ".tsv", ".txt", ".csv.gz", ".csv.zst", ".csv.bz2")
_TABLES = (".parquet",)


def client() -> Any:
    """Load the client of Spark Connect, and return its module ``pyspark.sql``; ``InputError`` when it is absent."""
    sql = library("pyspark.sql", extra="spark", what="tables on Spark")
    main = sys.modules["__main__"]
    if hasattr(main, "__file__"):
        import_module("pyspark.sql.connect")
        return sql
    # A program without a file, as under python -c, it takes for tests of its own, and ends it.
    main.__file__ = "-c"
    try:
        import_module("pyspark.sql.connect")
    finally:
        del main.__file__
    return sql


@contextmanager
def spark_session() -> Iterator[Any]:
    """Give the session that is active, or one of the server that ``SPARK_REMOTE`` names, which ends with the block.

    Raises ``PolicyError`` when no server is named. Raises ``InputError`` when the client is not installed, or nobody
    answers.
    """
    with asking_spark():
        session_of = client().SparkSession
        active = session_of.getActiveSession()
    if active is not None:
        yield active
        return
    address = os.environ.get(REMOTE, "")
    if not address:
        raise PolicyError(f"{REMOTE}: names no Spark server; set it to the address of one, such as sc://host:{PORT}")
    _refuse_silent(address)
    with asking_spark(NO_LOCAL if address.startswith("local") else NO_SESSION):
        session = session_of.builder.remote(address).getOrCreate()
        _lose_patience(session)
    try:
        yield session
    finally:
        # A server that is gone has nothing to end, and what was published stays so.
        with suppress(InputError), asking_spark():
            session.stop()


def spark_table(session: Any, name: str, layout: CsvFormat) -> SparkSource:
    """Open a table as Spark sees it: by path or address of CSV (UTF-8) or Parquet, or by a name that it knows."""
    is_text = name.lower().endswith(_TEXTS)
    path = str(Path(name).absolute()) if Path(name).exists() else name
    is_path = path != name or "/" in name or scheme_of(name) or name.lower().endswith(_TABLES)
    with asking_spark(NOTHING):
        if is_text:
            frame = _text(session, path, layout)
        else:
            frame = session.read.parquet(path) if is_path else session.table(name)
    return spark_source(frame, is_text=is_text, failed=NOTHING)


def spark_layout(reading: Mapping[str, Any]) -> CsvFormat:
    """Return how text is laid out, as the settings of :func:`sfumato.read_table` say it."""
    strip = reading["strip"]
    everywhere = strip if isinstance(strip, bool) else False
    settings = {name: reading[name] for name in ("separator", "encoding", "quote", "header", "columns")}
    return CsvFormat(**settings, strip=everywhere)


def _text(session: Any, path: str, layout: CsvFormat) -> Any:
    if layout.encoding.lower().replace("-", "").replace("_", "") not in ("utf8", "utf8sig"):
        raise InputError("Spark reads texts in UTF-8 here; convert the file, or write it as Parquet")
    if layout.quote is None:
        raise InputError("servers differ in how they read text without quotes; name the quote, or write it as Parquet")
    frame = session.read.csv(
        path,
        sep=layout.separator,
        header=layout.header,
        inferSchema=False,
        quote=layout.quote,
        escape=layout.quote,
        multiLine=True,
        mode="FAILFAST",
    )
    return frame if layout.header else frame.toDF(*(layout.columns or ()))


def _refuse_silent(address: str) -> None:
    """Refuse an address at which nobody listens: the client would try for minutes."""
    parts = urlsplit(address)
    if parts.scheme != "sc":
        return
    try:
        with socket.create_connection((parts.hostname or "", parts.port or PORT), PATIENCE):
            return
    except (OSError, ValueError):
        raise InputError(
            f"{REMOTE}: nobody answers at this address; start the server, or correct the address (sc://host:{PORT})"
        ) from None


def _lose_patience(session: Any) -> None:
    from pyspark.sql.connect.client.retries import DefaultPolicy

    session.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES)])

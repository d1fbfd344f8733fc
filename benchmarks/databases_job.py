"""A table out of PostgreSQL, anonymized, and back in one transaction, against reading and writing it with its driver.

The server is started for the job, on a socket in a temporary folder.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from benchmarks.census import QUASI_IDENTIFYING, SENSITIVE, census
from benchmarks.measuring import Cost, mean, median, run_child
from benchmarks.postgresql_server import Server, binaries, postgresql_server
from benchmarks.results import Figure, SkippedJob
from benchmarks.settings import Settings

NAME = "databases"
K = 10
BAR = 2
QUERIED = "id"
"""A tenth column, which is removed."""

_FLOOR = """
import sys
from adbc_driver_postgresql import dbapi
with dbapi.connect(sys.argv[1]) as connection, connection.cursor() as cursor:
    cursor.execute('DROP TABLE IF EXISTS floor')
    cursor.execute('SELECT * FROM people')
    rows = cursor.fetch_arrow_table()
    cursor.adbc_ingest('floor', rows, mode='create')
    connection.commit()
"""


def run(settings: Settings) -> Iterator[Figure]:
    """Measure on so many records of the census as are checked elsewhere."""
    if binaries() is None:
        raise SkippedJob("PostgreSQL is not installed; on Debian: apt-get install postgresql")
    with postgresql_server() as server:
        yield from compare(server, census(settings.checked_rows), settings.repeats)


def compare(server: Server, frame: pl.DataFrame, repeats: int) -> Iterator[Figure]:
    """Run floor, ours, floor, … : each of our runs is held against the mean of the floors before and after it.

    The first of our runs is not counted: kernels may be compiled in it.
    """
    fill(server, frame)
    with tempfile.TemporaryDirectory() as folder:
        policy = Path(folder) / "policy.toml"
        policy.write_text(_policy(), encoding="utf-8")
        _ours(server, policy)
        floors, runs = [_floor(server)], []
        for _ in range(repeats):
            runs.append(_ours(server, policy))
            floors.append(_floor(server))
    around = [mean(floors[place : place + 2]) for place in range(repeats)]
    ratio = median([Cost(ours.wall / floor.wall, 0) for ours, floor in zip(runs, around, strict=True)]).wall
    by_cpu = median([Cost(0, ours.cpu / floor.cpu) for ours, floor in zip(runs, around, strict=True)]).cpu
    detail = (
        f"{frame.height:,} records of {frame.width + 1} columns; median of {repeats}: {median(runs)} against "
        f"{median(around)}, the server's CPU included; by CPU {by_cpu:.1f} ×; peak "
        f"{max(run.peak for run in runs) / 1e9:.2f} GB"
    )
    what = "time of `sfumato anonymize` from and to PostgreSQL ÷ reading and writing with ADBC"
    yield Figure(NAME, what, ratio, f"{ratio:.1f} ×", BAR, True, detail)


def fill(server: Server, frame: pl.DataFrame) -> None:
    """Put a table `people` into the database, with a key."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server.url()) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("people", frame.with_row_index(QUERIED).cast({QUERIED: pl.Int64}), mode="create")
        connection.commit()


def _policy() -> str:
    quasi = ", ".join(f'"{name}"' for name in QUASI_IDENTIFYING)
    return f"""
models = [{{ name = "k-anonymity", k = {K} }}]
[source]
table = "people"
[columns]
identifying = ["{QUERIED}"]
quasi-identifying = [{quasi}]
sensitive = ["{SENSITIVE}"]
"""


def _ours(server: Server, policy: Path) -> Cost:
    words = ["--policy", str(policy), "--out", server.url(), "--schema", "release", "--overwrite", "--quiet"]
    return _with_server(server, ["-m", "sfumato.cli", "anonymize", server.url(), *words])


def _floor(server: Server) -> Cost:
    return _with_server(server, ["-c", _FLOOR, server.url()])


def _with_server(server: Server, arguments: Sequence[str]) -> Cost:
    """Measure a process, and what the server did for it."""
    before = server.cpu()
    cost = run_child(arguments)
    # What served the connection is counted when it has ended.
    time.sleep(0.5)
    return Cost(cost.wall, cost.cpu + server.cpu() - before, cost.peak)

"""Tables in databases that the disk engine reads, a PostgreSQL server's among them: the release of memory."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from databases import KINDS, Database, in_file, on_server
from golden.made_tables import town
from sfumato.engines import disk
from sfumato.policy.parts import People
from sfumato.table.databases import duckdb as duckdb_module
from sfumato.table.databases import sqlite as sqlite_module
from sfumato.table.databases.protocol import database_source
from sfumato.table.large import coding

SCHEMA = sf.Schema(
    quasi_identifying=["age", "wage", "zip", "born"], sensitive=["disease"], insensitive=["place"], others="drop"
)


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    kind = request.param
    if kind != "postgresql":
        return in_file(kind, tmp_path / "hospital.db")
    return on_server(request.getfixturevalue("postgresql"))


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (duckdb_module, sqlite_module):
        monkeypatch.setattr(module, "ROWS", 70)
    monkeypatch.setattr(coding, "HELD", 3000)
    monkeypatch.setattr(disk, "PART", 250)
    monkeypatch.setattr(disk, "MOST_RETRIED", 0)


def policy_of(schema: sf.Schema = SCHEMA) -> sf.Policy:
    made = sf.Policy.of(schema, [sf.KAnonymity(3)], sf.Mondrian(), sf.Recoding(), 0.0, 0, People())
    return sf.Policy.from_mapping({**made.to_mapping(), "source": {"table": "visits"}})


TYPES = {pl.Int64: "bigint", pl.Float64: "numeric(12, 2)", pl.String: "varchar(20)", pl.Date: "date"}


def stored(frame: pl.DataFrame, database: Database, **types: str) -> None:
    names = [f"{name} {types.get(name, TYPES[dtype.base_type()])}" for name, dtype in frame.schema.items()]
    words = [", ".join(map(literal, row)) for row in frame.iter_rows()]
    database.run(f"CREATE TABLE visits ({', '.join(names)})", f"INSERT INTO visits VALUES ({'), ('.join(words)})")


def literal(value: object) -> str:
    return "NULL" if value is None else str(value) if isinstance(value, int | float) else f"'{value}'"


def records(folder: Path) -> list[str]:
    """The records of a release, in order."""
    files = [folder / "data.csv"] if (folder / "data.csv").exists() else sorted((folder / "data").iterdir())
    return [line for file in files for line in file.read_text().splitlines()[1:]]


def test_a_database_gives_the_release_of_memory(database: Database, tmp_path: Path) -> None:
    stored(town(600), database)
    policy = policy_of()
    memory = sf.anonymize(sf.read_table(database.url, policy), policy, seed=7)
    memory.save(tmp_path / "memory")
    release = sf.anonymize_on_disk(database.url, policy, tmp_path / "disk", seed=7)
    assert records(tmp_path / "disk") == records(tmp_path / "memory")
    assert len(list((tmp_path / "disk" / "data").iterdir())) == 3
    assert release.report.losses == memory.report.losses
    assert sf.verify(tmp_path / "disk").ok
    assert not list(tmp_path.glob(".*spill*"))


def test_a_database_gives_the_records_of_the_same_table_in_parquet(database: Database, tmp_path: Path) -> None:
    frame = town(600).drop("born", "wage")  # which SQLite keeps as it likes
    stored(frame, database)
    frame.write_parquet(tmp_path / "visits.parquet")
    policy = policy_of(sf.Schema(quasi_identifying=["age", "zip", "job"], sensitive=["disease"], others="drop"))
    file = sf.Policy.from_mapping({name: value for name, value in policy.to_mapping().items() if name != "source"})
    sf.anonymize_on_disk(database.url, policy, tmp_path / "of database")
    sf.anonymize_on_disk(tmp_path / "visits.parquet", file, tmp_path / "of file")
    assert Counter(records(tmp_path / "of database")) == Counter(records(tmp_path / "of file"))


def test_batches_are_what_is_read_at_once(database: Database) -> None:
    """Types that follow from all values are known before the first batch comes."""
    rows = range(300)
    frame = pl.DataFrame(
        {
            "whole": list(rows),
            "late": [None if row < 200 else row for row in rows],
            "cents": [row / 4 if row > 150 else float(row) for row in rows],
            "day": [f"20{row % 20 + 10}-01-{row % 28 + 1:02}" for row in rows],
            "moment": [f"2020-01-01{f' 10:00:{row % 60:02}' if row > 210 else ''}" for row in rows],
            "nearly": [f"2020-01-{row % 28 + 1:02}" if row < 280 else "later" for row in rows],
            "said": [row % 2 if row % 3 else None for row in rows],
            "never": pl.Series([None] * 300, dtype=pl.String),
        }
    )
    stored(frame, database, said="int" if database.kind == "postgresql" else "boolean")
    source = database_source(database.url, table="visits")
    names = frame.columns
    pieces = [pl.DataFrame(columns) for columns in source.batches(names)]
    categories, found = (pl.Categorical, pl.Enum), pl.concat(pieces)
    for column in source.read(names):
        plain = column.cast(pl.String) if isinstance(column.dtype, categories) else column
        assert found[column.name].equals(plain, check_dtypes=True)
    assert len(pieces) > 3 or database.kind != "sqlite"


@pytest.mark.parametrize(
    "values",
    [
        ["1", "2.50", "NaN"],
        ["1", "2"],
        [str(2**63), "1"],
        ["Infinity", "1.5"],
        ["NaN"],
        ["0.1", None, "1e5"],
        ["7." + "1" * 30, "9" * 20],
    ],
)
def test_exact_numbers_get_the_type_that_they_have_together(values: list[str], postgresql: Any) -> None:
    database = on_server(postgresql)
    cells = ", ".join(f"({literal(value)}::numeric)" for value in values)
    database.run("CREATE TABLE visits (pay numeric)", f"INSERT INTO visits VALUES {cells}")
    source = database_source(database.url, table="visits")
    [whole], [batch] = source.read(["pay"]), [columns[0] for columns in source.batches(["pay"])]
    plain = whole.cast(pl.String) if isinstance(whole.dtype, (pl.Categorical, pl.Enum)) else whole
    assert batch.dtype == plain.dtype
    assert batch.to_list() == plain.to_list()


def test_what_a_batch_cannot_hold_is_refused_as_by_memory(postgresql: Any, tmp_path: Path) -> None:
    database = on_server(postgresql)
    stored(town(60), database)
    database.run("INSERT INTO visits (age, born) VALUES (3, 'infinity')")
    said = []
    for way in (sf.read_table, lambda url, policy: sf.anonymize_on_disk(url, policy, tmp_path / "out")):
        with pytest.raises(sf.InputError) as caught:
            way(database.url, policy_of())
        said.append(caught.value.problems)
    assert said[0] == said[1]
    assert "visits: column 'born' holds 'infinity'" in said[0][0]
    database.run("DELETE FROM visits")
    with pytest.raises(sf.InputError, match="the table visits returns no records"):
        sf.anonymize_on_disk(database.url, policy_of(), tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_server_tells_of_many_rows_without_reading_them(postgresql: Any) -> None:
    database = on_server(postgresql)
    database.run("CREATE TABLE visits AS SELECT i AS age FROM generate_series(1, 20000) AS i", "ANALYZE visits")
    assert database_source(database.url, table="visits").rows() == 20_000


@pytest.mark.slow
def test_the_client_of_a_server_holds_batches_alone(postgresql: Any) -> None:
    """A million records of 200 bytes come through a client that takes less than a third of them."""
    database = on_server(postgresql)
    made = "repeat(md5(i::text), 6) AS note FROM generate_series(1, 1000000) AS i"
    database.run(f"CREATE TABLE visits AS SELECT i AS age, {made}")
    program = f"""if True:
        import resource
        from sfumato.table.databases.protocol import database_source
        source = database_source({database.url!r}, table="visits")
        batches = source.batches(["age", "note"])
        rows = len(next(batches)[0])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rows += sum(len(columns[0]) for columns in batches)
        print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    rows, more = map(int, done.stdout.split())
    assert rows == 1_000_000
    assert more < 64 << 10

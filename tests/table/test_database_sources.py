"""Tables out of databases: real ones, a PostgreSQL server among them."""

from __future__ import annotations

import socket
import threading
import time
from datetime import date
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest

import sfumato as sf
from databases import KINDS, Database, in_file, on_server
from sfumato.release.anonymize import population_of
from sfumato.table.databases.address import address_of, is_database, is_database_path
from sfumato.table.databases.duckdb import DuckdbSession
from sfumato.table.databases.postgresql import PostgresSession, numbers_in
from sfumato.table.databases.sqlite import SqliteSession

SECRET = "geheim"
SESSIONS: dict[str, Any] = {"postgresql": PostgresSession, "sqlite": SqliteSession, "duckdb": DuckdbSession}
VISITS = (
    "CREATE TABLE visits (name varchar(20), age int, zip varchar(5), disease varchar(20), note text)",
    *(f"INSERT INTO visits VALUES ('{SECRET}{i}', {20 + i}, '0{1000 + i}', '{SECRET}', '{SECRET}')" for i in range(5)),
)
ROLES = sf.Schema(quasi_identifying=["age", "zip"], sensitive=["disease"], others="drop")


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    kind = request.param
    if kind != "postgresql":
        return in_file(kind, tmp_path / "hospital.db")
    return on_server(request.getfixturevalue("postgresql"))


@pytest.fixture
def clinic(postgresql: Any) -> Database:
    return on_server(postgresql)


def refused(database: Database | str, schema: sf.Schema = ROLES, **where: Any) -> str:
    with pytest.raises(sf.SfumatoError) as error:
        sf.read_table(database if isinstance(database, str) else database.url, schema, **where)
    assert SECRET not in str(error.value)
    assert error.value.__cause__ is None
    return str(error.value)


def queried(folder: Path, sql: str) -> Path:
    path = folder / "query.sql"
    path.write_text(sql)
    return path


def test_a_policy_may_name_a_population_in_a_database(database: Database, tmp_path: Path) -> None:
    database.run(*VISITS)
    url = f"{database.url}{'&' if '?' in database.url else '?'}table=visits"
    file = tmp_path / "policy.toml"
    models = '[[models]]\nname = "delta-presence"\ndelta-min = 0.0\ndelta-max = 1.0\n'
    file.write_text(f'population = "{url}"\n[columns]\nquasi-identifying = ["age"]\nothers = "drop"\n{models}')
    policy = sf.Policy.from_file(file)
    people = sf.read_table(database.url, ROLES, table="visits")
    assert policy.population == url
    found = population_of(people, policy)
    assert found is not None
    assert found.height == people.height


def test_a_table_is_read_with_the_types_that_it_has(database: Database) -> None:
    database.run(*VISITS)
    table = sf.read_table(database.url, ROLES, table="visits")
    assert table.frame["age"].to_list() == [20, 21, 22, 23, 24]
    assert table.frame["zip"].to_list() == ["01000", "01001", "01002", "01003", "01004"]
    assert table.source == "visits"


def test_a_query_from_a_file_ends_with_what_it_likes(database: Database, tmp_path: Path) -> None:
    database.run(*VISITS)
    for end in ("", ";", " ; \n", " -- the old ones"):
        query = queried(tmp_path, f"SELECT age, zip, disease FROM visits WHERE age > 22{end}")
        assert sf.read_table(database.url, ROLES, query=query).height == 2


def test_columns_without_a_role_are_never_read(database: Database) -> None:
    database.run(*VISITS)
    read: list[list[str]] = []
    kind = SESSIONS[database.kind]
    original = kind.read

    def watched(self: Any, relation: Any, names: Any, **settings: Any) -> pl.DataFrame:
        read.append(list(names))
        return original(self, relation, names, **settings)

    with patch.object(kind, "read", watched):
        sf.read_table(
            database.url, sf.Schema(identifying=["name"], quasi_identifying=["age"], others="drop"), table="visits"
        )
    assert read == [["age", "name"]]


def test_what_cannot_be_read_is_refused_in_one_sentence(database: Database, tmp_path: Path) -> None:
    database.run(*VISITS)
    assert "'visits'" in refused(database, table="vsits")
    assert sf.read_table(database.url, ROLES).height == 5
    database.run("CREATE TABLE wards (ward text)")
    assert "--set source.table=visits or --set source.table=wards" in refused(database)
    twice = queried(tmp_path, "SELECT age, age, zip, disease FROM visits")
    assert "several columns have the same name: 'age', 'age'" in refused(database, query=twice)
    nothing = queried(tmp_path, "SELECT age, zip, disease FROM visits WHERE age > 100")
    assert "the query returns no records" in refused(database, query=nothing)
    database.run("DELETE FROM visits")
    assert "the table visits returns no records" in refused(database, table="visits")
    assert "query" in refused(database, query=queried(tmp_path, f"SELECT '{SECRET}' FROM nowhere"))
    assert "is empty" in refused(database, query=queried(tmp_path, " ;"))
    assert "cannot be read" in refused(database, query=tmp_path / "none.sql")
    assert "missing column(s): 'zip'" in refused(database, query=queried(tmp_path, "SELECT 1 AS age, 'x' AS disease"))


def test_a_query_changes_nothing(database: Database, tmp_path: Path) -> None:
    database.run(*VISITS)
    for sql in (
        "DELETE FROM visits",
        "DROP TABLE visits",
        "SELECT 1) q; DROP TABLE visits; --",
        "SELECT 1; DROP TABLE visits",
    ):
        refused(database, query=queried(tmp_path, sql))
        assert database.run("SELECT COUNT(*) FROM visits") == [(5,)]


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_query_reaches_no_other_file(kind: str, tmp_path: Path) -> None:
    database = in_file(kind, tmp_path / "hospital.db")
    database.run(*VISITS)
    in_file(kind, tmp_path / "other.db").run(f"CREATE TABLE t AS SELECT '{SECRET}' AS age, 1 AS zip, 2 AS disease")
    other = tmp_path / "other.csv"
    other.write_text(f"age,zip,disease\n{SECRET},2,3\n")
    frame = pl.DataFrame({"age": [1], "zip": [2], "disease": [3]})
    before = sorted(tmp_path.iterdir())
    for sql in (
        f"SELECT * FROM '{other}'",
        f"SELECT * FROM read_csv('{other}')",
        f"SELECT content AS age, filename AS zip, size AS disease FROM read_text('{other}')",
        f"SELECT file AS age, 1 AS zip, 2 AS disease FROM glob('{tmp_path}/*')",
        f"SELECT * FROM query('FROM read_csv(''{other}'')')",
        f"SELECT readfile('{other}') AS age, 1 AS zip, 2 AS disease",
        f"SELECT load_extension('{tmp_path}/none.so') AS age, 1 AS zip, 2 AS disease",
        f"ATTACH '{tmp_path}/other.db' AS other",
        f"ATTACH '{tmp_path}/new.db' AS other",
        f"ATTACH 'file:{tmp_path}/newer.db?mode=rwc' AS other",
        f"ATTACH '{tmp_path}/other.db' AS other; SELECT * FROM other.t",
        f"VACUUM INTO '{tmp_path}/copy.db'",
        f"COPY visits TO '{tmp_path}/copy.csv'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM frame",
    ):
        refused(database, query=queried(tmp_path, sql))
        (tmp_path / "query.sql").unlink()
        assert sorted(tmp_path.iterdir()) == before, sql
    assert frame.height
    query = queried(tmp_path, "WITH old AS (SELECT * FROM visits WHERE age > 22) SELECT age, zip, disease FROM old")
    assert sf.read_table(database.url, ROLES, query=query).height == 2


def test_a_view_of_duckdb_that_reads_a_file_is_refused_in_words(tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(f"age,zip,disease\n{SECRET},2,3\n")
    database = in_file("duckdb", tmp_path / "hospital.db")
    database.run(f"CREATE VIEW visits AS FROM read_csv('{other}')")
    assert "reads a file outside of the database" in refused(database, table="visits")


def test_the_server_lets_its_user_read_files_only_with_that_right(clinic: Database, tmp_path: Path) -> None:
    clinic.run(*VISITS, "DROP ROLE IF EXISTS reader", "CREATE ROLE reader LOGIN", "GRANT SELECT ON visits TO reader")
    reader = Database(clinic.kind, f"{clinic.url}&user=reader", clinic.run)
    sql = "SELECT pg_read_file('PG_VERSION') AS age, 'a' AS zip, 'b' AS disease"
    assert "may not do this" in refused(reader, query=queried(tmp_path, sql))
    assert "not valid SQL" in refused(reader, query=queried(tmp_path, "COPY visits TO '/tmp/visits.csv'"))


def test_numbers_dates_and_texts_of_postgresql(clinic: Database) -> None:
    clinic.run(
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE DOMAIN code AS varchar(5)",
        "CREATE DOMAIN inner_code AS code",
        """CREATE TABLE t (small int2, large int8, pay numeric(12,2), free numeric, whole numeric, coin money,
        single float4,
        mood mood, code inner_code, fixed char(6), id uuid, address inet, zoned timestamptz, stamp timestamp, day date,
        yes bool)""",
        *(
            f"""INSERT INTO t VALUES (1, 9007199254740993, {pay}, 'NaN', 12345678901, 2.50, 0.1, 'ok', '01234', 'ab',
            'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '10.0.0.1', '2000-01-02', '2000-01-02', '2000-01-02', true)"""
            for pay in (1.10, 1.11)
        ),
    )
    names = clinic.run("SELECT column_name::text FROM information_schema.columns WHERE table_name = 't'")
    with patch.dict("os.environ", PGTZ="Pacific/Auckland"):
        clinic.run("UPDATE t SET zoned = '2000-01-02'")
        table = sf.read_table(clinic.url, sf.Schema(quasi_identifying=[name for (name,) in names]), table="t")
    day = date(2000, 1, 2)
    assert table.frame.rows(named=True)[0] == {
        "small": 1, "large": 9007199254740993, "pay": 1.10, "free": None, "whole": 12345678901, "coin": 2.5,
        "single": 0.1, "mood": "ok", "code": "01234", "fixed": "ab", "id": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        "address": "10.0.0.1/32", "zoned": day, "stamp": day, "day": day, "yes": True,
    }  # fmt: skip
    assert table.frame["pay"].to_list() == [1.10, 1.11]


@pytest.mark.parametrize(
    "kind", ["jsonb", "int[]", "interval", "bytea", "int4range", "point", "timetz", "xml", "bit(3)"]
)
def test_types_that_cannot_be_published_are_refused_by_name(clinic: Database, kind: str) -> None:
    clinic.run(f"CREATE TABLE t (age int, odd {kind})", "INSERT INTO t VALUES (1, NULL)")
    said = refused(clinic, sf.Schema(quasi_identifying=["age", "odd"]), table="t")
    assert said.startswith("t: column 'odd' is of type ")
    assert sf.read_table(clinic.url, sf.Schema(quasi_identifying=["age"], others="drop"), table="t").height == 1


def test_times_are_read_and_infinite_dates_are_refused(clinic: Database) -> None:
    clinic.run("CREATE TABLE t (day date, stamp timestamp)", "INSERT INTO t VALUES ('infinity', '2000-01-02 10:00')")
    assert "'infinity'" in refused(clinic, sf.Schema(quasi_identifying=["day"], others="drop"), table="t")
    stamped = sf.Schema(quasi_identifying=["stamp"], others="drop")
    read = sf.read_table(clinic.url, stamped, table="t")
    assert "of timestamps the day was read" in read.remarks[0]
    assert read.frame["stamp"].to_list() == [date(2000, 1, 2)]


def test_schemas_and_tables_that_may_not_be_read(clinic: Database) -> None:
    clinic.run("CREATE SCHEMA clinic", "CREATE TABLE clinic.visits (age int)", "INSERT INTO clinic.visits VALUES (1)")
    age = sf.Schema(quasi_identifying=["age"])
    assert sf.read_table(clinic.url, age, table="clinic.visits").height == 1
    assert "the nearest are 'clinic.visits'" in refused(clinic, age, table="visits")
    assert "the nearest are 'clinic.visits'" in refused(clinic, age, table="Clinic.Visit")
    stranger = clinic.url.replace("steward@", "guarded@")
    with patch.dict("os.environ", PGPASSWORD="open sesame"):
        assert "there is none at all" in refused(stranger, age, table="clinic.visits")


def test_no_server_no_database_no_user_no_password(clinic: Database, postgresql: Any, tmp_path: Path) -> None:
    assert "no database server answers" in refused(f"postgresql:///db?host={tmp_path}", table="t")
    assert "no such database" in refused(postgresql.url(database="nowhere"), table="t")
    assert "no such database user" in refused(postgresql.url(user="nobody"), table="t")
    assert "service file does not define" in refused("postgresql:///?service=nowhere", table="t")
    with patch.dict("os.environ", PGPASSWORD=SECRET):
        said = refused(postgresql.url(user="guarded"), table="t")
    assert "refused the user or the password" in said
    with patch.dict("os.environ", PGPASSWORD="open sesame"):
        assert "no table 't'" in refused(postgresql.url(user="guarded"), table="t")


def test_a_server_that_never_answers_is_said() -> None:
    # It takes the connection and says nothing.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://steward@127.0.0.1:{silent.getsockname()[1]}/db?connect_timeout=2"
        with pytest.raises(sf.SfumatoError, match="does not answer in time"):
            sf.read_table(url, ROLES, table="t")


def test_a_service_file_and_a_password_file_are_read(clinic: Database, postgresql: Any, tmp_path: Path) -> None:
    (tmp_path / "services").write_text(f"[clinic]\nhost={postgresql.folder}\nuser=guarded\ndbname=postgres\n")
    secret = tmp_path / "pgpass"
    secret.write_text("*:*:*:guarded:open sesame\n")
    secret.chmod(0o600)
    with patch.dict("os.environ", PGSERVICEFILE=str(tmp_path / "services"), PGPASSFILE=str(secret)):
        query = queried(tmp_path, "SELECT 1 AS age UNION SELECT 2")
        schema = sf.Schema(quasi_identifying=["age"])
        assert sf.read_table("postgresql:///?service=clinic", schema, query=query).height == 2


def test_the_server_goes_away_in_the_middle(request: pytest.FixtureRequest, postgresql: Any, tmp_path: Path) -> None:
    from benchmarks.postgresql_server import postgresql_server

    slow = queried(
        tmp_path,
        "SELECT CASE g WHEN 300000 THEN pg_sleep(60)::text ELSE 'x' END AS age FROM generate_series(1, 300001) AS g",
    )
    with postgresql_server() as server:

        def kill() -> None:
            while not server.run("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"):
                time.sleep(0.05)
            server.kill()

        killer = threading.Thread(target=kill)
        killer.start()
        said = refused(server.url(), sf.Schema(quasi_identifying=["age"]), query=slow)
        killer.join()
    assert "the connection to the database broke off" in said


def test_sqlite_values_decide_and_not_the_first_rows(tmp_path: Path) -> None:
    database = in_file("sqlite", tmp_path / "s.db")
    rows = [f"INSERT INTO t VALUES (NULL, {i}, {i}, {i % 2}, '2000-01-{i % 9 + 1:02}')" for i in range(1500)]
    database.run(
        "CREATE TABLE t (late TEXT, mixed, number, yes BOOLEAN, day DATE)",
        *rows,
        "INSERT INTO t VALUES ('geheim', 'text', 2.5, 1, '2000-02-01')",
    )
    names = ["late", "mixed", "number", "yes", "day"]
    assert "a number in all records but 1" in refused(database, sf.Schema(quasi_identifying=names), table="t")
    kinds = {name: sf.Attribute(kind="categorical") if name == "mixed" else None for name in names}
    table = sf.read_table(database.url, sf.Schema(quasi_identifying=kinds), table="t")
    assert {name: str(kind) for name, kind in table.kinds.items()} == {
        "late": "categorical", "mixed": "categorical", "number": "numeric", "yes": "boolean", "day": "date",
    }  # fmt: skip
    assert table.frame["late"].null_count() == 1500
    database.run("INSERT INTO t VALUES (x'00', 1, 1, 1, '2000-02-01')")
    assert "column 'late' is of type BLOB" in refused(database, sf.Schema(quasi_identifying=names), table="t")


def test_types_of_duckdb(tmp_path: Path) -> None:
    database = in_file("duckdb", tmp_path / "d.db")
    database.run(
        """CREATE TABLE t AS SELECT 1::HUGEINT AS huge, 1.50::DECIMAL(5, 2) AS pay, 'a'::ENUM('a', 'b') AS letter,
        TIMESTAMPTZ '2000-01-02' AS zoned, [1] AS listed"""
    )
    names = ["huge", "pay", "letter", "zoned"]
    table = sf.read_table(database.url, sf.Schema(quasi_identifying=names, others="drop"), table="t")
    assert table.frame.row(0) == (1, 1.5, "a", date(2000, 1, 2))
    assert "is of type INTEGER[]" in refused(
        database, sf.Schema(quasi_identifying=["listed"], others="drop"), table="t"
    )


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_files_that_are_no_database(tmp_path: Path, kind: str) -> None:
    assert "no such database file" in refused(f"{kind}:///{tmp_path}/none.db", table="t")
    (tmp_path / "junk.db").write_text(f"{SECRET}\n" * 2000)
    assert "the file is no " in refused(f"{kind}:///{tmp_path}/junk.db", table="t")
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:geheim@host/db",
        "postgresql://me:@host/db",
        "POSTGRES://me:geheim@host/db",
        "postgresql://host/db?password=geheim",
        "postgresql://host/db?sslmode=require&sslpassword=geheim",
    ],
)
def test_a_password_in_a_url_is_refused_and_not_repeated(url: str) -> None:
    assert "there is a password in the URL" in refused(url, table="t")
    with pytest.raises(sf.PolicyError) as error:
        address_of(url)
    assert "me" not in str(error.value).split()


@pytest.mark.parametrize("url", ["sqlite://s.db", "duckdb:///", "sqlite:///s.db?mode=rw", "postgresql://[::1/db"])
def test_urls_that_cannot_be_read(url: str) -> None:
    assert "the URL of the database cannot be read" in refused(url, table="t")


def test_what_is_shown_of_an_address() -> None:
    address = address_of("postgresql://me@host:5433/db?sslmode=require&table=clinic.visits&schema=r")
    assert (address.target, address.shown) == (
        "postgresql://me@host:5433/db?sslmode=require",
        "postgresql://host:5433/db",
    )
    assert (address.table, address.schema) == ("clinic.visits", "r")
    assert "me" not in repr(address)
    assert address_of("sqlite:////tmp/a%20b.db").target == "/tmp/a b.db"
    assert is_database("sqlite:///x")
    assert not is_database("sqlite.csv")
    assert is_database_path(Path("postgresql://host/db"))
    assert not is_database_path(Path("folder/postgresql"))


def test_a_file_has_no_table_and_a_policy_may_name_one(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("age\n1\n2\n")
    assert "table is only for databases" in refused(str(file), sf.Schema(quasi_identifying=["age"]), table="t")
    said = {"models": [{"name": "k-anonymity", "k": 1}], "columns": {"quasi-identifying": ["age"]}}
    policy = sf.Policy.from_mapping({**said, "source": {"table": "visits"}})
    assert policy.to_mapping()["source"]["table"] == "visits"
    with pytest.raises(sf.InputError, match="table is only for databases"):
        sf.read_table(file, policy)
    assert sf.read_table(file, policy.beside(file)).height == 2
    assert "visits" not in policy.published()
    with pytest.raises(sf.PolicyError, match="query: is named beside a table"):
        sf.Policy.from_mapping({**said, "source": {"table": "t", "query": "q.sql"}})


def test_the_query_of_a_policy_lies_beside_its_file(tmp_path: Path) -> None:
    database = in_file("sqlite", tmp_path / "s.db")
    database.run(*VISITS)
    queried(tmp_path, "SELECT age FROM visits")
    file = tmp_path / "policy.toml"
    file.write_text(
        'models = [{name = "k-anonymity", k = 1}]\nsource.query = "query.sql"\ncolumns.quasi-identifying = ["age"]\n'
    )
    policy = sf.Policy.from_file(file)
    assert sf.read_table(database.url, policy).height == 5
    (tmp_path / "sub").mkdir()
    policy.to_file(tmp_path / "sub" / "copy.toml")
    assert sf.Policy.from_file(tmp_path / "sub" / "copy.toml").source.query == str(tmp_path / "sub" / "../query.sql")


@pytest.mark.parametrize("kind", KINDS)
def test_an_absent_driver_is_named(kind: str, tmp_path: Path) -> None:
    (tmp_path / "x.db").touch()
    absent = dict.fromkeys(("adbc_driver_postgresql", "adbc_driver_sqlite", "duckdb"))
    with patch.dict("sys.modules", absent):
        assert "pip install 'sfumato[databases]'" in refused(f"{kind}:///{tmp_path}/x.db", table="t")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "-2", None], pl.Series([1, -2, None], dtype=pl.Int64)),
        (["9223372036854775808"], pl.Series(["9223372036854775808"])),
        (["1.5", "NaN"], pl.Series([1.5, None])),
        (["Infinity", "1.5"], pl.Series([float("inf"), 1.5])),
        (["0." + "1" * 50], pl.Series(["0." + "1" * 50])),
        ([None], pl.Series([None], dtype=pl.Int64)),
    ],
)
def test_numbers_as_text(texts: list[str | None], expected: pl.Series) -> None:
    found = numbers_in(pl.Series(texts, dtype=pl.String))
    assert (found.cast(pl.Float64) if found.dtype.is_decimal() else found).to_list() == expected.to_list()

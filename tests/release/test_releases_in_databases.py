"""Releases in databases: written in one transaction, recounted by the same judge as a folder."""

from __future__ import annotations

import json
import random
from itertools import permutations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from databases import KINDS, Database, in_file, on_server, people
from sfumato.cli.app import app
from sfumato.models.protocol import Outcome
from sfumato.release.stored import DESCRIPTION, content_of
from sfumato.table.databases.postgresql import PostgresSession
from sfumato.table.databases.protocol import storable

SECRET = "geheim"
SCHEMA = sf.Schema(
    identifying=["name"],
    quasi_identifying=["age", "zip", "born"],
    sensitive=["disease", "wage"],
    insensitive=["paid", "never"],
)


@pytest.fixture(scope="module")
def release() -> sf.Release:
    return sf.anonymize(sf.read_table(people(), SCHEMA), [sf.KAnonymity(5), sf.DistinctLDiversity(2)], seed=1)


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param != "postgresql":
        return in_file(request.param, tmp_path / "releases.db")
    return on_server(request.getfixturevalue("postgresql"))


@pytest.fixture
def served(postgresql: Any) -> Database:
    return on_server(postgresql)


def table(database: Database, name: str, schema: str = "r") -> str:
    return f"{schema}_{name}" if database.kind == "sqlite" else f"{schema}.{name}"


def refused(work: Any) -> str:
    with pytest.raises(sf.SfumatoError) as error:
        work()
    assert SECRET not in str(error.value)
    return str(error.value)


def judged(verification: Any) -> dict[str, tuple[Any, ...]]:
    """What was recounted of the promises, whatever holds the tables."""
    kept = [
        one for one in verification.checks if "was written" not in one.promise and "were written" not in one.promise
    ]
    return {one.promise: (one.outcome, one.achieved) for one in kept}


def in_schema(database: Database, schema: str = "r") -> str:
    return f"{database.url}{'&' if '?' in database.url else '?'}schema={schema}"


def test_what_is_measured_does_not_depend_on_where_a_release_lies(
    release: sf.Release, database: Database, tmp_path: Path
) -> None:
    original = sf.read_table(people(), SCHEMA)
    release.save(database.url, schema="r")
    url, folder = in_schema(database), release.save(tmp_path / "folder")
    assert sf.measure(original, url) == sf.measure(original, folder)
    assert str(sf.risk(url)) == str(sf.risk(folder))
    # Others draw lots among rows, or learn from the order of rows, which a database has not.
    sure = ("homogeneity", "linkage", "intersection")
    played = [sf.attack(one, original, attacks=sure, earlier=one).to_dict() for one in (url, folder)]
    assert played[0] == played[1]
    useful = [str(sf.measure_utility(one, original, seed=1)) for one in (url, folder)]
    assert useful[0] == useful[1]
    assert sf.report(url).to_dict()["summary"] == sf.report(folder).to_dict()["summary"]


def test_commands_take_the_url_of_a_release(release: sf.Release, tmp_path: Path) -> None:
    database = in_file("sqlite", tmp_path / "releases.db")
    release.save(database.url, schema="r")
    people().write_csv(tmp_path / "people.csv")
    policy = Path(release.save(tmp_path / "folder")) / "policy.toml"
    url, table = in_schema(database), str(tmp_path / "people.csv")
    for words in (
        ["measure", table, url, "--policy", str(policy)],
        ["measure", table, url, "--what", "utility", "--policy", str(policy), "--queries", "20"],
        ["attack", url, "--original", table, "--policy", str(policy), "--attack", "homogeneity"],
        ["report", url, "--policy", str(policy), "--no-attacks"],
        ["risk", url],
    ):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
    for words in (["measure", table, url], ["report", url], ["attack", url, "--original", table]):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2
        assert "--policy: of a release in a database, name the policy that made it" in done.output
    lacking = CliRunner().invoke(app, ["measure", table, database.url, "--policy", str(policy)])
    assert "?schema=release_2027" in lacking.output


def broken(verification: Any) -> list[str]:
    return [check.promise for check in verification.checks if check.outcome is Outcome.BROKEN]


def test_a_release_comes_back_and_is_judged_as_a_folder(
    release: sf.Release, database: Database, tmp_path: Path
) -> None:
    assert release.save(database.url, schema="r") == database.url
    stored = sf.verify(database.url, schema="r")
    assert stored.ok
    assert judged(stored) == judged(sf.verify(release.save(tmp_path / "folder")))
    assert judged(sf.verify(in_schema(database))) == judged(stored)
    held = database.run(f"SELECT name FROM {table(database, DESCRIPTION)} ORDER BY name")
    assert held == [("policy.toml",), ("release.json",), ("report.json",), ("report.txt",)]
    assert database.run(f"SELECT COUNT(*) FROM {table(database, 'data')}") == [(release.data.height,)]


def test_the_order_of_rows_is_no_part_of_it(release: sf.Release, database: Database) -> None:
    release.save(database.url, schema="r")
    data = table(database, "data")
    database.run(
        f"CREATE TABLE other AS SELECT * FROM {data} ORDER BY wage",
        f"DELETE FROM {data}",
        f"INSERT INTO {data} SELECT * FROM other",
    )
    assert sf.verify(database.url, schema="r").ok


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("UPDATE {data} SET disease = 'flu'", "table data holds"),
        ("DELETE FROM {data} WHERE wage > 20", "table data holds"),
        ("INSERT INTO {data} SELECT * FROM {data} WHERE wage > 20", "table data holds"),
        ("UPDATE {description} SET content = content || ' ' WHERE name = 'report.txt'", "report.txt is the text"),
        ("UPDATE {description} SET content = content || 'x = 1' WHERE name = 'policy.toml'", "policy.toml is the text"),
        ("DELETE FROM {description} WHERE name = 'report.json'", "report.json is the text"),
        ("INSERT INTO {description} VALUES ('note.txt', 'x')", "note.txt is the text"),
        ("CREATE TABLE {note} (x int)", "the schema holds nothing else"),
    ],
)
def test_every_change_is_found(release: sf.Release, database: Database, change: str, found: str) -> None:
    release.save(database.url, schema="r")
    names = {name: table(database, name) for name in ("data", "description", "note")}
    database.run(change.format(**names))
    verification = sf.verify(database.url, schema="r")
    assert not verification.ok
    assert any(promise.startswith(found) for promise in broken(verification))


def test_a_broken_promise_is_recounted_and_not_believed(release: sf.Release, database: Database) -> None:
    release.save(database.url, schema="r")
    data = table(database, "data")
    database.run(f"UPDATE {data} SET age = 'x' WHERE wage = (SELECT MIN(wage) FROM {data})")
    assert "k-anonymity (k=5)" in broken(sf.verify(database.url, schema="r"))


def test_damaged_descriptions_are_refused(release: sf.Release, database: Database) -> None:
    for change in (
        "DROP TABLE {description}",
        "DELETE FROM {description}",
        "DROP TABLE {data}",
        "UPDATE {description} SET content = 'x' WHERE name = 'release.json'",
        "UPDATE {description} SET name = NULL WHERE name = 'report.txt'",
        "INSERT INTO {description} SELECT * FROM {description}",
    ):
        schema = f"r{random.randrange(10**9)}"
        release.save(database.url, schema=schema)
        names = {name: table(database, name, schema) for name in ("data", "description")}
        database.run(change.format(**names))
        with pytest.raises(sf.VerificationError) as error:
            sf.verify(database.url, schema=schema)
        assert "\n" not in str(error.value)


def test_only_a_release_is_replaced(release: sf.Release, database: Database) -> None:
    release.save(database.url, schema="r")
    assert "it already holds a release" in refused(lambda: release.save(database.url, schema="r"))
    other = sf.anonymize(sf.read_table(people(300), SCHEMA), sf.KAnonymity(4), anonymizer=sf.Mondrian(), seed=1)
    other.save(database.url, schema="r", overwrite=True)
    assert sf.verify(database.url, schema="r").records == 300
    database.run(f"CREATE TABLE {table(database, 'note')} (x int)")
    assert "is not a release and nothing else" in refused(
        lambda: release.save(database.url, schema="r", overwrite=True)
    )
    database.run(
        "CREATE SCHEMA s" if database.kind != "sqlite" else "SELECT 1",
        f"CREATE TABLE {table(database, 'note', 's')} (x int)",
    )
    assert "is not a release" in refused(lambda: release.save(database.url, schema="s", overwrite=True))
    assert database.run(f"SELECT COUNT(*) FROM {table(database, 'data')}") == [(300,)]


def test_an_empty_schema_may_have_been_made_before(release: sf.Release, served: Database) -> None:
    served.run("CREATE SCHEMA r")
    release.save(served.url, schema="r")
    assert sf.verify(served.url, schema="r").ok


def test_several_tables_are_one_release(database: Database) -> None:
    read = sf.read_table(
        people().drop("never", "paid", "wage"),
        sf.Schema(quasi_identifying=["age", "zip", "born"], sensitive=["disease"], identifying=["name"]),
    )
    for way in (sf.Bucketization(), sf.Marginals()):
        made = sf.anonymize(read, sf.DistinctLDiversity(2), anonymizer=way, seed=1)
        made.save(database.url, schema=way.name.replace("-", "_"))
        assert sf.verify(database.url, schema=way.name.replace("-", "_")).ok


def test_people_are_recounted_with_the_audit_file(database: Database, tmp_path: Path) -> None:
    frame = people().with_columns(name=pl.Series([f"{SECRET}{i // 2}" for i in range(400)]))
    schema = sf.Schema(person="name", quasi_identifying=["age", "zip"], sensitive=["disease"], others="drop")
    made = sf.anonymize(sf.read_table(frame, schema), sf.KAnonymity(4), seed=1)
    assert "name the file" in refused(lambda: made.save(database.url, schema="r"))
    audit = tmp_path / "audit.json"
    made.save(database.url, schema="r", audit=audit)
    data = table(database, "data")
    database.run(
        f"CREATE TABLE other AS SELECT * FROM {data} ORDER BY disease",
        f"DELETE FROM {data}",
        f"INSERT INTO {data} SELECT * FROM other",
    )
    assert judged(sf.verify(database.url, schema="r"))["k-anonymity (k=4)"][0] is Outcome.UNDECIDABLE
    recounted = sf.verify(database.url, schema="r", audit=audit)
    assert recounted.ok
    assert judged(recounted)["k-anonymity (k=4)"][0] is Outcome.HOLDS
    content = json.loads(audit.read_text())
    # Were every row of a class one person's, the promise would be broken.
    audit.write_text(json.dumps({**content, "pseudonyms": [1] * len(content["pseudonyms"])}))
    assert "k-anonymity (k=4)" in broken(sf.verify(database.url, schema="r", audit=audit))


def test_a_connection_that_is_cut_leaves_the_old_release(release: sf.Release, served: Database) -> None:
    release.save(served.url, schema="r")
    before = served.run("SELECT * FROM r.data")
    other = sf.anonymize(sf.read_table(people(300), SCHEMA), sf.KAnonymity(4), seed=1)
    written = PostgresSession.write

    def write(self: PostgresSession, schema: str, name: str, frame: pl.DataFrame) -> None:
        written(self, schema, name, frame)
        served.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'")

    with patch.object(PostgresSession, "write", write):
        said = refused(lambda: other.save(served.url, schema="r", overwrite=True))
        assert refused(lambda: other.save(served.url, schema="new")).startswith("schema new of postgresql:///test_")
    assert "the connection to the database broke off; nothing was changed" in said
    assert served.run("SELECT * FROM r.data") == before
    assert sf.verify(served.url, schema="r").ok
    assert served.run("SELECT 1 FROM pg_namespace WHERE nspname = 'new'") == []


def test_a_server_that_dies_is_told_in_one_sentence(release: sf.Release, postgresql: Any) -> None:
    from benchmarks.postgresql_server import postgresql_server

    with postgresql_server() as server:
        written = PostgresSession.write

        def write(self: PostgresSession, schema: str, name: str, frame: pl.DataFrame) -> None:
            written(self, schema, name, frame)
            server.kill()

        with patch.object(PostgresSession, "write", write):
            said = refused(lambda: release.save(server.url(), schema="r"))
        assert said == (
            "schema r of postgresql:///postgres: the connection to the database broke off; nothing was changed, try "
            "again when the server is there"
        )


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_file_that_was_not_there_goes_with_a_run_that_fails(release: sf.Release, kind: str, tmp_path: Path) -> None:
    database = in_file(kind, tmp_path / "new.db")
    with patch("sfumato.release.stored._make_room", side_effect=sf.InputError("x")):
        refused(lambda: release.save(database.url, schema="r"))
    assert list(tmp_path.iterdir()) == []
    assert "cannot be opened" in refused(lambda: release.save(f"{kind}:///{tmp_path}/none/new.db", schema="r"))


def test_rights_that_are_missing(release: sf.Release, served: Database) -> None:
    release.save(served.url, schema="r")
    stranger = served.url.replace("steward@", "guarded@")
    with patch.dict("os.environ", PGPASSWORD="open sesame"):
        assert "may not do this" in refused(lambda: release.save(stranger, schema="mine"))
        with pytest.raises(sf.VerificationError, match="may not do this"):
            sf.verify(stranger, schema="r")


def test_what_hangs_on_a_release_keeps_it(release: sf.Release, served: Database) -> None:
    release.save(served.url, schema="r")
    served.run("CREATE VIEW hanging AS SELECT * FROM r.data")
    assert "something else in the database depends" in refused(
        lambda: release.save(served.url, schema="r", overwrite=True)
    )
    assert sf.verify(served.url, schema="r").ok


def test_names_that_a_database_would_change(database: Database) -> None:
    long, both = "x" * 64, {"Age": [1] * 9, "age": [1] * 9}
    for frame in (pl.DataFrame({long: [1] * 9}), pl.DataFrame(both)):
        made = sf.anonymize(sf.read_table(frame, sf.Schema(quasi_identifying=frame.columns)), sf.KAnonymity(3))
        cut_off = frame.width == 1
        if cut_off == (database.kind == "postgresql"):
            assert "rename" in refused(lambda made=made: made.save(database.url, schema="r"))
        else:
            made.save(database.url, schema="r", overwrite=True)
            assert sf.verify(database.url, schema="r").ok


def test_a_schema_is_named_and_only_for_a_database(release: sf.Release, database: Database, tmp_path: Path) -> None:
    assert "schema: is missing" in refused(lambda: release.save(database.url))
    assert "schema: says where" in refused(lambda: release.save(str(tmp_path / "r"), schema="r"))
    database.run("CREATE TABLE x (y int)")
    assert "there is no release" in refused(lambda: sf.verify(database.url, schema="r"))


cells = st.one_of(st.none(), st.sampled_from(["", "a", "b,c", "a\x00b", "ä", "1"]))
rows = st.lists(
    st.tuples(cells, st.one_of(st.none(), st.integers(-3, 3)), st.sampled_from([None, 0.0, -0.0, 0.5])), max_size=6
)


def framed(values: list[tuple[Any, ...]], form: Any = pl.String) -> pl.DataFrame:
    frame = pl.DataFrame(values, schema={"a": pl.String, "b": pl.Int64, "c": pl.Float64}, orient="row")
    if form == pl.Enum:
        form = pl.Enum(frame["a"].drop_nulls().unique().sort(descending=True))
    return storable(frame.with_columns(pl.col("a").cast(form)), texts_only=False)


@given(
    one=rows,
    other=rows,
    shuffle=st.randoms(use_true_random=False),
    form=st.sampled_from([pl.String, pl.Enum, pl.Categorical]),
)
def test_content_is_the_multiset_of_rows(one: list[Any], other: list[Any], shuffle: random.Random, form: Any) -> None:
    mixed = list(one)
    shuffle.shuffle(mixed)
    content = content_of(framed(one))
    assert content_of(framed(mixed, form)).sha256 == content.sha256
    assert framed(mixed)[content_of(framed(mixed)).order].equals(framed(one)[content.order])

    def multiset(values: list[Any]) -> list[str]:
        return sorted(map(repr, framed(values).rows()))

    assert (content_of(framed(other)).sha256 == content.sha256) == (multiset(one) == multiset(other))


def test_both_zeros_have_a_place_of_their_own() -> None:
    """To polars they are one value, of which it keeps the one that comes first."""
    zeros: list[tuple[Any, ...]] = [(None, 1, 0.0), (None, 1, -0.0), (None, 1, None), (None, 1, -0.5)]
    found = [content_of(framed(list(rows))) for rows in permutations(zeros)]
    assert len({each.sha256 for each in found}) == 1
    assert content_of(framed(zeros[:1])).sha256 != content_of(framed(zeros[1:2])).sha256


def test_content_knows_names_and_sorts() -> None:
    frames = [
        pl.DataFrame({"a": [1]}), pl.DataFrame({"b": [1]}), pl.DataFrame({"a": ["1"]}), pl.DataFrame({"a": [1.0]}),
        pl.DataFrame({"a": [True]}), pl.DataFrame({"a": [None]}), pl.DataFrame({"a": [1, 1]}),
        pl.DataFrame({"a": [1, None]}), pl.DataFrame({"a": [1], "b": [1]}), pl.DataFrame({"b": [1], "a": [1]}),
        pl.DataFrame({"a": pl.Series([1]).cast(pl.Date)}),
        pl.DataFrame({"a": ["1"], "b": ["2"]}), pl.DataFrame({"a": ["2"], "b": ["1"]}),
    ]  # fmt: skip
    assert len({content_of(storable(frame, texts_only=False)).sha256 for frame in frames}) == len(frames)

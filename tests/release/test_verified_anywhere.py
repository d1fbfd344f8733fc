"""Whoever counts a release, the same judge says the same: what one refuses, all refuse."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from databases import KINDS, Database, in_file, on_server
from guarantees.combinations import models as drawn_models
from guarantees.tables import Drawn, tables
from sfumato.classes.statistics import class_statistics, counted_statistics
from sfumato.cli.app import app
from sfumato.models.protocol import Outcome, promise_words
from sfumato.published.checks import parts as counting
from sfumato.release.description import describe_model
from sfumato.release.parts import write_parts
from sfumato.release.stored import Shelf, save_in_database
from sfumato.release.table_files import write_texts
from sfumato.table.encoding import encode
from sfumato.table.sources import spark_server

# Models of single published values compare classes, and are counted whole.
BY_CLASS = (
    "k-anonymity", "alpha-k-anonymity", "distinct-l-diversity", "probabilistic-l-diversity", "entropy-l-diversity",
    "recursive-l-diversity", "t-closeness", "basic-beta-likeness", "enhanced-beta-likeness", "delta-disclosure",
    "guarded-values",
)  # fmt: skip


def in_parts(release: sf.Release, folder: Path, format: Any = "parquet", count: int = 3) -> Path:
    """Write a release as folders of parts are, whatever it promises."""
    folder.mkdir()
    size = -(-release.data.height // count)
    slices = (release.data[start : start + size] for start in range(0, release.data.height, size))
    facts = write_parts(slices, folder, format, single=False)
    write_texts(
        folder, release.description.to_dict(tables={"data": facts}), release.report.for_release(), release.policy
    )  # fmt: skip
    return folder


def promising(release: sf.Release, models: Any) -> sf.Release:
    """The same records, which promise something else."""
    description = dataclasses.replace(release.description, models=tuple(map(describe_model, models)))
    return dataclasses.replace(release, description=description)


def said(verification: Any, models: Any) -> Any:
    promises = {promise_words(model) for model in models}
    checks = sorted((check for check in verification.checks if check.promise in promises), key=str)
    roles = {name: sorted(names) for name, names in verification.roles.to_dict().items()}
    return verification.records, verification.classes, roles, checks


@pytest.fixture
def spark(spark_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", spark_server)


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param != "postgresql":
        return in_file(request.param, tmp_path / "releases.db")
    return on_server(request.getfixturevalue("postgresql"))


@st.composite
def releases(draw: st.DrawFn) -> tuple[sf.Release, list[Any]]:
    """Records as they were drawn, under promises of which most are broken."""
    drawn: Drawn = draw(tables(sensitive=1))
    schema = dataclasses.replace(drawn.schema, insensitive=("note",), others="drop")
    anonymizer = draw(st.sampled_from([sf.Mondrian(), sf.Datafly()]))
    release = sf.anonymize(sf.read_table(drawn.frame, schema), sf.KAnonymity(1), anonymizer=anonymizer, seed=1)
    names = draw(st.lists(st.sampled_from(BY_CLASS), min_size=1, max_size=4, unique=True))
    models = [draw(drawn_models(name, drawn.sensitive)) for name in names]
    return promising(release, models), models


def each_way(release: sf.Release, folder: Path, url: str, format: str) -> Iterator[tuple[str, Any]]:
    place = in_parts(release, folder / "release", format)
    for engine in ("memory", "auto", "spark"):
        yield engine, sf.verify(place, engine=engine)
    save_in_database(release, Shelf.of(url, "r"), overwrite=True)
    for engine in ("memory", "auto"):
        yield f"{engine} of a database", sf.verify(url, schema="r", engine=engine)


def test_numbers_of_which_none_is_known(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [30, 30], "wage": pl.Series([None, None], dtype=pl.Float64), "ill": ["flu", "gout"]})
    schema = sf.Schema(quasi_identifying=["age", "wage"], sensitive=["ill"])
    release = sf.anonymize(frame, sf.KAnonymity(2), schema=schema, seed=1)
    place = in_parts(release, tmp_path / "release", "parquet")
    assert sf.verify(place).ok
    assert sf.verify(place) == sf.verify(place, engine="memory")


@pytest.mark.parametrize("examples", [6, pytest.param(60, marks=pytest.mark.slow)])
def test_whoever_counts_says_the_same(examples: int, spark: None, database: Database, tmp_path: Path) -> None:
    @given(releases(), st.sampled_from(["csv", "parquet"]))
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    def alike(drawn: tuple[sf.Release, list[Any]], format: str) -> None:
        release, models = drawn
        with tempfile.TemporaryDirectory() as name:
            found = {way: said(one, models) for way, one in each_way(release, Path(name), database.url, format)}
        assert found == dict.fromkeys(found, found["memory"])
        assert len(found["memory"][-1]) == len({promise_words(model) for model in models})

    alike()


def town(rows: int = 60) -> sf.Release:
    frame = pl.DataFrame(
        {
            "age": [20 + i % 3 for i in range(rows)],
            "zip": [("a", "b ", None, "ä")[i // 3 % 4] for i in range(rows)],
            "ill": [("flu", "cold", "gout")[i // 12 % 3] for i in range(rows)],
            "note": [i % 5 for i in range(rows)],
        }
    )
    schema = sf.Schema(quasi_identifying=["age", "zip"], sensitive=["ill"], insensitive=["note"])
    return sf.anonymize(sf.read_table(frame, schema), [sf.KAnonymity(4), sf.DistinctLDiversity(2)], seed=1)


def edited(path: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    change(pl.read_parquet(path)).write_parquet(path)


def forged(folder: Path) -> None:
    """Put the hashes and counts of what is there now into release.json, as a careful forger does."""
    mark = folder / "release.json"
    content = json.loads(mark.read_text())
    table = content["tables"]["data"]
    for part in table["files"]:
        path = folder / part["file"]
        part |= {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "rows": pl.read_parquet(path).height}
    table["rows"] = sum(part["rows"] for part in table["files"])
    table["root"] = hashlib.sha256("".join(sorted(part["sha256"] for part in table["files"])).encode()).hexdigest()
    mark.write_text(json.dumps(content))


FIRST = "data/part-00000.parquet"
TAMPERED: dict[str, Callable[[Path], Any]] = {
    "nothing": lambda folder: None,
    "a cell": lambda folder: edited(folder / FIRST, lambda frame: frame.with_columns(zip=pl.lit("only here"))),
    "one record": lambda folder: edited(folder / FIRST, lambda frame: pl.concat([frame[1:], frame[1:2]])),
    "a record less": lambda folder: edited(folder / FIRST, lambda frame: frame[1:]),
    "an insensitive cell": lambda folder: edited(folder / FIRST, lambda frame: frame.with_columns(note=pl.lit(7))),
    "columns in another order": lambda folder: edited(folder / FIRST, lambda frame: frame.select(frame.columns[::-1])),
    "a column less": lambda folder: edited(folder / FIRST, lambda frame: frame.drop("zip")),
    "a column more": lambda folder: edited(folder / FIRST, lambda frame: frame.with_columns(more=1)),
    "an empty part": lambda folder: edited(folder / FIRST, lambda frame: frame.clear()),
    "no part": lambda folder: (folder / FIRST).unlink(),
    "a part that is none": lambda folder: (folder / FIRST).write_bytes(b"PAR1"),
    "a part twice": lambda folder: (folder / "data/more.parquet").write_bytes((folder / FIRST).read_bytes()),
    "a file more": lambda folder: (folder / "notes.txt").write_text("x"),
    "the report": lambda folder: (folder / "report.json").write_text("{}"),
    "the policy": lambda folder: (folder / "policy.toml").write_text(""),
    "no description": lambda folder: (folder / "release.json").unlink(),
    "the description": lambda folder: (folder / "release.json").write_text("{}"),
}


def outcome(folder: Path, engine: Any) -> Any:
    try:
        found = sf.verify(folder, engine=engine)
    except sf.SfumatoError:
        return "refused"
    models = [sf.KAnonymity(4), sf.DistinctLDiversity(2)]
    return found.ok, said(found, models) if found.ok else said(found, models)[-1]


@pytest.mark.parametrize("careful", [False, True], ids=["plain", "rehashed"])
def test_what_was_changed_is_refused_by_all(careful: bool, spark: None, tmp_path: Path) -> None:
    release, verdicts = town(), {}
    for number, (name, change) in enumerate(TAMPERED.items()):
        folder = in_parts(release, tmp_path / str(number))
        change(folder)
        if careful and (folder / FIRST).exists() and name not in ("a part that is none", "no description"):
            if name == "the description":
                continue
            forged(folder)
        found = {engine: outcome(folder, engine) for engine in ("memory", "auto", "spark")}
        # What is damaged some refuse to count, and others count and find broken.
        assert len({verdict != "refused" and verdict[0] for verdict in found.values()}) == 1, name
        judged = [verdict for verdict in found.values() if verdict != "refused"]
        assert judged == judged[:1] * len(judged), name
        verdicts[name] = found["memory"]
    held = [name for name, verdict in verdicts.items() if verdict != "refused" and verdict[0]]
    # Nothing but hashes says that such a change is one.
    unseen = ["columns in another order"] if careful else []
    unseen += ["an insensitive cell"] if careful else []
    assert sorted(held) == sorted(["nothing", *unseen])


@pytest.mark.parametrize(
    ("kind", "collation"),
    [("postgresql", '"nocase"'), ("duckdb", "NOCASE"), ("sqlite", "NOCASE")],
)
def test_collations_hide_nobody(kind: str, collation: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """To a collation that knows no case two people would be alike who are published differently."""
    database = (
        on_server(request.getfixturevalue("postgresql"))
        if kind == "postgresql"
        else in_file(kind, tmp_path / "releases.db")
    )
    frame = pl.DataFrame({"zip": ["x", "X"] * 4, "ill": ["flu"] * 8})
    schema = sf.Schema(quasi_identifying={"zip": sf.Attribute(kind="categorical")}, sensitive=["ill"])
    release = promising(sf.anonymize(sf.read_table(frame, schema), sf.KAnonymity(4), seed=1), [sf.KAnonymity(8)])
    save_in_database(release, Shelf.of(database.url, "r"), overwrite=False)
    data = "r_data" if kind == "sqlite" else "r.data"
    provided = "CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    database.run(
        *([provided] if kind == "postgresql" else []),
        f"CREATE TABLE kept AS SELECT * FROM {data}",
        f"DROP TABLE {data}",
        f"CREATE TABLE {data} (zip varchar COLLATE {collation}, ill varchar)",
        f"INSERT INTO {data} SELECT * FROM kept",
        "DROP TABLE kept",
    )
    grouped = database.run(f"SELECT zip, count(*) FROM {data} GROUP BY zip")
    assert len(grouped) == 1
    found = sf.verify(database.url, schema="r")
    assert (found.records, found.classes) == (8, 2)
    assert [check.outcome for check in found.checks if "k-anonymity" in check.promise] == [Outcome.BROKEN]


def test_a_database_sends_each_row_once(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"age": [1, 2] * 40, "records": [3] * 80, "Records_": ["x"] * 80})
    roles = sf.Schema(quasi_identifying=["age", "Records_"], sensitive=["records"])
    sf.anonymize(sf.read_table(frame, roles), sf.KAnonymity(20), seed=1).save(database.url, schema="r")
    from sfumato.release import stored

    came: list[int] = []
    monkeypatch.setattr(
        stored, "storable", lambda rows, **how: came.append(rows.height) or storable(rows, **how)
    )  # fmt: skip
    storable = sys.modules["sfumato.table.databases.protocol"].storable
    found = sf.verify(database.url, schema="r")
    assert found.ok
    assert (found.records, came) == (80, [2])


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc"), st.integers(0, 2)), min_size=1, max_size=30))
def test_counted_statistics_are_those_of_the_records(rows: list[tuple[int, str, int]]) -> None:
    frame = pl.DataFrame(rows, schema=["class", "ill", "wage"], orient="row")
    kept = frame.group_by(frame.columns, maintain_order=True).len()
    schema = sf.Schema(quasi_identifying=["class"], sensitive=["ill", "wage"], others="drop")
    whole, counted = (encode(sf.read_table(each, schema)) for each in (frame, kept))
    numbers = [np.unique(each["class"].to_numpy(), return_inverse=True)[1].astype(np.int32) for each in (frame, kept)]
    count = int(numbers[0].max()) + 1
    one = class_statistics(numbers[0], count, whole.sensitive_codes, whole.sensitive)
    two = counted_statistics(numbers[1], count, kept["len"].to_numpy(), counted.sensitive_codes, counted.sensitive)
    assert one.sizes.tolist() == two.sizes.tolist()
    for name, expected in one.sensitive.items():
        for part in ("starts", "values", "counts", "totals", "code_of"):
            found = getattr(two.sensitive[name], part)
            assert found.tolist() == getattr(expected, part).tolist()
            assert found.dtype == getattr(expected, part).dtype


def test_counts_are_dealt_to_files(spark: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = in_parts(town(), tmp_path / "release", "csv")
    before = sf.verify(folder, engine="spark")
    monkeypatch.setattr(counting, "SORTED_AT_ONCE", 5)
    monkeypatch.setattr(counting, "BLOCK", 7)
    after = sf.verify(folder, engine="spark")
    assert after.ok
    assert str(after) == str(before)
    assert "data holds the 3 parts that were written" in str(after)


def test_spark_counts_a_single_file_too(spark: None, tmp_path: Path) -> None:
    release = town()
    release.save(tmp_path / "one")
    done = CliRunner().invoke(app, ["verify", str(tmp_path / "one"), "--engine", "spark"])
    assert done.exit_code == 0, done.output
    assert "holds: k-anonymity (k=4)" in done.output
    there = sf.verify((tmp_path / "one").as_uri(), engine="spark")
    assert there.ok
    (tmp_path / "one/data.csv").write_text((tmp_path / "one/data.csv").read_text().replace("flu", "flue", 1))
    assert CliRunner().invoke(app, ["verify", str(tmp_path / "one"), "--engine", "spark"]).exit_code == 1


def test_the_active_session_is_asked(spark_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found in the thread of the caller, also where somebody is told how far the work is."""
    from pyspark.sql import SparkSession

    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    folder = town().save(tmp_path / "one")
    session = SparkSession.builder.remote(spark_server).getOrCreate()
    try:
        assert sf.verify(folder, engine="spark", progress=lambda what, done, total: None).ok
    finally:
        session.stop()


def test_what_spark_cannot_count_is_said(spark: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*given: Any, **how: Any) -> str:
        with pytest.raises(sf.SfumatoError) as error:
            sf.verify(*given, engine="spark", **how)
        return str(error.value)

    folder = town().save(tmp_path / "one")
    assert "leave the engine out" in refused(town())
    assert "is counted there" in refused("sqlite:///x.db", schema="r")
    assert "use --engine memory" in refused(folder, audit=tmp_path / "audit.json")
    assert "Spark finds no release.json there" in refused(tmp_path)
    assert "Spark finds no release.json there" in refused(str(tmp_path / "nowhere"))
    roles = sf.Schema(quasi_identifying=["a"], sensitive=["b"])
    table = sf.read_table(pl.DataFrame({"a": [1, 1, 2, 2] * 3, "b": list("xyzw") * 3}), roles)
    buckets = sf.anonymize(table, sf.DistinctLDiversity(2), anonymizer=sf.Bucketization(), seed=1)
    assert "use --engine memory" in refused(buckets.save(tmp_path / "buckets"))
    with pytest.raises(sf.PolicyError, match="must be one of"):
        sf.verify(folder, engine="dask")  # type: ignore[arg-type]
    with pytest.raises(sf.PolicyError, match="--engine spark"):
        sf.verify("s3://bucket/release")
    done = CliRunner().invoke(app, ["verify", "s3://bucket/release"])
    assert "--engine spark" in done.output
    monkeypatch.setenv("SPARK_REMOTE", "")
    monkeypatch.setattr(spark_server, "client", lambda: type("sql", (), {"SparkSession": _NoSession}))
    assert "names no Spark server" in refused(folder)


class _NoSession:
    @staticmethod
    def getActiveSession() -> None:
        return None


def test_no_algorithm_is_loaded_to_count_on_spark() -> None:
    loaded = "import sys, sfumato.release.spark_folder, sfumato.release.parts, sfumato.release.verify; "
    found = subprocess.run(
        [sys.executable, "-c", f"{loaded} print([name for name in sys.modules if 'sfumato.anonymizers.' in name])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "[]"

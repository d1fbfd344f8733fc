"""People with several records on the disk engine and on Spark: the release of memory, its audit file, its recount."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from engines.test_disk import MODELS, _small_pieces, content, made, pieces_of_a_town, refused, written
from golden.made_tables import town
from golden.runs import ANONYMIZED
from guarantees.tables import Drawn, tables
from sfumato.cli.app import app
from sfumato.engines import disk
from sfumato.errors import PolicyError
from sfumato.models.protocol import Outcome
from sfumato.policy.parts import People
from sfumato.table.large import coding as people_on_disk
from sfumato.table.large.coding import KeyFiles
from sfumato.table.person_keys import as_they_appear, number_people

__all__ = ["_small_pieces", "pieces_of_a_town"]

SCHEMA = sf.Schema(quasi_identifying=["age", "zip", "job"], sensitive=["disease"], person="who", others="drop")


def policy_of(
    schema: sf.Schema, models: Any, anonymizer: Any = None, limit: float = 0.0, people: People | None = None
) -> sf.Policy:
    return sf.Policy.of(
        schema, models, anonymizer or sf.Mondrian(), sf.Recoding(), limit, 0, people or People()
    )  # fmt: skip


def releases(path: Path, policy: sf.Policy, out: Path, on_disk: Any = sf.anonymize_on_disk) -> tuple[Any, Any]:
    """What memory and another engine make of a file: bytes, audit file and report, or problems."""

    def in_memory(folder: Path) -> Any:
        release = sf.anonymize(sf.read_table(path, policy), policy, seed=7, threads=1)
        release.save(folder)
        return release.report.to_dict(), audit_of(folder)

    def elsewhere(folder: Path) -> Any:
        report = on_disk(path, policy, folder, seed=7, threads=1).report
        told = sf.verify(folder, audit=folder.parent / f"{folder.name}.audit.json")
        assert told.ok
        assert told.people is not None
        return report.to_dict(), audit_of(folder)

    return made(in_memory, out / "memory"), made(elsewhere, out / "elsewhere")


def on_spark(path: Path, *how: Any, **more: Any) -> Any:
    return sf.anonymize_on_spark(str(path), *how, **more)


def audit_of(folder: Path) -> str:
    """The numbers of an audit file; its hash is that of one file or of several."""
    return (folder.parent / f"{folder.name}.audit.json").read_text().rpartition('"pseudonyms"')[2]


@st.composite
def with_people(draw: st.DrawFn) -> Drawn:
    """A table of which some records are of the same person, and some of nobody known."""
    drawn = draw(tables(sensitive=1))
    keys = st.sampled_from([None, "p1", "p2", " p3", "p4", "p5", "p6", "p7"])
    who = draw(st.lists(keys, min_size=drawn.frame.height, max_size=drawn.frame.height))
    schema = dataclasses.replace(drawn.schema, insensitive=(), person="who", others="drop")
    return dataclasses.replace(drawn, frame=drawn.frame.with_columns(pl.Series("who", who, pl.String)), schema=schema)


@given(
    with_people(), st.sampled_from(sorted(ANONYMIZED)), st.sampled_from(MODELS), st.sampled_from([0.0, 0.0, 0.5]),
    st.sampled_from(["csv", "parquet"]),
)  # fmt: skip
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_people_are_kept_together_as_in_memory(drawn: Drawn, setting: str, models: Any, limit: float, ending: str):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = written(drawn.frame, folder, ending)
        one, two = releases(path, policy_of(drawn.schema, models, ANONYMIZED[setting], limit), folder)
        if not refused(two):
            assert one == two
        if len(one) == 3 and not refused(two):
            assert (folder / "memory" / "release.json").read_bytes() == (
                folder / "elsewhere" / "release.json"
            ).read_bytes()
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def stays(rows: int) -> pl.DataFrame:
    """A town whose people come back, one of them often; every 50th has no key."""
    who = pl.Series("who", [None if row % 50 == 7 else f"id {row * row % 211}" for row in range(rows)])
    return town(rows).with_columns(who)


@pytest.mark.usefixtures("pieces_of_a_town")
@pytest.mark.parametrize("models", [MODELS[0], MODELS[1], MODELS[3]], ids=str)
def test_a_town_in_parts(models: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(disk, "PART", 150)
    path = written(stays(400), tmp_path, "parquet")
    one, two = releases(path, policy_of(SCHEMA, models, limit=0.1), tmp_path)
    assert one == two
    assert len(list((tmp_path / "elsewhere" / "data").iterdir())) == 3


@pytest.mark.parametrize("several", [True, False], ids=["several records", "one each"])
def test_spark_counts_people(several: bool, spark_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SPARK_REMOTE", spark_server)
    monkeypatch.setattr(disk, "PART", 60)
    frame = stays(150) if several else town(150).with_row_index("who")
    names = [name for name in frame.columns if name in SCHEMA.roles and name != "who"]
    path = written(frame.select(*names, "who").sort(*names, "who"), tmp_path, "parquet")
    one, two = releases(
        path,
        policy_of(SCHEMA, MODELS[1]),
        tmp_path,
        lambda path, *how, **more: sf.anonymize_on_spark(str(path), *how, **more),
    )
    assert one == two
    there, here = (sf.verify(tmp_path / "elsewhere", engine=engine) for engine in ("spark", "memory"))  # type: ignore[arg-type]
    promises = [check for check in here.checks if check.promise.startswith(("k-anonymity", "distinct"))]
    assert [check for check in there.checks if check in promises] == promises
    assert {check.outcome for check in promises} == {Outcome.UNDECIDABLE}
    assert (there.records, there.classes) == (here.records, here.classes)


def test_spark_asks_about_spellings_as_memory_does(spark_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SPARK_REMOTE", spark_server)
    frame = stays(60)
    spelled = pl.concat([frame.with_columns(who=pl.format(f"{form} {{}}", "who")) for form in ("P", "p")])
    names = [name for name in spelled.columns if name in SCHEMA.roles and name != "who"]
    path = written(spelled.select(*names, "who").sort(*names, "who"), tmp_path, "parquet")
    for form in (None, "fold", "exact"):
        (out := tmp_path / str(form)).mkdir()
        policy = policy_of(dataclasses.replace(SCHEMA, key_form=form), MODELS[1])
        one, two = releases(path, policy, out, on_spark)
        assert one == two
        assert ("key-form fold" in str(one)) == (form is None)


def test_spark_counts_people_of_several_columns_as_memory_does(
    spark_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SPARK_REMOTE", spark_server)
    names = [name for name in SCHEMA.roles if name != "who"]
    row, who = pl.int_range(pl.len()), pl.int_range(pl.len()) // 2
    # A number is somebody else's in each clinic; some have no number, and some no clinic.
    frame = town(150).select(sorted(names)).sort(pl.all())
    frame = frame.with_columns(
        clinic=pl.when(row % 40 != 3).then(pl.format("clinic {}", who % 3)),
        number=pl.when(row % 50 != 7).then(who // 3),
    ).sort(pl.all())
    spelled = frame.with_columns(
        clinic=pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.col("clinic").str.to_titlecase()).otherwise("clinic")
    )
    for name, table, form in (("plain", frame, None), ("asked", spelled, None), ("one", spelled, "fold")):
        (out := tmp_path / name).mkdir()
        policy = policy_of(dataclasses.replace(SCHEMA, person=("clinic", "number"), key_form=form), MODELS[1])
        one, two = releases(written(table, out, "parquet"), policy, out, on_spark)
        assert one == two
        assert ("columns 'clinic', 'number': keys may be other spellings" in str(one)) == (name == "asked")
        if name != "asked":
            verification = sf.verify(out / "elsewhere", audit=out / "elsewhere.audit.json")
            assert verification.people is not None
            assert verification.people.people == 82
            assert verification.classes > 3


@pytest.mark.usefixtures("pieces_of_a_town")
def test_the_audit_file_belongs_to_all_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(disk, "PART", 150)
    path, out = written(stays(400), tmp_path, "parquet"), tmp_path / "out"
    policy = policy_of(SCHEMA, MODELS[0])
    sf.anonymize_on_disk(path, policy, out, audit=tmp_path / "private.json")
    assert (tmp_path / "private.json").stat().st_mode & 0o777 == 0o600
    told = sf.verify(out, audit=tmp_path / "private.json")
    whole = sf.verify(out, audit=tmp_path / "private.json", engine="memory")
    assert told.ok
    assert (told.checks, told.people, told.classes) == (whole.checks, whole.people, whole.classes)
    assert sf.verify(out).checks == sf.verify(out, engine="memory").checks
    parts = sorted((out / "data").iterdir())
    parts[0].write_bytes(parts[0].read_bytes().replace(b"\n", b"\r\n", 1))
    assert not sf.verify(out, audit=tmp_path / "private.json").ok
    with pytest.raises(sf.InputError, match="audit file of another release"):
        sf.anonymize_on_disk(path, policy, tmp_path / "more", audit=tmp_path / "private.json")
    assert not (tmp_path / "more").exists()
    plain = policy_of(dataclasses.replace(SCHEMA, person=None), MODELS[0])
    with pytest.raises(PolicyError, match="no column says who they are"):
        sf.anonymize_on_disk(path, plain, tmp_path / "more", audit=tmp_path / "other.json")


NOT_DONE: dict[str, tuple[dict[str, Any], People, Any, str]] = {
    "apart": ({}, People(rows="apart"), None, "rows are to lie apart"),
    "pseudonyms": ({}, People(pseudonyms="published"), None, "publishes no pseudonyms"),
    "insensitive": ({"insensitive": ["born"]}, People(), None, "link the records of a person"),
    "wishes": ({"wished_k": "wage", "insensitive": ["born"]}, People(), None, "told apart by insensitive columns"),
    "regions": ({}, People(), sf.Mondrian(extent="region"), "decides itself what classes publish"),
    "blind": ({}, People(), sf.Mondrian(blind=True), "blind cuts count records"),
    "keyless": ({}, People(keyless="refuse"), None, "8 records of 400 without a value in column 'who', first in row 8"),
    "nobody": ({"person": None}, People(keyless="refuse"), None, "name the column that says who they are"),
}


@pytest.mark.parametrize("case", NOT_DONE)
def test_what_is_not_done_for_people_is_said(case: str, tmp_path: Path):
    roles, people, anonymizer, said = NOT_DONE[case]
    policy = policy_of(dataclasses.replace(SCHEMA, **roles), MODELS[0], anonymizer, people=people)
    with pytest.raises(PolicyError) as caught:
        sf.anonymize_on_disk(written(stays(400), tmp_path, "parquet"), policy, tmp_path / "out")
    assert any(said in problem for problem in caught.value.problems)
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


KEYS = st.one_of(
    st.lists(st.sampled_from([None, "a", "b", "ä", "", " a", "1", "1.0"]), min_size=1),
    st.lists(st.sampled_from([None, 1.0, -0.0, 0.0, float("nan"), 2.5]), min_size=1),
    st.lists(st.sampled_from([None, 3, -1, 2**40]), min_size=1),
)


@given(KEYS, st.integers(1, 5), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_keys_in_files_number_people_as_a_column_does(keys: list[Any], batch: int, bucket: int):
    column = pl.Series("who", keys, strict=False)
    column = column.fill_nan(None) if column.dtype.is_float() else column
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patched:
        patched.setattr(people_on_disk, "BUCKET", bucket)
        patched.setattr(people_on_disk, "BLOCK", 2)
        files = KeyFiles(Path(name))
        for part in (column[start : start + batch] for start in range(0, len(column), batch)):
            files.add(part)
        found = files.people()
        assert found.numbers.tolist() == as_they_appear(number_people(column)).tolist()
        assert found.keyless == column.null_count()
        assert found.first_keyless == next((row for row, key in enumerate(column) if key is None), len(column))
        assert [path.name for path in Path(name).iterdir()] == ["people"]


def test_people_are_numbered_as_they_appear():
    assert as_they_appear(np.array([5, 0, 5, 2, 0], dtype=np.int32)).tolist() == [0, 1, 0, 2, 1]
    assert as_they_appear(np.array([], dtype=np.int32)).tolist() == []


@pytest.mark.usefixtures("pieces_of_a_town")
def test_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(disk, "PART", 150)
    path = written(stays(400), tmp_path, "csv")
    asked = ["anonymize", str(path), "--quasi", "age,zip", "--person", "who", "--others", "drop", "-k", "4"]
    ran = CliRunner().invoke(app, [*asked, "--engine", "disk", "--out", str(tmp_path / "out")])
    assert ran.exit_code == 0, ran.output
    assert "is private" in " ".join(ran.output.split())
    ran = CliRunner().invoke(app, ["verify", str(tmp_path / "out"), "--audit", str(tmp_path / "out.audit.json")])
    assert ran.exit_code == 0, ran.output
    assert len(content(tmp_path / "out").splitlines()) == 401

"""Workers write the parts of a release: the bytes that are written here, whoever is asked how often."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from engines.test_disk import MODELS, TOWN_SCHEMA, policy_of
from engines.test_spark import in_files
from golden.made_tables import town
from sfumato.cli.app import app
from sfumato.engines import disk
from sfumato.engines.disk import PublishedColumns
from sfumato.errors import InputError, PolicyError, VerificationError
from sfumato.release import on_spark
from sfumato.release.on_spark import NOT_SHARED, TOKEN, WRITING, PartWriter, anonymize_on_spark

POLICY = policy_of(TOWN_SCHEMA, MODELS[0])


@pytest.fixture(autouse=True)
def _a_server(spark_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", spark_server)
    monkeypatch.setattr(disk, "PART", 70)


@pytest.fixture
def source(tmp_path: Path) -> str:
    return str(in_files(town(200), tmp_path / "in", 2))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def with_format(format: Any) -> sf.Policy:
    return POLICY.model_copy(update={"output": POLICY.output.model_copy(update={"format": format})})


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_the_folder_is_the_one_that_is_written_here(format: str, source: str, tmp_path: Path) -> None:
    policy = with_format(format)
    here = anonymize_on_spark(source, policy, tmp_path / "here", seed=3)
    there = anonymize_on_spark(source, policy, tmp_path / "there", seed=3, written_by="workers")
    assert files(tmp_path / "there") == files(tmp_path / "here")
    assert len(files(tmp_path / "there")) == 4 + 3
    assert there.formulas == here.formulas
    assert sf.verify(tmp_path / "there").ok


def test_both_tables_of_buckets_are_written_there(source: str, tmp_path: Path) -> None:
    schema = sf.Schema(quasi_identifying=["age", "zip"], sensitive=["disease"], others="drop")
    policy = policy_of(schema, [sf.ProbabilisticLDiversity(2)], sf.Bucketization(members="random"))
    anonymize_on_spark(source, policy, tmp_path / "here", seed=3)
    anonymize_on_spark(source, policy, tmp_path / "there", seed=3, written_by="workers")
    assert files(tmp_path / "there") == files(tmp_path / "here")
    assert {name.partition("/")[0] for name in files(tmp_path / "there")} >= {"quasi_identifying", "sensitive"}
    assert sf.verify(tmp_path / "there").ok


def test_one_part_is_written_here(tmp_path: Path) -> None:
    source = str(in_files(town(60), tmp_path / "in", 1))
    anonymize_on_spark(source, POLICY, tmp_path / "out", written_by="workers")
    assert (tmp_path / "out" / "data.csv").exists()


def asked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part is written by several attempts; one was lost while it wrote."""
    run = on_spark.run_on_spark

    def twice(session: Any, writer: PartWriter, parts: Any) -> Iterator[Any]:
        kept = list(parts)
        (Path(writer.folder) / WRITING / "abandoned").write_text("age,")
        list(run(session, writer, kept))
        yield from run(session, writer, kept)

    monkeypatch.setattr(on_spark, "run_on_spark", twice)


def test_attempts_that_are_repeated_change_nothing(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    anonymize_on_spark(source, POLICY, tmp_path / "here", seed=3)
    asked_twice(monkeypatch)
    anonymize_on_spark(source, POLICY, tmp_path / "there", seed=3, written_by="workers")
    assert files(tmp_path / "there") == files(tmp_path / "here")


def refused(source: str, out: Path, **how: Any) -> str:
    with pytest.raises((InputError, PolicyError, VerificationError)) as error:
        anonymize_on_spark(source, how.pop("policy", POLICY), out, written_by="workers", **how)
    assert [path.name for path in out.parent.iterdir()] == ["in"]
    return str(error.value)


@pytest.mark.parametrize("changed", ["folder", "token"])
def test_a_folder_that_is_not_shared(
    changed: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers see no such folder, or another one of the same name."""
    run = on_spark.run_on_spark
    other = {changed: str(tmp_path.with_name("elsewhere"))}
    monkeypatch.setattr(
        on_spark,
        "run_on_spark",
        lambda session, writer, parts: run(session, dataclasses.replace(writer, **other), parts),
    )
    assert refused(source, tmp_path / "out") == NOT_SHARED


@pytest.mark.parametrize("way", ["takes away", "changes"])
def test_files_that_do_not_arrive(way: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = on_spark.run_on_spark

    def losing(session: Any, writer: PartWriter, parts: Any) -> Iterator[Any]:
        yield from run(session, writer, parts)
        path = Path(writer.folder) / "data" / "part-00001.csv"
        path.unlink() if way == "takes away" else path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))

    monkeypatch.setattr(on_spark, "run_on_spark", losing)
    said = refused(source, tmp_path / "out")
    assert said == NOT_SHARED if way == "takes away" else "was changed" in said


def test_what_is_refused(source: str, tmp_path: Path) -> None:
    frame = town(200).with_columns(place=pl.lit("=1+1"))
    frame.write_parquet(tmp_path / "in" / "part-0.parquet")
    frame.clear().write_parquet(tmp_path / "in" / "part-1.parquet")
    assert "beginning with" in refused(source, tmp_path / "out", formulas="refuse")
    assert "several; keep or refuse them" in refused(source, tmp_path / "out", formulas="escape")
    with pytest.raises(PolicyError, match="must be one of here, workers"):
        anonymize_on_spark(source, POLICY, tmp_path / "out", written_by="all")  # type: ignore[arg-type]


def test_command_line(source: str, tmp_path: Path) -> None:
    asked = ["anonymize", source, "--quasi", "age,zip", "--others", "drop", "-k", "4", "--engine", "spark-workers"]
    ran = CliRunner().invoke(app, [*asked, "--out", str(tmp_path / "out")])
    assert ran.exit_code == 0, ran.output
    assert len(list((tmp_path / "out" / "data").iterdir())) == 3
    ran = CliRunner().invoke(app, [*asked, "--set", "policy.refine=3", "--out", str(tmp_path / "no")])
    assert "workers write what was counted" in ran.output
    assert ran.exit_code == 2


def test_a_part_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    payload = io.BytesIO()
    pl.DataFrame({"0": [1]}).write_ipc(payload)
    writer = PartWriter(PublishedColumns(("a",), {}), str(tmp_path), "csv", "t")
    (tmp_path / WRITING).mkdir()
    (tmp_path / WRITING / TOKEN).write_text("t")
    with pytest.raises(InputError, match="do not see the folder"):
        writer((0, payload.getvalue()))
    (tmp_path / "data").mkdir()
    assert writer((0, payload.getvalue())).rows == 1
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["part-00000.csv"]

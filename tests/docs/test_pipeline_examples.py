"""The examples of the page on pipelines: by Airflow and dbt where they are on the path, and as plain commands."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import sfumato as sf
from docs.pages import ROOT, example_folder, examples

pytestmark = pytest.mark.slow  # many starts of the program

FILES = {
    example.file: example.body
    for example in examples((ROOT / "docs" / "how-to" / "pipelines.md").read_text(encoding="utf-8"))
    if example.file
}


@pytest.fixture
def place(tmp_path: Path) -> Any:
    """A folder with the page's files, a table, and the program on the path."""
    with example_folder(tmp_path):
        for name, body in FILES.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(body)
        for name in ("bin", "in", "out", "releases", "private"):
            (tmp_path / name).mkdir()
        program = tmp_path / "bin" / "sfumato"
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m sfumato "$@"\n')
        (tmp_path / "bin" / "dbt").write_text('#!/bin/sh\necho "$@" >> dbt.log\n')
        for command in (tmp_path / "bin").iterdir():
            command.chmod(0o755)
        yield tmp_path


def run(command: str, place: Path) -> int:
    path = f"{place / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(Path(sf.__file__).parents[1])}
    return subprocess.run(["bash", "-c", command], cwd=place, env=environment, check=False).returncode


def needs(program: str) -> str:
    """Where a program is that is no part of the project's own environment; skipped where it is not on the path."""
    return shutil.which(program) or pytest.skip(f"{program} is not on the path")


def test_airflow_hands_over_what_holds_and_stops_at_what_does_not(place: Path) -> None:
    (place / "patients.csv").rename(place / "in" / "patients.csv")
    told = f"AIRFLOW_HOME={place}/home AIRFLOW__CORE__DAGS_FOLDER={place}/dags AIRFLOW__CORE__LOAD_EXAMPLES=False"
    ask = f"{told} {needs('airflow')}"
    assert run(f"{ask} db migrate && {ask} dags test publish_patients", place) == 0
    assert sf.verify(place / "out" / "release").ok
    written = (place / "out" / "release" / "release.json").read_bytes()
    strict = FILES["policy.toml"].replace("k = 5", "k = 2000")
    (place / "policy.toml").write_text(strict)
    assert run(f"{ask} dags test publish_patients", place) == 1
    assert (place / "out" / "release" / "release.json").read_bytes() == written
    assert not (place / "out" / "release" / "release").exists()


@pytest.fixture
def models(place: Path) -> Path:
    """The place as a project of dbt, whose table has no identifying column."""
    policy = FILES["policy.toml"].replace('identifying = ["name"]\n', "") + '\n[output]\nformat = "parquet"\n'
    (place / "models.toml").write_text(policy)
    return place


def test_dbt_stands_on_both_sides_of_a_release(models: Path) -> None:
    needs("dbt")
    (models / "bin" / "dbt").unlink()
    (models / "seeds").mkdir()
    (models / "patients.csv").rename(models / "seeds" / "stays.csv")
    (models / "dbt_project.yml").write_text("{name: hospital, version: '1.0', profile: hospital}")
    here = "{target: here, outputs: {here: {type: duckdb, path: hospital.duckdb}}}"
    (models / "profiles.yml").write_text(f"{{hospital: {here}}}")
    assert run("sh publish-models.sh", models) == 0
    with duckdb.connect(models / "hospital.duckdb") as built:
        assert built.sql("select sum(records) from by_zip").fetchall() == [(1000,)]
        built.sql("drop view by_zip")
    (models / "models.toml").write_text((models / "models.toml").read_text().replace("k = 5", "k = 2000"))
    assert run("sh publish-models.sh", models) == 1
    with duckdb.connect(models / "hospital.duckdb") as built:
        assert "by_zip" not in str(built.sql("show tables"))


def test_a_release_stands_between_two_runs_of_dbt(models: Path) -> None:
    place = models
    frame = pl.read_csv("patients.csv", schema_overrides={"zip": pl.String})
    frame.select("age", "sex", "zip", "disease", "visit_count").write_parquet("private/patients.parquet")
    assert run("sh publish-models.sh", place) == 0
    assert (place / "dbt.log").read_text().splitlines() == [
        "build --select +patients",
        "build --select source:release+",
    ]
    named = FILES["models/published/sources.yml"].split('"')[1].format(name="data")
    assert pl.read_parquet(place / named).height == frame.height


def test_the_loop_stops_at_the_first_that_fails(place: Path) -> None:
    lines = (place / "patients.csv").read_text().splitlines()
    for name, kept in (("north", lines[:500]), ("south", [lines[0], *lines[500:]]), ("small", lines[:3])):
        (place / f"{name}.csv").write_text("\n".join(kept) + "\n")
    assert run("sh publish-all.sh north.csv small.csv south.csv", place) == 1
    assert sorted(path.name for path in (place / "releases").iterdir()) == ["north", "north.verified.txt"]
    assert run("sh publish-all.sh north.csv south.csv", place) == 0
    assert all(sf.verify(place / "releases" / name).ok for name in ("north", "south"))

"""The examples of the page on pipelines, run as plain commands: Airflow's tasks, dbt's steps, and the loop."""

from __future__ import annotations

import os
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

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


class Task:
    """As much of Airflow's operator as the example uses."""

    def __init__(self, task_id: str, bash_command: str) -> None:
        self.command, self.after = bash_command, list[Task]()

    def __rshift__(self, other: Task) -> Task:
        other.after.append(self)
        return other


class Graph:
    """As much of Airflow's DAG."""

    def __init__(self, name: str, **settings: Any) -> None:
        assert {*settings} == {"start_date", "schedule"}

    def __enter__(self) -> Graph:
        return self

    def __exit__(self, *_: object) -> None:
        """End the list of tasks."""


def test_the_tasks_of_airflow_run_one_after_another(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operators = "airflow.providers.standard.operators.bash"
    for name, holds in (("airflow.sdk", {"DAG": Graph}), (operators, {"BashOperator": Task})):
        module = ModuleType(name)
        vars(module).update(holds)
        parts = name.split(".")
        for end in range(1, len(parts)):
            monkeypatch.setitem(sys.modules, ".".join(parts[:end]), ModuleType(".".join(parts[:end])))
        monkeypatch.setitem(sys.modules, name, module)
    (place / "patients.csv").rename(place / "in" / "patients.csv")
    task = runpy.run_path(str(place / "dags" / "publish_patients.py"))["hand_over"]
    order: list[Task] = []
    while task is not None:
        order.insert(0, task)
        task = task.after[0] if task.after else None
    assert len(order) == 4
    for each in order:
        assert run(each.command, place) == 0, each.command
    assert sf.verify(place / "out" / "release").ok


def test_a_release_stands_between_two_runs_of_dbt(place: Path) -> None:
    frame = pl.read_csv("patients.csv", schema_overrides={"zip": pl.String})
    frame.select("age", "sex", "zip", "disease", "visit_count").write_parquet("private/patients.parquet")
    policy = FILES["policy.toml"].replace('identifying = ["name"]\n', "") + '\n[output]\nformat = "parquet"\n'
    (place / "models.toml").write_text(policy)
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

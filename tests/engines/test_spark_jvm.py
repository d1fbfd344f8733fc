"""Spark as most people have it, in a JVM with workers of their own: the same releases, also when workers die."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest

import sfumato as sf
from docs.notebooks import code_of
from docs.pages import ROOT, examples
from engines.test_disk import MODELS, TOWN_SCHEMA, content, policy_of
from engines.test_spark import in_files, rising
from golden.made_tables import town
from sfumato.anonymizers import mondrian

TESTS = Path(__file__).parents[1]


def in_a_jvm() -> bool:
    """Whether the whole of Spark is installed, and Java."""
    found = importlib.util.find_spec("pyspark")
    whole = found is not None and found.origin is not None and (Path(found.origin).parent / "jars").is_dir()
    return whole and shutil.which("java") is not None


POLICY = policy_of(TOWN_SCHEMA, MODELS[1])


def run(words: list[str], folder: Path, **told: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, with what it and workers need on their paths."""
    own = {"PYSPARK_PYTHON": sys.executable, "RUST_LOG": "off", **told}
    before = [path for path in [os.environ.get("PYTHONPATH")] if path]
    paths = os.pathsep.join([str(Path(sf.__file__).parents[1]), str(TESTS), *before])
    known = {**os.environ, **own, "PYTHONPATH": paths}
    return subprocess.run(words, cwd=folder, env=known, capture_output=True, text=True)


def chaos(policy: sf.Policy, frame: pl.DataFrame, master: str, tmp_path: Path) -> None:
    """Run the program."""
    source = in_files(frame, tmp_path / "in", 7)
    policy.to_file(tmp_path / "policy.toml")
    words = [str(TESTS / "engines" / "chaos.py"), str(source), str(tmp_path / "policy.toml"), str(tmp_path), master]
    ran = run([sys.executable, *words], tmp_path)
    assert ran.returncode == 0, ran.stderr[-4000:]


def attempts(folder: Path) -> list[int]:
    """How many attempts were made at each part."""
    return sorted(Counter(path.name.partition("-")[0] for path in folder.iterdir()).values())


needs_java = pytest.mark.skipif(
    not in_a_jvm(), reason="Spark is not installed as a whole; pip install 'pyspark[connect]', and Java"
)


@pytest.mark.slow
@needs_java
def test_releases_are_those_of_memory_whoever_dies(tmp_path: Path):
    """Every task that writes fails twice, its process killed."""
    frame = town(600)
    chaos(POLICY, frame, "local[2,30]", tmp_path)
    memory = sf.anonymize(sf.read_table(rising(frame, TOWN_SCHEMA), POLICY), POLICY, seed=7)
    memory.save(tmp_path / "memory")
    expected = content(tmp_path / "memory")
    assert min(attempts(tmp_path / "died")) >= 3
    assert content(tmp_path / "counted") == content(tmp_path / "written") == expected
    assert len(list((tmp_path / "written" / "data").iterdir())) == 3
    assert sorted(content(tmp_path / "streamed").splitlines()) == sorted(expected.splitlines())


@pytest.mark.slow
@needs_java
def test_by_counts_whatever_executor_is_killed(tmp_path: Path):
    """In every stage one executor is killed, and what it kept is lost."""
    frame = town(20_000).drop("born", "place")
    policy = policy_of(dataclasses.replace(TOWN_SCHEMA, insensitive=()), MODELS[1], sf.Mondrian())
    with patch.object(mondrian, "MOST_RETRIED", 0):
        sf.anonymize(sf.read_table(frame, policy), policy, seed=1).save(tmp_path / "memory")
    chaos(policy, frame, "local-cluster[2,1,1024]", tmp_path)
    assert len(list((tmp_path / "killed").iterdir())) == 7
    assert sorted(content(tmp_path / "written").splitlines()) == sorted(content(tmp_path / "memory").splitlines())


@pytest.mark.slow
@needs_java
def test_the_notebook_runs_as_a_script(tmp_path: Path):
    (tmp_path / "cells.py").write_text(code_of(ROOT / "docs" / "notebooks" / "on-spark.ipynb"))
    ran = run([sys.executable, "cells.py"], tmp_path, SPARK_REMOTE="local[2]")
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert "asks for k = 5000" in ran.stdout
    assert sf.verify(tmp_path / "release").ok


@pytest.mark.slow
@needs_java
def test_a_job_of_spark_submit_ends_with_the_code_of_the_command(tmp_path: Path):
    """A cluster whose executors are processes of their own makes the release; a promise too far ends with code 1."""
    page = (ROOT / "docs" / "how-to" / "pipelines.md").read_text(encoding="utf-8")
    [job] = [example.body for example in examples(page) if example.file == "publish.py"]
    (tmp_path / "publish.py").write_text(job)
    source = in_files(town(600), tmp_path / "in", 7)
    POLICY.to_file(tmp_path / "policy.toml")
    submit = [str(Path(importlib.util.find_spec("pyspark").origin).parent / "bin" / "spark-submit")]
    words = ["anonymize", str(source), "--policy", "policy.toml", "--engine", "spark", "--quiet"]
    ran = run([*submit, "publish.py", *words, "--out", "release"], tmp_path, MASTER="local-cluster[2,1,1024]")
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert "Connected to Spark cluster with app ID" in ran.stderr
    assert sf.verify(tmp_path / "release").ok
    strict = [*submit, "publish.py", *words, "-k", "100000", "--out", "strict"]
    ran = run(strict, tmp_path, MASTER="local[2]")
    assert ran.returncode == 1
    assert "asks for k = 100000" in ran.stderr
    assert not (tmp_path / "strict").exists()

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


def chaos(policy: sf.Policy, frame: pl.DataFrame, master: str, tmp_path: Path) -> None:
    """Run the program."""
    source = in_files(frame, tmp_path / "in", 7)
    policy.to_file(tmp_path / "policy.toml")
    own = {"PYSPARK_PYTHON": sys.executable, "RUST_LOG": "off"}
    before = [path for path in [os.environ.get("PYTHONPATH")] if path]
    paths = os.pathsep.join([str(Path(sf.__file__).parents[1]), str(TESTS), *before])
    words = [str(TESTS / "engines" / "chaos.py"), str(source), str(tmp_path / "policy.toml"), str(tmp_path), master]
    ran = subprocess.run(
        [sys.executable, *words], env={**os.environ, **own, "PYTHONPATH": paths}, capture_output=True, text=True
    )
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

"""Spark as most people have it, in a JVM with workers of their own: the same releases, also when workers die."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import sfumato as sf
from engines.test_disk import MODELS, TOWN_SCHEMA, content, policy_of
from engines.test_spark import in_files, rising
from golden.made_tables import town

TESTS = Path(__file__).parents[1]


def in_a_jvm() -> bool:
    """Whether the whole of Spark is installed, and Java."""
    found = importlib.util.find_spec("pyspark")
    whole = found is not None and found.origin is not None and (Path(found.origin).parent / "jars").is_dir()
    return whole and shutil.which("java") is not None


POLICY = policy_of(TOWN_SCHEMA, MODELS[1])


def chaos(tmp_path: Path) -> bytes:
    """Run the program; return what memory publishes of the same records."""
    frame = town(600)
    source = in_files(frame, tmp_path / "in", 7)
    POLICY.to_file(tmp_path / "policy.toml")
    own = {"PYSPARK_PYTHON": sys.executable, "RUST_LOG": "off"}
    paths = os.pathsep.join([str(Path(sf.__file__).parents[1]), str(TESTS)])
    words = [str(TESTS / "engines" / "chaos.py"), str(source), str(tmp_path / "policy.toml"), str(tmp_path)]
    ran = subprocess.run(
        [sys.executable, *words], env={**os.environ, **own, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    memory = sf.anonymize(sf.read_table(rising(frame, TOWN_SCHEMA), POLICY), POLICY, seed=7)
    memory.save(tmp_path / "memory")
    return content(tmp_path / "memory")


def attempts(folder: Path) -> list[int]:
    """How many attempts were made at each part."""
    return sorted(Counter(path.name.partition("-")[0] for path in folder.iterdir()).values())


@pytest.mark.slow
@pytest.mark.skipif(
    not in_a_jvm(), reason="Spark is not installed as a whole; pip install 'pyspark[connect]', and Java"
)
def test_releases_are_those_of_memory_whoever_dies(tmp_path: Path):
    """Every task of every step that workers do fails twice, its process killed."""
    expected = chaos(tmp_path)
    assert len(attempts(tmp_path / "died")) > 2
    assert min(attempts(tmp_path / "died")) >= 3
    assert content(tmp_path / "lost") == content(tmp_path / "counted") == content(tmp_path / "written") == expected
    assert len(list((tmp_path / "written" / "data").iterdir())) == 3
    assert sorted(content(tmp_path / "streamed").splitlines()) == sorted(expected.splitlines())

"""``sfumato anonymize --engine`` and ``--memory``: where the work is done, and what is said of it."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from sfumato.cli.app import app
from sfumato.engines import disk
from sfumato.table.large import memory

COLUMNS = ["--quasi", "age,zip", "--sensitive", "disease", "--others", "drop"]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "people.csv"
    rows = range(240)
    pl.DataFrame(
        {
            "name": [f"person {row}" for row in rows],
            "age": [20 + row * 7 % 60 for row in rows],
            "zip": [f"0{row * 13 % 97:04}" for row in rows],
            "disease": [["flu", "cold", "=gout"][row % 3] for row in rows],
        }
    ).write_csv(path)
    return path


def anonymize(people: Path, out: Path, *words: object) -> Result:
    told = ["anonymize", people, *COLUMNS, "--out", out, *(["-k", 5] if "-k" not in words else []), *words]
    return CliRunner().invoke(app, [str(word) for word in told], prog_name="sfumato")


def run(people: Path, out: Path, *words: object) -> tuple[int, str]:
    result = anonymize(people, out, *words)
    return result.exit_code, result.stderr


def test_both_engines_publish_the_same(people: Path, tmp_path: Path):
    for engine in ("memory", "disk"):
        code, said = run(people, tmp_path / engine, "--engine", engine, "--seed", 3)
        assert code == 0
        assert "column disease: 80 cells beginning with" in said
    names = {"data.csv", "release.json", "report.json", "report.txt", "policy.toml"}
    for folder in (tmp_path / "memory", tmp_path / "disk"):
        assert {path.name for path in folder.iterdir()} == names
    for name in names:
        assert (tmp_path / "memory" / name).read_bytes() == (tmp_path / "disk" / name).read_bytes()


def test_both_engines_tell_of_columns_that_pass_even_if_quiet(people: Path, tmp_path: Path):
    words = ["--identifying", "name", "--publish", "name", "--formulas", "escape", "--quiet"]
    told = [run(people, tmp_path / engine, *words, "--engine", engine)[1] for engine in ("memory", "disk")]
    assert told[0] == told[1]
    assert "Column 'name' is never published: its role is identifying." in told[0]


def test_small_tables_stay_in_memory_and_nothing_is_said(people: Path, tmp_path: Path):
    code, said = run(people, tmp_path / "out")
    assert code == 0
    assert "memory" not in said


def test_too_little_memory_sends_the_work_to_the_disk(people: Path, tmp_path: Path):
    code, said = run(people, tmp_path / "out", "--memory", "256MiB")
    assert code == 0
    assert "in memory this table takes about 0.3 GB, and 0.3 GB may be used; it is done on disk" in said


def test_what_the_disk_cannot_goes_on_in_memory_only_where_there_is_room(people: Path, tmp_path: Path, monkeypatch):
    bounded = "--memory", "256MiB", "--set", "policy.refine=2"
    code, said = run(people, tmp_path / "out", *bounded)
    assert code == 2
    assert "it cannot be done on disk: refine compares records of the whole table" in said
    for free, expected in ((400 << 20, 0), (200 << 20, 2)):
        monkeypatch.setattr(memory, "free_memory", lambda free=free: free)
        code, said = run(people, tmp_path / f"out {free}", *bounded[2:])
        assert code == expected
        assert ("it is done in memory anyway: refine compares" in said) == (not expected)


@pytest.mark.parametrize("engine", ["disk", "auto"])
def test_what_a_run_took_beyond_its_memory_is_said(engine: str, people: Path, tmp_path: Path, monkeypatch):
    words = ["--memory", "1GB", "--engine", engine, "--json"]
    for peak, beyond in ((1_234_000_000, True), (900_000_000, False), (None, False)):
        monkeypatch.setattr(memory, "peak_memory", lambda peak=peak: peak)
        done = anonymize(people, tmp_path / f"{peak}", *words)
        assert done.exit_code == 0
        said = "the run took 1,234 MB of memory at its peak, more than the 1,000 MB of --memory; where that is too much"
        assert (said in done.stderr) == beyond
        assert json.loads(done.stdout)["memory"] == {"allowed": 1_000_000_000, "peak": peak}
        assert b"peak" not in (tmp_path / f"{peak}" / "report.json").read_bytes()
    assert "memory" not in json.loads(anonymize(people, tmp_path / "out", "--json").stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a program alone is counted on Linux")
def test_the_peak_is_what_the_program_held_at_once():
    program = """if True:
        import sys, sfumato.table.large.memory as memory
        before = memory.peak_memory()
        bytearray(200 << 20)[::4096] = bytes(200 << 8)
        print(before, memory.peak_memory())"""
    # Whoever starts it holds more.
    around = f"import subprocess, sys; held = b'x' * (400 << 20); subprocess.run([sys.executable, '-c', {program!r}])"
    done = subprocess.run([sys.executable, "-c", around], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert 190 << 20 <= after - before < 220 << 20
    assert before < 400 << 20


def test_what_would_take_more_than_its_memory_is_refused_with_the_figure(people: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(disk, "BASE", 1 << 30)
    for words in ([], ["--anonymizer", "mdav"]):
        code, said = run(people, tmp_path / "out", "--engine", "disk", "--memory", "600MB", *words)
        assert code == 2
        assert "this may take 1.1 GB of memory, and 0.6 GB may be used; nothing was published" in said
        assert not list(tmp_path.iterdir())


WRONG = {
    "size": (["--memory", "plenty"], "memory: must be a size such as 4GB or 500MB"),
    "little": (["--memory", "3MB"], "memory: must be at least 256MiB"),
    "both": (["--memory", "4GB", "--engine", "memory"], "--memory: bounds the disk engine"),
    "bound": (["--engine", "disk", "--bound"], "--bound: compares all records"),
    "refine": (["--engine", "disk", "--set", "policy.refine=3"], "use --engine memory"),
    "publisher": (["--engine", "disk", "--anonymizer", "overlapping-slicing"], "use --engine memory"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes_are_one_sentence_and_nothing_is_written(mistake: str, people: Path, tmp_path: Path):
    words, sentence = WRONG[mistake]
    code, said = run(people, tmp_path / "out", *words)
    assert code == 2
    assert sentence in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [["--engine", "disk"], ["--memory", "256MiB"], ["--memory", "1GB"]])
def test_a_database_is_a_source_like_a_file(words: list[str], people: Path, tmp_path: Path):
    """It is read once, a batch at a time, whether that was asked for or is told by the number of its rows."""
    source = f"sqlite:///{tmp_path}/clinic.db?table=visits"
    with closing(sqlite3.connect(tmp_path / "clinic.db")) as database:
        frame = pl.read_csv(people, schema_overrides={"zip": pl.String})
        database.execute(f"CREATE TABLE visits ({', '.join(frame.columns)})")
        database.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", frame.iter_rows())
        database.commit()
    assert run(people, tmp_path / "file", "--seed", 3)[0] == 0
    code, said = run(source, tmp_path / "out", "--seed", 3, *words)  # type: ignore[arg-type]
    assert code == 0
    assert ("it is done on disk" in said) == (words[-1] == "256MiB")
    assert (tmp_path / "out" / "data.csv").read_bytes() == (tmp_path / "file" / "data.csv").read_bytes()


def test_a_database_that_is_not_there_is_one_sentence(tmp_path: Path):
    for words in (["--engine", "disk"], ["--memory", "256MiB"], []):
        code, said = run(f"sqlite:///{tmp_path}/clinic.db?table=visits", tmp_path / "out", *words)  # type: ignore[arg-type]
        assert code == 2
        assert "there is no such database file" in said
        assert not list(tmp_path.iterdir())

"""``sfumato demo``: what it prints, what it leaves behind, and what it refuses to replace."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from sfumato.cli import demo as command
from sfumato.cli.app import app
from sfumato.cli.demo import MARK
from sfumato.release.verify import verify

SMALL = ["--patients", "400", "--seed", "5"]


def sfumato(*words: str, folder: Path) -> Result:
    """Run a command in `folder` as if typed there."""
    with contextlib.chdir(folder):
        return CliRunner(env={"COLUMNS": "80"}).invoke(app, words)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("demo")
    done = sfumato("demo", *SMALL, folder=folder)
    assert done.exit_code == 0
    return folder, done.stdout


def figures(text: str, row: str) -> list[float]:
    (line,) = [line for line in text.splitlines() if line.strip().startswith(row)]
    return [float(number) for number in re.findall(r"([\d.]+)%", line)]


def test_before_and_after(played: tuple[Path, str]) -> None:
    _, text = played
    certain, learnt, sure, loss = (
        figures(text, row)
        for row in ("re-identified with certainty", "disease learnt with", "average certainty ", "information loss ")
    )
    assert certain[0] > 80
    assert certain[1] == 0
    assert learnt[0] > 80
    assert learnt[1] == 0
    assert sure[0] > 80 > 20 >= sure[1]
    assert loss[0] == 0 < loss[1] < 100


def test_it_reads_well_without_a_terminal(played: tuple[Path, str]) -> None:
    folder, text = played
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert "Nobody in these tables exists." in " ".join(text.split())
    assert sorted(path.name for path in folder.iterdir()) == ["demo-output"]


def test_it_reads_where_there_are_only_ascii_letters(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sfumato.cli", "demo", *SMALL],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(command.__file__).parents[2]), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert b"\\u" not in done.stdout


def test_what_it_leaves(played: tuple[Path, str]) -> None:
    out = played[0] / "demo-output"
    assert sorted(path.name for path in out.iterdir()) == sorted(
        [MARK, "patients.csv", "register.csv", "policy.toml", "release"]
    )
    assert "synthetic" in (out / MARK).read_text(encoding="utf-8")
    assert verify(out / "release").ok
    names = set(pl.read_csv(out / "patients.csv", infer_schema=False)["name"])
    published = "".join(path.read_text(encoding="utf-8") for path in (out / "release").iterdir())
    assert not any(name in published for name in names)


def test_the_next_steps_work(played: tuple[Path, str], tmp_path: Path) -> None:
    text = played[1]
    folder = Path(shutil.copytree(played[0], tmp_path / "copy"))
    steps = text.split("What to look at next\n")[1].replace("\\\n", " ")
    commands = [shlex.split(line) for line in steps.splitlines() if line.startswith("    ")]
    verbs = {"verify", "measure", "anonymize"}
    ours = [words[place:] for words in commands for place, word in enumerate(words) if word in verbs]
    assert [words[0] for words in ours] == ["verify", "measure", "anonymize", "anonymize", "anonymize"]
    for words in ours:
        done = sfumato(*words, folder=folder)
        assert done.exit_code == 0, done.stderr
    assert all((folder / words[1]).is_file() for words in commands if words[0] == "cat")


def test_a_seed_repeats_everything(played: tuple[Path, str], tmp_path: Path) -> None:
    folder, text = played
    assert sfumato("demo", *SMALL, folder=tmp_path).stdout == text
    for name in ("patients.csv", "register.csv", "release/data.csv"):
        paths = [each / "demo-output" / name for each in (folder, tmp_path)]
        assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_later_demo_replaces_its_own_files_and_no_others(tmp_path: Path) -> None:
    words = ("demo", "--patients", "300", "--out", "out")
    assert sfumato(*words, folder=tmp_path).exit_code == 0
    before = (tmp_path / "out" / "patients.csv").read_bytes()
    (tmp_path / "out" / "mine.txt").write_text("keep me")
    assert sfumato(*words, folder=tmp_path).exit_code == 0
    assert (tmp_path / "out" / "patients.csv").read_bytes() != before
    assert (tmp_path / "out" / "mine.txt").read_text() == "keep me"
    assert verify(tmp_path / "out" / "release").ok
    assert not [path for path in (tmp_path / "out").rglob("*") if path.name.startswith(".")]


def test_it_asks_for_patience_where_it_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "PATIENCE_SECONDS", 0.0)
    with command._patience():
        deadline = time.monotonic() + 60
        while "first run" not in (said := capsys.readouterr().err) and time.monotonic() < deadline:
            time.sleep(0.01)
    assert said.startswith("sfumato: still working; the first run after installing compiles")


def test_it_is_quiet_where_it_does_not(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "PATIENCE_SECONDS", 60.0)
    with command._patience():
        pass
    assert capsys.readouterr().err == ""


class TestRefusals:
    def test_a_folder_of_somebody_else(self, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "thesis.txt").write_text("years of work")
        done = sfumato("demo", "--out", "out", folder=tmp_path)
        assert done.exit_code == 2
        assert done.stderr == "sfumato: out: is not empty and was not made by a demo; name another folder with --out\n"
        assert done.stdout == ""
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.txt"]

    def test_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "out").write_text("a file")
        done = sfumato("demo", "--out", "out", folder=tmp_path)
        assert (done.exit_code, done.stderr) == (2, "sfumato: out: is a file; name a folder with --out\n")

    def test_a_folder_in_no_folder(self, tmp_path: Path) -> None:
        done = sfumato("demo", "--out", "no/out", folder=tmp_path)
        assert done.exit_code == 2
        assert "there is no such folder; make it first" in done.stderr

    def test_a_number_of_patients_that_makes_no_sense(self, tmp_path: Path) -> None:
        done = sfumato("demo", "--patients", "0", folder=tmp_path)
        assert done.exit_code == 2
        assert "patients: must be a whole number" in done.stderr
        assert not list(tmp_path.iterdir())

    def test_too_few_patients_for_the_promise_leave_nothing(self, tmp_path: Path) -> None:
        done = sfumato("demo", "--patients", "3", folder=tmp_path)
        assert done.exit_code == 1
        assert "k-anonymity" in done.stderr
        assert "Traceback" not in done.stderr
        assert not list(tmp_path.iterdir())


def test_commands_are_broken_between_pieces() -> None:
    pieces = ["sfumato", "measure", "'a folder/patients.csv'", "release", "--policy policy.toml"]
    lines = command._command_lines(pieces, 44)
    assert len(lines) == 2
    assert max(map(len, lines)) <= 44
    assert shlex.split("\n".join(lines).replace("\\\n", " ")) == shlex.split(" ".join(pieces))

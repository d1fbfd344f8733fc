"""Every exit code that the page on pipelines lists, and no other."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest

import sfumato as sf
from docs.pages import ROOT

SOURCE = str(Path(sf.__file__).parents[1])
ROLES = "--quasi age --sensitive ill"
LINES = {
    0: [f"anonymize in.csv {ROLES} -k 3 --out new", "verify out", "--version", "--help"],
    1: [f"anonymize in.csv {ROLES} -k 3000 --out never", "verify broken"],
    2: [
        f"anonymize nothing.csv {ROLES} -k 3 --out never",
        f"anonymize in.csv {ROLES} -k x --out never",
        "anonymize in.csv --quasi nothing -k 3 --out never",
        f"anonymize in.csv {ROLES} -k 3 --out out",
        f"anonymize in.csv {ROLES} -k 3 --out no/such/folder",
        "",
    ],
}
"""Code → command lines that end with it; 130 is below."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("codes")
    frame = pl.DataFrame({"age": [20 + i % 6 for i in range(60)], "ill": ["flu", "cold"] * 30})
    frame.write_csv(folder / "in.csv")
    schema = sf.Schema(quasi_identifying=["age"], sensitive=["ill"])
    release = sf.anonymize(frame, sf.KAnonymity(3), schema=schema, seed=1)
    release.save(folder / "out")
    release.save(folder / "broken")
    with (folder / "broken" / "data.csv").open("a") as data:
        data.write("99,gout\n")
    return folder


def run(line: str, place: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sfumato", *line.split()]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False, **more)


@pytest.mark.parametrize(("code", "line"), [(code, line) for code, lines in LINES.items() for line in lines])
def test_a_command_ends_with_its_code(code: int, line: str, place: Path) -> None:
    done = run(line, place)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert not (place / "never").exists()


def test_what_is_not_there_is_said_first_and_all_at_once(place: Path) -> None:
    absent = "sfumato: no.csv: there is no such file; check the path"
    assert run("measure no.csv no", place).stderr.splitlines() == [absent, "sfumato: no: no such release folder"]
    first, *others = run("anonymize no.csv --out out --quasi age -k 0", place).stderr.splitlines()
    assert first == absent
    assert [line.partition(": ")[2].partition(": ")[0] for line in others] == ["--out", "-k"]
    assert run("risk in.csv --quasi age --population no.csv", place).stderr.startswith("sfumato: --population: no.csv")
    assert "name the table first, then the release: in.csv out" in run("measure out in.csv", place).stderr


def test_columns_that_are_not_there_are_said_beside_other_mistakes(place: Path) -> None:
    for command in ("anonymize in.csv --out never -k 0", "check in.csv -k 0", "compare in.csv -k 0", "review in.csv"):
        *others, columns = run(f"{command} --quasi age,nothing --sensitive ill", place).stderr.splitlines()
        assert columns.startswith("sfumato: in.csv: missing column(s): 'nothing'"), command
        assert [line for line in others if "-k: must be" in line] == ([] if command == "review in.csv" else others)
    # A setting may change how the header is read.
    told = run("check in.csv --quasi nothing -k 0 --set source.separator=;", place).stderr
    assert "missing" not in told
    assert "-k: must be" in told


def test_a_group_says_which_commands_it_has(place: Path) -> None:
    assert "sfumato evidence has init, write, task, score, log" in run("evidence out", place).stderr


def test_an_interruption_has_a_code_of_its_own(place: Path) -> None:
    # The table never ends, so that the command waits for it until it is interrupted.
    command = [sys.executable, "-m", "sfumato", *f"anonymize - {ROLES} -k 3 --out never --log-json".split()]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    pipes: Any = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=place, env=environment, **pipes) as process:
        process.stdin.write("age,ill\n20,flu\n")
        process.stdin.flush()
        for _ in range(40):
            # While libraries of a command are loaded, an interruption may get lost.
            time.sleep(1.5)
            if process.poll() is not None:
                break
            process.send_signal(signal.SIGINT)
        process.kill()
        told = process.stderr.read()
        assert process.wait(30) == 130
    assert [json.loads(line)["message"] for line in told.splitlines()] == [
        "stopped; no release was written",
        "ended with exit code 130",
    ]


WHILE_LOADING = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
sys.argv = ["sfumato", *{words!r}]
from sfumato.cli import main
main()
"""


@pytest.mark.parametrize("module", ["sfumato.cli.app", "typer", "sfumato.cli.options", "sfumato.cli.anonymize"])
@pytest.mark.parametrize("logged", [False, True])
def test_an_interruption_while_the_program_is_loaded(module: str, logged: bool, place: Path) -> None:
    words = [*f"anonymize in.csv {ROLES} -k 2 --out never".split(), *(["--log-json"] if logged else [])]
    program = WHILE_LOADING.format(module=module, words=words)
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 130, done.stderr
    told = [json.loads(line)["message"] for line in done.stderr.splitlines()] if logged else done.stderr.splitlines()
    ended = ["stopped; no release was written", "ended with exit code 130"]
    assert told == (ended if logged else [f"sfumato: {ended[0]}"])
    assert not (place / "never").exists()


def test_the_page_lists_these_codes() -> None:
    page = (ROOT / "docs" / "how-to" / "pipelines.md").read_text(encoding="utf-8")
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)] == [*LINES, 130]


def test_standard_input_is_a_table(place: Path) -> None:
    table = (place / "in.csv").read_text()
    done = run(f"anonymize - {ROLES} -k 3 --out from-pipe --quiet", place, input=table)
    assert done.returncode == 0, done.stderr
    assert sf.verify(place / "from-pipe").ok
    done = run(f"anonymize - {ROLES} -k 3 --out never", place, input="")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("sfumato: standard input: the file is empty")


def test_logs_are_json_and_hold_no_value(place: Path) -> None:
    for line, codes in ((f"anonymize in.csv {ROLES} -k 3 --out logged --log-json", 0), ("--log-json verify broken", 1)):
        done = run(line, place)
        entries = [json.loads(each) for each in done.stderr.splitlines()]
        assert entries[-1]["exit_code"] == codes
        assert entries[-1]["command"] == line.removeprefix("--log-json ").split()[0]
        assert all({"time", "level", "logger", "message"} <= {*entry} for entry in entries)
        assert "flu" not in done.stderr
        assert "gout" not in done.stderr
    assert entries[-2]["message"] == "broken: not verified"


def test_usage_errors_are_logged_too(place: Path) -> None:
    done = run("anonymize --no-such-option --log-json", place)
    entries = [json.loads(each) for each in done.stderr.splitlines()]
    assert [entry["level"] for entry in entries] == ["error", "info"]
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("sfumato an", {"anonymize"}),
        ("sfumato series r", {"republish"}),
        ("sfumato risk --qu", {"--quasi"}),
        ("sfumato anonymize --anonymizer k-m", {"k-member", "k-means"}),
        ("sfumato anonymize --model t-", {"t-closeness"}),
        ("sfumato anonymize --kind r", {"ratings"}),
        ("sfumato attack out --attack linkage,hom", {"linkage,homogeneity"}),
        ("sfumato anonymize names.csv --quasi age,z", {"age,zip"}),
        ("sfumato check names.csv --sensitive i", {"ill"}),
    ],
)
def test_shells_complete_commands_options_and_names(typed: str, offered: set[str], place: Path) -> None:
    settings = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1), "_SFUMATO_COMPLETE": "complete_bash"}
    environment = {**os.environ, "PYTHONPATH": SOURCE, **settings}
    (place / "names.csv").write_text("age,zip,ill\n34,zeta,iota\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "sfumato"], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert offered <= {*done.stdout.split()}, done.stderr
    assert not {"zeta", "iota", "age,zeta"} & {*done.stdout.split()}


def test_a_shell_can_load_the_completion(place: Path) -> None:
    # The shell is the one that is named, not the one that started the tests: there may be none.
    with patch.dict(os.environ, {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}):
        done = run("--show-completion bash", place)
    assert "_SFUMATO_COMPLETE=complete_bash" in done.stdout
    assert subprocess.run(["bash", "-n"], input=done.stdout, text=True, check=False).returncode == 0

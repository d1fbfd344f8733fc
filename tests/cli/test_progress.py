from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli.progress import draw_compiling, progress_bar
from sfumato.kernels.announcing import compiling
from sfumato.progress import BEAT


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "quiet"), [(io.StringIO(), False), (Terminal(), True)])
def test_nothing_is_drawn_off_a_terminal_or_when_quiet(monkeypatch, stream, quiet):
    monkeypatch.setattr("sys.stderr", stream)
    with progress_bar(quiet=quiet) as progress:
        progress("cutting", 1, 2)
    assert stream.getvalue() == ""


def test_a_bar_is_drawn_on_a_terminal_and_taken_away_after_an_interruption(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)

    def interrupted() -> None:
        with progress_bar() as progress:
            progress("cutting", 1, 4)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    drawn = terminal.getvalue()
    assert "cutting" in drawn
    assert "25%" in drawn
    assert drawn.rstrip().endswith("\x1b[2K")  # the line is erased


def test_lines_of_json_are_written_off_a_terminal_and_while_an_algorithm_is_silent(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with progress_bar(quiet=True, told="json") as progress:
        progress("reading", 0, 1)
        for done in range(1000):
            progress("cutting", done, 1000)
        time.sleep(1.3)
        progress("checking", 1, 2)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    told = [line["progress"] for line in lines]
    assert told[0] == "reading"
    assert told[-1] == "checking"
    # A thousand calls in a moment are a few lines, and the last of them is repeated in the silence.
    assert 2 <= told.count("cutting") < 100
    assert [line["done"] for line in lines if line["progress"] == "cutting"][-1] == 999
    seconds = [line["seconds"] for line in lines]
    assert seconds == sorted(seconds)
    assert set(lines[0]) == {"progress", "done", "total", "seconds"}


def test_a_command_tells_progress_as_json(tmp_path):
    from typer.testing import CliRunner

    from sfumato.cli.app import app

    table = tmp_path / "people.csv"
    table.write_text(
        "age,sick\n" + "".join(f"{20 + row % 30},{'ab'[row % 2]}\n" for row in range(60)), encoding="utf-8"
    )
    words = [
        "anonymize",
        str(table),
        "--quasi",
        "age",
        "--sensitive",
        "sick",
        "-k",
        "3",
        "--json",
        "--progress",
        "json",
    ]
    done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "release")])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["records"]
    lines = [line for line in done.stderr.splitlines() if line.startswith("{")]
    assert "reading" in [json.loads(line)["progress"] for line in lines]


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A table and its release, with the words that name them."""
    folder = tmp_path_factory.mktemp("released")
    table = folder / "people.csv"
    table.write_text(
        "age,sick\n" + "".join(f"{20 + row % 30},{'ab'[row % 2]}\n" for row in range(60)), encoding="utf-8"
    )
    schema = sf.Schema(quasi_identifying=["age"], sensitive=["sick"])
    sf.anonymize(sf.read_table(table, schema), sf.KAnonymity(3)).save(folder / "release")
    return {"TABLE": str(table), "RELEASE": str(folder / "release"), "REPORT": str(folder / "report.html")}


@pytest.mark.parametrize(
    "command",
    [
        "risk TABLE --quasi age",
        "risk RELEASE",
        "verify RELEASE",
        "check TABLE --quasi age --sensitive sick",
        "measure TABLE RELEASE",
        "utility TABLE RELEASE --queries 20",
        "attack RELEASE --original TABLE --attack linkage",
        "compare TABLE --quasi age --sensitive sick --anonymizers mondrian -k 3 --queries 0",
        "report RELEASE --original TABLE --out REPORT",
    ],
)
def test_every_command_that_takes_long_tells_progress_as_json(released, command):
    from typer.testing import CliRunner

    from sfumato.cli.app import app

    words = [released.get(word, word) for word in command.split()]
    done = CliRunner().invoke(app, [*words, "--json", "--progress", "json"])
    assert done.exit_code == 0, done.output
    json.loads(done.stdout)
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith('{"progress"')]
    assert lines
    assert all(set(line) == {"progress", "done", "total", "seconds"} for line in lines)


def test_work_that_says_nothing_is_told_of_twice_a_second(released, monkeypatch):
    import sfumato.release.anonymize as making

    made = making.made

    def slowly(task):
        time.sleep(3 * BEAT)
        return made(task)

    monkeypatch.setattr(making, "made", slowly)
    table = sf.read_table(released["TABLE"], sf.Schema(quasi_identifying=["age"], sensitive=["sick"]))
    told = []
    sf.anonymize(table, sf.KAnonymity(3), progress=lambda *line: told.append(line))
    assert told.count(("starting", 0, 1)) >= 2


def test_a_callback_that_raises_ends_the_work(released):
    table = sf.read_table(released["TABLE"], sf.Schema(quasi_identifying=["age"], sensitive=["sick"]))

    def stop(what, done, total):
        raise InterruptedError(what)

    for verb in (
        lambda: sf.anonymize(table, sf.KAnonymity(3), progress=stop),
        lambda: sf.check(table, progress=stop),
        lambda: sf.risk(table, progress=stop),
        lambda: sf.attack(released["RELEASE"], table, progress=stop),
        lambda: sf.compare(table, anonymizers=["mondrian"], values=[3], progress=stop),
        lambda: sf.verify(released["RELEASE"], progress=stop),
    ):
        with pytest.raises(InterruptedError):
            verb()


def until(seen: Callable[[], bool]) -> None:
    """Wait, for long on a busy machine, until another thread has done something."""
    for _ in range(600):
        if seen():
            return
        time.sleep(0.05)


@pytest.mark.parametrize("beside_a_bar", [True, False])
def test_a_kernel_that_is_compiled_has_a_bar_until_it_is(monkeypatch, beside_a_bar):
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)

    def compile_something() -> None:
        draw_compiling("cut", 0.5)
        compiling.append("cut")
        until(lambda: "99%" in terminal.getvalue())
        compiling.remove("cut")
        until(erased)

    def erased() -> bool:
        drawn = terminal.getvalue()
        return "compiling" not in drawn[drawn.rindex("\x1b[2K") :]

    if beside_a_bar:
        with progress_bar() as progress:
            progress("cutting", 1, 4)
            compile_something()
    else:
        compile_something()
    assert "compiling cut" in terminal.getvalue()
    assert "99%" in terminal.getvalue()
    assert erased()


def test_quiet_commands_draw_no_compiling_either(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress_bar(quiet=True):
        draw_compiling("cut", 0.5)
        time.sleep(0.3)
    assert terminal.getvalue() == ""


INTERRUPTED = """
import os, signal, sys, threading, time
from sfumato.cli.app import stop_compiling_at_interrupt
from sfumato.kernels.announcing import compiling
stop_compiling_at_interrupt()
compiling.append("cut")
waits = threading.Event()
if sys.argv[1] == "in another thread":
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("ready", flush=True)
if sys.argv[1] == "in the compiler":
    # The compiler calls Python, where an exception is printed and forgotten.
    class Called:
        def __del__(self):
            time.sleep(60)
    Called()
waits.wait(60)
"""


@pytest.mark.parametrize("where", ["in another thread", "in the compiler"])
def test_an_interruption_while_compiling_ends_the_program_at_once_and_in_one_line(where: str, tmp_path: Path):
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    with subprocess.Popen(
        [sys.executable, script, where], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
        time.sleep(0.2)
        run.send_signal(signal.SIGINT)
        # What it waits for takes twice as long.
        _, told = run.communicate(timeout=30)
    assert (run.returncode, told) == (130, "sfumato: stopped; no release was written\n")

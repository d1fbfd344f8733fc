from __future__ import annotations

import io
import json
import time

import pytest

from sfumato.cli.progress import progress_bar


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
    assert 3 <= told.count("cutting") <= 10
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

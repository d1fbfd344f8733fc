from __future__ import annotations

import io

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

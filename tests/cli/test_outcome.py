from __future__ import annotations

import errno
import os

import polars as pl
import pytest
import typer
from typer.testing import CliRunner

from sfumato.cli.app import app
from sfumato.cli.outcome import explained, narrow, outcome, printable, say
from sfumato.errors import PolicyError, UnsatisfiableError, VerificationError

MARK = "geheim-4711"


def fail(error: BaseException) -> int:
    def work() -> None:
        raise error

    return outcome(work)


def test_done_is_0_and_a_returned_code_is_kept():
    assert outcome(lambda: None) == 0
    assert outcome(lambda: 1) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Usage: sfumato COMMAND [OPTIONS]\n\nPublish a table"),
        (["attack", "people.csv", "there"], "attack takes RELEASE|TABLE alone; the original table goes behind --orig"),
        (["risk", "people.csv", "there"], "sfumato: there: sfumato risk takes TABLE alone"),
        (["anonymize", "people.csv", "--quasi-identifying", "age"], "--quasi-identifying (here it is --quasi) (--help"),
    ],
)
def test_what_was_typed_in_part_or_too_much_says_what_to_type(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        app(words, prog_name="sfumato")
    assert (end.value.code, said in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize(
    ("error", "code", "lines"),
    [
        (PolicyError("a: wrong", "b: wrong"), 2, ["sfumato: a: wrong", "sfumato: b: wrong"]),
        (UnsatisfiableError("k"), 1, ["sfumato: k"]),
        (VerificationError("k"), 1, ["sfumato: k"]),
        (KeyboardInterrupt(), 130, ["sfumato: stopped; no release was written"]),
        (typer.Abort(), 130, ["sfumato: stopped; no release was written"]),
        (typer.BadParameter("no such thing."), 2, ["sfumato: Invalid value: no such thing (--help shows an example)"]),
        (OSError(errno.ENOSPC, "x"), 2, ["sfumato: the disk is full; free some space and start again"]),
        (OSError(errno.EDQUOT, "x", "out"), 2, ["sfumato: out: the disk is full; free some space and start again"]),
        (PermissionError(errno.EACCES, "x", "out"), 2, ["sfumato: out: permission denied"]),
        (FileNotFoundError(errno.ENOENT, "x", "in.csv"), 2, ["sfumato: in.csv: no such file or directory"]),
    ],
)
def test_every_expected_error_is_one_line_per_problem(capsys, error, code, lines):
    assert fail(error) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == lines


def test_too_little_memory_is_one_line(capsys):
    assert fail(MemoryError(MARK)) == 2
    err = capsys.readouterr().err
    assert err.startswith("sfumato: not enough memory")
    assert err.count("\n") == 1
    assert MARK not in err


class Panic(BaseException):
    """Errors of compiled libraries need not be exceptions."""


@pytest.mark.parametrize(
    "error",
    [
        ValueError(MARK),
        KeyError(MARK),
        pl.exceptions.ComputeError(MARK),
        Panic(MARK),
        OSError(MARK),
        UnicodeError(MARK),
    ],
)
def test_an_unexpected_error_names_its_kind_and_never_its_message(capsys, error):
    assert fail(error) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert MARK not in err
    assert "Traceback" not in err


def test_debugging_shows_places_but_no_values(capsys, monkeypatch):
    monkeypatch.setenv("SFUMATO_DEBUG", "1")

    def inner(value: str) -> None:
        raise ValueError(value)

    def work() -> None:
        try:
            inner(MARK)
        except ValueError:
            raise RuntimeError(MARK) from None

    assert outcome(work) == 2
    err = capsys.readouterr().err
    assert "in inner" in err
    assert "RuntimeError" in err
    assert "ValueError" in err
    assert MARK not in err


def test_a_reader_that_goes_away_is_one_line(capfd, monkeypatch):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as gone:
        monkeypatch.setattr("sys.stdout", gone)
        assert outcome(lambda: say("x" * 100_000)) == 2
        monkeypatch.undo()
    assert capfd.readouterr().err.splitlines() == [
        "sfumato: the program that read the output has ended; stopped writing"
    ]


def test_control_characters_of_a_name_do_not_reach_the_terminal(capsys):
    assert fail(PolicyError("column \x1b[2J\nsfumato: done\r\u202e")) == 2
    assert capsys.readouterr().err == "sfumato: column \\x1b[2J\\nsfumato: done\\r\\u202e\n"
    assert printable("täble|\t") == "täble|\t"
    say("a\nb\x07")
    assert capsys.readouterr().out == "a\nb\\x07\n"


def test_messages_of_the_command_line_grammar_are_usage_errors():
    lines, code = explained(typer.BadParameter(""))
    assert (lines, code) == (["Invalid value:  (--help shows an example)"], 2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-k", "x"], "sfumato: Invalid value for '-k': must be a whole number (--help shows an example)"),
        (["-k", "2.5"], "sfumato: Invalid value for '-k': must be a whole number (--help shows an example)"),
        (["-t", "x"], "sfumato: Invalid value for '-t': must be a number (--help shows an example)"),
        (["--formulas", "x"], "'x' is not one of 'keep', 'escape', 'refuse' (--help shows an example)"),
    ],
)
def test_what_the_grammar_refuses_is_said_without_the_words_of_its_library(words: list[str], said: str):
    result = CliRunner().invoke(app, ["anonymize", "people.csv", *words], prog_name="sfumato")
    assert result.exit_code == 2
    assert result.stderr.endswith(f"{said}\n")
    assert "Value error" not in result.stderr


def test_a_line_fits_a_terminal_whatever_stands_in_it() -> None:
    for line in (
        "short",
        "  · " + "word " * 40,
        " " * 44 + "health_authority_of_residence_of_a_person",
        "a" * 30 + "  " + "b" * 60,
    ):
        parts = narrow(line)
        assert " ".join(parts).split() == line.split()
        assert max(map(len, parts)) <= 80

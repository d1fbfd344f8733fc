"""What a person reads after a release: ten lines at most, the answer first, and nothing open left out."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sfumato.cli import summary
from sfumato.cli.app import app
from sfumato.cli.summary import headline, say_marked
from sfumato.models.protocol import Check, Outcome
from sfumato.published.checks.generalized import Verification

ROLES = ("--quasi", "age,sex", "--sensitive", "illness", "-k", "3")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    table = tmp_path / "people.csv"
    rows = [f"{20 + row // 3},{'fm'[row // 3 % 2]},{'abc'[row % 3]},{row}" for row in range(60)]
    table.write_text("age,sex,illness,pay\n" + "\n".join(rows) + "\n")
    return table


def printed(*words: object) -> list[str]:
    done = CliRunner().invoke(app, [str(word) for word in words], prog_name="sfumato")
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


def test_ten_lines_say_what_holds_what_it_cost_and_what_is_open(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    lines = printed("anonymize", people, *ROLES, "--others", "drop", "--out", out)
    assert lines[0].split() == ["✓", "verified:", "the", "promise", "holds", "asked", "reached"]
    assert lines[1].split() == ["✓", "k-anonymity", "k=3", "k=3"]
    assert lines[2] == "Kept      60 of 60 records; 100% of detail; age 100%, sex 100%"
    assert "at most 1 in 3 before; now at most 1 in 3 to be found; 20 classes" in lines[3]
    assert lines[4] == "! no promise covers the sensitive column 'illness'"
    assert lines[5:] == [
        f"Release   {out}: hand over this folder, and nothing else",
        f"Next      sfumato verify {out}",
        f"Attacks   not played: sfumato attack {out} --original {people}",
    ]


def test_details_are_the_whole_report(people: Path, tmp_path: Path) -> None:
    lines = printed("anonymize", people, *ROLES, "--others", "drop", "--out", tmp_path / "out", "--details")
    assert {"Losses", "Limits"} <= set(lines)


def test_everything_that_is_open_is_said(people: Path, tmp_path: Path) -> None:
    lines = printed("anonymize", people, *ROLES, "--others", "keep", "--publish", "pay", "--out", tmp_path / "out")
    marked = [line for line in lines if line.startswith("! ")]
    assert marked[0] == "! no promise covers pay: published as it is"
    assert any("'illness'" in line for line in marked)


def _verification(*outcomes: tuple[Outcome, bool]) -> Verification:
    return Verification(tuple(Check("k-anonymity (k=2)", outcome, required=must) for outcome, must in outcomes), 4, 2)


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ([(Outcome.HOLDS, True)] * 2, "✓ verified: every promise holds"),
        ([(Outcome.HOLDS, True), (Outcome.BROKEN, True)], "✗ not verified: 1 of 2 checks failed"),
        ([(Outcome.HOLDS, True), (Outcome.BROKEN, False)], "✗ not verified: 1 of 2 checks failed"),
        ([(Outcome.HOLDS, True), (Outcome.UNDECIDABLE, True)], "✗ not verified; 1 promise cannot be recounted"),
        ([(Outcome.HOLDS, True), (Outcome.UNDECIDABLE, False)], "! nothing is broken; 1 promise cannot be recounted"),
        ([(Outcome.HOLDS, True), (Outcome.ABSENT, True)], "✗ this release promises nothing"),
        ([], "✗ this release promises nothing"),
    ],
)
def test_a_headline_never_says_more_than_holds(outcomes: Any, said: str) -> None:
    verification = _verification(*outcomes)
    assert headline(verification).startswith(said)
    assert headline(verification).startswith("✗") or verification.ok


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("encoding", "no_colour", "shown"),
    [("utf-8", "", "\x1b[32m✓\x1b[0m holds"), ("utf-8", "1", "✓ holds"), ("ascii", "", "+ holds")],
)
def test_marks_are_coloured_on_terminals_alone(
    monkeypatch: pytest.MonkeyPatch, encoding: str, no_colour: str, shown: str
) -> None:
    screen = Terminal(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(summary.sys, "stdout", screen)
    monkeypatch.setenv("NO_COLOR", no_colour)
    monkeypatch.setenv("TERM", "xterm")
    say_marked(["✓ holds"])
    screen.flush()
    assert screen.buffer.getvalue().decode(encoding).strip() == shown  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", ["risk", "check"])
def test_two_rows_of_one_person_do_not_hide_the_person(command: str, tmp_path: Path) -> None:
    """No record is alone there, and everybody is; without the column records are what can be said."""
    rows = [f"{i // 2},{20 + i // 2},{'fm'[i // 2 % 2]}" for i in range(40)]
    (tmp_path / "stays.csv").write_text("\n".join(["patient,age,sex", *rows]) + "\n")
    words = [command, str(tmp_path / "stays.csv"), "--quasi", "age,sex"]
    first = CliRunner().invoke(app, [*words, "--person", "patient"], prog_name="sfumato").stdout.splitlines()[0]
    assert first.startswith("✗")
    assert "20 of 20 people are alone" in first
    (tmp_path / "stays.csv").write_text("\n".join(["age,sex", *(row.partition(",")[2] for row in rows)]) + "\n")
    assert "no record is alone" in CliRunner().invoke(app, words, prog_name="sfumato").stdout.splitlines()[0]


def test_answers_come_first_and_no_line_is_wider_than_a_terminal(people: Path, tmp_path: Path) -> None:
    """Of verify, check, risk and measure: the mark in the first line, what is broken in the second."""
    out = tmp_path / "out"
    printed("anonymize", people, *ROLES, "--others", "drop", "--out", out)
    pages = [
        printed(*words)
        for words in (
            ("verify", out),
            ("check", people, *ROLES[:4]),
            ("risk", people, *ROLES[:2]),
            ("measure", people, out),
        )
    ]
    for lines in pages:
        assert lines[0][0] in "✓✗!" or "% of the detail is kept" in lines[0]
        assert [line for line in lines if len(line) > summary.WIDTH] == []
    with (out / "data.csv").open("a") as table:
        table.write("[0..1],f,a\n")
    lines = CliRunner().invoke(app, ["verify", str(out)]).stdout.splitlines()
    assert lines[0].startswith("✗ not verified: ")
    assert lines[1].startswith("  broken: data.csv is the file that was written")


def test_a_release_that_cannot_be_made_is_said_not_to_be_written(people: Path, tmp_path: Path) -> None:
    words = ["anonymize", str(people), *ROLES[:4], "--others", "drop", "-k", "61", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1
    assert "no release was written" in done.output
    assert not (tmp_path / "out").exists()


def test_a_randomized_release_says_what_it_cost(people: Path, tmp_path: Path) -> None:
    words = ("--quasi", "age,sex", "--sensitive", "illness", "--anonymizer", "swapping", "--others", "drop")
    lines = printed("anonymize", people, *words, "--out", tmp_path / "out")
    assert lines[0].startswith("✗ this release promises nothing")
    assert [line for line in lines if line.startswith("Kept ") and line.endswith("of the cells as they were")]

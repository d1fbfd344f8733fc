"""Help fits a screen, names every command once, and loses nothing that the long help has."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from sfumato.cli.app import COMMANDS, GROUPS, app
from sfumato.cli.help import FAMILIES, SELDOM

EVERY = [*((name,) for name in COMMANDS), *((group, name) for group, names in GROUPS.items() for name in names)]


def printed(*words: str) -> str:
    done = CliRunner().invoke(app, words, prog_name="sfumato")
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_first_page_fits_and_names_every_command_once() -> None:
    lines = printed("--help").splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert sorted(name for names in FAMILIES.values() for name in names) == sorted([*COMMANDS, *GROUPS])


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_short_help_has_what_the_long_one_has(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    short, long = printed(*command, "--help"), printed(*command, "--help-all")
    assert max(map(len, short.splitlines())) <= 80
    assert len(short.splitlines()) <= (40 if command == ("anonymize",) else 44)
    missing = set(re.findall(r"--[a-z][a-z-]+", long)) - set(re.findall(r"--[a-z][a-z-]+", short)) - SELDOM
    options = {name for name in missing if re.search(rf"^│ [* ] *{name}\b", long, re.MULTILINE)}
    assert options <= {"--help"}, options
    assert "Example" in short

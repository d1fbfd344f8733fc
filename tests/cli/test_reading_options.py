"""The options of how numbers and dates are written, from the first question to a verified release."""

from __future__ import annotations

import random
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app

DRAW = random.Random(3)


@pytest.fixture
def hospital(tmp_path: Path) -> Path:
    path = tmp_path / "hospital.csv"
    rows = [
        f"{DRAW.randrange(1, 29):02}.{DRAW.randrange(1, 13):02}.{DRAW.randrange(1940, 2000)};"
        f"{DRAW.randrange(10**5, 10**6) / 100:.2f} €;{DRAW.choice(['Köln', 'Bonn'])}".replace(".", ",", 0)
        for _ in range(120)
    ]
    rows = [row[:11] + row[11:].replace(".", ",") for row in rows]
    path.write_bytes("\r\n".join(["birth;cost;town", *rows]).encode("cp1252"))
    return path


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.output


ROLES = ("--quasi", "birth,cost", "--sensitive", "town", "-k", 5)
LAYOUT = ("--set", "source.separator=;", "--set", "source.encoding=cp1252")
FORMS = ("--set", "source.dates=dd.mm.yyyy", "--set", "column.cost.decimal=,", "--set", "column.cost.unit=€")


def test_a_german_file_is_published_once_its_letters_are_known(hospital: Path, tmp_path: Path) -> None:
    out, policy = tmp_path / "out", tmp_path / "policy.toml"
    code, said = run("anonymize", hospital, *ROLES, "--out", out)
    assert code == 2
    assert not out.exists()
    assert "--set source.encoding=cp1252" in said
    code, said = run("anonymize", hospital, *ROLES, *LAYOUT[2:], "--out", tmp_path / "unasked")
    assert code == 0, said
    assert "'birth': every value was read as a date, written as dd.mm.yyyy" in said.replace("\n", " ")
    code, said = run("anonymize", hospital, *ROLES, *LAYOUT, *FORMS, "--out", out, "--save-policy", policy)
    assert code == 0, said
    first = (out / "data.csv").read_text().splitlines()[1]
    assert first.startswith("[19")
    assert "|" not in (out / "data.csv").read_text()
    assert run("verify", out)[0] == 0
    said_again = tomllib.loads(policy.read_text())
    assert said_again["source"]["dates"] == "dd.mm.yyyy"
    assert said_again["columns"]["quasi-identifying"]["cost"] == {"decimal": ",", "unit": "€"}
    inside = (out / "policy.toml").read_text()
    assert "dates" not in inside
    assert "€" not in inside
    assert run("anonymize", hospital, "--policy", policy, "--out", tmp_path / "again")[0] == 0
    assert run("measure", hospital, out, "--policy", policy)[0] == 0


def test_mistakes_are_named_by_their_options(hospital: Path) -> None:
    code, said = run(
        "anonymize",
        hospital,
        *ROLES,
        *LAYOUT,
        "--set",
        "source.dates=tt.mm.jjjj",
        "--set",
        "column.wage.unit=€",
        "--out",
        "x",
    )
    assert code == 2
    assert "--set source.dates: must be a form such as dd.mm.yyyy" in said
    assert "--set column.wage.unit: 'wage' is not a quasi-identifying or sensitive column" in said


def test_drafts_say_when_they_group_nothing(hospital: Path) -> None:
    code, said = run("hierarchy", hospital, "town", *LAYOUT)
    assert code == 0
    assert "the draft is only value;* for every value" in said
    code, said = run("hierarchy", hospital, "birth", *LAYOUT, "--set", "source.dates=dd.mm.yyyy")
    assert code == 0
    assert ";19" in said

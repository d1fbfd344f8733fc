"""The options of how numbers and dates are written, from the first question to a verified release."""

from __future__ import annotations

import random
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app
from sfumato.cli.written_words import written_words
from sfumato.errors import PolicyError

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
LAYOUT = ("--separator", ";", "--encoding", "cp1252")
FORMS = ("--dates", "dd.mm.yyyy", "--decimal", "cost=,", "--unit", "cost=€")


def test_a_german_file_is_asked_about_and_then_published_as_numbers_and_dates(hospital: Path, tmp_path: Path) -> None:
    out, policy = tmp_path / "out", tmp_path / "policy.toml"
    code, said = run("anonymize", hospital, *ROLES, *LAYOUT, "--out", out)
    assert code == 2
    assert not out.exists()
    assert "--dates dd.mm.yyyy" in said
    assert "--decimal , --unit 'cost=€'" in said
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


def test_what_is_said_of_a_column_and_of_the_file_is_parted() -> None:
    of_file, of_columns = written_words(
        {"decimal": [","], "thousands": None, "dates": ["dd.mm.yyyy", "a=b=mm/dd/yyyy"], "unit": ["pay=€"]}, ["x,y"]
    )
    assert of_file == {"decimal": ",", "dates": "dd.mm.yyyy"}
    assert of_columns == {
        "a=b": {"dates": "mm/dd/yyyy"},
        "pay": {"unit": "€"},
        "x": {"strays": "missing"},
        "y": {"strays": "missing"},
    }
    with pytest.raises(PolicyError, match="NAME=TEXT"):
        written_words({"unit": ["€"]}, None)
    with pytest.raises(PolicyError, match="--decimal: says two things"):
        written_words({"decimal": [",", "."]}, None)


def test_mistakes_are_named_by_their_options(hospital: Path) -> None:
    code, said = run("anonymize", hospital, *ROLES, *LAYOUT, "--dates", "tt.mm.jjjj", "--unit", "wage=€", "--out", "x")
    assert code == 2
    assert "--dates: must be a form such as dd.mm.yyyy" in said
    assert "--unit: 'wage' is not a quasi-identifying or sensitive column" in said


def test_drafts_say_when_they_group_nothing(hospital: Path) -> None:
    code, said = run("hierarchy", hospital, "town", *LAYOUT)
    assert code == 0
    assert "the draft is only value;* for every value" in said
    code, said = run("hierarchy", hospital, "birth", *LAYOUT, "--dates", "dd.mm.yyyy")
    assert code == 0
    assert ";19" in said

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app

TABLE_1 = "id,a,b,c,d\nt1,6,1,,6\nt2,1,6,,1\nt3,2,5,,1\nt4,1,,5,1\nt5,2,,6,5\n"
WIDE = ["--form", "wide", "--user", "id", "--scale", "1,6", "--sensitive", "d"]


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.csv"
    path.write_text(TABLE_1)
    return path


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(
        app, ["check", "--kind", "ratings", *(str(word) for word in words[1:])], prog_name="sfumato"
    )
    return result.exit_code, result.stdout, result.stderr


def test_help_shows_an_example() -> None:
    code, out, _ = run("check", "--help")
    assert code == 0
    assert "sfumato check ratings.csv --kind ratings" in out.split("Example:")[1]


def test_what_holds_and_what_does_not(survey: Path) -> None:
    code, out, err = run("check", survey, *WIDE, "-k", 2, "--epsilon", 1)
    assert (code, err) == (1, "")
    assert out == (
        "(2, 1, 0)-anonymity of ratings does not hold: 4 of 5 records satisfied (80%)\n"
        "  1 record with fewer than 2 within 1\n"
        "  record 1: 1 record around it\n"
    )
    code, out, _ = run("check", survey, *WIDE, "-k", 2, "--epsilon", 4, "--how-far")
    assert code == 0
    assert out == (
        "(2, 4, 0)-anonymity of ratings holds: 5 of 5 records satisfied (100%)\n"
        "  largest k with the other two as they are: 2\n"
        "  smallest epsilon with the other two as they are: 4\n"
        "  largest l with the other two as they are: 0\n"
    )


def test_json(survey: Path) -> None:
    code, out, _ = run("check", survey, *WIDE, "-k", 2, "--epsilon", 1, "-l", 1, "--how-far", "--json")
    told = json.loads(out)
    assert code == 1
    assert (told["holds"], told["satisfied"], told["too_few"], told["too_flat"]) == (False, 2, 1, 3)
    assert (told["largest_k"], told["smallest_epsilon"], told["largest_l"]) == (None, 5, None)
    assert told["witnesses"][0] == {"record": 1, "around": 1, "reasons": ["few", "flat"], "spread": 0, "issue": "d"}


def test_long_form_with_columns_named_and_a_share(tmp_path: Path) -> None:
    path = tmp_path / "u.data"
    path.write_text("5;x;u1\n3;x;u2\n1;y;u1\n1;y;u2\n")
    words = ["--separator", ";", "--no-header", "--columns", "r,i,u", "--user", "u", "--issue", "i", "--rating", "r"]
    code, out, _ = run("check", path, *words, "-k", 2, "--epsilon", 2, "-l", 1, "--sensitive", "x")
    assert code == 0, out
    share = ["--sensitive-share", 0.5, "--sensitive-drawn", "most-rated"]
    assert run("check", path, *words, "-k", 2, "--epsilon", 0, "-l", 1, *share)[0] == 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["-k", 0, "--epsilon", -1], "rating-anonymity: k must be a whole number of at least 1"),
        (["-k", 2, "--epsilon", 1, "--scale", "one"], "--scale: write LOW,HIGH"),
        (["-k", 2, "--epsilon", 1, "--sensitive", "z"], "sensitive: there is no issue 'z'"),
        (["-k", 2, "--epsilon", 1, "--separator", "xx"], "--separator"),
        (["-k", 2], "Missing option '--epsilon'"),
        (["-k", 2, "--epsilon", 1, "--group", "clique"], "--group"),
    ],
)
def test_mistakes_are_lines(survey: Path, words: list[object], problem: str) -> None:
    code, out, err = run("check", survey, *WIDE, *words)
    assert (code, out) == (2, "")
    assert problem in err
    assert "Traceback" not in err

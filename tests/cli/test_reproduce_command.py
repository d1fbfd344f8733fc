from __future__ import annotations

import importlib.util
import json

import pytest
from typer.testing import CliRunner

from sfumato.cli import reproduce as command
from sfumato.cli.app import app
from sfumato.papers.reproduce import PAPERS


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["reproduce", *(str(word) for word in words)], prog_name="sfumato")
    return result.exit_code, result.stdout, result.stderr


def test_help_shows_an_example():
    code, out, _ = run("--help")
    assert code == 0
    assert "sfumato reproduce soccer --out" in out.split("Example:")[1]
    assert command.PAPERS.split(", ") == list(PAPERS)


def test_a_paper(tmp_path):
    out = tmp_path / "soccer"
    code, told, err = run("soccer", "--quick", "--out", out)
    assert code == 0
    assert "NOT JUDGED" in told
    assert "SYNTHETIC" in told
    assert "reproduction written to" in err
    assert (out / "dm.svg").is_file()
    assert (out / "reproduction.txt").read_text() == told
    code, told, _ = run("soccer", "--quick", "--out", out, "--quiet", "--no-drawings")
    assert (code, told) == (0, "")
    assert not (out / "dm.svg").exists()


def test_json():
    code, told, _ = run("soccer", "--quick", "--json", "--seed", 3)
    assert code == 0
    claim = json.loads(told)["claims"][0]
    assert (claim["verdict"], claim["on_the_stand_in"]) == ("not judged", None)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["socer"], "'socer' is not one of soccer, caat, slicing, ratings, similarity"),
        (["soccer", "--seed", -1], "seed: must be"),
        (["soccer", "--out", "/nowhere/at/all"], "--out: /nowhere/at: there is no such folder"),
        (["similarity", "--data", "/nowhere"], "no such folder of data"),
        ([], "PAPER"),
    ],
)
def test_mistakes(words, part):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert part in err


def test_without_matplotlib(tmp_path, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(command, "find_spec", lambda name: None if name == "matplotlib" else found(name))
    code, _, err = run("soccer", "--quick", "--out", tmp_path / "out")
    assert code == 2
    assert "sfumato[report]" in err
    assert list(tmp_path.iterdir()) == []

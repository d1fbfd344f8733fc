"""``--kind sets``: from a file to a release that is recounted and attacked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import sfumato as sf
from sfumato.cli.app import app

BOUGHT = "who,what,sex\n" + "".join(
    f"{number},{item},{'fm'[number % 2]}\n"
    for number, row in enumerate(["ab", "ac", "bd", "ad", "bc", "abcd"])
    for item in row
)


@pytest.fixture
def bought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("goods.csv").write_text("a;x\nb;x\nc;y\nd;y\n")
    Path("bought.csv").write_text(BOUGHT)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(app, [words[0], "--kind", "sets", *words[1:]])


def test_a_file_becomes_a_release(bought: Path):
    done = run("anonymize", "bought.csv", "--hierarchy", "goods.csv", "-k", "3", "-m", "2", "--out", "out", "--json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.output)
    assert report["kind"] == "sets"
    assert report["figures"]["ncp"] > 0
    assert CliRunner().invoke(app, ["verify", "out"]).exit_code == 0
    again = run("anonymize", "bought.csv", "--hierarchy", "goods.csv", "-k", "3", "-m", "2", "--out", "out")
    assert again.exit_code == 2
    assert sf.verify(bought / "out").ok


def test_a_policy_is_saved_and_used(bought: Path):
    words = ["--hierarchy", "goods.csv", "--quasi", "sex", "--class-size", "3", "--format", "parquet"]
    saved = run("anonymize", "bought.csv", "-k", "2", "-m", "1", *words, "--save-policy", "sets.toml")
    assert saved.exit_code == 0, saved.output
    done = run("anonymize", "bought.csv", "--policy", "sets.toml", "--out", "out", "--quiet")
    assert done.exit_code == 0, done.output
    assert done.output == ""
    assert (bought / "out" / "records.parquet").exists()
    assert sf.verify(bought / "out").ok
    attacked = run("attack", "bought.csv", "--policy", "sets.toml", "--seed", "1", "--quiet")
    assert "the release's promises allow" in attacked.output


def test_any_table_is_checked(bought: Path):
    done = run("check", "bought.csv", "--json")
    assert json.loads(done.output)["k"] == {"1": 3, "2": 1, "3": 1}
    assert "6 sets of 4 items in 2 classes" in run("check", "bought.csv", "--quasi", "sex", "-m", "1").output


def test_an_attack_on_the_original_alone_makes_no_release(bought: Path):
    done = run("attack", "bought.csv", "--known", "3", "--seed", "1", "--json")
    found = json.loads(done.output)
    assert [result["knows"].split()[0] for result in found["before"]] == ["3", "4"]
    assert found["after"] == []


def test_every_mistake_is_told_at_once(bought: Path):
    done = run("anonymize", "bought.csv", "-k", "2", "--hierarchies", ".", "--seed", "-1", "--class-size", "0")
    assert done.exit_code == 2
    told = done.output + (done.stderr or "")
    for words in ("-m: give", "--hierarchies: is about", "--seed", "--out: name", "--class-size"):
        assert words in told
    done = run("attack", "bought.csv", "--known", "0", "--victims", "-1", "--method", "suppress")
    told = done.output + (done.stderr or "")
    for words in ("--known", "--victims", "--method: says how a release is made"):
        assert words in told
    done = run("anonymize", "bought.csv", "-k", "7", "-m", "2", "--out", "out")
    assert done.exit_code == 1
    assert "6 records, fewer than k = 7" in done.output + (done.stderr or "")


@pytest.mark.parametrize("words", [("measure", "bought.csv", "out"), ("utility", "bought.csv", "out"), ("risk", "out")])
def test_what_is_for_tables_says_that_these_are_sets(bought: Path, words: tuple[str, ...]):
    run("anonymize", "bought.csv", "-k", "2", "-m", "1", "--out", "out", "--quiet")
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 1
    assert "is of a release of sets, which can be verified, but not used like this" in done.output + (done.stderr or "")

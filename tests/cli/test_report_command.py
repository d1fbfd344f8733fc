from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app

MARK = "geheim"
COLUMNS = {"quasi-identifying": ["age", "sex"], "sensitive": ["illness"], "others": "drop"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = random.Random(4)
    place = tmp_path_factory.mktemp("source")
    for name in ("patients", "others"):
        rows = [
            f"{MARK}-{number},{draw.randint(41_000, 41_030)},{MARK}-{draw.choice('MF')},{MARK}-{draw.choice('abcd')}"
            for number in range(150)
        ]
        (place / f"{name}.csv").write_text("\n".join(["name,age,sex,illness", *rows]) + "\n")
    models = [{"name": "k-anonymity", "k": 4}]
    policy = sf.Policy.from_mapping({"columns": COLUMNS, "models": models, "purpose": "a study of coughs"})
    policy.to_file(place / "policy.toml")
    release = sf.anonymize(policy.read(place / "patients.csv"), policy, seed=1)
    release.save(place / "release")
    return place


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["report", *(str(word) for word in words)], prog_name="sfumato")
    assert MARK not in result.stdout + result.stderr
    return result.exit_code, result.stdout, result.stderr


def test_help_shows_an_example():
    code, out, _ = run("--help")
    assert code == 0
    assert "sfumato report patients-release/" in out.split("Example:")[1]


def test_both_editions(folder, tmp_path):
    words = [folder / "release", "--original", folder / "patients.csv", "--policy", folder / "policy.toml"]
    code, out, err = run(*words, "--control", folder / "others.csv", "--bound", "--out", tmp_path / "report.html")
    assert code == 0
    assert "Every promise of a privacy model holds" in out
    assert "steward alone" in err
    assert "a study of coughs" in (tmp_path / "report.html").read_text()
    code, _, err = run(folder / "release", "--edition", "public", "--out", tmp_path / "public.html")
    assert code == 0
    assert "steward" not in err


def test_json(folder):
    code, out, _ = run(folder / "release", "--original", folder / "patients.csv", "--no-attacks", "--json")
    told = json.loads(out)
    assert code == 0
    assert told["attacks"] is None
    assert told["risk"]["after"]["highest"] <= 0.25


def test_printed_json_calls_no_subgroup_by_a_value(folder, tmp_path):
    """Neither those that were left out nor those that are found more easily: the saved page alone has them."""
    sexes = ["M"] * 75 + ["F"] * 66 + ["X", "Y", "Z"] * 3
    rows = [f"{MARK}-{n},{41_000 + 7 * n % 30},{MARK}-{sex},{MARK}-{n % 4}" for n, sex in enumerate(sexes)]
    (tmp_path / "people.csv").write_text("\n".join(["name,age,sex,illness", *rows]) + "\n")
    table = sf.Policy.from_file(folder / "policy.toml").read(tmp_path / "people.csv")
    made = sf.anonymize(table, sf.KAnonymity(4), anonymizer=sf.Datafly(), suppression_limit=0.2, seed=1)
    made.save(tmp_path / "release")
    words = (tmp_path / "release", "--original", tmp_path / "people.csv", "--no-attacks", "--quiet")
    told = json.loads(run(*words, "--json", "--out", tmp_path / "page.html")[1])
    assert told["suppression"]["subgroups"]
    assert told["subgroups"]
    assert all("group" not in one for one in (*told["subgroups"], *told["suppression"]["subgroups"]))
    assert MARK in (tmp_path / "page.html").read_text()


def test_a_changed_release_is_refused(folder, tmp_path):
    release = tmp_path / "release"
    release.mkdir()
    for file in (folder / "release").iterdir():
        (release / file.name).write_bytes(file.read_bytes())
    with (release / "data.csv").open("a") as file:
        file.write("1,2,3\n")
    code, _, err = run(release, "--out", tmp_path / "report.html")
    assert code == 1
    assert "release.json" in err or "no report is written" in err
    assert not (tmp_path / "report.html").exists()


def test_mistakes_are_told_together(folder, tmp_path):
    code, _, err = run(tmp_path / "gone", "--control", folder / "others.csv", "--out", tmp_path / "no" / "report.pdf")
    assert code == 2
    for part in ("no such release folder", "--control", ".html or .json", "no such folder"):
        assert part in err
    code, _, err = run(folder / "release", "--original", folder / "gone.csv")
    assert code == 2
    there = tmp_path / "there.html"
    there.write_text("mine")
    code, _, err = run(folder / "release", "--out", there)
    assert (code, there.read_text()) == (2, "mine")
    assert "--overwrite" in err

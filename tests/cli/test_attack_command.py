"""``sfumato attack`` on a release, and on what a policy would publish."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app

MARK = "geheim"
POLICY = """
[columns]
identifying = ["name"]
quasi-identifying = {age = {}, sex = {}, zip = {kind = "categorical"}}
sensitive = ["disease"]
others = "drop"
[[models]]
name = "k-anonymity"
k = 3
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = random.Random(4)
    rows = [
        f"{MARK}-{number},{draw.randint(20, 60)},{MARK}-{draw.choice('MF')},{MARK}{draw.randint(77_100, 77_104)},"
        f"{MARK}-{draw.choice('abcd')},{draw.randint(1, 9)}"
        for number in range(300)
    ]
    folder = tmp_path_factory.mktemp("source")
    for name, some in (("patients.csv", rows[:200]), ("others.csv", rows[200:]), ("all.csv", rows)):
        (folder / name).write_text("\n".join(["name,age,sex,zip,disease,visits", *some]) + "\n")
    (folder / "policy.toml").write_text(POLICY)
    words = ["anonymize", folder / "patients.csv", "--policy", folder / "policy.toml", "--out", folder / "release"]
    assert CliRunner().invoke(app, [str(word) for word in words], prog_name="sfumato").exit_code == 0
    return folder


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["attack", *(str(word) for word in words)], prog_name="sfumato")
    assert MARK not in result.stdout + result.stderr
    return result.exit_code, result.stdout, result.stderr


def test_help_shows_an_example() -> None:
    code, out, _ = run("--help-all")
    assert code == 0
    assert "sfumato attack patients.csv --policy" in out.split("Example:")[1]


def test_a_release_with_its_own_policy(folder: Path) -> None:
    code, out, err = run(folder / "release", "--original", folder / "patients.csv", "--details")
    assert (code, err) == (0, "")
    for name in ("linkage", "homogeneity", "background-knowledge", "skewness"):
        assert f"\n{name}: " in out
    assert "not played: similarity, needs a sensitive attribute" in out


def test_the_summary_has_a_line_for_every_result_the_worst_first(folder: Path) -> None:
    given = (folder / "release", "--original", folder / "patients.csv", "--seed", 1)
    results = json.loads(run(*given, "--json")[1])["results"]
    code, out, _ = run(*given)
    assert code == 0
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    marks = {True: "✗!", False: "!✓"}
    played = [each for each in results if each["unplayed"] is None]
    found = [line for line in lines[3:] if line[:1] in "✗!✓" and "%" in line]
    assert len(found) == len(played)
    for each in played:
        share = f"{100 * each['success']['share']:.3g}%" if each["success"]["people"] else "nobody"
        assert any(
            line[0] in marks[each["succeeds"]] and line.split()[1:3] == [each["attack"], share] for line in found
        )
    assert [line[0] for line in found] == sorted((line[0] for line in found), key="✗!✓".index)
    beyond = sum(line[0] == "✗" for line in found)
    assert lines[0].startswith(f"✗ {beyond} result" if beyond else ("! no", "✓ no"))
    assert {each["attack"] for each in results if each["unplayed"]} <= {*re.split(r"[\s,]+", out)}


def test_control_register_and_json(folder: Path) -> None:
    pl.read_csv(folder / "all.csv").select("name", "age", "sex").write_csv(folder / "register.csv")
    code, out, err = run(
        *(folder / "release", "--original", folder / "patients.csv", "--policy", folder / "policy.toml"),
        *("--control", folder / "others.csv", "--register", folder / "register.csv"),
        *("--attack", "linkage,skewness", "--set", "skewness.gain=2", "--seed", 1, "--json"),
    )
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert (told["people"], told["control"]) == (200, 100)
    only, _picked, skewness = told["results"]
    assert only["figures"]["register_not_in_the_data"] == 100
    assert "age, sex of the people in a register" in only["knows"]
    assert skewness["control"]["people"] > 0
    assert "2 times" in skewness["goal"]


def test_hold_out(folder: Path) -> None:
    words = (folder / "all.csv", "--policy", folder / "policy.toml", "--hold-out", 0.2, "--seed", 1, "--json")
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert (told["people"], told["control"]) == (240, 60)
    # How long kernels took is another matter each time.
    assert {**json.loads(run(*words)[1]), "kernels": 0} == {**told, "kernels": 0}
    linked = next(result for result in told["results"] if result["attack"] == "linkage" and result["succeeds"])
    assert linked["allowed"] == pytest.approx(1 / 3)


def test_a_fifth_is_held_out_unless_said_otherwise(folder: Path) -> None:
    given = (folder / "all.csv", "--policy", folder / "policy.toml", "--attack", "linkage", "--json")
    for share, people, control in (((), 240, 60), (("--hold-out", 0), 300, None)):
        code, out, _ = run(*given, *share)
        assert code == 0
        assert (json.loads(out)["people"], json.loads(out)["control"]) == (people, control)


def test_success_is_an_error_only_where_asked(folder: Path) -> None:
    words = (folder / "release", "--original", folder / "patients.csv", "--attack")
    assert run(*words, "background-knowledge")[0] == 0
    assert run(*words, "background-knowledge", "--set", "background-knowledge.excluded=2", "--fail-if-succeeds")[0] == 1
    # One in three is what 3-anonymity allows.
    assert run(*words, "linkage", "--fail-if-succeeds")[0] == 0


def test_undecided_is_an_error_unless_it_passes(folder: Path) -> None:
    """Of seven people whose values became likelier few are known: neither better than guessing nor surely not."""
    others = ("--control", folder / "others.csv", "--seed", 1)
    words = [folder / "release", "--original", folder / "patients.csv", *others, "--attack", "skewness", "--json"]
    code, out, _ = run(*words)
    assert code == 0
    told = json.loads(out)
    assert told["results"]
    assert [result["verdict"] for result in told["results"]] == ["undecided"] * told["undecided"]
    assert all(result["people_needed"] > result["success"]["people"] for result in told["results"])
    assert run(*words, "--fail-if-succeeds")[0] == 1
    assert run(*words, "--fail-if-succeeds", "--undecided-passes")[0] == 0
    code, _, err = run(*words, "--undecided-passes")
    assert code == 2
    assert "--undecided-passes: says what --fail-if-succeeds lets pass; give both" in err


class TestBadInput:
    def test_everything_at_once_on_a_release(self, folder: Path) -> None:
        code, out, err = run(
            *(folder / "release", "--hold-out", 0.1, "--attack", "linkage,guessing", "--set", "linkage.known=many"),
            *("--set", "skewness.gain=2", "--set", "gain"),
        )
        assert (code, out) == (2, "")
        for part in (
            "--original: name the table",
            "--hold-out: is for a table",
            "--attack: 'guessing' is unknown; known are linkage",
            "--set linkage.known: must be",
            "--set skewness.gain: write attack.option=value",
            "--set: write settings as name=value",
        ):
            assert part in err

    def test_everything_at_once_on_a_table(self, folder: Path) -> None:
        code, _, err = run(folder / "all.csv", "--hold-out", 1, "--control", "x", "--earlier", "y", "--original", "z")
        assert code == 2
        for part in (
            "--policy: name",
            "--hold-out: must be",
            "--control: is for",
            "--earlier: is for",
            "--original: is",
        ):
            assert part in err

    def test_a_target_that_is_not_there(self, folder: Path) -> None:
        code, _, err = run(folder / "nowhere", "--original", "x")
        assert code == 2
        assert "there is no such release or table" in err

    def test_a_policy_that_withholds_a_hierarchy_is_not_enough(self, folder: Path, tmp_path: Path) -> None:
        (tmp_path / "zip.csv").write_text(f"{''.join(f'{MARK}{zip},*{chr(10)}' for zip in range(77_100, 77_105))}")
        text = POLICY.replace('zip = {kind = "categorical"}', 'zip = {hierarchy = {kind = "file", path = "zip.csv"}}')
        (tmp_path / "policy.toml").write_text(text)
        release, policy = tmp_path / "release", tmp_path / "policy.toml"
        words = ["anonymize", folder / "patients.csv", "--policy", policy, "--out", release]
        made = CliRunner().invoke(app, [str(word) for word in words], prog_name="sfumato")
        assert made.exit_code == 0, made.stderr
        code, _, err = run(release, "--original", folder / "patients.csv")
        assert code == 2
        assert "withheld" in err
        assert run(release, "--original", folder / "patients.csv", "--policy", policy)[0] == 0

    def test_files_that_are_not_there(self, folder: Path) -> None:
        code, _, err = run(folder / "release", "--original", "nowhere.csv", "--control", "neither.csv")
        assert code == 2
        assert "--original: nowhere.csv" in err
        assert "--control: neither.csv" in err

    def test_a_folder_that_is_no_release(self, tmp_path: Path) -> None:
        code, _, err = run(tmp_path, "--original", "x.csv")
        assert code == 2
        assert "not a release folder" in err

    def test_another_original(self, folder: Path, tmp_path: Path) -> None:
        pl.DataFrame({"height": [1, 2]}).write_csv(tmp_path / "other.csv")
        code, _, err = run(folder / "release", "--original", tmp_path / "other.csv")
        assert code == 2
        assert "--original: " in err

    def test_models_that_cannot_be_met_on_those_who_are_left(self, folder: Path, tmp_path: Path) -> None:
        (tmp_path / "policy.toml").write_text(POLICY.replace("k = 3", "k = 290"))
        code, _, err = run(folder / "all.csv", "--policy", tmp_path / "policy.toml", "--hold-out", 0.5)
        assert code == 1
        assert "290" in err

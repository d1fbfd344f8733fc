"""``sfumato anonymize`` and ``sfumato attack`` with ``--kind ratings``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app

MARK = "geheim-4711"
SCALE = ["--scale", "1,5"]


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    rows = [
        f"u{user},{issue},{1 + (user * (2 + place)) % 5}" for user in range(20) for place, issue in enumerate("abs")
    ]
    path.write_text("\n".join(["user,issue,rating", *rows]) + "\n")
    return path


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(word) for word in words], prog_name="sfumato")
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("command", ["anonymize", "attack"])
def test_help_shows_an_example(command: str) -> None:
    code, out, _ = run(command, "--kind", "ratings", "--help")
    assert code == 0
    assert f"sfumato {command} ratings.csv --kind ratings" in out.split("Example:")[1]


def test_anonymize_verify(survey: Path, tmp_path: Path) -> None:
    out = tmp_path / "release"
    words = ["-k", 4, "--epsilon", 1, "-l", 0.3, "--sensitive", "s", "--keep", 1, "--suppression", 0.1, *SCALE]
    code, text, err = run("anonymize", "--kind", "ratings", survey, *words, "--out", out)
    assert code == 0, err
    assert text.startswith("✓ verified: the promise holds")
    assert "rating-anonymity           k=4, epsilon=1, l=0.3, group=ball, nulls=skip" in text
    assert f"sfumato verify {out}" in text
    code, text, _ = run("verify", out)
    assert code == 0
    assert "holds: rating-anonymity (k=4, epsilon=1, l=0.3, group=ball, nulls=skip)" in text
    ratings = sf.read_ratings(out / "ratings.csv", scale=(1, 5), sensitive="s")
    assert sf.check_ratings(ratings, sf.RatingAnonymity(4, 1, 0.3)).holds
    (out / "ratings.csv").write_text((out / "ratings.csv").read_text() + "1,z,3\n")
    code, text, _ = run("verify", out, "--json")
    assert code == 1
    assert not json.loads(text)["ok"]


def test_issues_like_formulas(tmp_path: Path) -> None:
    survey, out = tmp_path / "survey.csv", tmp_path / "out"
    rows = [f"u{user},{issue},3" for user in range(6) for issue in ("=geheim", "b")]
    survey.write_text("\n".join(["user,issue,rating", *rows]) + "\n")
    words = ["anonymize", "--kind", "ratings", survey, "-k", 2, "--epsilon", 1, *SCALE, "--out", out]
    code, _, err = run(*words, "--formulas", "refuse")
    assert code == 2
    assert "6 cells" not in err
    assert "column issue: 1 cell" in err
    assert "geheim" not in err
    code, _, err = run(*words, "--formulas", "escape")
    assert code == 0
    assert "column issue: 6 cells" in err
    assert ",'=geheim," in (out / "ratings.csv").read_text()
    assert run("verify", out)[0] == 0


def test_json_and_quiet(survey: Path, tmp_path: Path) -> None:
    words = ["-k", 2, "--epsilon", 1, *SCALE]
    code, text, err = run("anonymize", "--kind", "ratings", survey, *words, "--out", tmp_path / "one", "--json")
    assert (code, err) == (0, "")
    told = json.loads(text)
    assert told["kind"] == "ratings"
    assert told["figures"]["ratings"] == 60
    assert run("anonymize", "--kind", "ratings", survey, *words, "--out", tmp_path / "two", "--quiet") == (0, "", "")


def test_policy_and_words_together(survey: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    words = ["-k", 3, "--epsilon", 1, "--invent", "--format", "parquet", "--sensitive", "s", *SCALE]
    assert run("anonymize", "--kind", "ratings", survey, *words, "--save-policy", policy) == (0, "", "")
    assert not (tmp_path / "release").exists()
    out = tmp_path / "release"
    assert run("anonymize", "--kind", "ratings", survey, "--policy", policy, "-k", 5, "--out", out, "--quiet")[0] == 0
    assert (out / "ratings.parquet").is_file()
    assert json.loads((out / "release.json").read_text())["models"][0]["k"] == 5
    assert "k = 5" in (out / "policy.toml").read_text()
    assert run("verify", out)[0] == 0


def test_what_cannot_be_exits_with_1(survey: Path, tmp_path: Path) -> None:
    out = tmp_path / "release"
    code, text, err = run("anonymize", "--kind", "ratings", survey, "-k", 21, "--epsilon", 1, *SCALE, "--out", out)
    assert (code, text) == (1, "")
    assert "fewer than k = 21" in err
    assert not out.exists()


def test_all_mistakes_at_once(survey: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    words = ["--scale", "1,x", "--keep", 0, "--suppression", 2, "--sensitive-share", 3, "--seed", -1]
    code, text, err = run("anonymize", "--kind", "ratings", survey, *words, "--out", tmp_path / "full")
    assert (code, text) == (2, "")
    for option in ("--scale", "--keep", "--suppression", "--sensitive-share", "--seed", "--out", "-k", "--epsilon"):
        assert f"{option}:" in err
    assert run("anonymize", "--kind", "ratings", survey, "-k", 2, "--epsilon", 1)[0] == 2


def test_no_value_in_any_message(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(f"user,issue,rating\n{MARK},{MARK},{MARK}\n{MARK},{MARK},1\n,{MARK},2\n")
    out = tmp_path / "release"
    for command in (["anonymize", path, "--out", out], ["attack", path]):
        code, text, err = run(command[0], "--kind", "ratings", *command[1:], "-k", 2, "--epsilon", 1, *SCALE)
        assert code == 2
        assert MARK not in text + err


def test_attack_on_the_original_alone(survey: Path) -> None:
    code, text, err = run("attack", "--kind", "ratings", survey, *SCALE, "--known", 3, "--about", "rare", "--seed", 1)
    assert code == 0, err
    assert "Before, among 20 records" in text
    assert "After" not in text
    assert f"{MARK}" not in text


def test_attack_before_and_after(survey: Path) -> None:
    words = [*SCALE, "-k", 20, "--epsilon", 0, "--known", 3, "--hold-out", 0.0001, "--victims", 0, "--seed", 1]
    code, _, err = run("attack", "--kind", "ratings", survey, *words, "--json")
    assert code == 1, "19 people are left, fewer than k"
    assert "fewer than k = 20" in err
    words[3] = 19
    code, text, _ = run("attack", "--kind", "ratings", survey, *words, "--json")
    told = json.loads(text)
    assert code == 0
    assert told["people"] == told["after"]["records"] == 19
    assert told["after"]["found"]["successes"] == 0
    assert told["control"] == "people who are not in the data"
    assert told["before"]["control"]["people"] == 1


def test_attack_by_policy(survey: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("[ratings]\nscale = [1, 5]\n[model]\nk = 3\nepsilon = 1\n")
    code, text, err = run("attack", "--kind", "ratings", survey, "--policy", policy, "--error", 1, "--with-sensitive")
    assert code == 0, err
    assert "After, among 20 records" in text
    assert "sensitive ones among them known to within 1" in " ".join(text.split())


def test_mistakes_of_an_attack(survey: Path) -> None:
    words = ["--known", 0, "--error", -1, "--threshold", 0, "--victims", -1, "--hold-out", 1, "--keep", 3, "--invent"]
    code, text, err = run("attack", "--kind", "ratings", survey, *words)
    assert (code, text) == (2, "")
    for option in ("--known", "--error", "--threshold", "--victims", "--hold-out", "--keep", "--invent"):
        assert f"{option}:" in err
    assert "-k:" not in err

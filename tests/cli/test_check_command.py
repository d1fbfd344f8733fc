from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app

MARK = "geheim"
ROLES = ["--quasi", "age,zip", "--sensitive", "disease,wage"]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What another program published: intervals, prefixes and stars as it writes them."""
    draw = random.Random(4)
    rows = [
        f"[{MARK}{draw.choice((20, 30))}-40);{draw.choice(('476**', '4790*', '*'))}{MARK};"
        f"{MARK}-{draw.choice(['flu', 'cold', 'gout'])};{draw.randint(41_000, 41_009)};{number}"
        for number in range(200)
    ]
    path = tmp_path_factory.mktemp("source") / "published.csv"
    path.write_text("\n".join(["age;zip;disease;wage;visit", *rows]) + "\n")
    return path


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["check", *(str(word) for word in words)], prog_name="sfumato")
    assert MARK not in result.stdout + result.stderr
    assert "4100" not in result.stdout + result.stderr
    return result.exit_code, result.stdout, result.stderr


def test_help_shows_an_example():
    code, out, _ = run("--help")
    assert code == 0
    assert "sfumato check published.csv" in out.split("Example:")[1]


def test_prose_and_json_say_what_the_library_finds(published):
    words = [published, *ROLES, "--set", "source.separator=;"]
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    for line in (
        "200 records in 6 classes",
        "k-anonymity",
        "wage (numeric, 10 values, ordered distance)",
        "of records",
    ):
        assert line in out
    code, out, _ = run(*words, "--json")
    told = json.loads(out)
    del told["kernels"]
    schema = sf.Schema(quasi_identifying=["age", "zip"], sensitive=["disease", "wage"], insensitive=["visit"])
    table = sf.read_table(published, schema, separator=";")
    assert (code, told) == (0, sf.check(table).to_dict())


def test_codes_and_hierarchies(published, tmp_path):
    words = [published, *ROLES, "--set", "source.separator=;", "--json"]
    codes = json.loads(run(*words, "--categorical", "wage")[1])
    assert codes["sensitive"]["wage"] == {"kind": "categorical", "values": 10, "distance": "equal"}
    lines = [f"{MARK}-flu,acute,*", f"{MARK}-cold,acute,*", f"{MARK}-gout,chronic,*"]
    (tmp_path / "disease.csv").write_text("\n".join(lines) + "\n")
    along = json.loads(run(*words, "--hierarchies", tmp_path)[1])
    assert along["sensitive"]["disease"]["distance"] == "hierarchical"


def test_a_policy_gives_roles_and_reading(published, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'models = [{ name = "k-anonymity", k = 5 }]\n[source]\nseparator = ";"\n[columns]\n'
        'identifying = ["visit"]\nsensitive = ["disease", "wage"]\n'
        '[columns.quasi-identifying]\nage = { kind = "numeric", hierarchy = { kind = "intervals", widths = [5] } }\n'
        "zip = {}\n"
    )
    # The policy's age is a number; what was published of it is none, and is compared as text all the same.
    assert run(published, "--policy", policy)[:2] == run(published, *ROLES, "--set", "source.separator=;")[:2]


def test_the_words_of_anonymize_will_do(published):
    words = [published, *ROLES, "--set", "source.separator=;"]
    assert run(*words, "--identifying", "visit", "--others", "error")[1] == run(*words)[1]


def test_mistakes_are_told_at_once_with_exit_code_2(published, tmp_path):
    code, out, err = run(published, "--sensitive", "disease,disease", "--categorical", "visit")
    assert (code, out) == (2, "")
    assert [line.split()[1] for line in err.splitlines()] == ["--sensitive:", "--categorical:", "--quasi:"]
    code, _, err = run(published, "--quasi", "age,zipp", "--sensitive", "illness", "--set", "source.separator=;")
    assert code == 2
    assert "'zipp'" in err
    assert "'illness'" in err
    for missing in (tmp_path / "nobody.csv", tmp_path):
        code, out, err = run(missing, *ROLES)
        assert (code, out, err.count("\n")) == (2, "", 1)
    code, _, err = run(published, "--quasi", "age,zip", "--sensitive", "age", "--set", "source.separator=;")
    assert code == 2
    assert "columns" in err

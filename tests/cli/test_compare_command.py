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
ROLES = ["--quasi", "age,sex,zip", "--sensitive", "illness", "--others", "drop"]


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = random.Random(4)
    rows = [
        f"{MARK}-{number},{draw.randint(41_000, 41_030)},{MARK}-{draw.choice('MF')},"
        f"{MARK}{draw.randint(77_100, 77_120)},{MARK}-{draw.choice('abcd')}"
        for number in range(200)
    ]
    path = tmp_path_factory.mktemp("source") / "patients.csv"
    path.write_text("\n".join(["name,age,sex,zip,illness", *rows]) + "\n")
    return path


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["compare", *(str(word) for word in words)], prog_name="sfumato")
    assert MARK not in result.stdout + result.stderr
    return result.exit_code, result.stdout, result.stderr


def test_help_shows_an_example():
    code, out, _ = run("--help")
    assert code == 0
    assert "sfumato compare patients.csv" in out.split("Example:")[1]


def test_a_table(patients, tmp_path):
    out = tmp_path / "comparison"
    words = [patients, *ROLES, "--anonymizers", "mondrian,mdav,bucketization", "-k", "3,6", "--queries", 20]
    code, told, err = run(*words, "--out", out)
    assert code == 0
    assert "Recommendation: m" in told
    assert "bucketization, k = 3, 6:" in told
    assert "for the data steward" in err
    assert re.search(r"6/6 \w+, k = [36]: ", err)
    assert (out / "loss-by-k.svg").is_file()
    again, quiet, _ = run(*words, "--out", out, "--quiet")
    assert (again, quiet) == (0, "")
    assert pl.read_csv(out / "comparison.csv").height == 6


def test_json(patients):
    code, told, _ = run(patients, *ROLES, "--anonymizers", "mondrian", "-k", 4, "-l", "2,3", "--queries", 0, "--json")
    assert code == 0
    assert [row["l"] for row in json.loads(told)] == [2, 3]


def test_records_vary(patients):
    code, told, _ = run(
        patients, *ROLES, "--anonymizers", "mondrian", "-k", 4, "--records", "50,100", "--queries", 0, "--json"
    )
    assert code == 0
    assert [row["records_used"] for row in json.loads(told)] == [50, 100]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["-k", "2,x"], ["-k: write numbers"]),
        (["-k", "2,3", "-l", "2,3"], ["-k and -l: only one"]),
        ([], ["-k: say what varies"]),
        (["-k", "0,2", "--anonymizers", "mandrian"], ["mandrian", "-k: must be"]),
        (["--records", "10,20"], ["ask for at least one privacy model"]),
        (["-k", "2", "--repetitions", 0, "--seed", -1], ["repetitions", "seed"]),
        (["-k", "2", "--out", "/nowhere/at/all"], ["no such folder"]),
        (["-k", "2", "--within", 0], ["within: must be"]),
    ],
)
def test_mistakes(patients, words, parts):
    code, _, err = run(patients, *ROLES, *words)
    assert code == 2
    for part in parts:
        assert part in err

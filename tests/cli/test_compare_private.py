"""``sfumato compare --private``: noisy counts and private samples beside the others."""

from __future__ import annotations

import json
import random

import pytest
from typer.testing import CliRunner

from cli.test_documented_json import documented
from sfumato.cli.app import app

pytest.importorskip("opendp", reason="OpenDP is not installed; pip install 'sfumato[dp]'")

COLUMNS = """[columns]
others = "drop"
[columns.quasi-identifying]
age = {kind = "numeric", domain = [0, 99], hierarchy = {kind = "intervals", widths = [1, 20]}}
sex = {kind = "categorical", domain = ["f", "m"]}
"""
FILES = {
    "table": COLUMNS + '[[models]]\nname = "k-anonymity"\nk = 2\n',
    "counts": COLUMNS + '[model]\nepsilon = 5\n[counting]\nbins = {age = 10}\nmarginals = [["age", "sex"]]\n',
    "sample": COLUMNS + "[model]\nepsilon = 5\ndelta = 0.001\n[sampling]\nlevels = {age = 1, sex = 0}\n",
}


@pytest.fixture
def folder(tmp_path):
    draw = random.Random(2)
    rows = [f"{draw.randint(0, 99)},{draw.choice('fm')}" for _ in range(2000)]
    (tmp_path / "people.csv").write_text("\n".join(["age,sex", *rows]) + "\n")
    for name, text in FILES.items():
        (tmp_path / f"{name}.toml").write_text(text)
    return tmp_path


def run(folder, *words):
    table = ["compare", str(folder / "people.csv"), "--policy", str(folder / "table.toml"), "--anonymizers", "mondrian"]
    return CliRunner().invoke(app, [*table, "-k", "2,200", "--queries", "20", *words], prog_name="sfumato")


def test_both_kinds_stand_beside_the_others(folder):
    private = [f"--private={name}={folder / name}.toml" for name in ("counts", "sample")]
    found = run(folder, *private, "--repetitions", "2", "--out", str(folder / "out"), "--no-drawings")
    assert found.exit_code == 0, found.output
    assert "counts (ε = 5, δ = 0): counts are off by" in found.stdout
    assert "sample (ε = 5, δ = 0.001): counts are off by" in found.stdout
    assert (folder / "out" / "private.csv").read_text().count("done") == 4
    rows = json.loads(run(folder, *private, "--json").stdout)
    assert [row.get("anonymizer") for row in rows] == ["mondrian", "mondrian", None, None]
    assert [row["release"] for row in rows[2:]] == ["counts", "sample"]
    assert all(row["status"] == "done" and row["count_error"] >= 0 for row in rows[2:])
    documented().validate(rows)
    assert not documented().is_valid([{**rows[2], "status": "lost"}])


def test_columns_that_the_table_was_not_read_with_are_refused(folder):
    (folder / "other.toml").write_text(FILES["counts"].replace("sex =", "town ="))
    found = run(folder, f"--private=other={folder / 'other.toml'}")
    assert found.exit_code == 0
    assert "other (ε = 5, δ = 0): columns.quasi-identifying: the policy names other columns" in found.stdout


def test_all_mistakes_at_once(folder):
    (folder / "wrong.toml").write_text(FILES["counts"].replace("epsilon = 5", "epsilon = -1"))
    words = ["--private", "counts", f"--private=a={folder / 'none.toml'}", f"--private=b={folder / 'wrong.toml'}"]
    twice = [f"--private=c={folder / 'counts.toml'}"] * 2
    found = run(folder, *words, *twice, "--queries", "-1")
    assert found.exit_code == 2
    for part in (
        "--private: write a label and a policy file",
        "--private a: none.toml: cannot be read",
        "--private b: ",
        "--private: the label 'c' is there twice",
    ):
        assert part in found.stderr

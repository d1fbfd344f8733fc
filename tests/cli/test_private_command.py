"""``--kind private-marginals``: from a file to noisy counts that are recounted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import sfumato as sf
from sfumato.cli.app import app

pytest.importorskip("opendp", reason="OpenDP is not installed; pip install 'sfumato[dp]'")

ROWS = "".join(
    f"{number // 2},{number % 100},{'fm'[number % 2]},{'no' if number % 3 else 'yes'}\n" for number in range(400)
)
COLUMNS = ["--quasi", "age,sex", "--sensitive", "ill", "--others", "drop"]
DOMAINS = ["--bins", "age=0:100:5", "--domain", "sex=f,m", "--domain", "ill=no,yes"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text(f"who,age,sex,ill\n{ROWS}")
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["anonymize", "--kind", "private-marginals", "in.csv", *words])


def told(done: Result) -> str:
    return done.output + (done.stderr or "")


def test_a_file_becomes_a_release(place: Path):
    done = run(*COLUMNS, *DOMAINS, "--epsilon", "2", "--out", "out", "--synthetic", "--json")
    assert done.exit_code == 0, told(done)
    report = json.loads(done.output)
    assert report["kind"] == "private-marginals"
    assert report["epsilon"] == 2
    verified = CliRunner().invoke(app, ["verify", "out"])
    assert verified.exit_code == 0
    assert "not verifiable from the release: differential-privacy (epsilon=2" in verified.output
    assert run(*COLUMNS, *DOMAINS, "--epsilon", "2", "--out", "out").exit_code == 2


def test_a_policy_is_saved_and_used(place: Path):
    Path("trees").mkdir()
    Path("trees/sex.csv").write_text("f;*\nm;*\n")
    words = ["--hierarchies", "trees", "--bins", "age=0,18,65,120", "--domain", "ill=no,yes", "--complete", "age"]
    words += ["--person", "who", "--max-records", "2", "--marginal", "age,ill", "--marginal", "sex", "--level", "sex=0"]
    saved = run(*COLUMNS, *words, "--epsilon", "1", "--delta", "1e-6", "--save-policy", "private.toml")
    assert saved.exit_code == 0, told(saved)
    done = run("--policy", "private.toml", "--out", "out", "--quiet", "--format", "parquet")
    assert done.exit_code == 0, told(done)
    assert done.output == ""
    assert sf.verify(place / "out").ok
    assert sf.PrivatePolicy.from_file("private.toml").counting.marginals == (("age", "ill"), ("sex",))
    shown = run("--policy", "private.toml", "--out", "two", "--epsilon", "3")
    assert "Promise      (ε = 3, δ = 1e-06)-differential privacy" in shown.output
    assert "at most 2 records of each count" in shown.output


def test_every_mistake_is_told_at_once(place: Path):
    done = run(
        *COLUMNS, "--epsilon", "0", "--delta", "1", "--bins", "age=many", "--bins", "age", "--domain", "sex", "--level",
        "sex=top", "--seed", "4", "--domain", "hat=a,b",
    )  # fmt: skip
    assert done.exit_code == 2
    for words in (
        "--seed: what somebody can draw again", "--out: name a folder", "--bins: 'age': write",
        "--bins: write it",
        "--domain: write it", "--level: 'sex': give", "--epsilon:", "--delta:", "--domain: 'hat' is not",
    ):  # fmt: skip
        assert words in told(done), words


def test_what_is_not_declared_is_refused(place: Path):
    done = run(*COLUMNS, "--domain", "sex=f,m", "--epsilon", "1", "--out", "out")
    assert done.exit_code == 2
    for name in ("age", "ill"):
        assert f"column {name!r}: its domain would have to be read off the data" in told(done)
    assert not Path("out").exists()
    done = run("--epsilon", "1", "--out", "out")
    assert "--quasi" in told(done)
    done = run(*COLUMNS, *DOMAINS, "--out", "out")
    assert "--epsilon: give the budget" in told(done)

"""``--kind private-sample``: from a file to generalized records of a random sample that are recounted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import sfumato as sf
from sfumato.cli.app import app

pytest.importorskip("opendp", reason="OpenDP is not installed; pip install 'sfumato[dp]'")

ROWS = "".join(
    f"{number},{number % 100},{'fm'[number % 2]},{'no' if number % 3 else 'yes'}\n" for number in range(2000)
)
COLUMNS = ["--quasi", "age,sex", "--sensitive", "ill", "--others", "drop"]
DOMAINS = ["--bins", "age=0:100:2", "--domain", "sex=f,m", "--domain", "ill=no,yes"]
MODEL = ["--epsilon", "2", "--delta", "1e-5"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text(f"who,age,sex,ill\n{ROWS}")
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["anonymize", "--kind", "private-sample", "in.csv", *words])


def told(done: Result) -> str:
    return done.output + (done.stderr or "")


def test_a_file_becomes_a_release(place: Path):
    done = run(*COLUMNS, *DOMAINS, *MODEL, "--out", "out", "--level", "sex=0", "--share", "0.4", "--json")
    assert done.exit_code == 0, told(done)
    report = json.loads(done.output)
    assert report["kind"] == "private-sample"
    assert report["budget"]["share"] == pytest.approx(0.4)
    assert report["levels"]["sex"] == 0
    verified = CliRunner().invoke(app, ["verify", "out"])
    assert verified.exit_code == 0, told(verified)
    assert "not verifiable from the release: differential-privacy (epsilon=2" in verified.output
    assert run(*COLUMNS, *DOMAINS, *MODEL, "--out", "out").exit_code == 2


def test_a_policy_is_saved_and_used(place: Path):
    words = ["--search", "0.2", "--objective", "precision", "--person", "who", "--max-records", "1"]
    saved = run(*COLUMNS, *DOMAINS, *MODEL, *words, "--save-policy", "sample.toml")
    assert saved.exit_code == 0, told(saved)
    policy = sf.PrivateSamplePolicy.from_file("sample.toml")
    assert (policy.sampling.search, policy.sampling.objective) == (0.2, "precision")
    done = run("--policy", "sample.toml", "--out", "out", "--quiet", "--format", "parquet")
    assert done.exit_code == 0, told(done)
    assert done.output == ""
    assert sf.verify(place / "out").ok


def test_mistakes_are_told_by_option(place: Path):
    done = run(*COLUMNS, *DOMAINS, "--epsilon", "1", "--share", "2", "--seed", "3", "--out", "out")
    assert done.exit_code == 2
    assert "--seed: what somebody can draw again hides nobody" in " ".join(told(done).split())
    done = run(*COLUMNS, *DOMAINS, "--epsilon", "1", "--share", "2", "--out", "out")
    assert done.exit_code == 2
    assert "delta: must be above 0" in told(done)
    assert "share: must be from 0.001" in told(done)

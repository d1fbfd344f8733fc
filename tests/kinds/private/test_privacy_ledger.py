"""A ledger adds up what releases spend, before they spend it, and refuses what would be too much."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.errors import InputError, PolicyError, UnsatisfiableError, VerificationError
from sfumato.kinds.private.ledger import PrivacyLedger
from sfumato.models.protocol import Outcome

SCHEMA = sf.Schema(quasi_identifying={"sex": sf.Attribute("categorical", domain=("f", "m"))})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "budget.json"
    PrivacyLedger.start(path, 1.0, 1e-5)
    return path


def published(file: Path, **promise: Any) -> sf.PrivateRelease:
    pytest.importorskip("opendp", reason="OpenDP is not installed; pip install 'sfumato[dp]'")
    table = sf.read_table(pl.DataFrame({"sex": ["f", "m"] * 20}), SCHEMA)
    return sf.publish_privately(table, sf.DifferentialPrivacy(**promise), ledger=file)


def test_sums_are_those_of_the_written_numbers(file: Path):
    for number in range(1, 11):
        spent = PrivacyLedger.spend(file, sf.DifferentialPrivacy(0.1, 1e-6))
        assert (spent.release, spent.epsilon) == (number, round(number * 0.1, 1))
    with pytest.raises(UnsatisfiableError, match="more than its total of ε = 1"):
        PrivacyLedger.spend(file, sf.DifferentialPrivacy(1e-9))
    assert PrivacyLedger.read(file).spent.delta == 1e-5
    assert file.stat().st_mode & 0o77 == 0


def test_delta_has_a_total_of_its_own(file: Path):
    with pytest.raises(UnsatisfiableError, match="δ = 2e-05"):
        PrivacyLedger.spend(file, sf.DifferentialPrivacy(0.1, 2e-5))
    assert PrivacyLedger.read(file).releases == ()


def test_people_and_records_do_not_add_up(file: Path):
    PrivacyLedger.spend(file, sf.DifferentialPrivacy(0.1))
    with pytest.raises(PolicyError, match="keep a ledger for each"):
        PrivacyLedger.spend(file, sf.DifferentialPrivacy(0.1, max_records=3))


def test_a_release_says_what_its_series_has_spent(file: Path, tmp_path: Path):
    published(file, epsilon=0.25)
    release = published(file, epsilon=0.5, delta=1e-6)
    folder = sf.save_private(release, tmp_path / "out")
    content = json.loads((folder / "release.json").read_text())
    assert content["structure"]["series"] == {"release": 2, "epsilon": 0.75, "delta": 1e-6}
    assert "release 2; all up to it have spent ε = 0.75" in (folder / "report.txt").read_text()
    found = sf.verify(folder)
    assert found.ok
    (series,) = [check for check in found.checks if check.promise.startswith("the series")]
    assert series.outcome is Outcome.UNDECIDABLE
    content["structure"]["series"]["epsilon"] = 0.25
    (folder / "release.json").write_text(json.dumps(content))
    assert "this release alone spends more" in str(sf.verify(folder))
    content["structure"]["series"]["release"] = 0
    (folder / "release.json").write_text(json.dumps(content))
    with pytest.raises(VerificationError):
        sf.verify(folder)


def test_what_is_refused_is_not_drawn_and_what_fails_before_is_not_spent(file: Path):
    with pytest.raises(UnsatisfiableError):
        published(file, epsilon=2)
    with pytest.raises(PolicyError, match="max_records"):
        published(file, epsilon=0.5, max_records=1)
    assert PrivacyLedger.read(file).releases == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": 2, "total": {"epsilon": 1, "delta": 0}, "releases": []}',
        '{"format": 1, "total": {"epsilon": 0, "delta": 0}, "releases": []}',
        '{"format": 1, "total": {"epsilon": 1, "delta": 0}, "releases": [{"epsilon": -1}]}',
        '{"format": 1, "total": {"epsilon": 1, "delta": 0}, "releases": [7]}',
        '{"format": 1, "total": {"epsilon": 1, "epsilon": 9, "delta": 0}, "releases": []}',
    ],
)
def test_a_damaged_ledger_is_refused(file: Path, text: str):
    file.write_text(text)
    with pytest.raises(InputError, match="is no ledger"):
        PrivacyLedger.spend(file, sf.DifferentialPrivacy(0.1))


def test_a_ledger_is_not_started_over_another(file: Path, tmp_path: Path):
    with pytest.raises(InputError, match="is there already"):
        PrivacyLedger.start(file, 9.0)
    with pytest.raises(InputError, match="start a ledger first"):
        PrivacyLedger.read(tmp_path / "none.json")
    with pytest.raises(InputError, match="folder is not there"):
        PrivacyLedger.start(tmp_path / "none" / "b.json", 1.0)
    with pytest.raises(PolicyError) as caught:
        PrivacyLedger(0, 1)
    assert len(caught.value.problems) == 2


def test_the_command_shows_and_starts(file: Path, tmp_path: Path):
    def run(*words: str) -> Any:
        return CliRunner().invoke(app, ["budget", *words])

    PrivacyLedger.spend(file, sf.DifferentialPrivacy(0.5))
    assert "1 release has spent ε = 0.5 of 1" in run(str(file)).output
    assert json.loads(run(str(file), "--json").output)["spent"]["epsilon"] == 0.5
    other = tmp_path / "other.json"
    assert run(str(other), "--total-epsilon", "3").exit_code == 0
    assert PrivacyLedger.read(other).epsilon == 3
    assert run(str(other), "--total-epsilon", "3").exit_code == 2
    assert run(str(other), "--total-delta", "0.1").exit_code == 2

"""Folders of the first layout, which knew one table of one kind, are verified, measured and examined like new ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.published.checks.generalized import Check, Outcome
from sfumato.release.table_files import WRITTEN


def in_first_layout(folder: Path, change: Callable[[dict[str, Any]], Any] = lambda content: None) -> Path:
    """Write release.json as it was written then."""
    today = json.loads((folder / "release.json").read_text())
    data = today["tables"]["data"]
    content = {
        "format": 1,
        "kind": "generalized-table",
        "data": {"file": data["file"], "sha256": data["sha256"], "records": data["rows"], "columns": data["columns"]},
        "quasi_identifying": today["structure"]["quasi_identifying"],
        **{name: today[name] for name in ("sensitive", "models", "suppression_limit", "versions")},
    }
    change(content)
    (folder / "release.json").write_text(json.dumps(content))
    return folder


def table() -> sf.Table:
    frame = pl.DataFrame({"age": [20 + i % 7 for i in range(60)], "disease": ["flu", "cold", "gout"] * 20})
    return sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["disease"]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return sf.anonymize(table(), [sf.KAnonymity(5), sf.DistinctLDiversity(2)], seed=1).save(tmp_path / "out")


def test_they_still_verify(folder):
    now = sf.verify(folder)
    then = sf.verify(in_first_layout(folder))
    assert then.ok
    assert [check for check in now.checks if check not in then.checks] == [Check(WRITTEN, Outcome.HOLDS)]


def test_they_are_measured_and_examined(folder):
    losses, risk = sf.measure(table(), folder), str(sf.risk(folder))
    in_first_layout(folder)
    assert sf.measure(table(), folder) == losses
    assert str(sf.risk(folder)) == risk


def test_a_changed_file_is_noticed(folder):
    in_first_layout(folder)
    lines = (folder / "data.csv").read_text().splitlines()
    (folder / "data.csv").write_text("\n".join(lines[:-1]) + "\n")
    assert sf.verify(folder).checks[0].outcome is Outcome.BROKEN


@pytest.mark.parametrize("key", ["kind", "data", "quasi_identifying", "sensitive", "models", "suppression_limit"])
@pytest.mark.parametrize("value", [None, 5, "x", [], {}, [5], -1])
def test_damage_is_damage(folder, key, value):
    in_first_layout(folder, lambda content: content.update({key: value}))
    with pytest.raises(sf.VerificationError):
        sf.verify(folder)


@pytest.mark.parametrize("name", ["../out/data.csv", "/etc/passwd", "..", "", "sub/data.csv", 5])
def test_the_data_file_is_a_name(folder, name):
    in_first_layout(folder, lambda content: content["data"].update(file=name))
    with pytest.raises(sf.VerificationError):
        sf.verify(folder)


def test_no_other_kind_was_known_then(folder):
    in_first_layout(folder, lambda content: content.update(kind="sliced-table"))
    with pytest.raises(sf.VerificationError, match="newer"):
        sf.verify(folder)

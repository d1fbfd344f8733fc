"""A recipient hears that records of a person may lie in different classes, and what nobody can recount of it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf

FRAME = pl.DataFrame({"id": list("abcdef") * 4, "age": [*range(6), *range(6), 1, 1, 1, 4, 4, 4, *range(6)]})
SCHEMA = sf.Schema(person="id", quasi_identifying=["age"])


def saved(folder: Path, **people: object) -> Path:
    settings = sf.People(**people)  # type: ignore[arg-type]
    release = sf.anonymize(sf.read_table(FRAME, SCHEMA), sf.KAnonymity(2), people=settings, suppression_limit=0.9)
    return release.save(folder / "release")


def changed(folder: Path, old: str, new: str) -> None:
    """Change the policy, and its hash, so that only what it says gives it away."""
    policy, mark = folder / "policy.toml", folder / "release.json"
    assert old in policy.read_text()
    policy.write_text(policy.read_text().replace(old, new))
    content = json.loads(mark.read_text())
    content["files"]["policy.toml"] = hashlib.sha256(policy.read_bytes()).hexdigest()
    mark.write_text(json.dumps(content))


@pytest.mark.parametrize("pseudonyms", ["audit", "published"])
@pytest.mark.parametrize(("least", "told"), [(None, "(not promised)"), (2, "(2)")])
def test_verify_says_that_all_records_k_is_attested(tmp_path, least, told, pseudonyms):
    folder = saved(tmp_path, rows="apart", all_records_k=least, pseudonyms=pseudonyms)
    verification = sf.verify(folder)
    assert verification.ok
    assert f"not verifiable from the release: all-records k {told}" in str(verification)


def test_nothing_is_said_where_rows_lie_together(tmp_path):
    assert "all-records" not in str(sf.verify(saved(tmp_path)))


@pytest.mark.parametrize(
    ("old", "new"), [('rows = "apart"', 'rows = "together"'), ("all-records-k = 2", "all-records-k = 5")]
)
def test_a_changed_policy_is_found(tmp_path, old, new):
    folder = saved(tmp_path, rows="apart", all_records_k=2)
    changed(folder, old, new)
    verification = sf.verify(folder)
    assert not verification.ok
    assert "broken: policy.toml and release.json name the same rows of people" in str(verification)


@pytest.mark.parametrize("entries", [{"rows": "sideways"}, {"all_records_k": 0}, {"all_records_k": "2"}, {"people": 1}])
def test_a_mark_that_makes_no_sense_is_damaged(tmp_path, entries):
    mark = saved(tmp_path, rows="apart", all_records_k=2) / "release.json"
    mark.write_text(json.dumps({**json.loads(mark.read_text()), **entries}))
    with pytest.raises(sf.VerificationError, match="damaged"):
        sf.verify(mark.parent)

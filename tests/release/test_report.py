"""The figures that go with a release."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest

import sfumato as sf
from sfumato.policy.policy import Policy
from sfumato.release.reports import loss_figures


@pytest.fixture(scope="module")
def release() -> sf.Release:
    frame = pl.DataFrame(
        {"age": [20, 21, 22, 30, 31, 32, 33], "job": list("aabbccc"), "disease": ["flu", "cold"] * 3 + ["flu"]}
    )
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "job"], sensitive=["disease"]))
    return sf.anonymize(table, [sf.KAnonymity(3), sf.DistinctLDiversity(2)], seed=1)


def test_counts_and_risks(release):
    report = release.report
    assert (report.original, report.published, report.suppressed) == (7, 7, 0)
    sizes = release.data.group_by("age", "job").len()["len"]
    assert (report.classes, report.smallest_class, report.largest_class) == (len(sizes), sizes.min(), sizes.max())
    assert report.highest_risk == 1 / sizes.min()
    assert report.average_risk == len(sizes) / 7


def test_plain_values_are_those_of_the_report(release):
    values = json.loads(json.dumps(release.report.to_dict()))
    assert values["records"] == {"original": 7, "published": 7, "suppressed": 0, "suppression_limit": 0.0}
    assert values["classes"]["count"] == release.report.classes
    assert values["risk"]["highest_prosecutor"] == round(release.report.highest_risk, 6)
    assert values["verification"]["ok"] is True
    assert values["losses"]["normalized_ncp"] == pytest.approx(release.report.losses.normalized_ncp, rel=1e-5)
    assert values["losses"]["utility"] == pytest.approx(1 - release.report.losses.normalized_ncp, rel=1e-5)


def test_the_text_says_everything_on_short_lines(release):
    text = str(release.report)
    for words in (
        "7 original, 7 published, 0 suppressed (0% of at most 0%)",
        "KMember(",
        "k-anonymity (k=3): holds",
    ):
        assert words in text
    assert re.search(r"distinct-l-diversity \(l=2\): holds, achieved l=\d on disease", text)
    assert "does not hide whether somebody is in the table" in text.replace("It does", "does")
    assert max(len(line) for line in text.splitlines()) <= 170


def test_figures_are_rounded_to_significant_digits_and_counts_are_not(release):
    losses = release.report.losses
    two, six = loss_figures(losses, 2), loss_figures(losses, 6)
    assert two["discernibility"] == six["discernibility"] == losses.discernibility
    assert two["normalized_ncp"] == float(f"{losses.normalized_ncp:.2g}")
    assert six["attribute_ncp"].keys() == {"age", "job"}
    assert all(value == float(f"{value:.2g}") for value in two["attribute_ncp"].values())


def test_the_steward_gets_more_digits_than_a_recipient(release):
    import dataclasses

    shorter = dataclasses.replace(release.report, suppressed=3)
    assert (shorter.digits, shorter.for_release().digits) == (6, 2)
    assert release.report.for_release().digits == 6


def test_notes_are_shown_where_there_are_any(release):
    import dataclasses

    noted = dataclasses.replace(release.report, notes=("blocks of 5000 records were used",))
    assert "Notes\n  blocks of 5000 records were used" in str(noted)
    assert noted.to_dict()["notes"] == ["blocks of 5000 records were used"]
    assert "Notes" not in str(release.report)


def test_purpose_and_recipient_are_shown_on_one_line_each(release):
    import dataclasses

    named = dataclasses.replace(release.report, purpose="Study\nk-anonymity (k=99): holds", recipient="An institute")
    assert str(named).startswith(
        "Purpose      Study k-anonymity (k=99): holds\nRecipient    An institute\nRecords      7"
    )
    assert named.to_dict()["purpose"] == "Study\nk-anonymity (k=99): holds"
    assert named.to_dict()["recipient"] == "An institute"
    assert {"purpose", "recipient"}.isdisjoint(release.report.to_dict())


def test_a_policy_with_purpose_and_recipient_hands_them_to_the_report(tmp_path):
    policy = Policy.from_mapping(
        {
            "purpose": "Study",
            "recipient": "Institute",
            "columns": {"quasi-identifying": ["age"]},
            "models": [{"name": "k-anonymity", "k": 2}],
        }
    )
    table = policy.read(pl.DataFrame({"age": [1, 1, 2, 2]}))
    folder = sf.anonymize(table, policy.to_models(), policy=policy).save(tmp_path / "out")
    assert (folder / "report.txt").read_text().startswith("Purpose      Study\nRecipient    Institute\n")
    assert json.loads((folder / "report.json").read_text())["recipient"] == "Institute"


def test_figures_for_people_have_no_exponents_and_counts_agree_with_their_nouns():
    frame = pl.DataFrame({"age": [1, 5], "disease": ["flu", "cold"]})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["disease"]))
    release = sf.anonymize(table, [sf.KAnonymity(2), sf.EntropyLDiversity(2.0)], recoding=sf.Recoding())
    text = str(release.report)
    assert re.search(r"information loss \(NCP\) +100%, utility 0%", text)
    assert "entropy-l-diversity (l=2): holds, achieved l=2 on disease" in text
    assert not re.search(r"\de[+-]\d", text)
    assert str(sf.verify(release)).startswith("2 records in 1 equivalence class\n")


def test_achieved_values_without_a_bound_are_still_json(tmp_path):
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "disease": list("abab")})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["disease"]))
    release = sf.anonymize(table, [sf.RecursiveLDiversity(3.0, 2), sf.KAnonymity(1)])
    folder = release.save(tmp_path / "out")
    json.loads((folder / "report.json").read_text(), parse_constant=lambda word: pytest.fail(word))

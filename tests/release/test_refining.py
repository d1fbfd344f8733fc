"""Refinement after any anonymizer, and the lower bound in the steward's report."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf


@pytest.fixture(scope="module")
def table() -> sf.Table:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 80, 400),
            "zip": rng.choice(["4711", "4712", "4815", "4816"], 400),
            "disease": rng.choice(["flu", "ulcer", "cough"], 400),
        }
    )
    return sf.read_table(frame, sf.Schema(quasi_identifying=["age", "zip"], sensitive=["disease"]))


MODELS = [sf.KAnonymity(5), sf.DistinctLDiversity(2)]


@pytest.mark.parametrize("anonymizer", [sf.Mondrian(mode="relaxed"), sf.MDAV(), sf.SBC()])
def test_refinement_lowers_the_loss_of_any_anonymizer_and_breaks_nothing(table, anonymizer):
    plain = sf.anonymize(table, MODELS, anonymizer=anonymizer, seed=1)
    better = sf.anonymize(table, MODELS, anonymizer=anonymizer, refine=50, seed=1)
    assert better.report.losses.normalized_ncp < plain.report.losses.normalized_ncp
    assert sf.verify(better).ok
    assert any("Refinement" in note for note in better.report.notes)


def test_what_decides_its_own_values_is_left_alone(table):
    release = sf.anonymize(table, MODELS, anonymizer=sf.Datafly(), refine=50, seed=1)
    assert any("Refinement left out" in note for note in release.report.notes)
    assert release.data.equals(sf.anonymize(table, MODELS, anonymizer=sf.Datafly(), seed=1).data)


def test_the_bound_is_below_the_loss_and_never_leaves_the_steward(table, tmp_path):
    release = sf.anonymize(table, MODELS, refine=100, bound=True, seed=1)
    least = release.report.lower_bound
    assert least is not None
    assert 0 < least <= release.report.losses.normalized_ncp
    assert "times the lower bound" in str(release.report)
    assert release.report.to_dict()["lower_bound"]["normalized_ncp"] == pytest.approx(least, abs=1e-6)
    folder = release.save(tmp_path / "out")
    assert "lower_bound" not in json.loads((folder / "report.json").read_text())
    assert "lower bound" not in (folder / "report.txt").read_text()


@pytest.mark.parametrize(("ages", "optimal"), [([1, 1, 2, 2], True), ([0, 1, 4, 5], True), ([0, 1, 2, 3, 4], False)])
def test_a_release_that_loses_as_little_as_any_can_is_called_optimal(ages, optimal):
    """Of five neighbours, three must share a range of two; the bound charges one step to each."""
    table = sf.read_table(pl.DataFrame({"age": ages}), sf.Schema(quasi_identifying={"age": sf.Attribute("numeric")}))
    report = sf.anonymize(table, sf.KAnonymity(2), anonymizer=sf.Best(), bound=True).report
    assert (report.losses.normalized_ncp == pytest.approx(report.lower_bound, abs=1e-10)) == optimal
    assert ("optimal: no release" in str(report)) == optimal


def test_a_bound_of_zero_is_said_in_words():
    frame = pl.DataFrame({"age": [1, 1, 2, 2]})
    release = sf.anonymize(sf.read_table(frame, sf.Schema(quasi_identifying=["age"])), sf.KAnonymity(2), bound=True)
    assert "can lose less than 0%" in str(release.report)


def test_refinement_is_part_of_the_policy(table, tmp_path):
    release = sf.anonymize(table, MODELS, refine=20, seed=1)
    assert "refine = 20" in release.policy
    policy = sf.Policy.of(table.schema, MODELS, sf.Mondrian(), sf.Recoding(), 0.0, 20)
    policy.to_file(tmp_path / "policy.toml")
    assert sf.Policy.from_file(tmp_path / "policy.toml").refine == 20


@pytest.mark.parametrize("refine", [-1, 2.5, True, "many"])
def test_impossible_refinement_is_refused(table, refine):
    with pytest.raises(sf.PolicyError, match="refine"):
        sf.anonymize(table, MODELS, refine=refine)

"""Membership by shadows: what is compared, where it must succeed and cannot, and where it is not played."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean, stdev

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from evaluation.attacks.inference_tables import people, target
from sfumato.errors import PolicyError
from sfumato.evaluation.attacks import ShadowMembership
from sfumato.evaluation.attacks.membership import _above


@pytest.fixture(scope="module")
def groups() -> tuple[sf.Table, sf.Table, sf.Table]:
    return people(400, 1), people(800, 2), people(400, 3)


def test_scores_are_deviations_from_those_of_the_shadows() -> None:
    generator = np.random.default_rng(1)
    scores, shadows = generator.random(20), generator.random((5, 20))
    shadows[:, 3] = 0.5
    found = _above(scores, shadows)
    variances = [stdev(one) ** 2 for one in shadows.T.tolist()]
    for person, (score, column) in enumerate(zip(scores.tolist(), shadows.T.tolist(), strict=True)):
        spread = ((variances[person] + mean(variances)) / 2) ** 0.5
        assert found[person] == pytest.approx((score - mean(column)) / spread)
    assert _above(np.array([1.0, 0.5]), np.full((3, 2), 0.5)).tolist() == [0.5, 0]


@pytest.mark.parametrize("anonymizer", [sf.Mondrian(), sf.Bucketization(members="random"), sf.Slicing()])
def test_members_are_told_and_people_of_no_release_are_not(groups, anonymizer) -> None:
    table, control, others = groups
    release = sf.anonymize(table, sf.ProbabilisticLDiversity(2), anonymizer=anonymizer, seed=1)
    pairs, sure = sf.attack(release, table, control=control, attacks="shadow-membership", seed=1).results
    assert pairs.succeeds
    assert pairs.success.people == 400
    assert sure.control is not None
    assert sure.control.people == 400
    assert "people who are not in the data" in pairs.knows
    # The release is of others: nobody of `table` is in it.
    pairs, sure = sf.attack(release, others, control=control, attacks="shadow-membership", seed=1).results
    low, high = pairs.figures["auc_low"], pairs.figures["auc_high"]
    assert low < 0.55
    assert high > 0.45
    assert not sure.succeeds


def test_the_same_for_the_same_seed(groups) -> None:
    table, control, _ = groups
    release = sf.anonymize(table, sf.KAnonymity(5), seed=1)
    attack = ShadowMembership(shadows=2)
    one, other, third = (
        sf.attack(release, table, control=control, attacks=attack, seed=seed).to_dict() for seed in (1, 1, 2)
    )
    assert one == other != third


def test_where_it_is_not_played(groups) -> None:
    table, control, _ = groups
    release = sf.anonymize(table, sf.KAnonymity(60), seed=1)
    given = replace(target(release.published, table, control), anonymizer=sf.Mondrian())
    given = replace(given, models=({"name": "k-anonymity", "k": 60},))
    few = replace(given, control=control.take(np.arange(3)))
    assert "fewer than 4" in str(ShadowMembership().play(few)[0].unplayed)
    small = replace(given, control=control.take(np.arange(100)))
    assert "with so few people" in str(ShadowMembership().play(small)[0].unplayed)
    several = replace(given, original=replace(table, people=np.repeat(np.arange(200, dtype=np.int32), 2)))
    assert "several records" in str(ShadowMembership().play(several)[0].unplayed)
    assert "for each shadow" in sf.attack(release, table, control=control).unplayed["shadow-membership"]
    with pytest.raises(PolicyError, match="shadow-membership: needs a control group"):
        sf.attack(release, table, attacks="shadow-membership")


def test_an_attacker_without_sensitive_values(groups) -> None:
    table, control, _ = groups
    release = sf.anonymize(table, sf.KAnonymity(5), seed=1)
    pairs = sf.attack(release, table, control=control, attacks=ShadowMembership(knows_sensitive=False), seed=1).results
    assert "sensitive" not in pairs[0].knows.replace("quasi-identifying", "")


@pytest.mark.parametrize("option", [{"shadows": 1}, {"false_positives": 0}, {"knows_sensitive": 1}])
def test_bad_options(option: dict[str, object]) -> None:
    with pytest.raises(PolicyError, match=f"shadow-membership: {next(iter(option))}"):
        ShadowMembership(**option)  # type: ignore[arg-type]


def test_a_sample_of_all_is_a_frame_like_any_other(groups) -> None:
    """A control group that was read from a frame has the columns of the data alone."""
    table, control, _ = groups
    release = sf.anonymize(table, sf.KAnonymity(5), seed=1)
    frame = pl.DataFrame(control.frame)
    played = sf.attack(release, table, control=frame, attacks=ShadowMembership(shadows=2), seed=1)
    assert played.results[0].succeeds

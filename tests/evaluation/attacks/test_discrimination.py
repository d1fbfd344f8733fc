"""The area under the ROC curve, its interval, and one point of the curve."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from naive.inference import accepted as naive_accepted
from naive.inference import area
from sfumato.evaluation.attacks.discrimination import Discrimination, accepted

SCORES = st.lists(st.integers(0, 6), min_size=1, max_size=30)


@given(SCORES, SCORES)
@examples(60)
def test_area_is_the_share_of_pairs_in_the_right_order(members: list[int], outsiders: list[int]) -> None:
    told = Discrimination.of(np.array(members, float), np.array(outsiders, float))
    assert told.area == pytest.approx(float(area(members, outsiders)))
    low, high = told.interval
    assert 0 <= low <= told.area <= high <= 1


@given(SCORES, SCORES, st.fractions(Fraction(0), Fraction(1)))
@examples(60)
def test_accepted_members_are_counted_at_exactly_the_share(
    members: list[int], outsiders: list[int], share: Fraction
) -> None:
    told = accepted(np.array(members, float), np.array(outsiders, float), float(share))
    expected = naive_accepted(members, outsiders, share)
    assert told == pytest.approx(tuple(map(float, expected)), abs=1e-6)


def test_no_false_positive_allowed_means_better_than_every_outsider() -> None:
    assert accepted(np.array([3.0, 2.0, 2.0]), np.array([2.0, 1.0]), 0.0) == pytest.approx((1.0, 0.0), abs=1e-6)


def test_equal_scores_tell_nothing_and_pass_in_part() -> None:
    same = np.full(200, 0.5)
    told = Discrimination.of(same, same)
    assert told.area == 0.5
    assert accepted(same, same, 0.01) == pytest.approx((2.0, 2.0))


@pytest.mark.parametrize("shift", [0.0, 0.5, 1.5])
def test_the_interval_holds_the_true_area_nineteen_times_in_twenty(shift: float) -> None:
    generator = np.random.default_rng(11)
    true = NormalDist().cdf(shift / np.sqrt(2))
    held = 0
    for _ in range(400):
        told = Discrimination.of(generator.normal(shift, 1, 60), generator.normal(0, 1, 40))
        low, high = told.interval
        held += low <= true <= high
    assert held >= 400 * 0.92


def test_the_interval_ends_where_the_spread_reaches() -> None:
    told = Discrimination(0.8, 50, 70)
    z = NormalDist().inv_cdf(0.975)
    for end in told.interval:
        average = (50 + 70) / 2 - 1
        share = (1 - end) / (2 - end) + end / (1 + end)
        spread = np.sqrt(end * (1 - end) * (1 + average * share) / (50 * 70))
        assert abs(0.8 - end) == pytest.approx(z * spread)


def test_a_perfect_area_is_not_certain() -> None:
    low, high = Discrimination(1.0, 10, 10).interval
    assert 0.5 < low < 1
    assert high == 1

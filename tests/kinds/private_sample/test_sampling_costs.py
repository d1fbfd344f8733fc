"""What a sample costs: δ against every outcome of every table, shares and k against their definitions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from scipy.stats import binom

import sfumato as sf
from sfumato.kinds.private_sample.check import GRAINS, LEAST_EPSILON, SampleBudget, delta_of, largest_share, smallest_k

EPSILONS = [Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(2)]


def naive_delta(k: int, share: float, epsilon: float, most: int) -> float:
    """Return the largest distance of what is shown of n records and of n - 1, both ways, outcome by outcome."""
    worst = 0.0
    for n in range(1, most):
        with_it, without = (shown(k, share, records, n) for records in (n, n - 1))
        for one, other in ((with_it, without), (without, with_it)):
            worst = max(worst, math.fsum(max(0.0, a - math.exp(epsilon) * b) for a, b in zip(one, other, strict=True)))
    return worst


def shown(k: int, share: float, records: int, most: int) -> list[float]:
    """Return the chances to see 0 to `most` of `records`, fewer than k as none."""
    chances = [float(binom.pmf(j, records, share)) for j in range(most + 1)]
    return [math.fsum(chances[:k]), *([0.0] * (min(k, most + 1) - 1)), *chances[k:]]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("part", [Fraction(1), Fraction(1, 3)])
def test_delta_is_the_distance_of_what_neighbours_show(epsilon, part):
    share = Fraction(int(largest_share(epsilon) * part * GRAINS), GRAINS)
    for k in (1, 2, 3, 7):
        exact = naive_delta(k, float(share), float(epsilon), 60)
        found = delta_of(k, share, epsilon)
        # Never below, and no more than rounding above.
        assert exact * (1 - 1e-9) <= found <= exact * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_shares_are_as_large_as_epsilon_allows(epsilon):
    share = largest_share(epsilon)
    assert (share * GRAINS).denominator == 1
    # exp in fractions: its series, cut off below.
    series, term = Fraction(1), Fraction(1)
    for place in range(1, 60):
        term *= epsilon / place
        series += term
    # 1 - share may not fall below exp(-ε), which is at most 1 / series, and is as near as the grains allow.
    assert 1 - share >= 1 / (series + term)
    assert 1 - share <= 1 / series + Fraction(2, GRAINS)


@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_k_is_the_smallest_that_keeps_delta(delta):
    for epsilon in EPSILONS:
        share = min(largest_share(epsilon), Fraction(1, 2))
        k = smallest_k(share, epsilon, delta)
        assert delta_of(k, share, epsilon) <= delta
        assert k == 1 or delta_of(k - 1, share, epsilon) > delta


def test_k_is_never_above_that_of_the_papers_bound():
    # δ of Li, Qardaji and Su: the binomial tail alone.
    for epsilon, delta in ((0.5, 1e-6), (1.0, 1e-4), (1.0, 1e-6), (2.0, 1e-6)):
        share = largest_share(Fraction(epsilon))
        beta = float(share)
        gamma = 1 - (1 - beta) * math.exp(-epsilon)
        bound = 1
        for j in range(1, 1500):
            if binom.sf(j - 1, math.ceil(j / gamma) - 1, beta) > delta:
                bound = j + 1
        assert smallest_k(share, Fraction(epsilon), delta) < bound


def test_what_would_take_for_ever_is_refused():
    huge = Fraction(10) ** 300
    assert largest_share(huge) == Fraction(GRAINS - 1, GRAINS)
    assert delta_of(2, Fraction(1, 2), huge) == pytest.approx(0.25)
    with pytest.raises(sf.PolicyError, match="a smaller share asks for far less"):
        smallest_k(largest_share(Fraction(14)), Fraction(14), 1e-6)


def test_what_is_out_of_range_is_refused():
    share = largest_share(Fraction(1))
    for k, beta, epsilon in (
        (0, share, Fraction(1)),
        (2, share + Fraction(1, GRAINS), Fraction(1)),
        (2, Fraction(0), Fraction(1)),
        (2, Fraction(1, 10**6), LEAST_EPSILON / 2),
    ):
        with pytest.raises(ValueError, match="out of range"):
            delta_of(k, beta, epsilon)


def test_a_budget_is_within_its_model_or_not():
    share, epsilon = largest_share(Fraction(0.5)), 0.5
    k = smallest_k(share, Fraction(epsilon), 1e-4)
    model = sf.DifferentialPrivacy(1.0, 1e-4)
    good = SampleBudget(k, float(share), epsilon, 4000.0, 12)
    assert good.searched == Fraction(1, 2)
    assert good.is_within(model)
    assert SampleBudget.of(good.to_dict()) == good
    for change in (
        {"k": k - 1},
        {"share": float(share + Fraction(1, GRAINS))},
        {"share": 2.0**-3 + 2.0**-55},
        {"epsilon": 0.5000001},
        {"epsilon": 0.001},
        {"scale": 3999.0},
    ):
        assert not SampleBudget(**{**good.to_dict(), **change}).is_within(model)
    for change in (
        {"k": True},
        {"k": 0},
        {"k": 10**18},
        {"nodes": 1.5},
        {"share": math.inf},
        {"scale": -1.0},
        {"more": 1},
    ):
        with pytest.raises((ValueError, TypeError)):
            SampleBudget.of({**good.to_dict(), **change})

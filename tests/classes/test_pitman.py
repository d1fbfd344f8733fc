"""Pitman's parameters are the likeliest ones, also where α is small, and signs change where they are said to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from naive.risk import pitman_log_likelihood
from sfumato.classes.population_uniqueness import (
    SizeCounts,
    _by_newton,
    _by_sign_changes,
    _digamma_gain,
    _inside,
    digamma,
    most_alone,
    pitman_parameters,
    sign_change,
    zayatz,
)

ALPHAS = (1e-6, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9)


@pytest.mark.parametrize("seed", range(6))
def test_no_other_parameters_are_likelier(seed: int) -> None:
    drawn = np.random.default_rng(seed)
    sizes = drawn.geometric(drawn.uniform(0.1, 0.9), 150) if seed % 2 else np.minimum(drawn.zipf(2.5, 150), 60)
    theta, alpha = pitman_parameters(SizeCounts.of(sizes.astype(np.int64)))
    best = pitman_log_likelihood(sizes.tolist(), theta, alpha)
    thetas = [(theta + alpha) * factor for factor in (0.2, 0.5, 0.9, 0.99, 1.01, 1.1, 2, 5)]
    for other in (*ALPHAS, alpha):
        for together in thetas:
            assert pitman_log_likelihood(sizes.tolist(), together - other, other) <= best + 1e-7


@pytest.mark.parametrize("seed", range(3))
def test_an_answer_does_not_hang_on_the_rounding_of_small_numbers(seed: int) -> None:
    """Of these sizes α is about 0.7; where it is nearly 0, the closed form of the slope is lost in rounding."""
    sizes = np.minimum(np.random.default_rng(seed).zipf(3.0, 1200), 5000)
    theta, alpha = pitman_parameters(SizeCounts.of(sizes.astype(np.int64)))
    assert alpha > 0.6
    likelihood = pitman_log_likelihood(sizes.tolist(), theta, alpha)
    assert likelihood > pitman_log_likelihood(sizes.tolist(), theta + alpha - 1e-7, 1e-7)


@pytest.mark.parametrize("seed", range(40))
def test_newtons_method_finds_what_signs_say_or_nothing(seed: int) -> None:
    drawn = np.random.default_rng(seed)
    sizes = drawn.geometric(drawn.uniform(0.001, 0.9), 200) if seed % 4 == 0 else drawn.zipf(drawn.uniform(1.2, 3), 400)
    counts = SizeCounts.of(np.minimum(sizes, 100_000).astype(np.int64))
    found, sure = _by_newton(counts), _by_sign_changes(counts)
    if found is None:
        assert sure[1] < 0.1  # a small α is left to the slow way
    else:
        assert found == pytest.approx(sure, rel=1e-6)


def test_sums_over_classes_are_those_of_their_terms() -> None:
    counts = SizeCounts.of(np.array([1, 1, 2, 5, 9, 10, 11, 12, 40, 40, 700]))
    for alpha in (1e-6, 0.3, 0.97):
        terms = [1 / (i - alpha) for size in (1, 1, 2, 5, 9, 10, 11, 12, 40, 40, 700) for i in range(1, size)]
        once, squared = _inside(counts, alpha)
        assert once == pytest.approx(sum(terms), rel=1e-11)
        assert squared == pytest.approx(sum(term * term for term in terms), rel=1e-9)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60), st.integers(0, 60), st.floats(0.001, 1))
@examples(200)
def test_zayatz_estimate_is_above_its_bound_by_uniques(others: list[int], alone: int, fraction: float) -> None:
    counts = SizeCounts.of(np.array([*others, *[1] * alone]))
    estimate = zayatz(counts, fraction)
    for share in (0.001, 0.01, 0.05, 0.2, 0.9):
        if counts.of_size(1) / counts.records > most_alone(share, counts.records, fraction) + 1e-12:
            assert estimate > share - 1e-12


def test_sizes_are_counted_alike_in_places_and_by_sorting() -> None:
    small = np.array([3, 1, 1, 7, 3])
    both = SizeCounts.of(small), SizeCounts.of(np.append(small, 10**9))
    assert both[0].sizes.tolist() == [1, 3, 7] == both[1].sizes.tolist()[:-1]
    assert both[0].classes.tolist() == [2, 2, 1] == both[1].classes.tolist()[:-1]
    assert both[0].above(3)[0].tolist() == [7]
    assert both[0].larger_than == [3, 3, 1, 1, 1, 1]


def test_differences_of_digamma_keep_their_digits() -> None:
    for start, way in ((0.3, 4.0), (12.5, 0.5), (1e3, 7.0)):
        ends = digamma(np.array([start, start + way]))
        assert _digamma_gain(start, way) == pytest.approx(float(ends[1] - ends[0]), rel=1e-11)
    # Far away it is way / start, of which a difference of two large numbers would keep a few digits.
    assert _digamma_gain(1e12, 3.0) == pytest.approx(3e-12, rel=1e-9)


@pytest.mark.parametrize("near", [None, -3.0, 0.2, 0.7, 5.0, 40.0])
def test_signs_change_where_they_are_said_to(near: float | None) -> None:
    for root in (-2.0, 0.1234567, 7.5):
        assert sign_change(lambda x, root=root: root - x, -10, 10, near) == pytest.approx(root, abs=1e-13)
        steep = sign_change(lambda x, root=root: np.exp(-5 * x) - np.exp(-5 * root), -10, 10, near)
        assert steep == pytest.approx(root, abs=1e-12)
    assert sign_change(lambda x: 1.0, 0, 5, near) == 5
    assert sign_change(lambda x: -1.0, 0, 5, near) == 0

"""Pitman's parameters are the likeliest ones, also where α is small, and signs change where they are said to."""

from __future__ import annotations

import numpy as np
import pytest

from naive.risk import pitman_log_likelihood
from sfumato.classes.uniqueness.pitman import _digamma_gain, digamma, pitman_parameters
from sfumato.classes.uniqueness.roots import sign_change
from sfumato.classes.uniqueness.size_counts import SizeCounts

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

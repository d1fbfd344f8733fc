"""Draws, swapping, noise, post-randomization and rounding as pure functions: moments, bounds, what stays."""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sfumato.anonymizers.randomization.columns import draw_normal, draw_uniform
from sfumato.anonymizers.randomization.numbers import code_bounds, correlated_noise, plain_noise, rounded
from sfumato.anonymizers.randomization.records import (
    original_counts,
    post_randomized,
    rank_swapped,
    swapped_records,
    transition_matrix,
)

MANY = 40_000
SEEDS = st.integers(0, 1000)


@pytest.mark.parametrize("seed", [None, 3])
def test_uniform_and_normal_moments(seed):
    uniform, normal = draw_uniform(MANY, seed), draw_normal(MANY + 1, seed)
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert len(normal) == MANY + 1
    # Six standard errors.
    assert abs(uniform.mean() - 0.5) < 6 / np.sqrt(12 * MANY)
    assert abs(normal.mean()) < 6 / np.sqrt(MANY)
    assert abs(normal.var() - 1) < 6 * np.sqrt(2 / MANY)
    assert abs((normal**4).mean() - 3) < 6 * np.sqrt(96 / MANY)
    assert abs((normal[: MANY // 2] * normal[MANY // 2 : MANY]).mean()) < 6 / np.sqrt(MANY / 2)


def test_nothing_but_bytes_of_the_operating_system(monkeypatch):
    monkeypatch.setattr(os, "urandom", lambda count: bytes(range(1, 9)) * (count // 8))
    assert len(set(draw_uniform(10, None).tolist())) == 1
    assert len(set(draw_uniform(10, 1).tolist())) == 10


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.floats(0, 1), SEEDS)
@examples(100)
def test_pairs_inside_classes_change_places(classes, share, seed):
    class_of = np.unique(classes, return_inverse=True)[1]
    source = swapped_records(class_of, share, seed)
    assert (source[source] == np.arange(len(class_of))).all()
    assert (class_of[source] == class_of).all()
    for number, size in Counter(class_of.tolist()).items():
        moved = int((source != np.arange(len(source)))[class_of == number].sum())
        assert moved % 2 == 0
        assert abs(moved - share * size) < 2 + 1e-9


def test_the_share_of_swapped_records_is_right_on_average():
    class_of = np.repeat(np.arange(10_000), 3)
    moved = swapped_records(class_of, 0.3, None) != np.arange(len(class_of))
    assert abs(moved.mean() - 0.3) < 0.02


def test_everybody_may_be_swapped_with_everybody():
    partners = {int(swapped_records(np.zeros(5, dtype=int), 1.0, None)[0]) for _ in range(200)}
    assert partners == {0, 1, 2, 3, 4}


@given(st.lists(st.integers(0, 20), min_size=1, max_size=80), st.floats(0.01, 1), SEEDS)
@examples(100)
def test_no_value_moves_further_than_the_share_of_ranks(values, share, seed):
    numbers = np.array(values)
    source = rank_swapped(numbers, share, seed)
    assert sorted(source.tolist()) == list(range(len(values)))
    window = max(1, int(share * len(values) + 1e-9))
    ordered = np.sort(numbers)
    for own, got in zip(numbers, numbers[source], strict=True):
        # The nearest ranks that the two values can have.
        first, last = np.searchsorted(ordered, [own, got], "left"), np.searchsorted(ordered, [own, got], "right") - 1
        assert max(first[0] - last[1], first[1] - last[0]) <= window


def test_rank_swapping_reaches_the_whole_window_in_both_directions():
    moves = {int(rank_swapped(np.arange(20), 0.1, None)[10]) - 10 for _ in range(400)}
    assert moves == {-2, -1, 0, 1, 2}


def test_plain_noise_keeps_means_and_widens_variances():
    values = np.random.default_rng(1).normal(50, [2.0, 10.0], (MANY, 2))
    noise = plain_noise(values, 0.5, None)
    assert (np.abs(noise.mean(axis=0)) < 6 * 0.5 * np.array([2.0, 10.0]) / np.sqrt(MANY)).all()
    assert noise.std(axis=0) / values.std(axis=0) == pytest.approx(0.5, rel=0.03)
    assert abs(np.corrcoef(noise.T)[0, 1]) < 6 / np.sqrt(MANY)


def test_correlated_noise_keeps_covariances_but_for_a_factor():
    rng = np.random.default_rng(2)
    first = rng.normal(0, 3, MANY)
    values = np.column_stack([first, 2 * first + rng.normal(0, 4, MANY), -first])
    noisy = values + correlated_noise(values, 0.8, None)
    assert np.cov(noisy.T) / np.cov(values.T) == pytest.approx(1 + 0.8**2, rel=0.06)
    assert np.corrcoef(noisy.T) == pytest.approx(np.corrcoef(values.T), abs=0.02)


def test_columns_that_follow_from_others_get_noise_that_does_too():
    first, second = np.random.default_rng(3).normal(size=(2, 500))
    values = np.column_stack([first, second, 3 * first - second, np.full(500, 7.0)])
    noise = correlated_noise(values, 0.8, 5)
    np.testing.assert_allclose(noise[:, 2], 3 * noise[:, 0] - noise[:, 1], atol=1e-9)
    assert (noise[:, 3] == 0).all()
    assert np.corrcoef(noise[:, 0], noise[:, 1])[0, 1] == pytest.approx(np.corrcoef(first, second)[0, 1], abs=0.15)


@pytest.mark.parametrize("draw", [plain_noise, correlated_noise])
def test_noise_of_columns_that_are_constant_missing_or_huge(draw):
    values = np.array([[5.0, np.nan, 1e300], [5.0, np.nan, -1e300], [5.0, np.nan, np.nan], [5.0, np.nan, 0.0]])
    noise = draw(values, 0.1, 1)
    assert (noise[:, :2] == 0).all()
    assert np.isfinite(noise).all()
    assert noise[:, 2].any()


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.floats(0, 1), st.booleans())
def test_rows_of_the_matrix_are_distributions_and_invariance_is_exact(counts, retention, invariant):
    matrix = transition_matrix(np.array(counts), retention, invariant=invariant)
    assert matrix.min() >= 0
    assert matrix.sum(axis=1) == pytest.approx(1)
    if invariant:
        assert np.array(counts) @ matrix == pytest.approx(np.array(counts))
    elif len(counts) > 1:
        assert np.diag(matrix) == pytest.approx(retention)


@pytest.mark.parametrize("invariant", [True, False])
def test_categories_are_drawn_as_the_matrix_says(invariant):
    counts = np.array([MANY // 2, MANY // 3, MANY // 6])
    codes = np.repeat(np.arange(3), counts)
    drawn = post_randomized(codes, counts, 0.6, invariant=invariant, seed=None)
    matrix = transition_matrix(counts, 0.6, invariant=invariant)
    for code in range(3):
        shares = np.bincount(drawn[codes == code], minlength=3) / counts[code]
        assert shares == pytest.approx(matrix[code], abs=6 * 0.5 / np.sqrt(counts[code]))
    estimated = original_counts(np.bincount(drawn, minlength=3).astype(float), matrix)
    assert estimated == pytest.approx(counts, abs=6 * np.sqrt(MANY))


@pytest.mark.parametrize("base", [1, 7, 10])
def test_rounding_is_unbiased_or_nearest(base):
    values = np.repeat(np.array([-13, -5, 0, 5, 8, 14]), 4000)
    result = rounded(values, base, unbiased=True, seed=None)
    assert result.dtype == values.dtype
    assert (result % base == 0).all()
    assert (np.abs(result - values) < base).all()
    for value in np.unique(values):
        assert abs((result[values == value] - value).mean()) <= 6 * base / 2 / np.sqrt(4000)
    nearest = rounded(values, base, unbiased=False, seed=None)
    assert (2 * np.abs(nearest - values) <= base).all()


def test_rounding_upwards_from_the_middle():
    assert rounded(np.array([-15, -5, 5, 15]), 10, unbiased=False, seed=None).tolist() == [-10, 0, 10, 20]
    assert rounded(np.array([0.25, 0.75, 1.0]), 0.5, unbiased=False, seed=None).tolist() == [0.5, 1.0, 1.0]


def test_bounds_leave_shares_beyond():
    values = np.arange(100)[::-1]
    assert code_bounds(values, 0.05, 0.1) == (5, 89)
    assert code_bounds(values, 0, 0) == (0, 99)
    assert code_bounds(np.array([4]), 0.5, 0.5) == (4, 4)

"""Noisy marginals made to agree: compared with a general solver, and what synthetic records keep of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from sfumato.kinds.noisy_counts.make import (
    FittedJoint,
    cliques_of,
    draw_records,
    make_agree,
    spread_over,
    sum_over,
    total_of,
)
from sfumato.published.checks.marginals import is_acyclic

SIZES = {"a": 2, "b": 3, "c": 2, "d": 2}
TREE = (("a",), ("a", "b"), ("b", "c"))
CIRCLE = (("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"))


def noisy_of(sets, seed, low=-3, high=12):
    draw = np.random.default_rng(seed)
    return [draw.integers(low, high, tuple(SIZES[name] for name in names)).astype(float) for names in sets]


def solved_by_another(sets, noisy):
    """The distance of the nearest counts that are not negative and agree, by a general solver."""
    total = total_of(noisy)
    ends = np.cumsum([each.size for each in noisy])[:-1]
    wanted = np.concatenate([each.ravel() for each in noisy])

    def differences(flat):
        parts = [part.reshape(each.shape) for part, each in zip(np.split(flat, ends), noisy, strict=True)]
        found = [np.array([part.sum()]) for part in parts]
        for one, other in combinations(range(len(sets)), 2):
            shared = sorted(set(sets[one]) & set(sets[other]))
            if shared:
                beside = sum_over(parts[other], sets[other], shared)
                found.append((sum_over(parts[one], sets[one], shared) - beside).ravel())
        return np.concatenate(found)

    count, weight = len(wanted), 1e3
    rules = np.column_stack([differences(unit) for unit in np.eye(count)])
    right = np.concatenate([np.full(len(sets), total), np.zeros(len(rules) - len(sets))])
    matrix = np.vstack([np.eye(count), weight * rules])
    found = lsq_linear(matrix, np.concatenate([wanted, weight * right]), bounds=(0, np.inf), tol=1e-12).x
    assert np.abs(differences(found) - right).max() < 1e-3
    return ((found - wanted) ** 2).sum()


@pytest.mark.parametrize("seed", range(6))
def test_the_nearest_counts_that_agree_are_found(seed):
    noisy = noisy_of(TREE, seed)
    found = make_agree(TREE, noisy)
    assert all((each >= 0).all() for each in found)
    for one, other in combinations(range(len(TREE)), 2):
        if shared := sorted(set(TREE[one]) & set(TREE[other])):
            beside = sum_over(found[other], TREE[other], shared)
            assert sum_over(found[one], TREE[one], shared) == pytest.approx(beside, abs=1e-3)
    distance = sum(((one - other) ** 2).sum() for one, other in zip(found, noisy, strict=True))
    assert distance == pytest.approx(solved_by_another(TREE, noisy), rel=1e-3, abs=1e-3)


@given(st.integers(0, 10**6), st.sampled_from([TREE, CIRCLE, (("a",), ("b",), ("c", "d")), (("a", "b", "c"),)]))
def test_all_marginals_are_of_one_distribution(seed, sets):
    noisy = noisy_of(sets, seed)
    joint = FittedJoint(sets, noisy, SIZES)
    assert is_acyclic(joint.cliques)
    found = {names: joint.marginal(names) for names in sets}
    assert all((each >= 0).all() for each in found.values())
    assert [each.sum() for each in found.values()] == pytest.approx([total_of(noisy)] * len(sets))
    for one, other in combinations(sets, 2):
        shared = sorted(set(one) & set(other))
        assert sum_over(found[one], one, shared) == pytest.approx(sum_over(found[other], other, shared), abs=1e-6)


def test_counts_that_agree_already_stay():
    draw = np.random.default_rng(5)
    whole = draw.integers(1, 9, (2, 3, 2)).astype(float)
    sets = (("a", "b"), ("b", "c"), ("c", "a"))
    exact = [sum_over(whole, ("a", "b", "c"), names) for names in sets]
    joint = FittedJoint(sets, exact, SIZES)
    for names, counts in zip(sets, exact, strict=True):
        assert joint.marginal(names) == pytest.approx(counts, rel=1e-4)


def test_much_noise_on_nobody_is_nobody():
    sets = (("a", "b"), ("b", "c"))
    joint = FittedJoint(sets, [np.full((2, 3), -5.0), np.full((3, 2), 1.0)], SIZES)
    assert all((joint.marginal(names) == 0).all() for names in sets)
    assert draw_records(joint, "abc", 0).shape == (0, 3)


def test_sets_in_a_circle_are_joined_and_others_are_not():
    assert cliques_of(TREE) == [("a", "b"), ("b", "c")]
    assert sorted(cliques_of(CIRCLE)) == [("a", "b", "c"), ("c", "d")]
    two = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "e"), ("e", "f"), ("f", "d"), ("f", "g")]
    assert sorted(cliques_of(two)) == [("a", "b", "c"), ("d", "e", "f"), ("f", "g")]


@pytest.mark.parametrize("sets", [TREE, CIRCLE])
def test_synthetic_records_differ_from_fitted_counts_by_little_more_than_rounding(sets):
    joint = FittedJoint(sets, noisy_of(sets, 2, 0, 400), SIZES)
    names = sorted({name for each in sets for name in each})
    count = round(joint.tables[0].sum())
    drawn = draw_records(joint, names, count)
    assert drawn.shape == (count, len(names))
    for members in sets:
        shape = tuple(SIZES[name] for name in members)
        cells = np.ravel_multi_index([drawn[:, names.index(name)] for name in members], shape)
        held = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)
        assert np.abs(held - joint.marginal(members)).max() < 8
        assert (held[joint.marginal(members) == 0] == 0).all()


def test_a_table_is_laid_along_the_axes_of_a_wider_one():
    values = np.arange(6.0).reshape(2, 3)
    laid = spread_over(values, ("a", "b"), ("b", "c", "a"))
    assert laid.shape == (3, 1, 2)
    assert laid[2, 0, 1] == values[1, 2]

"""k-medoids against brute force, and beyond where all sets are tried."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.anonymizers.slicing import columns as room
from sfumato.anonymizers.slicing.columns import medoids


def _distances(size: int, seed: int, digits: int) -> np.ndarray:
    """Draw a symmetric matrix; with one digit there are many ties."""
    values = np.random.default_rng(seed).random((size, size)).round(digits)
    values = (values + values.T) / 2
    np.fill_diagonal(values, 0.0)
    return values


def _cost(distances: np.ndarray, chosen) -> float:
    return sum(min(row[place] for place in chosen) for row in distances.tolist())


DRAWN = {"size": st.integers(1, 9), "count": st.integers(1, 9), "seed": st.integers(0, 2**32 - 1)}


@given(**DRAWN, digits=st.sampled_from([0, 1, 12]))
@settings(deadline=None)
def test_no_set_of_medoids_costs_less_and_the_first_is_taken(size, count, seed, digits):
    count = min(size, count)
    distances = _distances(size, seed, digits)
    costs = {chosen: round(_cost(distances, chosen), 9) for chosen in combinations(range(size), count)}
    least = min(costs.values())
    assert tuple(medoids(distances, count)) == next(chosen for chosen, cost in costs.items() if cost == least)


@given(**DRAWN, digits=st.sampled_from([1, 12]))
@settings(deadline=None)
def test_no_exchange_improves_what_pam_finds(size, count, seed, digits):
    count = min(size, count)
    distances = _distances(size, seed, digits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "MOST_SETS", 1)
        chosen = medoids(distances, count).tolist()
    assert len(set(chosen)) == count
    reached = _cost(distances, chosen)
    for out, new in product(chosen, range(size)):
        assert _cost(distances, [*(place for place in chosen if place != out), new]) > reached - 1e-9
    assert reached >= _cost(distances, medoids(distances, count)) - 1e-9


def test_many_attributes_are_within_reach():
    groups = np.repeat(np.arange(6), 10)
    distances = np.where(groups[:, None] == groups, 0.1, 0.9)
    np.fill_diagonal(distances, 0.0)
    assert medoids(distances, 6).tolist() == [0, 10, 20, 30, 40, 50]


def test_sets_that_differ_by_rounding_errors_are_ties():
    distances = np.array([[0.0, 0.1, 0.2], [0.1, 0.0, 0.3], [0.2, 0.3, 0.0]])
    noisy = distances.copy()
    noisy[0, 1] = noisy[1, 0] = 0.1 + 1e-16
    assert medoids(noisy, 2).tolist() == medoids(distances, 2).tolist() == [0, 2]

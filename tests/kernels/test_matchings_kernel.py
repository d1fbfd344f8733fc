"""Chances over all ways to hand out the values of buckets, against going through the permutations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from naive.inference import matchings
from sfumato.kernels.linking import matching_chances


@st.composite
def buckets(draw: st.DrawFn) -> tuple[list[list[int]], np.ndarray]:
    """Counts of the values of some buckets, and weights of the entries."""
    held = draw(st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=3), min_size=1, max_size=3))
    entries = sum(sum(counts) * len(counts) for counts in held)
    weights = draw(st.lists(st.floats(0.01, 10), min_size=entries, max_size=entries))
    return held, np.array(weights)


def chances(held: list[list[int]], weights: np.ndarray, exact: int, rounds: int = 20) -> list[np.ndarray]:
    rows = np.cumsum([0, *map(sum, held)])
    values = np.cumsum([0, *map(len, held)])
    counts = np.array([count for counts in held for count in counts])
    told = matching_chances(rows, values, counts, weights, exact, rounds)
    ends = np.cumsum([sum(counts) * len(counts) for counts in held])
    return [part.reshape(-1, len(counts)) for part, counts in zip(np.split(told, ends[:-1]), held, strict=True)]


@given(buckets())
@examples(25)
def test_exact_chances_are_those_of_all_permutations(drawn: tuple[list[list[int]], np.ndarray]) -> None:
    held, weights = drawn
    first = 0
    for counts, told in zip(held, chances(held, weights, exact=1000), strict=True):
        entries = sum(counts) * len(counts)
        block = weights[first : first + entries].reshape(-1, len(counts))
        first += entries
        expected = matchings(dict(enumerate(counts)), [dict(enumerate(row)) for row in block])
        np.testing.assert_allclose(told, [list(row.values()) for row in expected], rtol=1e-9)


@given(buckets())
@examples(25)
def test_scaled_chances_have_the_right_sums(drawn: tuple[list[list[int]], np.ndarray]) -> None:
    held, weights = drawn
    for counts, told in zip(held, chances(held, weights, exact=1, rounds=500), strict=True):
        np.testing.assert_allclose(told.sum(axis=1), 1)
        np.testing.assert_allclose(told.sum(axis=0), counts, rtol=0.01)


@pytest.mark.parametrize("exact", [1, 1000])
def test_equal_weights_leave_the_shares_of_the_bucket(exact: int) -> None:
    (told,) = chances([[2, 1, 1]], np.ones(12), exact)
    np.testing.assert_allclose(told, [[0.5, 0.25, 0.25]] * 4)


def test_a_sure_row_leaves_the_other_value_to_the_other_row() -> None:
    (told,) = chances([[1, 1]], np.array([1.0, 1e-12, 1.0, 1.0]), 1000)
    np.testing.assert_allclose(told, [[1, 0], [0, 1]], atol=1e-9)

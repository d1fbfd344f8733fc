"""What the form of a cell tells, against every draw of records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from naive.algorithm_attacks import cell_belief
from sfumato.evaluation.attacks.cell_beliefs import (
    branching_belief,
    rounded_belief,
    tight_belief,
    uncut_belief,
    uncut_region_belief,
)

populations = st.lists(st.floats(0.05, 1.0), min_size=2, max_size=5).map(lambda raw: np.array(raw) / sum(raw))


@examples(40)
@given(populations, st.integers(2, 5))
def test_tight_ends(shares: np.ndarray, records: int) -> None:
    last = len(shares) - 1
    plain = cell_belief(shares.tolist(), records, possible=lambda drawn: min(drawn) == 0 and max(drawn) == last)
    assert tight_belief(shares, records) == pytest.approx(plain)


@examples(60)
@given(populations, st.integers(2, 5), st.data())
def test_outer_bins_are_not_empty(shares: np.ndarray, records: int, data: st.DataObject) -> None:
    width = len(shares)
    first = data.draw(st.integers(1, width - 1))
    last = data.draw(st.integers(1, width - first))
    plain = cell_belief(
        shares.tolist(), records, possible=lambda drawn: min(drawn) < first and max(drawn) >= width - last
    )
    assert rounded_belief(shares, first, last, records) == pytest.approx(plain)
    # A single bin tells nothing.
    assert rounded_belief(shares, width, width, records) == pytest.approx(shares)


@examples(60)
@given(populations, st.integers(2, 6), st.integers(1, 3))
def test_no_cut_was_possible(shares: np.ndarray, records: int, smallest: int) -> None:
    last = len(shares) - 1

    def possible(drawn: tuple[int, ...]) -> bool:
        if min(drawn) > 0 or max(drawn) < last:
            return False
        lefts = [sum(value <= cut for value in drawn) for cut in range(last)]
        return not any(left >= smallest and records - left >= smallest for left in lefts)

    plain = cell_belief(shares.tolist(), records, possible=possible)
    # With classes of one record anything can be cut: what is published is then impossible, and tells nothing more.
    assert uncut_belief(shares, records, smallest) == pytest.approx(shares if plain is None else plain)


@examples(40)
@given(populations, st.integers(2, 5), st.data())
def test_a_node_is_the_lowest_that_covers_the_class(shares: np.ndarray, records: int, data: st.DataObject) -> None:
    parents = sorted(data.draw(st.lists(st.integers(0, 2), min_size=len(shares), max_size=len(shares))))
    child_of = np.array([sorted(set(parents)).index(each) for each in parents])
    plain = cell_belief(
        shares.tolist(), records, possible=lambda drawn: len({int(child_of[value]) for value in drawn}) > 1
    )
    assert branching_belief(shares, child_of, records) == pytest.approx(shares if plain is None else plain)


def test_large_classes_do_not_vanish() -> None:
    shares = np.full(50, 0.02)
    shares[7] = 0.021
    belief = uncut_belief(shares / shares.sum(), 3000, 5)
    assert belief.sum() == pytest.approx(1)
    # All but eight records at most share one value, and among so many the most usual one is it.
    assert belief.argmax() == 7
    assert belief[7] > 0.99


@examples(60)
@given(populations, st.integers(2, 6), st.integers(1, 3))
def test_no_cut_of_a_region_was_possible(shares: np.ndarray, records: int, smallest: int) -> None:
    def possible(drawn: tuple[int, ...]) -> bool:
        lefts = [sum(value <= border for value in drawn) for border in range(len(shares) - 1)]
        return all(min(left, records - left) < smallest for left in lefts)

    if records < 2 * smallest:
        # Such a class is never cut, whatever its values.
        assert uncut_region_belief(shares, records, smallest) == pytest.approx(shares)
        return
    plain = cell_belief(shares.tolist(), records, possible=possible)
    assert uncut_region_belief(shares, records, smallest) == pytest.approx(plain)

"""Rolling up and judging frequency sets, against plain counting."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sfumato.kernels.full_domain import judge_sets, rolled_up
from sfumato.kernels.predicates import DISTINCT, K_ANONYMITY, RuleArrays


@st.composite
def sets(draw):
    width = draw(st.integers(1, 4))
    height = draw(st.integers(0, 30))
    codes = draw(
        st.lists(st.lists(st.integers(0, 5), min_size=width, max_size=width), min_size=height, max_size=height)
    )
    weights = draw(st.lists(st.integers(1, 9), min_size=height, max_size=height))
    climb = draw(st.lists(st.integers(0, 3), min_size=6, max_size=6))
    taken = draw(st.permutations(range(width)))[: draw(st.integers(1, width))]
    climbing = draw(st.lists(st.booleans(), min_size=len(taken), max_size=len(taken)))
    return np.array(codes, dtype=np.int32).reshape(height, width), np.array(weights, np.int64), climb, taken, climbing


@pytest.mark.parametrize("numbered", [True, False])
@examples(60)
@given(given_set=sets())
def test_rows_that_become_equal_are_added_up(numbered, given_set):
    codes, weights, climb, taken, climbing = given_set
    starts = np.array([0 if higher else -1 for higher in climbing], dtype=np.int64)
    worth = np.array([6**place if numbered else 0 for place in range(len(taken))], dtype=np.int64)
    cells = 6 ** len(taken) if numbered else 0
    columns = np.array(taken, dtype=np.int64)
    rows, sums = rolled_up(codes, weights, columns, starts, np.array(climb, dtype=np.int32), worth, cells)
    expected: Counter[tuple[int, ...]] = Counter()
    for row, weight in zip(codes.tolist(), weights.tolist(), strict=True):
        expected[tuple(climb[row[c]] if higher else row[c] for c, higher in zip(taken, climbing, strict=True))] += (
            weight
        )
    assert list(zip(map(tuple, rows.tolist()), sums.tolist(), strict=True)) == list(expected.items())


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 4)), min_size=1, max_size=25))
def test_classes_are_judged_by_their_weighted_values(rows):
    owners = sorted({owner for owner, _, _ in rows})
    class_of = np.array([owners.index(owner) for owner, _, _ in rows], dtype=np.int32)
    codes = np.array([[owner, value] for owner, value, _ in rows], dtype=np.int32)
    weights = np.array([weight for _, _, weight in rows], dtype=np.int64)
    empty = np.zeros(0, dtype=np.int64)
    rules = RuleArrays(
        codes=np.array([K_ANONYMITY, DISTINCT]),
        attributes=np.array([-1, 0]),
        first=np.array([5.0, 2.0]),
        second=np.zeros(2),
        offsets=np.array([0, 3]),
        totals=np.ones(3, dtype=np.int64),
        total=3,
        tree_offsets=np.array([0, 0]),
        parents=empty,
        weights=np.zeros(0),
        scratch_size=1,
    )
    sizes, verdicts = judge_sets(class_of, len(owners), codes, 1, weights, rules)
    for place, owner in enumerate(owners):
        own = [(value, weight) for each, value, weight in rows if each == owner]
        size = sum(weight for _, weight in own)
        assert sizes[place] == size
        assert verdicts[place] == (size >= 5 and len({value for value, _ in own}) >= 2)

"""Kernels of risk measures against their plain twins, compiled or not."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from naive import risk as naive
from sfumato.evaluation.risk.combinations import combination_count
from sfumato.kernels.risk import combination_counts, expected_inverse, minimal_uniques

tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[st.integers(0, 3)] * width), min_size=1, max_size=9)
)


def distinct(rows):
    values, counts = np.unique(np.array(rows, dtype=np.uint8), axis=0, return_counts=True)
    return np.ascontiguousarray(values.T), counts.astype(np.int64), [tuple(row) for row in values.tolist()]


@examples(40)
@given(tables, st.data())
def test_minimal_uniques(rows, data):
    size = data.draw(st.integers(1, len(rows[0])))
    columns, weights, values = distinct(rows)
    owner, bits = minimal_uniques(columns, weights, size, 4)
    found = {
        (rows.index(values[record]), tuple(bit for bit in range(4) if int(held) >> bit & 1))
        for record, held in zip(owner.tolist(), bits, strict=True)
    }
    assert len(found) == len(owner)
    assert found == naive.minimal_uniques(rows, size)


@examples(40)
@given(tables, st.data())
def test_counts_of_single_columns_and_of_all(rows, data):
    columns, weights, _ = distinct(rows)
    width = len(columns)
    counts = np.zeros((width, 5), dtype=np.int64)
    offsets = np.tile(np.arange(width).reshape(-1, 1), (1, 2))
    split = data.draw(st.integers(0, width))
    for first, beyond in ((0, split), (split, width)):
        combination_counts(columns, weights, offsets, first, beyond, 4, counts)
    for column in range(width):
        classes, pairs = counts[column, 0] + counts[column, 2], counts[column, 1] + counts[column, 3]
        assert classes == len({row[column] for row in rows})
        assert pairs == sum(one[column] == other[column] for one, other in combinations(rows, 2))
        assert counts[column, 4] == sum(naive.is_alone(rows, place, [column]) for place in range(len(rows)))


def test_two_columns_stand_where_the_offsets_say():
    # In the order of the tree: (0), (1), (0, 1).
    columns, weights, _ = distinct([(0, 0), (0, 1), (1, 1), (1, 1)])
    counts = np.zeros((combination_count(2, 2), 5), dtype=np.int64)
    combination_counts(columns, weights, np.array([[0, 0, 0], [0, 1, 1]]), 0, 2, 2, counts)
    assert (counts[:, 0] + counts[:, 2]).tolist()[:2] == [2, 2]
    # The last is split from (1), whose class 0 has one record and is not split again.
    assert counts[2].tolist() == [2, 1, 0, 0, 1]
    assert counts[1].tolist() == [1, 3, 1, 0, 1]


@examples(40)
@given(st.integers(1, 30), st.floats(0.05, 1.2))
def test_expected_inverse(count, share):
    found = expected_inverse(np.array([float(count)]), np.array([share]))
    assert found[0] == pytest.approx(naive.expected_inverse(count, share), rel=1e-8)

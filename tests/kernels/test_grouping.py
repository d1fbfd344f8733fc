"""Grouping and counting kernels against dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from examples import examples
from sfumato.kernels.grouping import column_maxima, count_values, first_records, group_packed, histogram

MATRICES = arrays(
    st.sampled_from([np.uint8, np.uint16]),
    array_shapes(min_dims=2, max_dims=2, max_side=20),
    elements=st.integers(0, 5),
)


def numbered(rows: np.ndarray) -> list[int]:
    numbers: dict[tuple[int, ...], int] = {}
    return [numbers.setdefault(tuple(row), len(numbers)) for row in rows.tolist()]


@given(codes=MATRICES, per_key=st.integers(1, 20))
@examples(50)
def test_equal_records_get_the_number_of_their_first_appearance(codes: np.ndarray, per_key: int) -> None:
    columns = codes.shape[1]
    stops = np.array([*range(per_key, columns, per_key), columns])
    class_of, count = group_packed(codes, stops, 3 * (np.arange(columns) % per_key))
    assert class_of.tolist() == numbered(codes)
    assert class_of.dtype == np.int32
    assert count == len(set(class_of.tolist()))
    assert first_records(class_of, count).tolist() == [class_of.tolist().index(group) for group in range(count)]
    assert column_maxima(codes).tolist() == codes.max(axis=0).tolist()


@pytest.mark.parametrize("distinct", [4095, 4096, 4097, 9000])
@pytest.mark.parametrize("columns", [1, 3])
def test_the_table_grows(distinct: int, columns: int) -> None:
    once = np.random.default_rng(1).permutation(distinct).astype(np.uint32)
    codes = np.concatenate([once, once[::-1]])[:, None] >> (5 * np.arange(columns))
    class_of, count = group_packed(codes, np.arange(1, columns + 1), np.zeros(columns, dtype=np.int64))
    assert count == distinct
    assert class_of.tolist() == [*range(distinct), *reversed(range(distinct))]


def test_no_record_makes_no_group() -> None:
    nothing = np.zeros((0, 3), dtype=np.uint8)
    class_of, count = group_packed(nothing, np.array([3]), np.array([0, 1, 2]))
    assert (class_of.tolist(), count) == ([], 0)
    assert column_maxima(nothing).tolist() == [-1, -1, -1]


@given(
    records=st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 4)), max_size=40),
    order=st.permutations(range(5)),
)
@examples(60)
def test_compressed_rows_count_every_value_of_every_class(records: list[tuple[int, int]], order: list[int]) -> None:
    class_of = np.array([owner for owner, _ in records], dtype=np.int32)
    codes = np.array([code for _, code in records], dtype=np.uint8)
    occurrences = histogram(class_of, codes, 5)
    assert occurrences.tolist() == [sum(owner >= 0 and code == one for owner, code in records) for one in range(5)]

    present = [code for code in order if occurrences[code]]
    value_of = np.full(5, -1, dtype=np.int32)
    value_of[present] = range(len(present))
    starts, values, counts = count_values(class_of, 4, codes, value_of, occurrences[present])

    for owner in range(4):
        expected = Counter(int(value_of[code]) for its, code in records if its == owner)
        mine = slice(starts[owner], starts[owner + 1])
        assert list(zip(values[mine].tolist(), counts[mine].tolist(), strict=True)) == sorted(expected.items())
    assert (starts.dtype, values.dtype, counts.dtype) == (np.int64, np.int32, np.int64)

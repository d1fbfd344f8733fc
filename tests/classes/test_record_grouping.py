"""Equal records, at any width of their codes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sfumato.classes.partition import distinct_records, group_records


def numbered(rows: np.ndarray) -> list[int]:
    numbers: dict[tuple[int, ...], int] = {}
    return [numbers.setdefault(tuple(row), len(numbers)) for row in rows.tolist()]


@given(
    dtype=st.sampled_from([np.uint8, np.uint16, np.uint32]),
    columns=st.integers(1, 12),
    picks=st.lists(st.integers(0, 2**12 - 1), max_size=40),
)
@examples(60)
def test_rows_of_any_width(dtype: type, columns: int, picks: list[int]) -> None:
    # Each column is 0 or the largest code of its type, so that wide types do not fit one key.
    bits = (np.array(picks, dtype=np.int64)[:, None] >> np.arange(columns)) & 1
    codes = (bits * np.iinfo(dtype).max).astype(dtype)

    class_of, count = group_records(codes)

    assert class_of.tolist() == numbered(codes)
    assert count == len({tuple(row) for row in codes.tolist()})


@pytest.mark.parametrize("columns", [1, 2, 3, 5])
def test_full_32_bit_columns_stay_apart(columns: int) -> None:
    codes = np.random.default_rng(2).integers(2**32 - 3, 2**32, (200, columns), dtype=np.uint32)
    assert group_records(codes)[0].tolist() == numbered(codes)


def test_columns_that_are_not_next_to_each_other_in_memory() -> None:
    codes = np.arange(24, dtype=np.uint8).reshape(6, 4) % 3
    assert group_records(codes[:, ::2])[0].tolist() == numbered(codes[:, ::2])


def test_records_without_columns_are_all_equal() -> None:
    class_of, count = group_records(np.zeros((3, 0), dtype=np.uint8))
    assert (class_of.tolist(), count) == ([0, 0, 0], 1)


def test_distinct_records_rebuild_the_table() -> None:
    codes = np.random.default_rng(3).integers(0, 3, (500, 4)).astype(np.uint16)
    distinct, weights, record_of = distinct_records(codes)
    assert distinct.dtype == np.uint16
    assert (distinct[record_of] == codes).all()
    assert weights.tolist() == [int((codes == row).all(axis=1).sum()) for row in distinct]
    assert len({tuple(row) for row in distinct.tolist()}) == len(distinct)


def test_no_records_have_no_distinct_ones() -> None:
    distinct, weights, record_of = distinct_records(np.zeros((0, 2), dtype=np.uint8))
    assert distinct.shape == (0, 2)
    assert weights.tolist() == record_of.tolist() == []

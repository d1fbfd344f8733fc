"""Columns of text that are held as numbers of their texts."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.table.raw_table import PackedColumn, packed

TEXTS = st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=60)


@given(TEXTS, st.sampled_from([pl.String, pl.Categorical]), st.integers(0, 70), st.integers(0, 70))
def test_nothing_is_lost(values, dtype, start, count):
    column = pl.Series("a", values, dtype=pl.String).cast(dtype)
    held = packed(column)
    assert len(held) == len(column)
    whole = held.whole() if isinstance(held, PackedColumn) else held
    assert whole.dtype == column.dtype
    assert whole.name == "a"
    assert whole.to_list() == values
    assert held.slice(start, count).to_list() == values[start : start + count]


@pytest.mark.parametrize(
    ("values", "width"), [(3, pl.UInt8), (256, pl.UInt8), (257, pl.UInt16), (65_536, pl.UInt16), (65_537, pl.UInt32)]
)
def test_numbers_are_as_narrow_as_may_be(values, width):
    held = packed(pl.Series([f"text {value}" for value in range(values) for _ in range(3)]))
    assert isinstance(held, PackedColumn)
    assert held.number.dtype == width


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([1, 1, 1, 1]),
        pl.Series([f"text {value}" for value in range(20_000)]),
        pl.Series([True, False, True, None]),
        pl.Series(["a"] * 9, dtype=pl.Enum(["z", "y", "a"])).head(2),
        pl.Series([], dtype=pl.String),
        pl.Series([None, None], dtype=pl.String),
    ],
)
def test_what_would_gain_nothing_stays_as_it_is(column):
    assert packed(column) is column


def test_an_enum_stays_one():
    column = pl.Series(["a", None, "z"] * 9, dtype=pl.Enum(["z", "y", "a"]))
    held = packed(column)
    assert isinstance(held, PackedColumn)
    assert held.whole().equals(column, null_equal=True)
    assert held.whole().dtype == column.dtype

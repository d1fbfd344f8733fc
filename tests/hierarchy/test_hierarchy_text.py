"""Values as text: one rule everywhere, and the way back to numbers."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sfumato.hierarchy.tree import number_of, text_of, value_text
from sfumato.table import schema

SERIES = st.one_of(
    st.lists(st.one_of(st.none(), st.floats())).map(lambda v: pl.Series(v, dtype=pl.Float64)),
    st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))).map(lambda v: pl.Series(v, dtype=pl.Int64)),
    st.lists(st.one_of(st.none(), st.booleans())).map(lambda v: pl.Series(v, dtype=pl.Boolean)),
    st.lists(st.one_of(st.none(), st.dates())).map(lambda v: pl.Series(v, dtype=pl.Date)),
    st.lists(st.one_of(st.none(), st.text())).map(lambda v: pl.Series(v, dtype=pl.String)),
)


@given(SERIES)
@examples(150)
def test_leaves_are_written_as_published_cells_are(values: pl.Series) -> None:
    texts = text_of(values).to_list()
    assert texts == schema.text_of(values).to_list()
    assert texts == [None if value is None else value_text(value) for value in values.to_list()]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("39", 39),
        (" 039 ", 39),
        ("-7", -7),
        ("+7.50", 7.5),
        ("1e2", 100.0),
        (".5", 0.5),
        ("9007199254740993", 9007199254740993),
        ("", None),
        ("1_000", None),
        ("0x1F", None),
        ("nan", None),
        ("inf", None),
        ("12a", None),
        ("٣", None),
        ("9" * 5000, None),
        ("1e9999", None),
    ],
)
def test_only_plain_decimals_are_numbers(text: str, number: float | None) -> None:
    assert number_of(text) == number

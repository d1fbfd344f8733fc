"""Borders between values: nobody's value, round, and read back to what they cover."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoding.small_tables import attribute_of
from sfumato.classes.partition import Form
from sfumato.recoding.parsing import parse
from sfumato.recoding.regions import border_texts, roundest
from sfumato.table.encoding import EncodedAttribute


def texts(attribute: EncodedAttribute, *ranges: tuple[int, int]) -> list[str | None]:
    low, high = np.array(ranges, dtype=np.int32).T
    return border_texts(attribute, low, high).to_list()


@pytest.mark.parametrize(
    ("below", "above", "border"),
    [(37, 38, 38), (37, 41, 40), (99, 103, 100), (-7, 6, 0), (2.3, 2.7, 2.7), (0.001, 0.0025, 0.002), (1.5, 2.25, 2)],
)
def test_the_roundest_number_between(below: float, above: float, border: float) -> None:
    assert roundest(np.array([below], dtype=float), np.array([above], dtype=float))[0] == border


def test_whole_numbers_are_closed_and_meet() -> None:
    attribute = attribute_of([17, 22, 48, 70])
    assert texts(attribute, (0, 1), (2, 3), (1, 1), (0, 3)) == ["[10..39]", "[40..70]", "22", "[10..70]"]


def test_other_numbers_are_half_open() -> None:
    assert texts(attribute_of([1.25, 2.5, 4.75, 8.0]), (0, 1), (2, 3)) == ["[1..4)", "[4..8]"]


def test_a_declared_domain_is_reached() -> None:
    assert texts(attribute_of([17, 22, 48, 70], (0, 120)), (0, 1), (2, 3)) == ["[0..39]", "[40..120]"]


def test_dates_meet_in_the_middle() -> None:
    attribute = attribute_of([date(2020, 1, 1), date(2020, 1, 2), date(2020, 3, 1), date(2020, 3, 9)])
    left, right = texts(attribute, (0, 1), (2, 3))
    assert left is not None
    assert right is not None
    assert left.endswith("..2020-01-31]")
    assert right.startswith("[2020-02-01..")


def test_the_calendar_ends() -> None:
    attribute = attribute_of([date(1451, 9, 23), date(5604, 8, 14), date(9773, 3, 20)])
    assert texts(attribute, (0, 1), (0, 2)) == ["[0001-01-01..7688-11-30]", "[0001-01-01..9999-12-31]"]


def test_the_whole_domain_with_missing_values_and_a_missing_value() -> None:
    attribute = attribute_of([1, 2, None])
    assert texts(attribute, (0, 2), (2, 2)) == ["*", None]


def test_numbers_too_large_to_be_told_apart_keep_their_texts() -> None:
    attribute = attribute_of([2**60, 2**60 + 256, 2**61])
    assert texts(attribute, (0, 1)) == [f"[{2**60}..{2**60 + 256}]"]


@given(
    st.lists(st.integers(-2000, 2000) | st.floats(-1e9, 1e9, allow_nan=False), min_size=2, max_size=12, unique=True),
    st.data(),
)
def test_what_is_written_is_read_back(values: list[float], data: st.DataObject) -> None:
    attribute = attribute_of([float(value) for value in values])
    low = data.draw(st.integers(0, attribute.size - 1))
    high = data.draw(st.integers(low, attribute.size - 1))
    label = border_texts(attribute, np.array([low], dtype=np.int32), np.array([high], dtype=np.int32))
    read = parse(label, attribute, Form.INTERVAL)
    assert (read.low[0], read.high[0]) == (low, high)

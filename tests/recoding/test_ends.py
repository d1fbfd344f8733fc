"""Rounded ends: round, never a value's own, around every value, and read back to what they cover."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from naive.ends import of_few_dates, of_few_values, rounded_dates, rounded_numbers
from recoding.small_tables import attribute_of
from sfumato.classes.partition import Form
from sfumato.recoding.choice import MOST_BINS, outer_bins, roundable, rounded_ranges, rounded_texts
from sfumato.recoding.parsing import parse
from sfumato.table.encoding import EncodedAttribute


def texts(attribute: EncodedAttribute, *ranges: tuple[int, int]) -> list[str | None]:
    low, high = np.array(ranges, dtype=np.int32).T
    return rounded_texts(attribute, low, high).to_list()


def test_whole_numbers_are_closed() -> None:
    attribute = attribute_of([17, 22, 31, 32, 48, 70])
    assert texts(attribute, (0, 1), (2, 3), (1, 1), (0, 5)) == ["[16..23]", "[30..33]", "22", "[0..79]"]


def test_other_numbers_are_half_open() -> None:
    attribute = attribute_of([1.25, 1.26, 2.5, 4.75, 8.0])
    assert texts(attribute, (0, 1), (0, 2), (2, 4)) == ["[1.24..1.28)", "[1..3)", "[2..10)"]


def test_multiples_of_a_fifth_are_counted_in_tenths() -> None:
    # One fifth is a fraction with the numerator one, and still no decimal place.
    assert texts(attribute_of([0.0, 1.2]), (0, 1)) == ["[0..1.5)"]
    assert rounded_numbers([Fraction(0), Fraction(6, 5)], Fraction(0), Fraction(6, 5)) == (0, Fraction(3, 2))


def test_a_unit_of_two_thousand_people_is_no_exact_value() -> None:
    # All are multiples of 1000: a bin of 1000 would hold one value.
    assert texts(attribute_of([12_000, 13_000, 25_000]), (0, 1), (1, 2)) == ["[12000..13999]", "[10000..29999]"]


def test_dates_are_rounded_to_weeks_months_and_years() -> None:
    days = [date(2020, 1, 1), date(2020, 1, 9), date(2020, 2, 20), date(2020, 11, 3), date(2027, 5, 5)]
    attribute = attribute_of(days)
    assert texts(attribute, (0, 1), (1, 2), (1, 3), (0, 4)) == [
        "[2019-12-30..2020-01-12]",
        "[2020-01-01..2020-02-29]",
        "[2020-01-01..2020-12-31]",
        "[2020-01-01..2027-12-31]",
    ]


def test_dates_that_are_years_are_rounded_to_years() -> None:
    attribute = attribute_of([date(year, 1, 1) for year in (1940, 1941, 1950, 1999)])
    assert texts(attribute, (0, 1), (1, 2)) == ["[1940-01-01..1941-12-31]", "[1940-01-01..1954-12-31]"]


def test_the_calendar_ends() -> None:
    attribute = attribute_of([date(1, 1, 1), date(2020, 2, 2), date(9999, 12, 31)])
    assert texts(attribute, (0, 2)) == ["[0001-01-01..9999-12-31]"]


def test_a_declared_domain_is_not_left() -> None:
    assert texts(attribute_of([1, 3, 97, 99], (1, 100)), (2, 3)) == ["[96..99]"]
    assert texts(attribute_of([3, 4, 98, 99], (3, 100)), (0, 1), (0, 3)) == ["[2..5]", "[0..99]"]


def test_few_values_are_like_categories() -> None:
    assert texts(attribute_of([1, 2, 3, 4, 5]), (0, 1), (1, 3)) == ["[1..2]", "[2..4]"]
    assert texts(attribute_of([1, 2, 3, 4, 5], (0, 100)), (0, 1), (1, 3)) == ["[0..3]", "[2..5]"]


def test_missing_values_and_stars() -> None:
    attribute = attribute_of([1, 15, None])
    assert texts(attribute, (0, 2), (2, 2), (0, 0), (0, 1)) == ["*", None, "1", "[0..19]"]


def test_numbers_that_a_computer_cannot_tell_apart_keep_their_ends() -> None:
    assert texts(attribute_of([2**60, 2**60 + 1, 2**61]), (0, 1)) == [f"[{2**60}..{2**60 + 1}]"]


def test_where_numbers_stop_being_exact_ends_are_kept() -> None:
    # To a computer the first is -2**53, too.
    values = [-(2**53) - 1, -(2**53), 5]
    assert texts(attribute_of(values), (0, 1)) == [f"[{values[0]}..{values[1]}]"]


@pytest.mark.parametrize(
    "values",
    [
        [1e-9, 2e-9, 5e-9],
        [1e12 + 0.5, 1e12 + 0.75, 1e12 + 1],
        [-0.3, -0.1, 0.2],
        # As near to each other as a computer has numbers.
        [4e15, 4e15 + 0.5, 4e15 + 1],
        [7.741523739303453, 7.741523739303455, 7.741523739303459],
        [8322653152.018758, 8322653152.018759, 8322653152.020679],
        [5e-60, 1e-59, 3e-59],
    ],
)
def test_numbers_of_any_size(values: list[float]) -> None:
    attribute = attribute_of(list(values))
    for low, high in ((0, 1), (1, 2), (0, 2)):
        coverage = parse(pl.Series([_checked(attribute, low, high)]), attribute, Form.INTERVAL)
        assert coverage.low[0] <= low
        assert high <= coverage.high[0]


ranges = st.data()


def _some_range(data: st.DataObject, size: int) -> tuple[int, int]:
    low = data.draw(st.integers(0, size - 2))
    return low, data.draw(st.integers(low + 1, size - 1))


def _checked(attribute: EncodedAttribute, low: int, high: int) -> str:
    """Check what must hold of every range, and return its text."""
    tight = np.array([low], dtype=np.int32), np.array([high], dtype=np.int32)
    wide = rounded_ranges(attribute, *tight)
    assert wide[0][0] <= low
    assert wide[1][0] >= high
    # Whoever sees the interval, and not the class, comes to the same bins.
    assert rounded_texts(attribute, *wide).to_list() == rounded_texts(attribute, *tight).to_list()
    if roundable(attribute):
        assert outer_bins(attribute, *wide) == outer_bins(attribute, *tight)
    assert [part[0] for part in rounded_ranges(attribute, *wide)] == [part[0] for part in wide]
    coverage = parse(rounded_texts(attribute, *tight), attribute, Form.INTERVAL)
    assert (coverage.low[0], coverage.high[0]) == (wide[0][0], wide[1][0])
    (text,) = rounded_texts(attribute, *tight)
    return str(text)


@examples(150)
@given(
    st.lists(st.integers(-(10**7), 10**7), min_size=2, max_size=12, unique=True),
    st.sampled_from([1, 2, 5, 7, 50, 1000]),
    ranges,
)
def test_whole_numbers_equal_the_twin(numbers: list[int], factor: int, data: st.DataObject) -> None:
    values = sorted(number * factor for number in numbers)
    low, high = _some_range(data, len(values))
    exact = [Fraction(value) for value in values]
    begin, stop = rounded_numbers(exact, exact[low], exact[high])
    if of_few_values(exact):
        begin, stop = exact[low], exact[high] + 1
    assert _checked(attribute_of(list(values)), low, high) == f"[{begin}..{stop - 1}]"


@examples(150)
@given(st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=12, unique=True), st.integers(1, 4), ranges)
def test_decimal_numbers_equal_the_twin(numbers: list[int], places: int, data: st.DataObject) -> None:
    exact = [Fraction(number, 10**places) for number in sorted(numbers)]
    values = [number / 10**places for number in sorted(numbers)]
    low, high = _some_range(data, len(values))
    text = _checked(attribute_of(list(values)), low, high)
    begin, stop = rounded_numbers(exact, exact[low], exact[high])
    if of_few_values(exact):
        assert text == f"[{attribute_of(list(values)).labels[low]}..{attribute_of(list(values)).labels[high]}]"
        return
    if all(value.denominator == 1 for value in exact):
        stop -= 1
    first, last = text[1:-1].split("..")
    assert (float(first), float(last)) == (float(begin), float(stop))


@examples(100)
@given(
    st.lists(st.integers(0, 40_000), min_size=2, max_size=10, unique=True), st.sampled_from(["day", "month"]), ranges
)
def test_dates_equal_the_twin(numbers: list[int], unit: str, data: st.DataObject) -> None:
    days = sorted({date(1920, 1, 1) + timedelta(days=number) for number in numbers})
    if unit == "month":
        days = sorted({day.replace(day=1) for day in days})
    if len(days) < 2:
        return
    low, high = _some_range(data, len(days))
    first, last = (days[low], days[high]) if of_few_dates(days) else rounded_dates(days, days[low], days[high])
    assert _checked(attribute_of(list(days)), low, high) == f"[{first}..{last}]"


@examples(100)
@given(st.lists(st.floats(-1e9, 1e9, width=64), min_size=2, max_size=10, unique=True), ranges)
def test_any_numbers_are_covered(values: list[float], data: st.DataObject) -> None:
    attribute = attribute_of(sorted(value + 0.0 for value in values))
    if attribute.size > 1:
        _checked(attribute, *_some_range(data, attribute.size))


def test_an_interval_has_no_more_than_four_bins() -> None:
    attribute = attribute_of(list(range(1000)))
    low = np.repeat(np.arange(999, dtype=np.int32), 3)
    high = np.minimum(low + np.tile(np.array([1, 17, 300], dtype=np.int32), 999), 999)
    (second, last), (wide_low, wide_high) = outer_bins(attribute, low, high), rounded_ranges(attribute, low, high)
    steps = second - wide_low
    assert ((last - wide_low) / steps <= MOST_BINS - 1).all()
    assert (steps >= 2).all()
    assert (wide_high - wide_low <= 2.6 * (high - low) + 3).all()

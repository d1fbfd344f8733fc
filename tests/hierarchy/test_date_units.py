"""Calendar units: labels, order, ISO texts, and bad input."""

from __future__ import annotations

from datetime import date
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sfumato.errors import HierarchyError
from sfumato.hierarchy import dates, hierarchy_from_policy


def test_all_units_of_one_day() -> None:
    tree = dates("day", "month", "quarter", "year", "decade").build(pl.Series([date(1994, 5, 6)]), name="born")
    assert tree.paths == [("1994-05-06", "1994-05", "1994-Q2", "1994", "1990s", "*")]


def test_iso_texts_are_dates_too() -> None:
    texts, days = ["2000-02-29", "1999-12-31"], [date(2000, 2, 29), date(1999, 12, 31)]
    assert dates().build(pl.Series(texts), name="born") == dates().build(pl.Series(days), name="born")


@pytest.mark.parametrize(("month", "quarter"), [(1, 1), (3, 1), (4, 2), (6, 2), (7, 3), (9, 3), (10, 4), (12, 4)])
def test_quarters(month: int, quarter: int) -> None:
    tree = dates("quarter").build(pl.Series([date(2001, month, 15)]), name="day")
    assert tree.levels[1].labels == (f"2001-Q{quarter}",)


@given(st.lists(st.dates(), min_size=1))
@examples(80)
def test_leaves_are_in_calendar_order_and_units_agree_with_the_calendar(days: list[date]) -> None:
    tree = dates("month", "quarter", "year", "decade").build(pl.Series(days), name="born")
    assert list(tree.leaves) == [day.isoformat() for day in sorted(set(days))]
    for day, month, quarter, year, decade, _ in tree.paths:
        moment = date.fromisoformat(day)
        assert month == f"{moment.year:04d}-{moment.month:02d}"
        assert quarter == f"{moment.year:04d}-Q{-(-moment.month // 3)}"
        assert year == f"{moment.year:04d}"
        assert decade == f"{moment.year // 10 * 10:04d}s"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (pl.Series(["1994-05-06", "1994-02-30", "06.05.1994", "1994-5-6"]), "3 value(s) are not dates"),
        (pl.Series([1994]), "need a column of dates"),
        (pl.Series([None], dtype=pl.Date), "only missing values"),
    ],
)
def test_columns_that_do_not_fit_are_counted_never_shown(values: pl.Series, said: str) -> None:
    with pytest.raises(HierarchyError) as caught:
        dates().build(values, name="born")
    assert said in str(caught.value)
    # Only the example in the message's advice is a date, and it is not one of the bad values.
    assert not any(text in str(caught.value) for text in ("02-30", "06.05", "5-6 "))


@pytest.mark.parametrize(
    "units", [("fortnight",), ("year", "month"), ("year", "year"), (1994,), ("month", "eon", "era")]
)
def test_units_that_make_no_sense(units: Any) -> None:
    with pytest.raises(HierarchyError):
        dates(*units)


def test_the_day_goes_without_saying() -> None:
    assert dates("day", "year") == dates("year")
    assert dates() == dates("month", "year", "decade")
    for described in (dates("quarter", "year"), dates("day")):
        assert hierarchy_from_policy(described.to_policy()) == described

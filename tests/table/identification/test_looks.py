"""What one column looks like: values, name and number together."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import polars as pl
import pytest

from sfumato.table.distinct import as_categories
from sfumato.table.identification import Look, Sort, look_at

PEOPLE = 200


def column(name: str, values: list[object]) -> pl.Series:
    return pl.Series(name, values)


def test_wages_are_nearly_unique_and_no_telephone_numbers() -> None:
    look = look_at(column("wage", [20_000 + 37 * number for number in range(PEOPLE)]))
    assert look == Look(None, None, PEOPLE, PEOPLE)
    assert look.sorts == (Sort.NEARLY_UNIQUE,)
    assert look.sentence() == "hardly two records share a value (200 values in 200 records)"


@pytest.mark.parametrize(("records", "is_nearly_unique"), [(49, False), (50, True)])
def test_few_records_are_not_called_nearly_unique(records: int, is_nearly_unique: bool) -> None:
    assert look_at(column("code", [f"x{number}" for number in range(records)])).is_nearly_unique is is_nearly_unique


@pytest.mark.parametrize(("distinct", "is_nearly_unique"), [(149, False), (150, True)])
def test_where_nearly_begins(distinct: int, is_nearly_unique: bool) -> None:
    values = [f"x{min(number, distinct - 1)}" for number in range(PEOPLE)]
    assert look_at(column("tumour", values)).is_nearly_unique is is_nearly_unique


def test_missing_values_are_no_values() -> None:
    values = [f"x{number}" for number in range(60)] + [""] * 70 + [None] * 70
    plain, categories = column("tumour", values), as_categories([column("tumour", values)])[0]
    assert look_at(plain) == look_at(categories) == Look(None, None, 60, 60)


def test_an_ordered_category_looks_as_its_texts_do() -> None:
    values = [f"a{number}@b.de" for number in range(40)]
    assert look_at(column("contact", values).cast(pl.Enum(values))).sorts == (Sort.MAIL,)


def test_a_name_counts_only_where_there_are_many_values() -> None:
    assert look_at(column("phone", ["mobile", "landline"] * 100)).sorts == ()
    assert look_at(column("id", list(range(19)) * 100)).sorts == ()
    assert look_at(column("id", list(range(40)) * 5)).sorts == (Sort.CODES,)
    assert look_at(column("phone", ["a", "b", "c"])).sorts == (Sort.TELEPHONES,)
    assert look_at(column("photo", [True, False] * 50)).sorts == ()


def test_ages_are_known_and_not_suspicious() -> None:
    assert look_at(column("age", [number % 90 for number in range(PEOPLE)])).by_name is None
    look = look_at(column("age", [number % 91 for number in range(PEOPLE)]))
    assert look.by_name is Sort.AGES
    assert look.sorts == ()
    assert look.sentence() == ""


def test_dates_of_a_lifetime_are_births_and_first_days_of_months_are_no_exact_dates() -> None:
    births = [date(1930, 1, 5) + timedelta(days=120 * number) for number in range(PEOPLE)]
    stays = [date(2023, 1, 5) + timedelta(days=number % 150) for number in range(PEOPLE)]
    months = [date(1930 + number // 12, number % 12 + 1, 1) for number in range(PEOPLE)]
    assert look_at(column("x", births)).by_value is Sort.BIRTHS
    assert look_at(column("x", stays)).by_value is Sort.DATES
    assert look_at(column("x", [datetime(day.year, day.month, day.day, 9, 30) for day in stays])).by_value is Sort.DATES
    assert look_at(column("x", months)).by_value is None
    assert look_at(column("x", [day.strftime("%d.%m.%Y") for day in births])).by_value is Sort.BIRTHS
    assert look_at(column("x", [int(day.strftime("%Y%m%d")) for day in births])).by_value is Sort.BIRTHS
    assert look_at(column("x", [int(day.strftime("%Y%m%d")) for day in stays])).by_value is Sort.DATES


def test_words_with_capitals_are_names_where_they_hardly_repeat() -> None:
    names = [f"Ada{chr(97 + number % 26)} Abel{chr(97 + number // 26)}" for number in range(PEOPLE)]
    assert look_at(column("x", names)).by_value is Sort.NAMES
    assert look_at(column("x", names * 20)).by_value is None


def test_no_value_is_told() -> None:
    told = look_at(column("x", [f"Secret{number}@hidden.org" for number in range(PEOPLE)])).sentence()
    assert "ecret" not in told
    assert "hidden" not in told

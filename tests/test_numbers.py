from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.numbers import counted, figure, percent, plural, with_article


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (2.9999999999999996, 6, "3"),
        (3, 6, "3"),
        (0.0, 6, "0"),
        (100.0, 2, "100"),
        (99.7, 2, "100"),
        (12345.678, 6, "12,345.7"),
        (12345.678, 2, "12,000"),
        (0.000123456789, 6, "0.000123457"),
        (0.25, 6, "0.25"),
        (41.5, 2, "42"),
        (math.nextafter(41.5, 0), 2, "42"),
        (-1.5, 6, "-1.5"),
        (1e15, 6, "1,000,000,000,000,000"),
        (1e-15, 6, "0"),
        (-1e-15, 6, "0"),
        (math.inf, 6, "inf"),
    ],
)
def test_figures_are_short_and_without_exponents(value, digits, text):
    assert figure(value, digits) == text


@given(st.floats(1e-6, 1e12), st.integers(1, 6))
def test_figures_keep_their_significant_digits(value, digits):
    text = figure(value, digits)
    assert float(text.replace(",", "")) == pytest.approx(float(f"{value:.{digits}g}"), rel=1e-9)
    assert "e" not in text


def test_thousands_are_left_together_when_asked():
    assert figure(12345.0, grouped=False) == "12345"


def test_shares_are_percentages():
    assert [percent(share) for share in (0, 0.02, 1, 1 / 3, 0.00001)] == ["0%", "2%", "100%", "33.3333%", "0.001%"]
    assert percent(0.0424068, 2) == "4.2%"


def test_nouns_agree_with_their_number():
    assert [counted(number, "class") for number in (0, 1, 2)] == ["0 classes", "1 class", "2 classes"]
    assert [counted(number, "record") for number in (1, 12345)] == ["1 record", "12,345 records"]


def test_nouns_for_several():
    assert [plural(noun) for noun in ("class", "equivalence class", "bucket", "table")] == [
        "classes",
        "equivalence classes",
        "buckets",
        "tables",
    ]


def test_only_one_thing_has_an_article():
    assert [with_article(noun) for noun in ("sliced-table", "marginals", "class")] == [
        "a sliced-table",
        "marginals",
        "a class",
    ]

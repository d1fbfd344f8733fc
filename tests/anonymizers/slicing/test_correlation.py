"""Correlation of attributes: the sheet's figures, the plain twin, discretization, drawing."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive.slicing import phi_squared
from published.checks.slices.eight_records import eight_records


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("age", "sex", 0.75),
        ("age", "zip", 0.833333),
        ("age", "disease", 0.888889),
        ("sex", "zip", 0.5),
        ("sex", "disease", 0.666667),
        ("zip", "disease", 0.333333),
    ],
)
def test_worked_example(first, second, expected):
    found = sf.correlation(eight_records())
    assert found.of(first, second) == pytest.approx(expected, abs=5e-7)
    assert found.of(second, first) == found.of(first, second)


def table_of(**columns):
    frame = pl.DataFrame(columns)
    return sf.read_table(frame, sf.Schema(quasi_identifying=frame.columns))


letters = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["x", "y", None])), min_size=1, max_size=30)


@given(letters)
@examples(60)
def test_agrees_with_the_twin_missing_values_among_them(rows):
    first, second = zip(*rows, strict=True)
    table = table_of(first=pl.Series(first, dtype=pl.String), second=pl.Series(second, dtype=pl.String))
    assert sf.correlation(table).of("first", "second") == pytest.approx(float(phi_squared(first, second)), abs=1e-12)


def test_many_values_are_counted_without_a_field_for_every_pair():
    numbers = np.arange(3000)
    table = table_of(a=numbers.astype(str), b=(numbers[::-1]).astype(str))
    assert sf.correlation(table).of("a", "b") == pytest.approx(1.0)


def test_bins_of_equal_frequency_and_of_equal_width():
    skewed = [2**place for place in range(16)]
    upper = ["low"] * 8 + ["high"] * 8
    table = table_of(number=skewed, half=upper)
    assert sf.correlation(table, bins=2).of("number", "half") == pytest.approx(1.0)
    wide = sf.correlation(table, bins=2, discretization="equal-width")
    assert wide.sizes == (2, 2)
    assert wide.of("number", "half") == pytest.approx(float(phi_squared([x > 2**14 for x in skewed], upper)))


def test_equal_values_stay_in_one_bin_and_empty_bins_vanish():
    table = table_of(number=[0] * 90 + list(range(1, 11)), other=["a", "b"] * 50)
    assert sf.correlation(table, bins=5).sizes == (2, 2)


def test_few_values_and_categories_stay_as_they_are():
    assert sf.correlation(eight_records(), bins=6).sizes == (6, 2, 4, 4)
    assert sf.correlation(eight_records(), bins=3).sizes[0] == 3


def test_a_constant_attribute_hangs_together_with_nothing():
    assert sf.correlation(table_of(a=["x"] * 4, b=["p", "q"] * 2)).of("a", "b") == 0


def test_attributes_can_be_chosen():
    found = sf.correlation(eight_records(), ["zip", "disease"])
    assert found.attributes == ("zip", "disease")
    assert found.of("zip", "disease") == pytest.approx(1 / 3)


def test_mistakes_are_told_together():
    with pytest.raises(sf.PolicyError) as error:
        sf.correlation(eight_records(), ["agge"], bins=1, discretization="quantiles")
    assert len(error.value.problems) == 3


def test_prints_draws_and_survives_json():
    found = sf.correlation(eight_records())
    again = sf.Correlation.from_dict(json.loads(json.dumps(found.to_dict())))
    assert str(again) == str(found)
    assert "0.889" in str(found)
    assert found.draw().splitlines()[0] == "age      ██▓▓████"
    assert found.to_svg().count("<rect") == 16
    assert found.to_frame().columns == ["attribute", "age", "sex", "zip", "disease"]
    assert repr(found) == "Correlation(age, sex, zip, disease)"


def test_names_are_escaped_in_figures():
    assert "<b>" not in sf.correlation(table_of(**{"<b>": ["x", "y"], "c": ["x", "y"]})).to_svg()


def test_contradictory_values_are_refused():
    with pytest.raises(sf.InputError):
        sf.Correlation(("a",), np.eye(2), (2,))
    with pytest.raises(sf.InputError):
        sf.Correlation.from_dict({"attributes": ["a"]})

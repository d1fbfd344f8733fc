"""Regressions on an original and on a release, held against elimination in fractions."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive import descriptives as naive
from sfumato.evaluation.utility.descriptives import Estimate
from sfumato.evaluation.utility.regressions import _overlap
from sfumato.published import PublishedTable

SCHEMA = sf.Schema(quasi_identifying=["age", "town"], sensitive=["pay"], insensitive=["w"])
WIDTH = NormalDist().inv_cdf(0.975)


def both(frame: pl.DataFrame, published: pl.DataFrame, weights: str | None = None, on=("age", "town")):
    table = sf.read_table(frame, SCHEMA)
    release = PublishedTable(published, ("age", "town"), ("pay",))
    (found,) = sf.describe(release, table, columns=[], regressions={"pay": list(on)}, weights=weights).regressions
    return found


@examples(40)
@given(
    st.lists(
        st.tuples(st.integers(20, 30), st.sampled_from(["a", "b", "c"]), st.integers(0, 50), st.integers(1, 5)),
        min_size=8,
        max_size=25,
    )
)
def test_coefficients_and_intervals_are_those_of_the_twin(rows):
    ages, towns, pays, weights = zip(*rows, strict=True)
    # One of each, so that every coefficient is determined.
    ages, towns = (*ages, 20, 25, 31), (*towns, "a", "b", "c")
    pays, weights = (*pays, 3, 60, 10), (*weights, 2, 1, 3)
    if len({age for age, town in zip(ages, towns, strict=True) if town == "a"}) < 2:
        ages, towns, pays, weights = (*ages, 28), (*towns, "a"), (*pays, 1), (*weights, 1)
    frame = pl.DataFrame({"age": ages, "town": towns, "pay": pays, "w": weights})
    # Without a hierarchy, categories stand by falling frequency; the first has no column of its own.
    _, *others = sorted("abc", key=lambda town: (-towns.count(town), town))
    columns = [
        [Fraction(1), Fraction(age), *(Fraction(int(town == other)) for other in others)]
        for age, town in zip(ages, towns, strict=True)
    ]
    found = both(frame, frame, "w")
    assert [each.name for each in found.coefficients] == ["(intercept)", "age", *(f"town = {each}" for each in others)]
    wanted = naive.regressed(columns, [Fraction(pay) for pay in pays], [Fraction(weight) for weight in weights])
    for each, (value, variance) in zip(found.coefficients, wanted, strict=True):
        assert each.before == each.after
        assert each.before.value == pytest.approx(float(value), rel=1e-6, abs=1e-6)
        width = WIDTH * sqrt(variance)
        assert each.before.high - each.before.value == pytest.approx(width, rel=1e-6, abs=1e-6)
        assert each.overlap is None or each.overlap == pytest.approx(1)


def test_anscombes_first_set():
    frame = pl.DataFrame(
        {
            "age": [10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5],
            "town": ["a"] * 11,
            "pay": [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68],
            "w": [1] * 11,
        }
    )
    intercept, slope = both(frame, frame, on=["age"]).coefficients
    assert intercept.before.value == pytest.approx(3.0001, abs=5e-5)
    assert slope.before.value == pytest.approx(0.5001, abs=5e-5)


def test_a_range_counts_by_its_middle_and_a_set_by_its_shares():
    frame = pl.DataFrame(
        {"age": [20, 22, 30, 34], "town": ["a", "b", "b", "b"], "pay": [1.0, 2.5, 3.0, 5.0], "w": [1] * 4}
    )
    published = frame.with_columns(
        age=pl.Series(["[20..22]"] * 2 + ["[30..34]"] * 2), town=pl.Series(["{a|b}"] * 2 + ["b"] * 2)
    )
    _, slope = both(frame, published, on=["age"]).coefficients
    assert slope.after.value == pytest.approx((4 - 1.75) / (32 - 21))
    _, town = both(frame, published, on=["town"]).coefficients
    assert (town.name, town.after.value) == ("town = a", pytest.approx((1.75 - 4) / 0.5))


def test_a_column_that_says_nothing_has_no_coefficient():
    frame = pl.DataFrame(
        {"age": [20, 22, 30, 34, 40], "town": ["a", "b", "b", "b", "a"], "pay": [1.0, 2.5, 3.0, 5.0, 4.0], "w": [1] * 5}
    )
    found = both(frame, frame.with_columns(town=pl.lit("*"), age=pl.lit("[20..40]")))
    intercept, age, town = found.coefficients
    assert intercept.after.value == pytest.approx(3.1)
    assert (age.after, town.after, town.overlap) == (None, None, None)
    assert age.before is not None


def test_records_with_a_missing_value_are_left_out():
    frame = pl.DataFrame(
        {"age": [20, None, 30, 34, 40], "town": ["a", "b", None, "b", "a"], "pay": [1, 2, 3, 5, 4], "w": [1] * 5}
    )
    found = both(frame, frame, on=["age"])
    assert (found.records_before, found.records_after) == (4, 4)
    assert both(frame, frame, on=["age", "town"]).records_before == 3


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [((0, 4), (2, 6), 0.5), ((0, 4), (0, 4), 1), ((0, 4), (1, 3), 0.75), ((0, 4), (5, 9), 0), ((2, 2), (0, 4), None)],
)
def test_overlap_of_intervals(one, other, wanted):
    first, second = (Estimate(float(np.mean(ends)), *map(float, ends)) for ends in (one, other))
    assert _overlap(first, second) == wanted
    assert _overlap(second, first) == wanted


def test_too_few_records_determine_nothing():
    frame = pl.DataFrame({"age": [20, 30], "town": ["a", "a"], "pay": [1.0, 2.0], "w": [1, 1]})
    assert all(each.before is None and each.overlap is None for each in both(frame, frame, on=["age"]).coefficients)

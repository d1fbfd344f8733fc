"""Noise that is rescaled and turned back at the ends of the range."""

from __future__ import annotations

import math
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from sfumato.anonymizers.randomization.numbers import _turned_back
from sfumato.errors import PolicyError


def folded(number, low, high):
    """Turn back at one end after the other, as long as it takes."""
    while not low <= number <= high:
        number = 2 * low - number if number < low else 2 * high - number
    return number


@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(-90, 90)), min_size=2, max_size=12))
@examples(60)
def test_numbers_are_turned_back_one_end_after_the_other(pairs):
    numbers, change = (np.array(each, dtype=np.float64) for each in zip(*pairs, strict=True))
    low, high = numbers.min(), numbers.max()
    found = numbers + _turned_back(numbers, change)
    if low == high:
        assert found.tolist() == numbers.tolist()
        return
    assert found == pytest.approx([folded(one + move, low, high) for one, move in zip(numbers, change, strict=True)])


def people(count=3000):
    draw = np.random.default_rng(5)
    age = draw.normal(50, 12, count).clip(18, 95).round().astype(int)
    pay = 900 + 40 * age + draw.normal(0, 300, count)
    day = [date(2020, 1, 1) + timedelta(days=int(each)) for each in draw.integers(0, 900, count)]
    frame = pl.DataFrame({"age": [None, *age[1:].tolist()], "pay": pay, "day": day})
    return sf.read_table(frame, sf.Schema(quasi_identifying=["age", "pay", "day"]))


TABLE = people()


@pytest.mark.parametrize("rescaled", [False, True])
@pytest.mark.parametrize("amount", [0.3, 5.0])
def test_nothing_leaves_the_range(amount, rescaled):
    method = sf.Noise(amount=amount, correlated=True, rescaled=rescaled, in_range=True)
    data = sf.anonymize(TABLE, anonymizer=method, seed=1).data
    for name in ("age", "pay", "day"):
        before, after = TABLE.frame[name], data[name]
        assert after.dtype == before.dtype
        assert (after.null_count(), after.min() >= before.min(), after.max() <= before.max()) == (
            before.null_count(), True, True,
        )  # fmt: skip


def test_rescaled_correlated_noise_keeps_means_and_covariances():
    data = sf.anonymize(TABLE, anonymizer=sf.Noise(amount=0.8, correlated=True, rescaled=True), seed=1).data
    before, after = (frame.select("age", "pay").drop_nulls().to_numpy() for frame in (TABLE.frame, data))
    assert after.mean(axis=0) == pytest.approx(before.mean(axis=0), rel=0.02)
    assert np.cov(after.T) == pytest.approx(np.cov(before.T), rel=0.1)
    plain = sf.anonymize(TABLE, anonymizer=sf.Noise(amount=0.8, correlated=True), seed=1).data
    grown = np.cov(plain.select("age", "pay").drop_nulls().to_numpy().T)
    assert grown == pytest.approx(np.cov(before.T) * 1.64, rel=0.1)


@pytest.mark.parametrize("amount", [0.1, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_exact_noise_keeps_means_and_covariances_to_the_last_digits(amount, seed):
    draw = np.random.default_rng(seed)
    first = draw.normal(100, 20, 40)
    columns = {
        "a": first,
        "b": 3 * first + draw.normal(0, 5, 40),
        "c": draw.exponential(8, 40),
        "same": np.full(40, 7.5),
    }
    frame = pl.DataFrame(columns)
    table = sf.read_table(frame, sf.Schema(quasi_identifying=frame.columns))
    method = sf.Noise(amount=amount, correlated=True, rescaled=True, exact=True)
    data = sf.anonymize(table, anonymizer=method, seed=seed).data
    before, after = (each.select(frame.columns).to_numpy() for each in (frame, data))
    assert after.mean(axis=0) == pytest.approx(before.mean(axis=0), rel=1e-9)
    assert np.cov(after.T) == pytest.approx(np.cov(before.T), rel=1e-8, abs=1e-8)
    assert set(data["same"]) == {7.5}
    # Numbers did move: no record is where one was.
    assert not {*np.round(before[:, 0], 6)} & {*np.round(after[:, 0], 6)}
    again = sf.anonymize(table, anonymizer=method, seed=seed).data
    assert again.equals(data)


def test_exact_noise_knows_missing_values_and_whole_numbers():
    method = sf.Noise(amount=0.8, correlated=True, rescaled=True, exact=True)
    data = sf.anonymize(TABLE, anonymizer=method, seed=1).data
    before, after = (frame.select("age", "pay").drop_nulls().to_numpy() for frame in (TABLE.frame, data))
    assert after.mean(axis=0) == pytest.approx(before.mean(axis=0), rel=1e-3)
    assert np.cov(after.T) == pytest.approx(np.cov(before.T), rel=5e-3)
    assert data["age"].null_count() == 1


def test_exact_noise_refuses_what_it_cannot_keep():
    with pytest.raises(sf.PolicyError) as error:
        sf.Noise(exact=True, in_range=True)
    assert len(error.value.problems) == 2
    few = sf.read_table(
        pl.DataFrame({"a": [1.0, 2.0, 4.0, 9.0], "b": [3.0, 1.0, 2.0, 0.0]}), sf.Schema(quasi_identifying=["a", "b"])
    )
    with pytest.raises(sf.InputError, match="more than 4 records without a missing value for 2 columns"):
        sf.anonymize(few, anonymizer=sf.Noise(correlated=True, rescaled=True, exact=True))


def test_a_record_is_drawn_towards_the_mean():
    frame = pl.DataFrame({"age": [0.0, 10.0]})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"]))
    plain, rescaled = (
        sorted(sf.anonymize(table, anonymizer=sf.Noise(amount=0.75, rescaled=each), seed=4).data["age"])
        for each in (False, True)
    )
    assert rescaled == pytest.approx([5 + (number - 5) / math.sqrt(1 + 0.75**2) for number in plain])


def test_a_constant_column_and_one_without_values():
    frame = pl.DataFrame({"same": [3.5] * 4, "gone": pl.Series([None] * 4, dtype=pl.Int64), "age": [1, 2, 3, 4]})
    kinds = {"same": None, "gone": sf.Attribute(kind="numeric"), "age": None}
    table = sf.read_table(frame, sf.Schema(quasi_identifying=kinds))
    data = sf.anonymize(table, anonymizer=sf.Noise(amount=2, rescaled=True, in_range=True), seed=1).data
    assert data["same"].to_list() == [3.5] * 4
    assert data["gone"].null_count() == 4


@pytest.mark.parametrize("option", ["rescaled", "in_range"])
def test_options_are_true_or_false(option):
    with pytest.raises(PolicyError, match=f"noise: {option} must be true or false"):
        sf.Noise(**{option: "yes"})

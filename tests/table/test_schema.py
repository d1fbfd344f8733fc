"""Attribute and Schema: what they accept, and how each mistake is told."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pytest

from sfumato.errors import SchemaError
from sfumato.hierarchy import Intervals, intervals
from sfumato.table.schema import Attribute, Kind, Schema


@pytest.mark.parametrize(
    ("given", "domain"),
    [
        ((np.int64(0), np.float64(1.5)), (0, 1.5)),
        ([1, 2], (1, 2)),
        ((date(2020, 1, 1), "2021-01-01"), ("2020-01-01", "2021-01-01")),
        ((np.datetime64("2020-01-01"), date(2021, 1, 1)), ("2020-01-01", "2021-01-01")),
        ((np.str_("a"), "b"), ("a", "b")),
    ],
)
def test_a_domain_becomes_plain_values(given, domain):
    attribute = Attribute(domain=given)
    assert attribute.domain == domain
    assert [type(member) for member in attribute.domain] == [type(member) for member in domain]


def test_a_weight_becomes_a_plain_number():
    assert type(Attribute(weight=np.float32(0.5)).weight) is float
    assert type(Attribute(weight=np.int16(2)).weight) is int


@pytest.mark.parametrize("kind", [None, *Kind])
@pytest.mark.parametrize(
    "domain",
    [
        5,
        "SECRET",
        {"SECRET": 1},
        {"SECRET", "b"},
        (["SECRET"],),
        (None, "SECRET"),
        ("SECRET", 1),
        ("SECRET", "b", True),
        (False, True),
        (np.bool_(False), np.bool_(True)),
        (-math.inf, math.inf),
        (0, math.nan),
        (0, 10**400),
        (Decimal(1), Decimal(2)),
        (1, 2j),
        (datetime(2020, 1, 1), datetime(2021, 1, 1)),
    ],
)
def test_a_domain_of_anything_else_is_refused(kind, domain):
    with pytest.raises(SchemaError) as caught:
        Attribute(kind=kind, domain=domain)
    assert caught.value.problems == ("domain must be a list of finite numbers, or of texts or dates",)


@pytest.mark.parametrize(
    ("kind", "domain", "expected"),
    [
        ("numeric", ("1", "2"), "domain of a numeric attribute must be two numbers"),
        ("date", (1, 2), "domain of a date attribute must be two dates"),
        ("numeric", (1,), "domain must be two values"),
        ("numeric", (2, 1), "domain must rise"),
        ("categorical", ("a", "a"), "domain must list distinct values"),
        (None, (), "domain must list distinct values"),
    ],
)
def test_a_domain_suits_its_kind(kind, domain, expected):
    with pytest.raises(SchemaError, match=f"^{expected}"):
        Attribute(kind=kind, domain=domain)


@pytest.mark.parametrize("weight", [True, np.bool_(True), 0, -1, math.inf, math.nan, "1", None, 10**400, [1]])
def test_a_weight_is_a_finite_number_above_zero(weight):
    with pytest.raises(SchemaError, match=r"^weight must be a number from 1e-06 to 1,000,000"):
        Attribute(weight=weight)


@pytest.mark.parametrize("hierarchy", [5, "SECRET", {"SECRET": "x"}, Intervals, [intervals(5)]])
def test_a_hierarchy_is_the_description_of_one(hierarchy):
    with pytest.raises(SchemaError, match=r"^hierarchy must be the description of a hierarchy"):
        Attribute(hierarchy=hierarchy)


def test_every_wrong_setting_is_told_at_once():
    with pytest.raises(SchemaError) as caught:
        Attribute(kind=[1], hierarchy=5, weight=True, domain=5)
    assert [problem.split()[0] for problem in caught.value.problems] == ["kind", "hierarchy", "weight", "domain"]


@pytest.mark.parametrize("role", ["identifying", "quasi_identifying", "sensitive", "insensitive"])
@pytest.mark.parametrize("names", [5, None, "age", [1], [["a"]], b"ab", {5: None}])
def test_names_of_wrong_types_are_told_in_one_line(role, names):
    with pytest.raises(SchemaError) as caught:
        Schema(**{"quasi_identifying": ["zip"], role: names})
    assert caught.value.problems == (f"{role} must be a list of column names",)


@pytest.mark.parametrize("setting", [5, "flat", Intervals, ["a"]])
def test_settings_of_wrong_types_name_their_column(setting):
    with pytest.raises(SchemaError, match=r"^quasi_identifying, column 'age': give an Attribute"):
        Schema(quasi_identifying={"age": setting})


@pytest.mark.parametrize("others", [None, 5, ["drop"], "leave"])
def test_others_is_one_of_three(others):
    with pytest.raises(SchemaError, match=r"^others must be 'error', 'drop' or 'keep'$"):
        Schema(quasi_identifying=["age"], others=others)


def test_no_quasi_identifying_column():
    with pytest.raises(SchemaError, match=r"^no quasi-identifying column"):
        Schema(quasi_identifying=[])

"""Which classes cover whom: short lists, held against a table of everybody and every class."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest

from sfumato.recoding.notation import STAR
from sfumato.series.attacks import Covering, covering
from sfumato.series.recount import Places
from sfumato.table.schema import Kind

TREE = {"north": ["a", "b"], "south": ["c", "d"], "a": ["a"], "b": ["b"], "c": ["c"], "d": ["d"]}
AGES = {
    "7": lambda age: age == 7,
    "[3..7]": lambda age: age is not None and 3 <= age <= 7,
    "[3..7)": lambda age: age is not None and 3 <= age < 7,
    "[0..20)": lambda age: age is not None and 0 <= age < 20,
    STAR: lambda age: True,
    None: lambda age: age is None,
}
TOWNS = {
    "x": {"x"},
    "{x|y}": {"x", "y"},
    "{y|z}": {"y", "z"},
    STAR: {"x", "y", "z", "w", None},
    None: {None},
}
AREAS = {"north": {"a", "b"}, "c": {"c"}, "south": {"c", "d"}, STAR: {*"abcd", None}, None: {None}}
DAYS = {
    "2020-01-02": lambda day: day == datetime.date(2020, 1, 2),
    "[2020-01-01..2020-01-03)": lambda day: day is not None and day < datetime.date(2020, 1, 3),
    STAR: lambda day: True,
}


@pytest.mark.parametrize("dated", [False, True])
def test_short_lists_say_the_same_as_a_table_of_everybody(dated: bool) -> None:
    draw = np.random.default_rng(3 + dated)
    kinds = {"age": Kind.NUMERIC, "town": Kind.CATEGORICAL, "area": Kind.CATEGORICAL, "day": Kind.DATE}
    found = 0
    for _ in range(30):
        n, c = int(draw.integers(1, 30)), int(draw.integers(1, 12))
        ages = [None if age == 9 else int(age) for age in draw.integers(3, 10, n)]
        towns = draw.choice(["x", "y", "z", "w", None], n).tolist()
        areas = draw.choice([*"abcd", None], n).tolist()
        days = [datetime.date(2020, 1, int(day)) for day in draw.integers(1, 5, n)]
        came, low = draw.integers(0, 3, n), draw.integers(0, 3, c)
        high = np.minimum(2, low + draw.integers(0, 2, c))
        shown = [[list(each)[at] for at in draw.integers(0, len(each), c)] for each in (AGES, TOWNS, AREAS, DAYS)]
        labels = pl.DataFrame(dict(zip(kinds, shown, strict=True)), schema=dict.fromkeys(kinds, pl.String))
        people = pl.DataFrame(
            [
                pl.Series(name, values, dtype=pl.String)
                for name, values in zip(
                    kinds,
                    ([None if age is None else str(age) for age in ages], towns, areas, list(map(str, days))),
                    strict=True,
                )
            ]
        )
        months = (came, (low, high)) if dated else None
        marks = np.zeros((n, c), dtype=np.bool_)
        covers = covering(labels, people, kinds, {"area": TREE}, months)
        marks[covers.person, covers.class_of] = True
        for person in range(n):
            for label in range(c):
                age, town, area, day = (shown[index][label] for index in range(4))
                fits = (
                    AGES[age](ages[person])
                    and towns[person] in TOWNS[town]
                    and areas[person] in AREAS[area]
                    and DAYS[day](days[person])
                    and (not dated or low[label] <= came[person] <= high[label])
                )
                assert marks[person, label] == fits, (labels.row(label), people.row(person))
                found += fits
        # Lists are sorted, and say nothing twice.
        assert np.array_equal(np.column_stack(np.nonzero(marks)), np.column_stack([covers.person, covers.class_of]))
    assert found > 40


def test_one_class_covers_all_records_of_an_owner() -> None:
    draw = np.random.default_rng(1)
    for _ in range(50):
        owners = np.append(np.arange(4), draw.integers(0, 4, 6))
        marks = draw.random((10, 5)) < 0.7
        found = Covering.of(marks).of_all_records(owners)
        expected = [[label for label in range(5) if marks[owners == owner, label].all()] for owner in range(4)]
        assert [found.class_of[found.person == owner].tolist() for owner in range(4)] == expected


def test_rows_are_those_of_a_product_of_tables() -> None:
    draw = np.random.default_rng(2)
    for _ in range(30):
        marks, counts = draw.random((8, 6)) < 0.4, draw.integers(0, 3, (6, 4))
        label, value = np.nonzero(counts)
        places = Places(label, value, counts[label, value], 6)
        some = draw.integers(0, 8, 5)
        assert np.array_equal(Covering.of(marks).take(some).rows(places, 4), marks[some] @ counts)
        assert np.array_equal(Covering.of(marks).values(counts > 0), (marks @ counts) > 0)

"""Recounting sliced tables: the worked example, everybody who may be in one, and whatever the records may be."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations, product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive.slicing import candidates, disclosed
from published.checks.slices.eight_records import AGE, DISEASE, SEX, ZIP
from sfumato.models.protocol import Outcome
from sfumato.published import SlicedTable
from sfumato.published.checks.slices import check_slices
from sfumato.table.schema import Attribute, Kind

CATEGORY = {"s": Attribute(kind=Kind.CATEGORICAL)}


def sliced_eight(columns) -> SlicedTable:
    frame = pl.DataFrame({"bucket": [3] * 4 + [7] * 4, "age": AGE, "sex": SEX, "zip": ZIP, "disease": DISEASE})
    return SlicedTable(frame.select("bucket", *(name for column in columns for name in column)), columns, ("disease",))


@pytest.mark.parametrize(
    "columns", [(("age", "sex"), ("zip", "disease")), (("age", "sex", "zip"), ("disease",))], ids=["sliced", "buckets"]
)
def test_worked_example_is_2_diverse_and_no_more(columns):
    table, disease = sliced_eight(columns), {"disease": Attribute()}
    holds, broken = check_slices(table, [sf.ProbabilisticLDiversity(2), sf.ProbabilisticLDiversity(3)], disease)
    assert holds.outcome is Outcome.HOLDS
    assert [str(value) for value in holds.achieved] == ["l=2 on disease"]
    assert broken.outcome is Outcome.BROKEN


def test_models_of_classes_are_undecidable():
    (check,) = check_slices(sliced_eight((("age", "sex", "zip", "disease"),)), [sf.KAnonymity(1)], {})
    assert check.outcome is Outcome.UNDECIDABLE


row = st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from("pq"), st.sampled_from("123"))
buckets = st.lists(st.lists(row, min_size=1, max_size=3), min_size=1, max_size=3)
COLUMNS = [[(0,), (1,), (2,), (3,)], [(0, 1), (2, 3)], [(0,), (1, 2), (3,)], [(0, 1, 2), (3,)], [(0, 3), (1,), (2,)]]
NAMES = "abcs"


def table_of(rows: Sequence[Sequence[tuple[str, ...]]], columns: Sequence[tuple[int, ...]]) -> SlicedTable:
    data = [(number, *record) for number, bucket in enumerate(rows) for record in bucket]
    frame = pl.DataFrame(data, schema=["bucket", *NAMES], orient="row")
    named = tuple(tuple(NAMES[place] for place in column) for column in columns)
    return SlicedTable(frame.select("bucket", *(name for column in named for name in column)), named, ("s",))


def fails(person, rows, columns, ell) -> bool:
    return max(disclosed(person, rows, columns, 3).values()) > Fraction(1) / Fraction(str(ell))


@given(buckets, st.sampled_from(COLUMNS), st.sampled_from([1, 1.25, 1.5, 2, 2.5]))
@examples(150)
def test_holds_exactly_when_nobody_who_may_be_in_it_fails(rows, columns, ell):
    (check,) = check_slices(table_of(rows, columns), [sf.ProbabilisticLDiversity(ell)], CATEGORY)
    someone = any(fails(person, rows, columns, ell) for person in candidates(rows, columns))
    assert (check.outcome is Outcome.HOLDS) == (not someone)


def rearranged(bucket, columns):
    """Every table of records that a bucket may have been made of."""
    others = columns[1:]
    for orders in product(*(permutations(bucket) for _ in others)):
        records = []
        for own, *rest in zip(bucket, *orders, strict=True):
            record = list(own)
            for column, other in zip(others, rest, strict=True):
                for place in column:
                    record[place] = other[place]
            records.append(tuple(record))
        yield records


@given(buckets, st.sampled_from(COLUMNS[1:4]), st.sampled_from([1.25, 1.5, 2, 2.5]))
@examples(100)
def test_broken_means_that_some_record_fails_whatever_the_records_are(rows, columns, ell):
    (check,) = check_slices(table_of(rows, columns), [sf.ProbabilisticLDiversity(ell)], CATEGORY)
    if check.outcome is Outcome.BROKEN:
        # What is said of a person depends on the columns alone, so that each bucket may be rearranged by itself.
        sure = [
            all(any(fails(person, rows, columns, ell) for person in records) for records in rearranged(bucket, columns))
            for bucket in rows
        ]
        assert any(sure)


@given(buckets, st.sampled_from(COLUMNS), st.sampled_from([0.1, 0.3, 0.5]))
@examples(80)
def test_closeness_is_that_of_what_the_table_says_of_people(rows, columns, t):
    (check,) = check_slices(table_of(rows, columns), [sf.TCloseness(t, "equal")], CATEGORY)
    values = [record[3] for bucket in rows for record in bucket]
    table = {value: Fraction(values.count(value), len(values)) for value in values}

    def distance(person):
        own = disclosed(person, rows, columns, 3)
        return sum(abs(own.get(value, 0) - share) for value, share in table.items()) / 2

    someone = any(distance(person) > Fraction(str(t)) for person in candidates(rows, columns))
    assert (check.outcome is Outcome.HOLDS) == (not someone)


def test_too_many_people_are_not_gone_through(monkeypatch):
    monkeypatch.setattr("sfumato.published.checks.slices.candidates_of.__defaults__", (1,))
    rows = [[("a", "x", "p", "1"), ("b", "y", "q", "1"), ("b", "y", "q", "2")]]
    (check,) = check_slices(table_of(rows, COLUMNS[0]), [sf.ProbabilisticLDiversity(2)], CATEGORY)
    assert check.outcome is Outcome.UNDECIDABLE


def test_buckets_may_have_any_numbers_and_values_may_be_missing():
    frame = pl.DataFrame({"bucket": [-5, 10**12, -5, 10**12], "a": [None, "x", "x", None], "s": ["1", "1", None, "2"]})
    table = SlicedTable(frame, (("a",), ("s",)), ("s",))
    (check,) = check_slices(table, [sf.ProbabilisticLDiversity(2)], CATEGORY)
    assert check.outcome is Outcome.HOLDS


def test_what_an_attacker_does_not_know_is_not_looked_at():
    frame = pl.DataFrame(
        {"bucket": [0, 1, 1, 1], "a": ["x", "x", "x", "x"], "s": ["1", "1", "2", "2"], "i": ["1", "2", "3", "4"]}
    )
    asked = [sf.ProbabilisticLDiversity(1.49)]
    known = SlicedTable(frame, (("a",), ("s",), ("i",)), ("s",))
    assert check_slices(known, asked, CATEGORY)[0].outcome is Outcome.BROKEN
    unknown = SlicedTable(frame, (("a",), ("s",), ("i",)), ("s",), ("i",))
    assert check_slices(unknown, asked, CATEGORY)[0].outcome is Outcome.HOLDS

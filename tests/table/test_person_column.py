"""The column that says who a record is about: of any type, with gaps, and in policies that are wrong."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.table.person_keys import number_people

NUMBERS = [3, 1, 3, 2, 1, 3]
SAME = [[0, 2, 5], [1, 4], [3]]
COLUMNS: dict[str, pl.Series] = {
    "int": pl.Series(NUMBERS),
    "negative": pl.Series([-n for n in NUMBERS], dtype=pl.Int8),
    "float": pl.Series([n / 2 for n in NUMBERS]),
    "uint64": pl.Series([2**64 - n for n in NUMBERS], dtype=pl.UInt64),
    "int128": pl.Series([2**100 + n for n in NUMBERS], dtype=pl.Int128),
    "decimal": pl.Series([f"{n}.5" for n in NUMBERS]).cast(pl.Decimal(10, 2)),
    "text": pl.Series([f"p{n}" for n in NUMBERS]),
    "categories": pl.Series([f"p{n}" for n in NUMBERS]).cast(pl.Categorical),
    "enum": pl.Series([f"p{n}" for n in NUMBERS]).cast(pl.Enum(["p3", "p1", "p2"])),
    "date": pl.Series([date(2000, 1, n) for n in NUMBERS]),
    "datetime": pl.Series([datetime(2000, 1, 1, n) for n in NUMBERS]),
    "time": pl.Series([time(n) for n in NUMBERS]),
}
GAPS = [None, "a", "b", None, "a", None]
ODD = {
    "list": pl.Series([[n] for n in NUMBERS]),
    "struct": pl.Series([{"n": n} for n in NUMBERS]),
    "duration": pl.Series([timedelta(days=n) for n in NUMBERS]),
    "bytes": pl.Series([bytes([255, n]) for n in NUMBERS]),
    "object": pl.Series([object() for _ in NUMBERS], dtype=pl.Object),
}


def table(column: pl.Series, **reading: Any) -> sf.Table:
    frame = pl.DataFrame({"age": [1, 2, 3, 4, 5, 6]}).with_columns(column.alias("id"))
    return sf.read_table(frame, sf.Schema(person="id", quasi_identifying=["age"]), **reading)


def together(people: np.ndarray) -> list[list[int]]:
    return sorted(np.flatnonzero(people == person).tolist() for person in np.unique(people))


@pytest.mark.parametrize("kind", COLUMNS)
def test_of_every_type(kind: str):
    read = table(COLUMNS[kind])
    assert read.people is not None
    assert together(read.people) == SAME
    assert read.frame.columns == ["age"]


@pytest.mark.parametrize("kind", COLUMNS)
def test_an_identifying_column_of_every_type_is_told_of(kind: str):
    frame = pl.DataFrame({"age": [1, 2, 3, 4, 5, 6]}).with_columns(COLUMNS[kind].alias("id"))
    repeated = sf.read_table(frame, sf.Schema(identifying=["id"], quasi_identifying=["age"])).repeated
    assert repeated is not None
    assert together(repeated.people) == SAME


@pytest.mark.parametrize("kind", ODD)
def test_what_cannot_be_compared_is_refused_as_a_person(kind: str):
    with pytest.raises(sf.InputError, match="'id' is of type"):
        table(ODD[kind])


@pytest.mark.parametrize("kind", ODD)
def test_and_is_no_hindrance_as_an_identifying_column(kind: str):
    frame = pl.DataFrame({"age": [1, 2, 3, 4, 5, 6]}).with_columns(ODD[kind].alias("id"))
    assert sf.read_table(frame, sf.Schema(identifying=["id"], quasi_identifying=["age"])).repeated is None


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["a", "b"])])
def test_who_has_no_key_is_a_person_of_its_own(kind: Any):
    assert together(table(pl.Series(GAPS, dtype=kind)).people) == [[0], [1, 4], [2], [3], [5]]


def test_nan_is_no_key_either():
    numbers = pl.Series([float("nan"), 1.0, 2.0, float("nan"), 1.0, None])
    assert together(table(numbers).people) == [[0], [1, 4], [2], [3], [5]]
    assert together(table(pl.Series([None] * 6)).people) == [[row] for row in range(6)]


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical])
@pytest.mark.parametrize("gap", ["", "?"])
def test_nor_is_a_text_that_stands_for_a_missing_value(tmp_path, kind: Any, gap: str):
    keys = pl.Series([gap if key is None else key for key in GAPS], dtype=kind)
    read = table(keys, missing=["", "?"])
    frame = pl.DataFrame({"age": [1, 2, 3, 4, 5, 6], "id": keys})
    frame.write_csv(tmp_path / "table.csv")
    roles = sf.Schema(person="id", quasi_identifying=["age"])
    of_file = sf.read_table(tmp_path / "table.csv", roles, missing=["", "?"])
    assert together(read.people) == together(of_file.people) == [[0], [1, 4], [2], [3], [5]]


def test_numbers_of_people_do_not_say_how_often_they_occur_or_who_was_first():
    assert number_people(pl.Series(["z", "a", "z", "m"])).tolist() == [2, 0, 2, 1]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"person": "age"}, ["'age'", "person and quasi-identifying"]),
        ({"person": "ill"}, ["'ill'", "person and sensitive"]),
        ({"person": "id", "identifying": ["id"]}, ["'id'", "person and identifying"]),
        ({"person": "id", "insensitive": ["id"]}, ["'id'", "person and insensitive"]),
        ({"person": {"id": 1}, "insensitive": 3}, ["person must be the name", "insensitive must be"]),
        ({"person": 3, "others": "?"}, ["person must be the name", "others must be"]),
    ],
)
def test_all_mistakes_of_a_schema_at_once(settings: Any, words: list[str]):
    with pytest.raises(sf.SchemaError) as error:
        sf.Schema(quasi_identifying=["age"], sensitive=["ill"], **settings)
    assert all(word in str(error.value) for word in words)


def test_a_person_column_that_is_not_there():
    roles = sf.Schema(person="who", quasi_identifying=["age", "zip"])
    with pytest.raises(sf.SchemaError, match="'who'") as error:
        sf.read_table(pl.DataFrame({"age": [1, 2]}), roles)
    assert "'zip'" in str(error.value)


@pytest.mark.parametrize("person", [3, True, ["id", 3], {"id": 1}, [], 1.5, "age", "ill"])
def test_policies_that_say_it_wrongly(person: Any):
    columns = {"quasi-identifying": ["age"], "sensitive": ["ill"], "person": person, "others": "maybe"}
    with pytest.raises(sf.PolicyError, match="person") as error:
        sf.Policy.from_mapping({"models": [{"name": "k-anonymity", "k": 2}], "columns": columns})
    assert "others" in str(error.value)


def test_no_message_shows_a_key():
    frame = pl.DataFrame(
        {"age": range(20), "ill": ["x", "y"] * 10, "id": ["Mrs Secret"] * 12 + [f"p{i}" for i in range(8)]}
    )
    roles = sf.Schema(person="id", quasi_identifying=["age"], sensitive=["ill"])
    for settings in ({}, {"suppression_limit": 0.5}, {"suppression_limit": 0.7}):
        with pytest.raises(sf.UnsatisfiableError) as error:
            sf.anonymize(sf.read_table(frame, roles), [sf.KAnonymity(4), sf.AlphaKAnonymity(0.5, 9)], **settings)
        assert "Secret" not in str(error.value)
        assert "12 of 20 records" in str(error.value) or "suppressed" in str(error.value)


def test_one_person_only():
    read = table(pl.Series(["a"] * 6))
    with pytest.raises(sf.UnsatisfiableError, match="k-anonymity asks for k = 2, but there are only 1 person"):
        sf.anonymize(read, sf.KAnonymity(2))
    assert sf.anonymize(read, sf.KAnonymity(1)).report.people.people == 1


def test_where_everybody_has_too_many_records_nobody_is_named():
    frame = pl.DataFrame({"age": range(15), "id": ["a"] * 8 + ["b"] * 4 + ["c"] * 2 + ["d"]})
    read = sf.read_table(frame, sf.Schema(person="id", quasi_identifying=["age"]))
    with pytest.raises(sf.UnsatisfiableError, match="whoever is left out, somebody of those left has too many"):
        sf.anonymize(read, sf.KAnonymity(2), suppression_limit=0.9)


def test_who_has_most_of_the_records_is_suppressed_whole_where_that_is_allowed():
    frame = pl.DataFrame({"age": range(30), "id": ["most"] * 10 + [f"p{i % 10}" for i in range(20)], "row": range(30)})
    roles = sf.Schema(person="id", quasi_identifying=["age"], insensitive=["row"])
    read = sf.read_table(frame, roles)
    for rows in ("together", "apart"):
        with pytest.raises(sf.UnsatisfiableError, match="one person has 10 of 30 records, more than 1 in 4") as no:
            sf.anonymize(read, sf.KAnonymity(4), people=sf.People(rows=rows))
        assert "people: 1 person with 10 records would have to be left out, at least" in str(no.value)
    release = sf.anonymize(read, sf.KAnonymity(4), suppression_limit=0.7)
    shown = release.data["row"].to_list()
    assert not {*range(10)} & {*shown}
    # Nobody goes alone: as many people are left out as a class has.
    assert 10 + 3 * 2 <= release.report.suppressed == 30 - len(shown) <= 0.7 * 30


def test_messages_about_people_do_not_call_them_records():
    frame = pl.DataFrame({"age": range(20), "id": ["most"] * 12 + [f"p{i}" for i in range(8)]})
    read = sf.read_table(frame, sf.Schema(person="id", quasi_identifying=["age"]))
    with pytest.raises(sf.UnsatisfiableError) as error:
        sf.anonymize(read, sf.KAnonymity(4), suppression_limit=0.7, recoding=sf.Recoding(suppressed="star"))
    assert "of 9 records" not in str(error.value)
    assert "of 9 people" in str(error.value)

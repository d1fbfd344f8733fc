"""Records without a key count as people of their own, which may be too many: whoever counts people hears of them."""

from __future__ import annotations

import math

import polars as pl
import pytest

import sfumato as sf

FRAME = pl.DataFrame({"id": ["a", None, "a", None, "b", None], "age": [1, 1, 1, 1, 1, 1]})
SCHEMA = sf.Schema(person="id", quasi_identifying=["age"])
TOLD = "3 records of 6 have no value in column 'id'; each counts as a person of its own."


def notes(frame: pl.DataFrame, schema: sf.Schema = SCHEMA) -> str:
    return "\n".join(sf.anonymize(sf.read_table(frame, schema), sf.KAnonymity(2)).report.notes)


def test_a_release_says_how_many_records_have_no_key():
    assert TOLD in notes(FRAME)


def test_nothing_is_said_where_everybody_has_one_or_nobody_asked():
    assert "no value" not in notes(FRAME.with_columns(id=pl.Series(list("abcabc"))))
    assert "no value" not in notes(FRAME.drop("id"), sf.Schema(quasi_identifying=["age"]))


def test_a_number_that_is_none_is_no_key():
    assert "1 record of 6 has no value" in notes(FRAME.with_columns(id=pl.Series([1.0, math.nan, 1, 2, 2, 3])))


def test_part_of_a_table_counts_its_own():
    table = sf.read_table(FRAME, SCHEMA)
    assert table.take(slice(0, 2)).keyless_note.startswith("1 record of 2 has")
    assert table.take(slice(4, 5)).keyless_note is None


def test_check_and_risk_say_it_too():
    told = "3 records without 'id', each counted as a person of its own"
    assert told in str(sf.check(FRAME, quasi_identifying=["age"], person="id"))
    assert told in str(sf.risk(sf.read_table(FRAME, SCHEMA)))
    assert told in str(sf.check(sf.read_table(FRAME, SCHEMA)))


def test_records_without_a_key_can_be_refused():
    people = sf.People(keyless="refuse")
    with pytest.raises(sf.PolicyError, match="3 records of 6 without a value in column 'id', first in row 2; fill"):
        sf.anonymize(sf.read_table(FRAME, SCHEMA), sf.KAnonymity(2), people=people)
    keyed = FRAME.with_columns(id=pl.Series(list("abcabc")))
    release = sf.anonymize(sf.read_table(keyed, SCHEMA), sf.KAnonymity(2), people=people)
    assert 'keyless = "refuse"' in release.policy


@pytest.mark.parametrize("setting", [{"known_values": 2}, {"fingerprint_k": 2}])
def test_each_setting_of_pseudonyms_is_named_by_itself(setting):
    (name,) = setting
    with pytest.raises(sf.PolicyError, match=f"people: {name} says something of pseudonyms='published' alone"):
        sf.People(**setting)

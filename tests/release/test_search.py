"""Searching the lattice without publishing."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import PolicyError, UnsatisfiableError


def table() -> sf.Table:
    frame = pl.DataFrame({"age": [21, 22, 34, 35], "sex": ["m", "f", "m", "f"], "ill": ["a", "b", "a", "b"]})
    schema = sf.Schema(quasi_identifying={"age": sf.intervals(10), "sex": None}, sensitive=["ill"])
    return sf.read_table(frame, schema)


def test_incognito_searches_unless_said_otherwise():
    search = sf.search_lattice(table(), [sf.KAnonymity(2), sf.DistinctLDiversity(2)])
    assert search.attributes == ("age", "sex")
    assert list(search.satisfying()) == [(1, 1), (2, 1)]
    assert search.chosen == (1, 1)


def test_datafly_searches_too():
    search = sf.search_lattice(table(), sf.KAnonymity(2), anonymizer=sf.Datafly())
    assert search.path == ((0, 0), (1, 0), (2, 0))


def test_the_limit_is_a_fraction_of_the_records():
    searches = [sf.search_lattice(table(), sf.KAnonymity(2), suppression_limit=limit) for limit in (0, 0.74, 1)]
    assert [len(list(search.satisfying())) for search in searches] == [3, 3, 6]


def test_it_prints_levels_and_counts_and_no_value():
    search = sf.search_lattice(table(), sf.KAnonymity(2))
    words = str(search) + str(search.to_frame())
    assert "age 1, sex 1" in words
    assert not any(value in words for value in ("21", "34", '"m"'))


def test_progress_is_told():
    told = []
    sf.search_lattice(table(), sf.KAnonymity(2), progress=lambda *words: told.append(words))
    assert told == [("searching", 1, 3), ("searching", 2, 3), ("searching", 3, 3)]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"anonymizer": sf.Mondrian()}, "mondrian searches no lattice"),
        ({"anonymizer": "incognito"}, "is not an anonymizer"),
        ({"models": []}, "at least one privacy model"),
        ({"suppression_limit": 2}, "fraction from 0 to 1"),
        ({"models": sf.EntropyLDiversity(2, attribute="illness")}, "illness"),
    ],
)
def test_wrong_settings_are_refused(changed, message):
    given = {"models": sf.KAnonymity(2), **changed}
    with pytest.raises(PolicyError, match=message):
        sf.search_lattice(table(), **given)


def test_models_that_cannot_be_met_are_named():
    with pytest.raises(UnsatisfiableError, match="k-anonymity asks for k = 5"):
        sf.search_lattice(table(), sf.KAnonymity(5))

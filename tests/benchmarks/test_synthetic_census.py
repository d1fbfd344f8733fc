"""The synthetic census: repeatable, and with the dependences that make it census-like."""

from __future__ import annotations

import polars as pl
import pytest
from benchmarks.census import QUASI_IDENTIFYING, SENSITIVE, census, write_census

ROWS = 20_000


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return census(ROWS)


def test_the_same_seed_gives_the_same_people(people):
    assert census(ROWS).equals(people)
    assert not census(ROWS, seed=1).equals(people)


def test_the_file_holds_the_same_records_without_the_sensitive_attribute(people, tmp_path):
    write_census(1000, tmp_path / "census.csv")
    read = pl.read_csv(tmp_path / "census.csv")
    assert read.equals(census(1000).select(QUASI_IDENTIFYING))
    assert [path.name for path in tmp_path.iterdir()] == ["census.csv"]


def test_attributes_depend_on_each_other(people):
    children = people.filter(pl.col("age") < 15)
    assert set(children["marital"]) == {"never married"}
    assert set(children["occupation"]) == {"not working"}
    assert set(children["education"]).isdisjoint({"bachelor", "master", "professional", "doctorate"})
    assert (people["occupation"] == "not working").eq(people["industry"] == "no industry").all()
    widowed = people.filter(pl.col("marital") == "widowed")
    assert widowed["age"].mean() > people["age"].mean() + 20


def test_most_combinations_are_rare_and_tails_are_long(people):
    assert people.select(QUASI_IDENTIFYING).n_unique() > ROWS / 2
    regions = people["region"].value_counts(sort=True)["count"]
    assert len(regions) > 800
    assert regions[0] > 20 * regions.median()
    assert people[SENSITIVE].n_unique() == 12
    assert people.null_count().sum_horizontal().item() == 0

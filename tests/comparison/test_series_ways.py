"""The ways of series on the same arrivals: what each month lost, who waits, and what attacks find."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from series.tables import HEADER, SCHEMA, Person, people, write_csv
from sfumato.cli.app import app
from sfumato.comparison.series_ways import WayCompared, WaysCompared, compare_ways
from sfumato.policy.policy import Policy
from sfumato.recoding import Recoding

POLICY = Policy.of(SCHEMA, [sf.KAnonymity(3)], sf.Mondrian(), Recoding(), 0.0, 0, sf.People())


def frame(some: list[Person]) -> pl.DataFrame:
    return pl.DataFrame(some, schema=list(HEADER), orient="row")


def by_way(found: WaysCompared) -> dict[str, WayCompared]:
    return {each.way: each for each in found.ways}


@pytest.fixture(scope="module")
def batches() -> list[list[Person]]:
    return [people(40), people(2, first=100, seed=1), people(20, first=200, seed=2)]


@pytest.fixture(scope="module")
def compared(batches: list[list[Person]]) -> WaysCompared:
    return compare_ways([frame(each) for each in batches], POLICY, m=2, most_counterfeits=0.3, seed=1)


def test_each_month_is_that_of_a_series_made_by_hand(
    compared: WaysCompared, batches: list[list[Person]], tmp_path: Path
) -> None:
    series = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(3))
    found = by_way(compared)["append"].months
    so_far: list[Person] = []
    for batch, month in zip(batches, found, strict=True):
        so_far += batch
        step = series.append(frame(batch), seed=1)
        assert (month.arrived, month.number, month.waiting) == (len(batch), step.number, step.waiting)
        if step.number is None:
            assert month.reason == step.reason
            assert month.ncp is None
        else:
            original = sf.read_table(frame(so_far), SCHEMA)
            assert month.ncp == pytest.approx(sf.measure(original, series.releases[-1]).normalized_ncp)
            assert month.rows == len(so_far)
    assert [month.waiting for month in found] == [0, 2, 0]


def test_people_with_several_records_are_compared_where_a_way_takes_them() -> None:
    schema = sf.Schema(person="name", quasi_identifying=["age", "city"], sensitive=["disease"], wished_k="own")
    policy = Policy.of(schema, [sf.KAnonymity(3)], sf.Mondrian(), Recoding(), 0.0, 0, sf.People())
    months = [[*each, *each[::4]] for each in (people(30), people(20, first=200, seed=2))]
    tables = [frame(each).with_columns(pl.lit(4).alias("own")) for each in months]
    found = by_way(compare_ways(tables, policy, seed=1))
    assert [month.number for month in found["append"].months] == [1, 2]
    attacks = found["append"].attacks
    assert attacks is not None
    assert attacks.ok
    assert attacks.played[0].cases == 30
    for way in ("grow", "m-invariance"):
        assert f"wishes: a series of {way} keeps none" in str(found[way].refused)
    alone = Policy.of(
        sf.Schema(person="name", quasi_identifying=["age", "city"], sensitive=["disease"], others="drop"),
        [sf.KAnonymity(3), sf.DistinctLDiversity(2)], sf.Mondrian(), Recoding(), 0.0, 0, sf.People(),
    )  # fmt: skip
    refused = by_way(compare_ways(tables, alone, ways=["grow"], seed=1))["grow"].refused
    assert "with a key that another one has; a series holds one record of each person" in str(refused)


def test_attacks_are_played_on_each(compared: WaysCompared) -> None:
    ways = by_way(compared)
    assert list(ways) == ["append", "grow", "m-invariance"]
    assert compared.people == 62
    for way in ("append", "grow"):
        attacks = ways[way].attacks
        assert attacks is not None
        assert attacks.ok
        assert attacks.promised == 3
    invariant = ways["m-invariance"]
    published = [month for month in invariant.months if month.number]
    assert published
    assert all(month.rows >= month.counterfeits for month in published)
    assert invariant.attacks is None or invariant.attacks.counts == "value"


def test_a_way_that_cannot_have_the_policy_says_why() -> None:
    schema = sf.Schema(identifying=["name"], quasi_identifying=["age"], sensitive=["city", "disease"])
    policy = Policy.of(schema, [sf.KAnonymity(3)], sf.Mondrian(), Recoding(), 0.0, 0, sf.People())
    tables = [frame(people(20)), frame(people(20, first=100, seed=1))]
    found = by_way(compare_ways(tables, policy, ways=["append", "m-invariance"], seed=1))
    assert found["append"].refused is None
    assert "m-invariance protects one, and there are 2" in (found["m-invariance"].refused or "")
    assert found["m-invariance"].months == ()


def test_what_is_refused() -> None:
    tables = [frame(people(20)), frame(people(20, first=100))]
    with pytest.raises(sf.PolicyError, match="ways: 'withdrawal' is none; known are append, grow, m-invariance"):
        compare_ways(tables, POLICY, ways=["withdrawal"])
    with pytest.raises(sf.InputError, match="two months or more"):
        compare_ways(tables[:1], POLICY)
    with pytest.raises(sf.InputError, match="has no column 'city'"):
        compare_ways([tables[0], tables[1].drop("city")], POLICY)
    twice = by_way(compare_ways([tables[0], tables[0]], POLICY, ways=["append"]))
    assert "20 people of 20 are in an earlier release" in (twice["append"].refused or "")


def test_from_the_command_line(tmp_path: Path) -> None:
    paths = [write_csv(tmp_path / "a.csv", people(30)), write_csv(tmp_path / "b.csv", people(20, first=100, seed=1))]
    texts = [path.read_text().replace(",", ";") for path in paths]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    words = ["compare", "--kind", "series", *map(str, paths), "--identifying", "name", "--quasi", "age,city",
             "--sensitive", "disease", "-k", "3", "--set", "source.separator=;", "--seed", "1"]  # fmt: skip
    told = CliRunner().invoke(app, [*words, "--way", "append", "--way", "grow"])
    assert told.exit_code == 0, told.output
    assert told.output.startswith("50 people in 2 months\nappend\n  month 1: NCP ")
    assert "record tracing through all releases: stands" in told.output
    as_json = CliRunner().invoke(app, [*words, "--way", "append", "--json"])
    (way,) = json.loads(as_json.stdout)["ways"]
    assert way["months"][1]["number"] == 2
    assert way["attacks"]["ok"]

"""Searching the lattice without publishing."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
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


LEVELS = {"age": (lambda v: v, lambda v: v // 10, lambda v: 0), "sex": (lambda v: v, lambda v: "*")}


def counts_at(frame: pl.DataFrame, node: tuple[int, ...]) -> Counter:
    forms = [levels[level] for levels, level in zip(LEVELS.values(), node, strict=True)]
    return Counter(tuple(form(value) for form, value in zip(forms, row, strict=True)) for row in frame.iter_rows())


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("way", ["population", "subset"])
def test_a_population_counts_as_in_a_release(seed: int, way: str, tmp_path: Path):
    draw = np.random.default_rng(seed)
    everybody = pl.DataFrame({"age": draw.integers(20, 50, 40), "sex": draw.choice(["m", "f", "x"], 40)})
    among = np.arange(40) < 12
    published = everybody.filter(among)
    schema = sf.Schema(quasi_identifying={"age": sf.intervals(10), "sex": None})
    given = published if way == "population" else everybody
    search = sf.search_lattice(
        given, sf.KMap(4), schema=schema, population=everybody if way == "population" else list(among)
    )
    nodes = [(age, sex) for age in range(3) for sex in range(2)]
    fine = [n for n in nodes if min(counts_at(everybody, n)[each] for each in counts_at(published, n)) >= 4]
    assert list(search.satisfying()) == fine
    with pytest.raises(PolicyError, match="population"):
        sf.search_lattice(given, sf.KMap(4), schema=schema)
    if way == "population":
        everybody.write_csv(tmp_path / "all.csv")
        published.write_csv(tmp_path / "some.csv")
        policy = tmp_path / "policy.toml"
        policy.write_text(
            f'population = "{tmp_path}/all.csv"\n[columns.quasi-identifying]\n'
            'age = {hierarchy = {kind = "intervals", widths = [10]}}\nsex = {}\n[[models]]\nname = "k-map"\nk = 4\n'
        )
        found = CliRunner().invoke(app, ["lattice", str(tmp_path / "some.csv"), "--policy", str(policy), "--json"])
        assert json.loads(found.stdout)["minimal"] == search.to_dict()["minimal"]


def test_people_who_have_several_records_are_counted_as_people() -> None:
    """One person with many records fills a class of records, and no class of people."""
    rng = np.random.default_rng(1)
    person = np.where(rng.random(300) < 0.1, 0, rng.integers(1, 90, 300))
    frame = pl.DataFrame(
        {"who": person, "age": np.where(person == 0, 20, rng.integers(20, 60, 300)), "sex": rng.choice(["f", "m"], 300)}
    )
    quasi = {"age": sf.intervals(5, 10, 20), "sex": sf.flat()}
    by_records = sf.search_lattice(frame, sf.KAnonymity(5), schema=sf.Schema(quasi_identifying=quasi, others="drop"))
    schema = sf.Schema(person="who", quasi_identifying=quasi)
    apart = sf.People(rows="apart")
    by_people = sf.search_lattice(frame, sf.KAnonymity(5), schema=schema, people=apart, seed=1)
    release = sf.anonymize(frame, sf.KAnonymity(5), schema=schema, people=apart, anonymizer=sf.Incognito(), seed=1)
    assert set(by_people.satisfying()) < set(by_records.satisfying())
    levels = dict(zip(by_people.attributes, by_people.chosen, strict=True))
    assert f"Levels: age {levels['age']}, sex {levels['sex']}." in release.report.notes
    with pytest.raises(PolicyError, match="rows='apart'"):
        sf.search_lattice(frame, sf.KAnonymity(5), schema=schema)


def test_a_population_and_a_subset_are_searched_by_their_people(tmp_path: Path) -> None:
    """k-map counts who is in the population; delta-presence of a subset is explored from a policy, on both ways."""
    everybody = pl.DataFrame({"age": [21, 22, 34, 35] * 6, "in": ["y", "n"] * 12, "ill": ["a", "b"] * 12})
    schema = sf.Schema(quasi_identifying={"age": sf.intervals(10)}, sensitive=["ill"], others="drop")
    some = everybody.filter(pl.col("in") == "y")
    alone = sf.search_lattice(some, sf.KMap(7), schema=schema, population=some)
    mapped = sf.search_lattice(some, sf.KMap(7), schema=schema, population=everybody)
    assert (alone.chosen, mapped.chosen) == ((2,), (1,))
    everybody.write_csv(tmp_path / "in.csv")
    (tmp_path / "p.toml").write_text(
        """models = [{name = "delta-presence", delta-min = 0.1, delta-max = 0.6}]
        subset = {column = "in", value = "y"}
        [columns]
        others = "drop"
        insensitive = ["in"]
        sensitive = ["ill"]
        [columns.quasi-identifying.age]
        hierarchy = {kind = "intervals", widths = [10]}
        """
    )
    words = ["lattice", str(tmp_path / "in.csv"), "--policy", str(tmp_path / "p.toml"), "--json"]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["chosen"] is not None

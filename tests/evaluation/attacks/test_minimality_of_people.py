"""Minimality where promises are about people: as the release is made, against every deal of the rows, and as a user."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from naive.algorithm_attacks import believed_of_people
from sfumato.evaluation.attacks.minimality import (
    Bundles,
    Minimality,
    bundled_count,
    every_bundled_world,
    people_cells,
    random_bundled_worlds,
)
from sfumato.evaluation.attacks.protocol import AttackResult

TREE = sf.groups({"near": ["1", "2"], "far": ["3", "4"]})
APART = [sf.Mondrian(), sf.Datafly(), sf.Optimal()]

TWO_PLACES = pl.DataFrame(
    {
        "id": ["a", "a", "b", "c", "d", "e", "f", "g", "h", "i"],
        "place": [1, 1, 1, 2, 2, 2, 2, 2, 2, 2],
        "disease": ["HIV", "HIV", "HIV", "flu", "gout", "cold", "cough", "colic", "mumps", "croup"],
    }
)
"""Both people at the first place have HIV: had one of them not, both places would have been published as they are."""


def schema(tree: sf.Hierarchy | None = None, **more: Any) -> sf.Schema:
    return sf.Schema(person="id", quasi_identifying={"place": tree}, sensitive=["disease"], **more)


def attacked(
    frame: pl.DataFrame, models: Any, attack: Minimality, roles: sf.Schema | None = None, **settings: Any
) -> AttackResult:
    table = sf.read_table(frame, roles or schema())
    release = sf.anonymize(table, models, **{"anonymizer": sf.Mondrian(), "seed": 1, **settings})
    (result,) = sf.attack(release, table, attacks=attack, seed=1)["minimality"]
    return result


@pytest.mark.parametrize("pseudonyms", ["audit", "published"])
def test_two_merged_places_give_people_away(pseudonyms: Any):
    result = attacked(
        TWO_PLACES, sf.ProbabilisticLDiversity(2), Minimality(worlds=80), people=sf.People(pseudonyms=pseudonyms)
    )
    assert result.counts == "people"
    # Where a reader sees bundles, who has two records is known to have the only two rows of one person.
    claims = {"audit": 2, "published": 1}[pseudonyms]
    assert (result.success.successes, result.success.people) == (claims, claims)
    assert result.figures["claimed"] == pytest.approx(claims / 9)
    assert result.figures["highest_rise"] > 0.3


@pytest.mark.parametrize("method", [sf.Datafly(), sf.Optimal()], ids=lambda each: each.name)
def test_full_domain_generalization_with_rows_apart(method: Any):
    """No other value fills the first place: whoever sees that the places were merged knows who has it."""
    frame = pl.DataFrame(
        {
            "id": ["a", "a", "b", "c", "c", "d", "e"],
            "place": ["1", "1", "1", "2", "2", "2", "2"],
            "disease": ["HIV", "HIV", "HIV", "flu", "gout", "gout", "flu"],
        }
    )
    ways = {"anonymizer": method, "people": sf.People("apart")}
    roles = schema(sf.groups({"near": ["1", "2"]}))
    result = attacked(frame, sf.DistinctLDiversity(2), Minimality(), roles, **ways)
    assert result.counts == "people"
    # Both are told for certain; of the others flu is said, which is less wrong than it was.
    assert result.figures["highest_rise"] == pytest.approx(1 - 3 / 7)
    assert (result.success.successes, result.success.people) == (4, 5)
    assert (result.figures["worlds"], result.figures["worlds_left"]) == (210, 6)


def test_one_class_for_everybody_tells_nothing():
    """A promise that every world keeps in every cut: no world is excluded."""
    result = attacked(TWO_PLACES, [sf.KAnonymity(2), sf.DistinctLDiversity(1)], Minimality(worlds=20))
    assert result.figures["claimed"] == 0
    assert result.figures["worlds_left"] == result.figures["worlds"]
    assert result.figures["average_certainty"] == pytest.approx(result.figures["average_certainty_by_class"])
    assert not result.succeeds


def test_models_of_sizes_and_wishes_are_not_played():
    result = attacked(TWO_PLACES, sf.KAnonymity(2), Minimality())
    assert result.unplayed == "no promised model looks at sensitive values, so that the algorithm tells nothing of them"
    wished = TWO_PLACES.with_columns(own=pl.lit(2))
    models = [sf.KAnonymity(2), sf.DistinctLDiversity(2)]
    result = attacked(wished, models, Minimality(), schema(wished_k="own"))
    assert (
        result.unplayed == "classes keep what people wish for, which the attacker does not know; the algorithm needs it"
    )


def test_an_original_without_its_people_is_refused():
    table = sf.read_table(TWO_PLACES, schema())
    release = sf.anonymize(table, sf.ProbabilisticLDiversity(2), seed=1)
    nameless = sf.read_table(TWO_PLACES.drop("id"), sf.Schema(quasi_identifying=["place"], sensitive=["disease"]))
    with pytest.raises(sf.PolicyError, match="read it with its person column"):
        sf.attack(release, nameless, attacks="minimality")


def small_table(seed: int, apart: bool) -> pl.DataFrame:
    chance = random.Random(seed)
    rows = chance.randint(4, 6)
    owners = [chance.randrange(4) for _ in range(rows)]
    homes = [chance.choice("1234") for _ in range(4)]
    return pl.DataFrame(
        {
            "id": [f"p{owner}" for owner in owners],
            "row": range(rows),
            "place": [chance.choice("1234") if apart else homes[owner] for owner in owners],
            "disease": [chance.choice("xy" if seed % 2 else "xyz") for _ in owners],
        }
    )


def released(frame: pl.DataFrame, model: Any, way: tuple[Any, str, str]) -> sf.Release:
    method, rows, pseudonyms = way
    table = sf.read_table(frame, schema(TREE, insensitive=["row"]))
    return sf.anonymize(table, model, anonymizer=method, seed=1, people=sf.People(rows=rows, pseudonyms=pseudonyms))


def row_classes(release: sf.Release) -> list[int]:
    shown = release.data.sort("row")["place"].cast(pl.String).to_list()
    return [sorted(set(shown)).index(each) for each in shown]


WAYS = [
    (sf.Mondrian(), "together", "audit"),
    (sf.Mondrian(), "together", "published"),
    (sf.Mondrian(), "apart", "audit"),
    (sf.Datafly(), "apart", "audit"),
    (sf.Optimal(), "apart", "published"),
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join([way[0].name, *way[1:]]))
def test_the_same_as_dealing_the_rows_out_in_every_way(way: Any):
    """The twin makes a whole release of every world, through the front door."""
    played = 0
    for seed in range(40):
        frame = small_table(seed, way[1] == "apart")
        model = sf.DistinctLDiversity(2) if way[1] == "apart" or seed % 3 else sf.ProbabilisticLDiversity(1.5)
        try:
            release = released(frame, model, way)
        except sf.UnsatisfiableError:
            continue
        classes = row_classes(release)
        owner = [sorted(frame["id"].unique()).index(each) for each in frame["id"]]
        if len(set(classes)) == 1 and seed % 4:
            continue

        def again(world: tuple[str, ...], frame: pl.DataFrame = frame, model: Any = model) -> list[int]:
            try:
                return row_classes(released(frame.with_columns(disease=pl.Series(world)), model, way))
            except sf.UnsatisfiableError:
                return list(range(frame.height))

        left, everything = believed_of_people(classes, owner, frame["disease"].to_list(), again, way[2] == "published")
        table = sf.read_table(frame, schema(TREE, insensitive=["row"]))
        (result,) = sf.attack(release, table, attacks=Minimality(), seed=1)["minimality"]
        if result.unplayed:
            continue
        played += 1
        for beliefs, figure in ((left, "average_certainty"), (everything, "average_certainty_by_class")):
            own = [
                np.mean([belief.get(value, 0.0) for value in set(frame["disease"].filter(pl.Series(owner) == person))])
                for person, belief in enumerate(beliefs)
            ]
            assert result.figures[figure] == pytest.approx(np.mean(own)), (seed, figure)
        if played == 2:
            return
    assert played


def test_chances_of_bundles_are_those_of_all_worlds():
    """Chances in closed form against an average over worlds, dealt by rows and by bundles."""
    classes = np.array([0, 0, 0, 0, 0, 1, 1], dtype=np.int32)
    owner, values = np.array([0, 0, 1, 1, 2, 0, 2]), np.array([0, 1, 1, 1, 2, 0, 2])
    codes = np.zeros((7, 1), dtype=np.int64)
    for published in (False, True):
        bundles = Bundles.of(classes, owner, published)
        cells = people_cells(bundles, codes, values)
        if published:
            worlds = list(every_bundled_world(bundles, values))
            assert len({tuple(values[world]) for world in worlds}) == len(worlds) == bundled_count(bundles, values, 99)
            assert bundled_count(bundles, values, 3) == 4
            drawn = {tuple(values[world]) for world in random_bundled_worlds(bundles, 200, np.random.default_rng(1))}
            assert drawn == {tuple(values[world]) for world in worlds}
        else:
            generator = np.random.default_rng(1)
            worlds = []
            for _ in range(4000):
                world = np.empty(7, dtype=np.int64)
                world[:5], world[5:] = generator.permutation(5), 5 + generator.permutation(2)
                worlds.append(world)
        average = np.mean([cells.there(values[world]) for world in worlds], axis=0)
        assert cells.shares == pytest.approx(average, abs=1e-12 if published else 0.03)

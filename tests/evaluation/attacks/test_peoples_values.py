"""What a release tells about the sensitive values of people with several records: beliefs, claims, people counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from evaluation.attacks.inference_tables import SCHEMA, every_kind, people
from evaluation.attacks.record_order import RecordOrder
from evaluation.attacks.test_peoples_linkage import stays
from examples import examples
from naive.linked_people import among_drawn
from sfumato.evaluation.attacks.posterior import OwnValues, RecordGroups
from sfumato.published import BucketizedTables, PublishedTable

PEOPLE = sf.Schema(person="who", quasi_identifying=["age", "ward"], sensitive=["ill"])


@given(st.lists(st.sampled_from("xyz"), min_size=1, max_size=7), st.integers(1, 4), st.sets(st.sampled_from("xyz")))
@examples(80)
def test_beliefs_are_those_of_drawing_without_putting_back(values, drawn, out):
    drawn = min(drawn, len(values))
    counts = np.array([[values.count(value) for value in "xyz"]], dtype=np.float64)
    sizes = counts.sum(axis=1)
    alone = np.zeros(1, dtype=np.int64)
    groups = RecordGroups(alone, np.array([drawn]), counts / sizes, sizes, np.zeros(drawn, dtype=np.int64))
    assert groups.believed()[0].tolist() == pytest.approx([float(among_drawn(values, drawn, each)) for each in "xyz"])
    left = [value for value in values if value not in out]
    if len(left) >= drawn:
        excluded = groups.believed(np.array([[value in out for value in "xyz"]]))[0]
        assert excluded.tolist() == pytest.approx([float(among_drawn(left, drawn, each)) for each in "xyz"])


def test_groups_of_a_person_are_independent():
    shares = np.array([[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]])
    groups = RecordGroups(np.array([0, 0, 1]), np.ones(3, dtype=np.int64), shares, np.full(3, 4.0), np.arange(3))
    assert groups.believed().ravel().tolist() == pytest.approx([1 - 0.5 * 0.75, 1 - 0.5 * 0.25, 1.0, 0.0])
    assert groups.rows.ravel().tolist() == pytest.approx([0.375, 0.625, 1.0, 0.0])


def test_a_claim_is_right_if_any_record_has_the_value():
    own = OwnValues(np.array([0, 0, 1]), pl.Series(["a", "b", "a"]), 2)
    assert own.right(np.array([0, 1, 0]), np.array([1, 1])).tolist() == [1.0, 0.0]
    assert own.matrix(np.array([0, 1, -1]), 2).tolist() == [[True, True], [False, False]]


def test_somebody_who_has_more_records_than_others_of_the_class_must_have_its_value():
    """Five rows, two of them cold: who has three records has a flu among them for certain."""
    frame = pl.DataFrame(
        {"who": ["a", "a", "a", "b", "c"], "age": 30, "ward": "A", "ill": ["flu", "flu", "cold", "cold", "flu"]}
    )
    release = PublishedTable(frame.drop("who").cast(pl.String), ("age", "ward"), ("ill",))
    table = sf.read_table(frame, PEOPLE)
    known = {kind: sf.attack(release, table, attacks="homogeneity", records_known=kind) for kind in ("all", "one", 2)}
    rates = {kind: played["homogeneity"][0].success for kind, played in known.items()}
    assert (rates["all"].people, rates["all"].successes) == (1, 1)
    assert rates["one"].people == rates[2].people == 0


@pytest.mark.parametrize("known", ["all", "one"])
def test_near_values_of_people(known):
    """Nobody's costs are told for certain; those of a person with two records in a class of near ones are near."""
    frame = pl.DataFrame({"who": ["a", "a", "b", "c", "d"], "age": [1, 2, 1, 2, 2], "ward": "A"})
    frame = frame.with_columns(ill=pl.Series([10, 500, 11, 900, 501]))
    release = PublishedTable(frame.drop("who").cast(pl.String), ("age", "ward"), ("ill",))
    played = sf.attack(release, sf.read_table(frame, PEOPLE), attacks="similarity", records_known=known, seed=1)
    told = played["similarity"][0].success
    assert told.people == told.successes
    # Who is known by the record of age 1 alone, or by both, is told; b is, too; nobody else.
    assert told.people in ((2,) if known == "all" else (1, 2))


def test_near_values_in_one_node():
    frame = pl.DataFrame({"who": ["a", "a", "b", "c"], "age": 1, "ward": "A", "ill": ["flu", "cold", "gout", "flu"]})
    tree = sf.groups({"lungs": ["flu", "cold"], "joints": ["gout"]})
    schema = sf.Schema(person="who", quasi_identifying=["age", "ward"], sensitive={"ill": tree})
    release = PublishedTable(frame.drop("who").cast(pl.String), ("age", "ward"), ("ill",))
    told = sf.attack(release, sf.read_table(frame, schema), attacks="similarity")["similarity"][0].success
    # Of four rows one is of joints; who has two has one of lungs.
    assert (told.people, told.successes) == (1, 1)


def test_a_release_of_people_tells_less_of_them_than_one_of_records():
    frame = stays(1)
    table = sf.read_table(frame, PEOPLE)
    of_people = sf.anonymize(table, sf.KAnonymity(4), seed=1)
    plain = sf.Schema(quasi_identifying=["age", "ward"], sensitive=["ill"], others="drop")
    of_records = sf.anonymize(sf.read_table(frame, plain), sf.KAnonymity(4), seed=1)
    told = [
        sf.attack(each, table, attacks="homogeneity", seed=1)["homogeneity"][0].success.successes
        for each in (of_people, of_records)
    ]
    assert told[0] < told[1]


def every_attack(kind: str) -> list[str]:
    others = ("minimality", "similarity", "fingerprint", "shadow-membership")
    return [name for name, one in sf.ATTACKS.items() if kind in one.kinds and name not in others]


@pytest.mark.parametrize("kind", ["generalized", "bucketized", "sliced", "marginal", "randomized"])
def test_with_one_record_each_nothing_changes(kind):
    table, control = people(120, 1, linked=True), people(60, 2, linked=True)
    published = every_kind(table)[kind]
    schema = replace_person(SCHEMA)
    order = np.random.default_rng(3).permutation(200).astype(np.int32)
    known = replace(table, people=order[: table.height], schema=schema)
    outside = replace(control, people=order[: control.height], schema=schema)
    attacks = [name for name in every_attack(published.kind) if name != "intersection"]
    before = sf.attack(published, table, attacks=attacks, control=control, seed=5).to_dict()
    for told in ("all", "one", 3):
        after = sf.attack(published, known, attacks=attacks, control=outside, seed=5, records_known=told).to_dict()
        assert rounded(after["results"]) == rounded(before["results"])
        assert (after["people"], after["records"], after["control"]) == (120, 120, 60)
    if kind != "randomized":
        one, other = (
            sf.attack(published, each, attacks="intersection", earlier=published, seed=5).to_dict()["results"]
            for each in (table, known)
        )
        assert rounded(one) == rounded(other)


def rounded(value: Any) -> Any:
    """Leave out the last digits, which depend on the order in which shares were added up."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return round(value, 9) if isinstance(value, float) else value


def replace_person(schema: sf.Schema) -> sf.Schema:
    return sf.Schema(
        quasi_identifying=schema.quasi_identifying,
        sensitive=schema.sensitive,
        insensitive=schema.insensitive,
        person="who",
    )


@pytest.mark.parametrize("kind", ["generalized", "bucketized", "sliced", "marginal", "randomized"])
@pytest.mark.parametrize("known", ["all", "one", 2])
def test_rates_are_of_people_or_say_that_they_are_of_records(kind, known):
    """Three records of each of 40 people, 20 others with two as control group."""
    table, control = people(120, 1, linked=True), people(40, 2, linked=True)
    published = every_kind(table)[kind]
    schema = replace_person(SCHEMA)
    several = replace(table, people=(np.arange(120) % 40).astype(np.int32), schema=schema)
    outside = replace(control, people=(np.arange(40) // 2).astype(np.int32), schema=schema)
    attacks = [name for name in every_attack(published.kind) if name != "intersection"]
    played = sf.attack(published, several, attacks=attacks, control=outside, seed=5, records_known=known)
    assert (played.people, played.records, played.control) == (40, 120, 20)
    for result in played.results:
        if result.attack == "singling-out":
            continue
        assert result.counts == "people"
        assert result.success.people <= 40
        assert result.control is None or result.control.people <= 20
        assert 0 <= result.success.share <= 1 + 1e-9
        assert 0 <= result.success.baseline <= 1
    if kind != "randomized":
        (crossed,) = sf.attack(published, several, attacks="intersection", earlier=published, seed=5).results
        assert crossed.success.people <= 40


def test_results_that_count_records_say_so():
    frame = stays(2)
    table = sf.read_table(frame, PEOPLE)
    release = sf.anonymize(table, sf.KAnonymity(3), seed=1)
    played = sf.attack(release, table, attacks=[RecordOrder(), "linkage"], seed=1)
    assert "records, each taken for a person, whose records stand" in str(played)
    assert {result["attack"]: result["counts"] for result in played.to_dict()["results"]} == {
        "record-order": "records",
        "linkage": "people",
    }
    played = sf.attack(release, table, seed=1)
    (minimality,) = played["minimality"]
    assert minimality.counts == "people"
    assert "no promised model looks at sensitive values" in minimality.unplayed


def test_records_whose_key_repeats_are_not_called_people():
    frame = stays(3)
    schema = sf.Schema(identifying=["who"], quasi_identifying=["age", "ward"], sensitive=["ill"])
    table = sf.read_table(frame, schema)
    played = sf.attack(sf.anonymize(table, sf.KAnonymity(3), seed=1), table, attacks="linkage", seed=1)
    assert played.repeated == "who"
    assert f"{frame.height:,} records" in str(played)
    assert "--person who" in str(played)
    assert all(result.counts == "records" for result in played.results)


@pytest.mark.parametrize("seed", range(4))
def test_held_out_people_are_held_out_with_all_records(seed):
    table = sf.read_table(stays(seed), PEOPLE)
    inside, outside = sf.hold_out(table, 0.25, seed=seed)
    assert inside.people is not None
    assert outside.people is not None
    assert not {*inside.people.tolist()} & {*outside.people.tolist()}
    assert inside.height + outside.height == table.height
    assert len({*outside.people.tolist()}) == pytest.approx(150 / 4, abs=1)
    policy = sf.Policy.from_mapping(
        {
            "columns": {"person": "who", "quasi-identifying": ["age", "ward"], "sensitive": ["ill"]},
            "models": [{"name": "k-anonymity", "k": 3}],
        }
    )
    played = sf.attack_policy(stays(seed), policy, hold_out=0.25, attacks=["linkage", "membership-inference"], seed=1)
    assert played.control == pytest.approx(150 / 4, abs=1)
    assert played.people + played.control == 150


def test_holding_out_people_with_one_record_each_holds_out_records_as_before():
    table = people(90, 1)
    known = replace(table, people=np.arange(90, dtype=np.int32)[::-1].copy(), schema=replace_person(SCHEMA))
    for one, other in zip(sf.hold_out(table, 0.3, seed=4), sf.hold_out(known, 0.3, seed=4), strict=True):
        assert one.frame["visit"].to_list() == other.frame["visit"].to_list()


def test_guesses_about_values_that_halves_of_people_show_never_come_from_the_same_person():
    """All records of a person are on one side where downcoding counts how usual values are."""
    from sfumato.evaluation.attacks.downcoding import _divided
    from sfumato.evaluation.attacks.protocol import Target

    table = sf.read_table(stays(4), PEOPLE)
    _, victims, population = _divided(Target(sf.anonymize(table, sf.KAnonymity(3)).published, table, seed=1))
    assert not {*table.person_of[victims].tolist()} & {*table.person_of[population].tolist()}


def test_a_bucket_whose_records_are_all_of_one_person_tells_them():
    frame = pl.DataFrame({"who": ["a", "a", "b", "c"], "age": [1, 1, 2, 3], "ward": "A", "ill": ["u", "v", "u", "v"]})
    quasi = frame.select("age", "ward").with_columns(bucket=pl.Series([0, 0, 1, 1]))
    counts = pl.DataFrame({"bucket": [0, 0, 1, 1], "ill": ["u", "v", "u", "v"], "count": [1, 1, 1, 1]})
    release = BucketizedTables(quasi, counts, ("age", "ward"), "ill")
    told = sf.attack(release, sf.read_table(frame, PEOPLE), attacks="homogeneity")["homogeneity"][0].success
    assert (told.people, told.successes) == (1, 1)


def test_who_knows_how_many_records_somebody_has_may_be_certain_though_few_people_have_the_value():
    # The page on several records says so: of six rows four say flu, and A has three of them.
    rows = [("A", "flu"), ("A", "flu"), ("A", "x"), ("B", "flu"), ("B", "flu"), ("C", "y")]
    frame = pl.DataFrame([(who, 30, value) for who, value in rows], schema=["who", "age", "ill"], orient="row")
    table = sf.read_table(frame, sf.Schema(person="who", quasi_identifying=["age"], sensitive=["ill"]))
    release = sf.anonymize(table, [sf.KAnonymity(2), sf.ProbabilisticLDiversity(1.5)])
    (told,) = sf.attack(release, table, attacks=["homogeneity"])["homogeneity"]
    assert "told with certainty: 1 of 1" in str(told)
    (told,) = sf.attack(release, table, attacks=["homogeneity"], records_known="one")["homogeneity"]
    assert "told with certainty: 1 of 1" not in str(told)

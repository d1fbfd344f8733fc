"""Attacks by inference on people with several records: small tables whose results are worked out by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.evaluation.attacks.attribute_disclosure import Homogeneity
from sfumato.evaluation.attacks.learners import AttributeInference, usual_share
from sfumato.evaluation.attacks.membership import MembershipInference
from sfumato.evaluation.attacks.nearest_linkage import NearestLinkage
from sfumato.evaluation.attacks.people import KnownRecords, cohort_of
from sfumato.evaluation.attacks.posterior import peoples_posterior
from sfumato.evaluation.attacks.protocol import RowsOfPeople, Target
from sfumato.published import BucketizedTables, Published, PublishedTable

SCHEMA = sf.Schema(person="who", quasi_identifying=["age", "ward"], sensitive=["ill"])
TOGETHER, APART = RowsOfPeople(promised=True, together=True), RowsOfPeople()
RECODING = sf.Recoding()


def table(*records: tuple[str, int, str, str]) -> sf.Table:
    return sf.read_table(pl.DataFrame(records, schema=["who", "age", "ward", "ill"], orient="row"), SCHEMA)


def generalized(*rows: tuple[str, str, str]) -> PublishedTable:
    return PublishedTable(pl.DataFrame(rows, schema=["age", "ward", "ill"], orient="row"), ("age", "ward"), ("ill",))


def scores(published: Published, inside: sf.Table, outside: sf.Table, rows: RowsOfPeople) -> tuple[list[float], ...]:
    target = Target(published, inside, outside, rows=rows, seed=1)
    attack, cohort = MembershipInference(knows_sensitive=False), cohort_of(target)
    return tuple(part.tolist() for part in cohort.both(attack._of_people(target, cohort)))


TWO_CLASSES = [("[1..2]", "{A|B}", "u")] * 3 + [("[8..9]", "{A|B}", "v")] * 3
INSIDE = table(("a", 1, "A", "u"), ("a", 2, "B", "u"), ("b", 1, "B", "u"), ("c", 8, "A", "v"), ("c", 9, "A", "v"))


def test_who_has_a_record_that_nothing_fits_is_no_member():
    outside = table(("x", 1, "A", "u"), ("x", 5, "A", "u"), ("y", 9, "B", "v"))
    members, others = scores(generalized(*TWO_CLASSES), INSIDE, outside, RowsOfPeople())
    assert min(members) > 0
    assert others[0] == 0
    assert others[1] > 0


def test_where_rows_lie_together_one_class_must_cover_all_records_of_a_member():
    outside = table(("x", 1, "A", "u"), ("x", 9, "A", "v"), ("y", 9, "B", "v"))
    release = generalized(*TWO_CLASSES)
    members, others = scores(release, INSIDE, outside, TOGETHER)
    assert min(members) > 0
    assert others[0] == 0
    assert scores(release, INSIDE, outside, RowsOfPeople())[1][0] > 0


def test_the_geometric_mean_of_records_is_the_score():
    release = generalized(("1", "A", "u"), ("1", "A", "u"), ("2", "B", "v"), ("2", "A", "v"))
    inside = table(("a", 1, "A", "u"), ("a", 2, "B", "v"), ("b", 1, "A", "u"), ("c", 2, "A", "v"))
    alone = table(*((str(place), *row[1:]) for place, row in enumerate(inside_rows())))
    outside = table(("x", 1, "A", "u"))
    of_people, _ = scores(release, inside, outside, RowsOfPeople())
    of_records, _ = scores(release, alone, outside, RowsOfPeople())
    assert of_people == pytest.approx([(of_records[0] * of_records[1]) ** 0.5, *of_records[2:]])


def inside_rows() -> list[tuple[str, int, str, str]]:
    return [("a", 1, "A", "u"), ("a", 2, "B", "v"), ("b", 1, "A", "u"), ("c", 2, "A", "v")]


def test_a_predicate_that_holds_for_two_records_of_one_person_singles_out_a_person():
    release = generalized(("1", "A", "u"))
    people = table(("a", 1, "A", "u"), ("a", 1, "A", "u"), ("b", 2, "B", "v"))
    told = sf.attack(release, people, attacks="singling-out", seed=1)["singling-out"][0].success
    assert (told.people, told.successes) == (1, 1)
    others = table(("a", 1, "A", "u"), ("c", 1, "A", "u"), ("b", 2, "B", "v"))
    told = sf.attack(release, others, attacks="singling-out", seed=1)["singling-out"][0].success
    assert (told.people, told.successes) == (1, 0)


def buckets() -> BucketizedTables:
    quasi = pl.DataFrame({"age": [1, 3, 2, 4], "ward": "A", "bucket": [0, 0, 1, 1]})
    counts = pl.DataFrame({"bucket": [0, 0, 1, 1], "ill": ["u", "v", "u", "w"], "count": 1})
    return BucketizedTables(quasi, counts, ("age", "ward"), "ill")


def test_what_is_believed_of_records_in_buckets_adds_up():
    """Of the person with records in both buckets, u is believed as much as v and w together."""
    people = table(("a", 1, "A", "u"), ("a", 2, "A", "w"), ("b", 3, "A", "v"), ("c", 4, "A", "u"))
    known = {
        kind: sf.attack(buckets(), people, attacks="definetti", records_known=kind, seed=1)["definetti"][0]
        for kind in ("all", "one")
    }
    assert known["all"].success.people == 3
    assert known["all"].figures["random_worlds"] == pytest.approx((1 + 0.5 + 0.5) / 3)
    # Of one record alone either value of its bucket is as likely; a has both of the second one.
    assert known["one"].figures["random_worlds"] in (pytest.approx(1.5 / 3), pytest.approx(2 / 3))


def test_two_releases_are_intersected_record_by_record():
    people = table(("a", 1, "A", "u"), ("a", 8, "A", "x"), ("b", 1, "A", "v"), ("b", 8, "A", "y"))
    later = generalized(("1", "A", "u"), ("1", "A", "v"), ("8", "A", "x"), ("8", "A", "y"))
    earlier = generalized(("1", "A", "u"), ("1", "A", "w"), ("8", "A", "x"), ("8", "A", "y"))
    played = sf.attack(later, people, attacks="intersection", earlier=earlier, seed=1)["intersection"][0]
    # Of both, the record of age 1 is said to be u, which is right of a alone.
    assert (played.success.people, played.success.successes) == (2, 1)
    assert played.figures["values_left"] == 1


def test_a_prediction_is_right_if_any_record_has_the_value():
    release = generalized(*[("1", "A", "u")] * 3, ("2", "A", "v"), ("2", "A", "v"), ("3", "A", "w"))
    people = table(("a", 1, "A", "w"), ("a", 2, "A", "v"), ("b", 1, "A", "v"), ("b", 1, "A", "u"), ("c", 3, "A", "u"))
    told = sf.attack(release, people, attacks=[AttributeInference(strength=1e-9)], seed=1)["attribute-inference"][0]
    # Of a, u and v are equally likely, and u is named, which a does not have; of b u, rightly; of c w, wrongly.
    assert (told.success.people, told.success.successes) == (3, 1)
    # Two of three people have u, as many v.
    assert told.success.baseline == pytest.approx(2 / 3)


def test_guessing_counts_a_value_once_for_each_person():
    truth, person = np.array([0, 0, 0, 1, 1, -1]), np.array([0, 0, 0, 1, 2, 3])
    assert usual_share(truth, person) == 2 / 4


def test_a_record_in_many_buckets_counts_as_one():
    """The first record of a is in three buckets, where u is likelier; the second in one, where it is v for certain."""
    quasi = pl.DataFrame({"age": [1, 5, 1, 6, 1, 7, 2], "ward": "A", "bucket": [0, 0, 1, 1, 2, 2, 3]})
    counts = pl.DataFrame({"bucket": [0, 0, 1, 1, 2, 2, 3], "ill": ["u", "v", "u", "w", "u", "w", "v"], "count": 1})
    release = BucketizedTables(quasi, counts, ("age", "ward"), "ill")
    people = table(("a", 1, "A", "w"), ("a", 2, "A", "v"), ("b", 5, "A", "w"), ("c", 6, "A", "u"))
    told = sf.attack(release, people, attacks="definetti", seed=1)["definetti"][0]
    # Of a: u 1/2, v 1/6 + 1, w 1/3. Of b: u or v. Of c: u or w, one of which is right.
    assert told.figures["random_worlds"] == pytest.approx((1 + 0 + 0.5) / 3)


def test_where_rows_lie_together_values_are_those_of_classes_that_cover_all_records():
    release = generalized(*[("[1..5]", "A", "u")] * 4, *[("[1..9]", "A", "v")] * 3)
    people = table(("a", 1, "A", "v"), ("a", 9, "A", "v"), ("b", 1, "A", "u"))
    told = {
        rows: Homogeneity().play(Target(release, people, rows=rows, seed=1))[0].success for rows in (TOGETHER, APART)
    }
    # Only the second class can hold a; by itself, the record of age 9 says the same, and that of age 1 nothing.
    assert [(rate.people, rate.successes) for rate in told.values()] == [(1, 1), (1, 1)]
    several = table(("a", 1, "A", "v"), ("a", 4, "A", "v"), ("a", 5, "B", "v"), ("b", 1, "A", "u"))
    wider = generalized(*[("[1..5]", "A", "u")] * 4, *[("[1..9]", "{A|B}", "v")] * 2, ("[1..9]", "{A|B}", "w"))
    beliefs = [
        peoples_posterior(wider, several, KnownRecords(several.person_of, np.arange(4)), "ill", RECODING, together=each)
        for each in (True, False)
    ]
    assert beliefs[0].values[:3] == ("u", "v", "w")
    assert beliefs[0].shares[0, :3].tolist() == pytest.approx([0, 1, 1])
    assert beliefs[1].shares[0, 0] > 0


def test_where_rows_lie_together_distances_of_records_add_up():
    release = generalized(("0", "A", "z"), ("6", "A", "x"), ("6", "A", "x"), ("0", "A", "z"), ("20", "A", "z"))
    people = table(("a", 1, "A", "x"), ("a", 9, "A", "x"))
    found = [
        NearestLinkage().play(Target(release, people, rows=rows, seed=1))[1].success.successes
        for rows in (TOGETHER, APART)
    ]
    # 1 and 9 are 8 from 6 and 10 from 0; but the record that is nearest to any is 1, to 0.
    assert found == [1.0, 0.0]


def test_a_register_by_names_of_people():
    frame = pl.DataFrame(
        {"who": [7, 7, 8], "name": ["Ann", "Ann", "Bob"], "age": [1, 2, 9], "ward": "A", "ill": ["u", "v", "u"]}
    )
    schema = sf.Schema(person="who", identifying=["name"], quasi_identifying=["age", "ward"], sensitive=["ill"])
    release = generalized(("[1..2]", "A", "u"), ("[1..2]", "A", "v"), ("9", "A", "u"))
    register = frame.select("name", "age", "ward")
    for held in (register, frame.select("who", "age", "ward"), register.head(1)):
        played = sf.attack(release, frame, schema=schema, attacks="linkage", register=held)["linkage"]
        assert played[1].success.people == played[1].success.successes == held[:, 0].n_unique()
    wrong = frame.with_columns(name=pl.lit("Ann"))
    with pytest.raises(sf.InputError, match=r"1 name\(s\) in column 'name' are of several people"):
        sf.attack(release, wrong, schema=schema, attacks="linkage", register=register)


def test_values_that_a_person_has_are_never_excluded():
    release = generalized(("1", "A", "u"), ("1", "A", "v"), ("1", "A", "u"), ("1", "A", "v"))
    people = table(("a", 1, "A", "u"), ("a", 1, "A", "v"), ("b", 1, "A", "u"), ("c", 1, "A", "v"))
    told = sf.attack(release, people, attacks="background-knowledge", seed=1)["background-knowledge"][0].success
    # Who lacks the value that is asked about has the other one; of who has both, none can be excluded.
    assert (told.people, told.successes) == (1, 1)

"""Tables that say who a record is about go through attacks, comparisons and hold-outs; what counts there is records."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from guarantees.test_people_guarantees import schema, stays
from sfumato.numbers import percent
from sfumato.release.release import audit_file


@pytest.fixture(scope="module")
def table() -> sf.Table:
    return sf.read_table(stays(0, 200, 60), schema(person="id"))


@pytest.fixture(scope="module")
def release(table: sf.Table) -> sf.Release:
    return sf.anonymize(table, sf.KAnonymity(3), seed=1)


NEEDS = {
    "membership-inference": "control",
    "shadow-membership": "control",
    "others-and-release": "control",
    "definetti": "bucketized",
    "intersection": "earlier",
    "reconstruction": "marginal-tables",
    "fingerprint": "no pseudonyms",
}


@pytest.mark.parametrize("name", sorted(sf.ATTACKS))
def test_every_attack_is_played_or_says_what_it_needs(table, release, name):
    attacks = [sf.ATTACKS[name]()]
    if name in NEEDS:
        with pytest.raises(sf.PolicyError, match=NEEDS[name]):
            sf.attack(release, table, attacks=attacks)
    else:
        assert name in str(sf.attack(release, table, attacks=attacks))


def test_with_another_release_and_with_people_who_are_not_in_it(table, release):
    inside, outside = sf.hold_out(table, 0.25, seed=1)
    part = sf.anonymize(inside, sf.KAnonymity(3), seed=1)
    attacks = [sf.ATTACKS[name]() for name in ("membership-inference", "singling-out", "attribute-inference")]
    assert sf.attack(part, inside, attacks=attacks, control=outside)
    other = sf.anonymize(table, sf.KAnonymity(4), seed=2)
    assert sf.attack(other, table, attacks=[sf.ATTACKS["intersection"]()], earlier=release)


@pytest.mark.parametrize("control", [False, True])
def test_originals_that_are_read_by_the_schema(table, release, control):
    frame = stays(0, 200, 60)
    # People who are not in the data need no key.
    given = {"control": frame.drop("id")} if control else {}
    result = sf.attack(release, frame, schema=table.schema, attacks=[sf.ATTACKS["singling-out"]()], **given)
    assert "singling-out" in str(result)


@pytest.mark.parametrize(("vary", "values"), [("k", [2, 3]), ("records", [60, 120]), ("attributes", [1, 2])])
def test_comparisons(table, vary, values):
    models = [] if vary == "k" else [sf.KAnonymity(3)]
    ways = [sf.Mondrian(), sf.MDAV()]
    found = sf.compare(table, models, anonymizers=ways, queries=5, vary=vary, values=values)
    assert "mondrian" in str(found)
    assert "refused" not in str(found)


def test_utility(table, release):
    assert sf.measure_utility(release, table)
    inside, outside = sf.hold_out(table, 0.25, seed=1)
    assert inside.people is not None
    assert len(inside.people) == inside.height
    assert sf.measure_utility(sf.anonymize(inside, sf.KAnonymity(3)), inside, holdout=outside, targets=["ill"])


def test_a_report_gives_no_risk_of_records_as_one_of_people(table, tmp_path):
    """The largest class share of one person is above 1 / the smallest class in records."""
    made = sf.anonymize(table, sf.KAnonymity(3, shares=False), anonymizer=sf.MDAV(), seed=1)
    highest = made.report.highest_risk
    assert highest is not None
    assert highest > 1 / made.report.smallest_class
    folder = made.save(tmp_path / "made")
    for each in (made, folder):
        assert f"finds a person of the table with a chance of {percent(highest, 3)} at most" in str(
            sf.report(each, table, attacks=False)
        )
    audit_file(folder).unlink()
    of_folder = str(sf.report(folder, table, attacks=False))
    assert "chance" not in of_folder
    assert "risk of people is not counted" in of_folder


def test_taking_rows_takes_their_people(table):
    some = table.take(slice(10, 30))
    assert some.people is not None
    assert some.people.tolist() == table.people.tolist()[10:30]
    assert isinstance(some.frame, pl.DataFrame)

"""The fingerprint attack, beside plain sets; and the other attacks on a release with published pseudonyms."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest

import sfumato as sf
from guarantees.test_people_guarantees import schema, stays
from naive import fingerprints as naive
from sfumato.evaluation.attacks.fingerprint import Fingerprint
from sfumato.published import PublishedTable
from sfumato.published.protocol import Pseudonyms

PERSON = "person_in_class"


@pytest.fixture(scope="module")
def table() -> sf.Table:
    return sf.read_table(stays(0, 200, 60), schema(person="id"))


@pytest.fixture(scope="module")
def release(table: sf.Table) -> sf.Release:
    asked = sf.People(pseudonyms="published", known_values=2)
    return sf.anonymize(table, sf.KAnonymity(3), people=asked, seed=1)


@pytest.mark.parametrize("known", [1, 2, 3, None])
@pytest.mark.parametrize("choice", ["worst", "random"])
def test_everybody_is_found_as_by_hand(table, release, known, choice):
    played = sf.attack(release, table, attacks=Fingerprint(known, choice))["fingerprint"]
    assert len(played) == 3
    classes = [group for _, group in release.data.group_by("age", "city")]
    for result, names in zip(played, (["ill"], ["cost"], ["ill", "cost"]), strict=True):
        found = []
        for group in classes:
            rows = [
                (person, (name, value)) for name in names for person, value in group.select(PERSON, name).iter_rows()
            ]
            sets = naive.sets_of([person for person, _ in rows], [item for _, item in rows])
            found += naive.found_in_class(sets, known or 2).values()
        chances = [one.chance if choice == "random" else Fraction(1, one.fewest) for one in found]
        assert result.success.people == len(found)
        assert result.success.successes == pytest.approx(float(sum(chances)))
        assert result.success.baseline == pytest.approx(sum(1 / one.company for one in found) / len(found))
        alone = [one for one in found if one.fewest == 1]
        more = [max(one.values - (known or 2), 0) for one in alone]
        assert result.figures["alone_with_some_values"] == pytest.approx(len(alone) / len(found))
        assert result.figures["further_values_learnt_of_them"] == pytest.approx(sum(more) / max(len(more), 1))
        assert result.allowed is None


def test_what_is_promised_is_what_is_allowed(table):
    asked = sf.People(pseudonyms="published", known_values=2, fingerprint_k=2)
    made = sf.anonymize(table, sf.KAnonymity(3), people=asked, suppression_limit=0.6, seed=1)
    for known, allowed in ((None, [0.5, 0.5, None]), (1, [0.5, 0.5, None]), (3, [None] * 3)):
        results = sf.attack(made, table, attacks=Fingerprint(known))["fingerprint"]
        assert [one.allowed for one in results] == allowed
        for one in results:
            if one.allowed:
                assert one.success.share <= one.allowed
                assert one.figures["alone_with_some_values"] == 0


def test_a_folder_gives_the_same(table, release, tmp_path):
    for format in ("csv", "parquet"):
        folder = release.save(tmp_path / format, format=format)
        assert (
            sf.attack(folder, table, attacks="fingerprint").results
            == sf.attack(release, table, attacks="fingerprint").results
        )


def test_without_pseudonyms_it_is_not_played(table):
    made = sf.anonymize(table, sf.KAnonymity(3), seed=1)
    assert "not played: fingerprint, no pseudonyms are published" in str(sf.attack(made, table))
    with pytest.raises(sf.PolicyError, match="fingerprint: no pseudonyms are published"):
        sf.attack(made, table, attacks="fingerprint")


def test_damaged_numbers_and_too_many_sets_are_said(table, release, monkeypatch):
    broken = release.data.with_columns(pl.lit("x").alias(PERSON))
    published = PublishedTable(broken, ("age", "city"), ("ill", "cost"), pseudonyms=Pseudonyms())
    with pytest.raises(sf.PolicyError, match="damaged"):
        sf.attack(published, table, attacks="fingerprint")
    monkeypatch.setattr("sfumato.classes.statistics.MOST_SUBSETS", 1)
    told = str(sf.attack(release, table, attacks="fingerprint"))
    assert told.count("fingerprint: not played, because more than") == 3


@pytest.mark.parametrize("options", [{"known": 0}, {"known": 4}, {"choice": "best"}])
def test_wrong_options(options):
    with pytest.raises(sf.PolicyError):
        Fingerprint(**options)


def test_all_others_go_by_the_column_of_numbers(table, release):
    """What they find is what they find without it, whatever the numbers are."""
    bare = PublishedTable(release.data.drop(PERSON), ("age", "city"), ("ill", "cost"))
    numbered = PublishedTable(release.data, ("age", "city"), ("ill", "cost"), pseudonyms=Pseudonyms())
    with_it, without = (sf.attack(each, table, seed=1) for each in (numbered, bare))
    assert "succeed" in str(with_it)
    assert [one for one in with_it.results if one.attack != "fingerprint"] == list(without.results)
    assert {*with_it.unplayed, "fingerprint"} == {*without.unplayed}


def test_losses_utility_and_reports_go_by_it(table, release, tmp_path):
    folder = release.save(tmp_path / "release")
    plain = sf.anonymize(table, sf.KAnonymity(3), seed=1)
    assert sf.measure(table, folder).normalized_ncp == sf.measure(table, plain).normalized_ncp
    told = sf.measure_utility(folder, table, seed=1)
    assert str(told) == str(sf.measure_utility(plain, table, seed=1))
    told = str(sf.report(folder, table, attacks=False))
    assert "risk of people is not counted" not in told
    assert "found with a chance of" in told


@pytest.mark.slow
def test_the_page_to_sign_says_what_is_promised(table, tmp_path):
    asked = sf.People(pseudonyms="published", known_values=2, fingerprint_k=2)
    made = sf.anonymize(table, sf.KAnonymity(3), people=asked, suppression_limit=0.6, seed=1)
    page = sf.report(made.save(tmp_path / "release"), table, attacks=True, seed=1).html("internal")
    assert "any 2 values of one attribute that somebody has are had by 2 people of the class" in page
    assert "Counted are people" in page

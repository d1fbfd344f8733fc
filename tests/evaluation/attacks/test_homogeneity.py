"""The homogeneity attack where it must work, and where it cannot."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from evaluation.attacks.attacked_tables import SCHEMA, bucketized, people, sliced
from sfumato.errors import PolicyError
from sfumato.evaluation.attacks.homogeneity import Homogeneity
from sfumato.evaluation.attacks.protocol import Target
from sfumato.evaluation.attacks.verdicts import Certainty
from sfumato.published import PublishedTable
from sfumato.table.reading import read_table


def table_of(frame: pl.DataFrame) -> sf.Table:
    return read_table(frame.drop("name"), SCHEMA)


class TestWhereItMustWork:
    def test_a_disease_that_follows_from_age_is_told_of_everybody(self) -> None:
        table = table_of(people(600, 1, linked=True))
        release = sf.anonymize(table, sf.KAnonymity(5), anonymizer=sf.Mondrian())
        (result,) = sf.attack(release, table, attacks="homogeneity").results
        assert result.succeeds
        assert result.success.share == 1
        assert result.success.people > 100
        assert result.figures["claimed"] == result.success.people / 600

    def test_certainty_needs_no_control_group_but_one_is_shown(self) -> None:
        """The disease follows from the age, so that whoever is not in the data is told theirs as well."""
        table, control = table_of(people(600, 1, linked=True)), table_of(people(600, 2, linked=True))
        release = sf.anonymize(table, sf.KAnonymity(5))
        (result,) = sf.attack(release, table, attacks=Homogeneity(), control=control).results
        assert result.control is not None
        assert result.control.share > 0.95
        assert result.succeeds
        assert "the same for people who are not in the data" in str(result)
        # Somebody who is not certain is compared with the control group.
        (nearly,) = sf.attack(release, table, attacks=Homogeneity(threshold=0.99), control=control).results
        assert nearly.certainty is None
        assert nearly.verdict == "no better"

    def test_the_usual_disease_told_for_certain_is_more_than_a_guess(self) -> None:
        """By guessing flu, somebody is right about these two, and certain about nobody."""
        frame = pl.DataFrame({"age": [30, 30, 40, 40, 40], "disease": ["flu", "flu", "cold", "cough", "flu"]})
        table = read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["disease"]))
        (result,) = Homogeneity().play(Target(PublishedTable(frame, ("age",), ("disease",)), table))
        assert (result.success.successes, result.success.people, result.success.baseline) == (2, 2, 1)
        assert result.certainty == Certainty(2)
        assert result.succeeds
        assert "certain: 2, about whom one answer is left; guessing leaves several" in str(result)

    def test_what_is_wrong_for_somebody_was_not_certain(self) -> None:
        """The record of somebody with a cough was left out; those who are alike have the flu, or so it seems."""
        published = pl.DataFrame({"age": [30, 30, 40, 40], "disease": ["flu", "flu", "cold", "cough"]})
        frame = pl.concat([published, pl.DataFrame({"age": [30], "disease": ["cough"]})])
        table = read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["disease"]))
        (result,) = Homogeneity().play(Target(PublishedTable(published, ("age",), ("disease",)), table))
        assert (result.success.successes, result.success.people) == (2, 3)
        assert result.certainty == Certainty(2, wrong=1)
        assert result.verdict == "undecided"
        assert "what seemed certain was wrong for 1, so it counts like a guess" in str(result)

    def test_ids_left_in_tell_everybody_s_disease_and_nobody_s_outside(self) -> None:
        table, control = table_of(people(600, 1)), table_of(people(600, 2))
        published = PublishedTable(table.frame, ("age", "sex", "zip"), ("disease",))
        (result,) = sf.attack(published, table, attacks="homogeneity", control=control).results
        assert result.control is not None
        assert result.succeeds
        assert result.success.share == 1
        low, high = result.control.interval
        assert low < 1 / 6 < high


class TestWhereItCannot:
    def test_nothing_is_claimed_about_a_diverse_release(self) -> None:
        table = table_of(people(600, 1))
        release = sf.anonymize(table, [sf.KAnonymity(5), sf.DistinctLDiversity(3)])
        (result,) = sf.attack(release, table, attacks="homogeneity").results
        assert result.verdict == "no better"
        assert (result.success.people, result.figures["claimed"]) == (0, 0)
        low, high = result.success.interval
        assert low <= result.success.baseline <= high

    def test_buckets_and_slices_that_are_two_diverse(self) -> None:
        from evaluation.attacks.attacked_tables import patients

        for published in (bucketized(), sliced(("age", "sex"), ("zip", "disease"))):
            (result,) = Homogeneity().play(Target(published, patients()))
            assert result.success.people == 0

    def test_one_disease_for_all_is_known_without_a_release(self) -> None:
        table = table_of(people(100, 1).with_columns(disease=pl.lit("flu")))
        (result,) = sf.attack(sf.anonymize(table, sf.KAnonymity(5)), table, attacks="homogeneity").results
        assert result.success.share == result.success.baseline == 1
        assert result.certainty == Certainty(0)
        assert result.verdict == "no better"


def test_half_sure_is_enough_where_asked() -> None:
    from evaluation.attacks.attacked_tables import generalized, patients

    (result,) = Homogeneity(threshold=0.5).play(Target(generalized(), patients()))
    # Flu is half of the first class, dyspepsia half of the second.
    assert result.success.people == 8
    assert result.success.successes == 4
    assert result.success.baseline == 3 / 8


@pytest.mark.parametrize("threshold", [0, 1.5, "high", True, float("nan")])
def test_a_threshold_that_is_none(threshold: object) -> None:
    with pytest.raises(PolicyError, match="threshold"):
        Homogeneity(threshold=threshold)  # type: ignore[arg-type]

"""Homogeneity, background knowledge, skewness and similarity: where they must work, and where they cannot."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from evaluation.attacks.attacked_tables import SCHEMA, bucketized, generalized, patients, people, sliced
from sfumato.errors import PolicyError
from sfumato.evaluation.attacks import BackgroundKnowledge, Homogeneity, Similarity, Skewness
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
        # Claims that are not certain are compared with the control group, as are beliefs.
        (nearly,) = sf.attack(release, table, attacks=Homogeneity(threshold=0.99), control=control).results
        assert nearly.certainty is None
        assert nearly.curve is not None
        assert all(look.control is not None for look in nearly.curve.looks)

    def test_the_usual_disease_told_for_certain_is_more_than_a_guess(self) -> None:
        """Three of five have the flu: who guesses does not know which two of them are sure."""
        frame = pl.DataFrame({"age": [30, 30, 40, 40, 40], "disease": ["flu", "flu", "cold", "cough", "flu"]})
        table = read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["disease"]))
        (result,) = Homogeneity().play(Target(PublishedTable(frame, ("age",), ("disease",)), table))
        assert (result.success.successes, result.success.people, result.success.baseline) == (2, 2, 0.6)
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
        (result,) = sf.attack(release, table, attacks="homogeneity", control=table_of(people(600, 2))).results
        # The surest beliefs are right about those in the data alone, which is no certainty.
        assert result.succeeds
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


def one_class_tables(diseases: list[list[str]]) -> Target:
    """Make a release of one class for each list of diseases, and its original."""
    rows = [(age, disease) for age, listed in enumerate(diseases) for disease in listed]
    frame = pl.DataFrame(rows, schema=["age", "disease"], orient="row")
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["disease"]))
    return Target(PublishedTable(frame, ("age",), ("disease",)), table, seed=1)


class TestBackgroundKnowledge:
    def test_two_values_fall_to_one_that_is_excluded(self) -> None:
        target = one_class_tables([["a", "b", "b"], ["a", "b", "c"], ["c", "c", "d"]])
        (result,) = BackgroundKnowledge().play(target)
        # Who has the usual value of the first and the last class, once the other one is excluded; nobody of the second.
        assert (result.success.successes, result.success.people) == (4, 4)

    def test_more_are_needed_against_three_diverse_classes(self) -> None:
        target = one_class_tables([["a", "b", "c"] * 3, ["b", "c", "d"] * 3])
        assert BackgroundKnowledge(excluded=1).play(target)[0].success.people == 0
        (result,) = BackgroundKnowledge(excluded=2).play(target)
        assert (result.success.successes, result.success.people) == (6, 6)

    def test_guessing_uses_the_same_knowledge(self) -> None:
        """Two values in all: whoever excludes one knows the other without any release."""
        (result,) = BackgroundKnowledge().play(one_class_tables([["a", "b", "b"], ["a", "a", "b"]]))
        assert result.success.share == result.success.baseline == 1
        assert result.certainty == Certainty(0)
        assert result.verdict == "no better"

    def test_guessing_does_not_know_of_whom_one_value_is_left(self) -> None:
        """Who excludes c has b in the first class; who guesses, there and in the other, is right about 40 of 50."""
        target = one_class_tables([["b", "b", "c"] * 10, ["a", "a", "b", "c"] * 10])
        (result,) = BackgroundKnowledge().play(target)
        assert (result.success.successes, result.success.people) == (20, 20)
        assert result.success.baseline == pytest.approx(40 / 50)
        assert result.curve is not None
        assert result.curve.looks[-1].inside.baseline == result.success.baseline
        assert result.headline == "succeeds"

    def test_random_values_help_less_than_the_worst(self) -> None:
        target = one_class_tables([["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"]] * 20)
        worst, random = (BackgroundKnowledge(choice=choice).play(target)[0].success for choice in ("worst", "random"))
        assert worst.people == 80
        assert 0 < random.people < 40
        assert random.share == 1

    def test_the_slicing_paper_s_release_withstands_none_excluded_but_not_one(self) -> None:
        target = Target(sliced(("age", "sex"), ("zip", "disease")), patients())
        (result,) = BackgroundKnowledge().play(target)
        # Everybody has two values there but those of buckets that match with three.
        assert result.success.share == 1
        assert result.success.people >= 4

    @pytest.mark.parametrize("excluded", [1, 2, 3])
    def test_against_a_look_at_every_person(self, excluded: int) -> None:
        frame = people(80, 7).with_columns(pl.col("age") // 20 * 20).drop("name")
        table = sf.read_table(frame, SCHEMA)
        target = Target(PublishedTable(frame, ("age", "sex", "zip"), ("disease",)), table)
        (result,) = BackgroundKnowledge(excluded=excluded).play(target)
        told = 0
        for person in frame.to_dicts():
            alike = [
                row for row in frame.to_dicts() if all(row[name] == person[name] for name in ("age", "sex", "zip"))
            ]
            fitting = Counter(sorted(row["disease"] for row in alike))
            told += fitting.most_common(1)[0][0] == person["disease"] and len(fitting) - 1 <= excluded
        assert result.success.people == result.success.successes == told

    def test_permuted_truth_is_told_no_better_than_by_guessing(self) -> None:
        """What is asked does not hang on the truth: noise succeeds in at most 5 % of 100 releases."""
        found = []
        for seed in range(100):
            frame = people(120, seed).with_columns(pl.col("age") // 30 * 30).drop("name")
            noise = frame.with_columns(pl.col("disease").shuffle(seed))
            target = Target(PublishedTable(frame, ("age", "sex", "zip"), ("disease",)), sf.read_table(noise, SCHEMA))
            found.append(BackgroundKnowledge(excluded=seed % 3 + 1).play(target)[0].verdict)
        assert found.count("succeeds") <= 5

    @pytest.mark.parametrize(
        "options", [{"excluded": 0}, {"excluded": True}, {"choice": "best"}, {"threshold": 0}, {"excluded": "two"}]
    )
    def test_bad_options(self, options: dict[str, object]) -> None:
        with pytest.raises(PolicyError, match="background-knowledge: "):
            BackgroundKnowledge(**options)  # type: ignore[arg-type]


class TestSkewness:
    def test_a_rare_disease_that_half_a_class_has(self) -> None:
        target = one_class_tables([["rare", "flu"] * 3, *[["flu", "cold", "cough"] * 20] * 3])
        (result,) = Skewness(gain=5).play(target)
        assert result.succeeds
        assert (result.success.successes, result.success.people) == (3, 6)
        assert result.success.baseline == pytest.approx(3 / 186)
        assert result.figures["highest_gain"] == pytest.approx(0.5 / (3 / 186))

    def test_classes_like_the_whole_table_tell_nothing(self) -> None:
        (result,) = Skewness(gain=1.01).play(one_class_tables([["a", "b", "b"]] * 9))
        assert not result.succeeds
        assert result.success.people == 0
        assert result.figures["highest_gain"] == pytest.approx(1)
        assert result.figures["farthest_from_the_whole"] == pytest.approx(0)

    def test_the_farthest_class_is_the_t_that_the_release_reached(self) -> None:
        table = sf.read_table(people(300, 2).drop("name"), SCHEMA)
        release = sf.anonymize(table, [sf.KAnonymity(5), sf.TCloseness(0.4)])
        (result,) = sf.attack(release, table, attacks="skewness").results
        reached = next(check for check in sf.verify(release).checks if "t-closeness" in check.promise)
        assert result.figures["farthest_from_the_whole"] == pytest.approx(reached.achieved[0].value)

    def test_other_kinds(self) -> None:
        for published in (generalized(), bucketized(), sliced(("age", "sex"), ("zip", "disease"))):
            (result,) = Skewness(gain=1.5).play(Target(published, patients()))
            assert 0 < result.success.people <= 8

    @pytest.mark.parametrize("gain", [1, 0, "much", float("inf"), float("nan"), True])
    def test_a_gain_that_is_none(self, gain: object) -> None:
        with pytest.raises(PolicyError, match="skewness: gain"):
            Skewness(gain=gain)  # type: ignore[arg-type]


STOMACH = sf.groups({"stomach": ["ulcer", "gastritis", "cancer"], "lung": ["flu", "pneumonia", "bronchitis"]})


class TestSimilarity:
    """The example of the t-closeness paper: salaries of 3, 4 and 5 thousand, and diseases of the stomach."""

    SALARIES = (3, 4, 5, 6, 11, 8, 7, 9, 10)
    DISEASES = (
        *("ulcer", "gastritis", "cancer"),
        *("gastritis", "flu", "bronchitis"),
        *("bronchitis", "pneumonia", "cancer"),
    )

    def target(self, times: int = 4) -> Target:
        frame = pl.DataFrame(
            {
                "age": np.repeat(np.arange(3), 3).tolist() * times,
                "salary": list(self.SALARIES) * times,
                "disease": list(self.DISEASES) * times,
            }
        )
        schema = sf.Schema(quasi_identifying=["age"], sensitive={"salary": None, "disease": STOMACH})
        return Target(PublishedTable(frame, ("age",), ("salary", "disease")), sf.read_table(frame, schema))

    def test_the_first_class_is_told(self) -> None:
        salary, disease = Similarity(width=0.25).play(self.target())
        assert (salary.success.successes, salary.success.people) == (12, 12)
        assert (disease.success.successes, disease.success.people) == (12, 12)
        assert salary.succeeds
        # Five of nine diseases are of the stomach: whoever guesses says so of everybody, and is certain of nobody.
        assert disease.success.baseline == pytest.approx(5 / 9)
        assert disease.certainty == Certainty(12)
        assert disease.succeeds
        # Whoever knows that all salaries lie in the range is told nothing.
        assert Similarity(width=1).play(self.target())[0].verdict == "no better"

    def test_a_narrower_range_tells_nobody(self) -> None:
        salary, _ = Similarity(width=0.2).play(self.target())
        assert salary.success.people == 0
        assert not salary.succeeds

    def test_people_who_are_not_in_the_data_are_compared_by_what_is_near(self) -> None:
        target = self.target()
        control = target.original.frame.with_columns(disease=pl.lit("ulcer"), salary=pl.lit(4, dtype=pl.Int64))
        schema = target.original.schema
        outside = Target(
            target.published, target.original, control=sf.read_table(control, schema), recoding=target.recoding
        )
        salary, disease = Similarity(width=0.25).play(outside)
        assert salary.control is not None
        assert disease.control is not None
        assert salary.control.share == disease.control.share == 1
        # What the release is certain of needs no control group.
        assert salary.succeeds

    def test_dates_are_near_by_days(self) -> None:
        first = date(2024, 1, 1)
        days = [0, 1, 2, 300, 50, 350, 180, 90, 10] * 5
        frame = pl.DataFrame({"age": [0, 0, 0, 1, 1, 1, 2, 2, 2] * 5, "seen": [first + timedelta(day) for day in days]})
        table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["seen"]))
        (result,) = Similarity(width=0.01).play(Target(PublishedTable(frame, ("age",), ("seen",)), table))
        assert (result.success.successes, result.success.people) == (15, 15)

    def test_a_missing_value_is_near_nothing(self) -> None:
        frame = pl.DataFrame({"age": [0, 0, 0, 1, 1, 1], "salary": [1, None, 1, 7, 7, 9]})
        table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["salary"]))
        (result,) = Similarity(width=0.3).play(Target(PublishedTable(frame, ("age",), ("salary",)), table))
        assert result.success.people == 3

    def test_what_it_needs(self) -> None:
        with pytest.raises(PolicyError, match="needs a sensitive attribute with numbers"):
            Similarity().play(Target(generalized(), patients()))
        with pytest.raises(PolicyError, match="'disease' has levels up to 2"):
            Similarity(level=3).play(self.target())
        with pytest.raises(PolicyError, match="similarity: level"):
            Similarity(level=0)
        with pytest.raises(PolicyError, match="similarity: width"):
            Similarity(width=2)


class TestPeopleWhoAreNotInTheData:
    """No attack succeeds on a control group drawn like the data, where nothing links disease and anything else."""

    @pytest.mark.parametrize("attack", [Homogeneity(threshold=0.5), Skewness()])
    def test_control_is_guessed(self, attack: object) -> None:
        table = sf.read_table(people(500, 11).drop("name"), SCHEMA)
        control = sf.read_table(people(500, 12).drop("name"), SCHEMA)
        release = sf.anonymize(table, sf.KAnonymity(4), seed=1)
        (result,) = sf.attack(release, table, attacks=attack, control=control, seed=1).results
        assert result.control is not None
        low, high = result.control.interval
        assert low <= 1 / 6 <= high
        assert result.success.share > high

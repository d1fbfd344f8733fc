"""Background knowledge, skewness and similarity: where they must work, and where they cannot."""

from __future__ import annotations

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
        # Everybody of the first and the last class; nobody of the second.
        assert (result.success.successes, result.success.people) == (6, 6)

    def test_more_are_needed_against_three_diverse_classes(self) -> None:
        target = one_class_tables([["a", "b", "c"] * 3, ["b", "c", "d"] * 3])
        assert BackgroundKnowledge(excluded=1).play(target)[0].success.people == 0
        (result,) = BackgroundKnowledge(excluded=2).play(target)
        assert (result.success.successes, result.success.people) == (18, 18)

    def test_guessing_uses_the_same_knowledge(self) -> None:
        """Two values in all: whoever excludes one knows the other without any release."""
        (result,) = BackgroundKnowledge().play(one_class_tables([["a", "b", "b"], ["a", "a", "b"]]))
        assert result.success.share == result.success.baseline == 1
        assert result.certainty == Certainty(0)
        assert result.verdict == "no better"

    def test_random_values_help_less_than_the_worst(self) -> None:
        target = one_class_tables([["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"]] * 20)
        worst, random = (BackgroundKnowledge(choice=choice).play(target)[0].success for choice in ("worst", "random"))
        assert worst.people == 160
        assert 0 < random.people < 80
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
            wrong = {row["disease"] for row in alike} - {person["disease"]}
            told += len(wrong) <= excluded
        assert result.success.people == result.success.successes == told

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
        # Five of nine diseases are of the stomach: whoever guesses says so of everybody, and is right about these, but
        # certain of nobody.
        assert disease.success.baseline == 1
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

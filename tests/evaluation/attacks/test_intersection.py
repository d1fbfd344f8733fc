"""The intersection attack where it must work, and where it cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive.algorithm_attacks import left_by_both
from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.attacks.intersection import Intersection
from sfumato.evaluation.attacks.protocol import Target
from sfumato.published import BucketizedTables, PublishedTable
from sfumato.table.reading import read_table
from sfumato.table.table import Table

SCHEMA = sf.Schema(quasi_identifying=["age"], sensitive=["disease"])


def table_of(ages: list[int], diseases: list[str | None]) -> Table:
    return read_table(pl.DataFrame({"age": ages, "disease": diseases}, schema_overrides={"disease": pl.String}), SCHEMA)


def published(labels: list[str], diseases: list[str | None]) -> PublishedTable:
    return PublishedTable(
        pl.DataFrame({"age": labels, "disease": pl.Series(diseases, dtype=pl.String)}), ("age",), ("disease",)
    )


PATIENTS = table_of([30, 40, 50, 60], ["flu", "gout", "mumps", "gout"])
ONE = published(["[30..40]"] * 2 + ["[50..60]"] * 2, ["gout", "flu", "mumps", "gout"])
OTHER = published(["30", "[40..50]", "[40..50]", "60"], ["flu", "mumps", "gout", "gout"])


class TestWhereItMustWork:
    def test_two_two_diverse_releases_leave_one_value(self) -> None:
        """Each leaves two values of the people of 40 and 60; they have one in common."""
        (result,) = Intersection().play(Target(ONE, PATIENTS, earlier=_exact_middle()))
        assert result.success.successes == result.success.people == 2
        assert result.success.baseline == 0.5
        assert result.curve is not None
        assert [look.inside.share for look in result.curve.looks[:3]] == [1, 1, 1]
        assert result.verdict == "succeeds"

    def test_releases_of_the_library(self) -> None:
        generator = np.random.default_rng(1)
        table = read_table(
            pl.DataFrame(
                {
                    "age": generator.integers(20, 80, 3000),
                    "zip": generator.integers(0, 99, 3000),
                    "disease": generator.choice(list("abcdefgh"), 3000),
                }
            ),
            sf.Schema(quasi_identifying=["age", "zip"], sensitive=["disease"]),
        )
        releases = [
            sf.anonymize(table, sf.DistinctLDiversity(3), anonymizer=anonymizer)
            for anonymizer in (sf.Mondrian(), sf.Mondrian(attribute_choice="widest"))
        ]
        (result,) = sf.attack(releases[0], table, attacks="intersection", earlier=releases[1]).results
        assert result.succeeds
        assert result.success.share == 1
        assert result.figures["values_left"] < result.figures["values_left_by_one_release"]

    def test_releases_of_two_kinds(self) -> None:
        quasi = pl.DataFrame({"age": [30, 60, 40, 50], "bucket": [0, 0, 1, 1]})
        counts = pl.DataFrame({"bucket": [0, 0, 1, 1], "disease": ["flu", "gout", "gout", "mumps"], "count": [1] * 4})
        buckets = BucketizedTables(quasi, counts, ("age",), "disease")
        (result,) = Intersection().play(Target(ONE, PATIENTS, earlier=buckets))
        # 30: flu or gout twice, nothing new; 40: gout; 50: mumps or gout twice; 60: gout.
        assert (result.success.successes, result.success.people) == (2, 2)

    def test_beliefs_below_certainty(self) -> None:
        one = published(["[30..60]"] * 4, ["flu", "flu", "flu", "gout"])
        other = published(["[30..60]"] * 4, ["flu", "flu", "flu", "gout"])
        original = table_of([30, 40, 50, 60], ["flu", "flu", "flu", "gout"])
        (result,) = Intersection(threshold=0.74).play(Target(one, original, earlier=other))
        # Both alone say as much: nothing is claimed that a release alone would not.
        assert result.success.people == 0


class TestWhereItCannot:
    def test_beside_claims_stands_what_a_guess_knows(self) -> None:
        """One release alone says flu of all, which is right for those who are told, and its chance is 3 in 4."""
        patients = table_of([30, 40, 50, 60], ["flu", "flu", "gout", "flu"])
        one = published(["[30..60]"] * 4, ["flu", "flu", "gout", "flu"])
        other = published(["[30..40]"] * 2 + ["[50..60]"] * 2, ["flu", "cold", "mumps", "cough"])
        (result,) = Intersection().play(Target(one, patients, earlier=other))
        assert (result.success.successes, result.success.people, result.success.baseline) == (2, 2, 0.75)
        assert result.curve is not None
        assert [look.inside.baseline for look in result.curve.looks] == [0.75] * 5

    def test_the_same_release_twice(self) -> None:
        (result,) = Intersection().play(Target(ONE, PATIENTS, earlier=ONE))
        assert result.success.people == 0
        assert not result.succeeds
        assert result.figures["values_left"] == result.figures["values_left_by_one_release"] == 2

    def test_what_one_release_tells_alone_is_not_counted(self) -> None:
        (result,) = Intersection().play(Target(OTHER, PATIENTS, earlier=published(["[30..60]"] * 4, ["flu"] * 4)))
        assert result.success.people == 0

    def test_people_of_neither_release(self) -> None:
        control = table_of([30, 40, 50, 60], ["mumps", "flu", "gout", None])
        (result,) = Intersection().play(Target(ONE, PATIENTS, earlier=_exact_middle(), control=control))
        assert result.control is not None
        assert result.control.successes == 0
        assert result.control.people == 2


def _exact_middle() -> PublishedTable:
    """A release of 40 and 50 together, and of the others each together: every class has two values."""
    return published(["[40..50]"] * 2 + ["[29..30]"] * 2 + ["[60..61]"] * 2,
                     ["gout", "mumps", "flu", "gout", "gout", "flu"])  # fmt: skip


values = st.lists(st.sampled_from("abcd"), min_size=1, max_size=4)


@examples(50)
@given(values, values, st.sampled_from("abcd"))
def test_the_same_as_intersecting_sets(one: list[str], other: list[str], truth: str) -> None:
    target = Target(
        published(["1"] * len(one), list(one)),
        table_of([1], [truth]),
        earlier=published(["[0..2]"] * len(other), list(other)),
    )
    left = left_by_both(one, other)
    if not left:
        with pytest.raises(InputError, match="nobody fits"):
            Intersection().play(target)
        return
    (result,) = Intersection().play(target)
    told = len(left) == 1 and min(len(set(one)), len(set(other))) > 1
    assert result.success.people == told
    assert result.success.successes == (told and left == {truth})
    assert result.figures["values_left"] == len(left)


class TestBadInput:
    def test_releases_that_do_not_meet(self) -> None:
        with pytest.raises(PolicyError, match="give it as earlier"):
            Intersection().play(Target(ONE, PATIENTS))
        with pytest.raises(InputError, match="nobody fits"):
            Intersection().play(Target(ONE, PATIENTS, earlier=published(["[70..80]"] * 2, ["flu", "gout"])))
        without = PublishedTable(pl.DataFrame({"age": ["30"], "wage": [1]}), ("age",), ("wage",))
        with pytest.raises(InputError, match="no sensitive attribute in common"):
            Intersection().play(Target(ONE, PATIENTS, earlier=without))
        elsewhere = PublishedTable(pl.DataFrame({"zip": ["1"], "disease": ["flu"]}), ("zip",), ("disease",))
        with pytest.raises(InputError, match="share no quasi-identifying"):
            Intersection().play(Target(ONE, PATIENTS, earlier=elsewhere))

    def test_part_of_the_people_overlaps(self) -> None:
        few = published(["[40..50]"] * 2, ["gout", "mumps"])
        (result,) = Intersection().play(Target(ONE, PATIENTS, earlier=few))
        assert result.notes == ("2 records not found in both releases left out",)
        assert (result.success.successes, result.success.people) == (1, 1)

    @pytest.mark.parametrize("threshold", [0, 1.1, "sure", True])
    def test_a_threshold_that_is_none(self, threshold: Any) -> None:
        with pytest.raises(PolicyError, match="threshold"):
            Intersection(threshold=threshold)

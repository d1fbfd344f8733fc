"""Membership inference: who was in the data, and how well scores separate two groups."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from evaluation.attacks.inference_tables import (
    all_starred,
    as_it_is,
    covers,
    every_kind,
    marginals,
    people,
    plain,
    randomized,
    sliced,
    target,
)
from examples import examples
from naive.inference import accepted as naive_accepted
from naive.inference import area, generalized_lift, sliced_lift
from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.attacks.membership import Discrimination, MembershipInference, accepted, lift
from sfumato.evaluation.attacks.protocol import AttackResult
from sfumato.published import BucketizedTables, PublishedTable, RandomizedTable
from sfumato.published.apart import labels_of
from sfumato.recoding.choice import Recoding

KINDS = ["generalized", "bucketized", "sliced", "marginal", "randomized"]


class TestWorks:
    @pytest.mark.parametrize("kind", ["generalized", "bucketized", "sliced", "randomized"])
    def test_on_values_published_as_they_are(self, kind: str) -> None:
        original, control = people(800, 1), people(800, 2)
        pairs, sure = MembershipInference().play(target(every_kind(original)[kind], original, control))
        assert pairs.succeeds
        assert pairs.figures["fitting_members"] == 1
        assert pairs.figures["auc"] == pytest.approx(pairs.success.share)
        if kind == "generalized":
            assert pairs.success.share > 0.9
            assert sure.succeeds

    def test_on_noise_that_leaves_nobody_as_they_were(self) -> None:
        original, control = people(800, 1), people(800, 2)
        noise = np.random.default_rng(4).choice([-2, -1, 1, 2], 800)
        noisy = randomized(original).data.with_columns(pl.col("age") + pl.Series(noise))
        release = RandomizedTable(noisy, ("age", "sex", "zip"), ("disease",))
        pairs, _ = MembershipInference().play(target(release, original, control))
        assert pairs.succeeds
        assert pairs.figures["fitting_members"] < 0.2

    def test_knowing_the_sensitive_value_helps(self) -> None:
        original, control = people(800, 1), people(800, 2)
        scores = [
            MembershipInference(knows_sensitive=knows).play(target(as_it_is(original), original, control))[0]
            for knows in (False, True)
        ]
        assert scores[0].success.share < scores[1].success.share
        assert "sensitive" not in scores[0].knows

    def test_on_tight_intervals_that_no_outsider_fits(self) -> None:
        original, control = people(600, 1), people(600, 2)
        frame = plain(original).sort("zip", "sex", "age")
        blocks = frame.with_row_index("row").with_columns(block=pl.col("row") // 3)
        tight = blocks.with_columns(
            pl.format("[{}..{}]", pl.min("age").over("block"), pl.max("age").over("block")).alias("age"),
            *(
                pl.format("{{{}}}", pl.col(name).unique().sort().str.join("|").over("block")).alias(name)
                for name in ("sex", "zip")
            ),
        ).drop("row", "block")
        told = MembershipInference().play(
            target(PublishedTable(tight, ("age", "sex", "zip"), ("disease",)), original, control)
        )
        assert told[0].succeeds
        assert told[0].figures["fitting_members"] == 1
        assert told[0].figures["fitting_outsiders"] < 0.7


class TestDoesNotWork:
    def test_on_regions_without_gaps_as_on_tight_values(self) -> None:
        tight, region = self._against("tight", 50), self._against("region", 50)
        assert tight.succeeds
        assert tight.figures["fitting_outsiders"] < 1
        assert region.figures["fitting_outsiders"] == 1
        low, high = region.success.interval
        assert low <= 0.5 <= high

    def test_in_small_classes_only_those_in_the_data_are_counted(self) -> None:
        """No outsider is left out, and what is left is the one record that a member adds to a class of five."""
        tight, region = self._against("tight", 5), self._against("region", 5)
        assert region.figures["fitting_outsiders"] == 1
        assert tight.success.share - 0.5 > 2 * (region.success.share - 0.5) > 0

    @staticmethod
    def _against(extent: Any, k: int) -> AttackResult:
        original, control = people(1000, 3), people(1000, 4)
        recoding = sf.Recoding(ends="tight")
        way = sf.Mondrian(extent=extent)
        release = sf.anonymize(original, sf.KAnonymity(k), anonymizer=way, recoding=recoding, seed=1)
        attack = MembershipInference(knows_sensitive=False)
        return sf.attack(release, original, control=control, attacks=attack, seed=1).results[0]

    @pytest.mark.parametrize("kind", KINDS)
    def test_on_a_release_of_other_people(self, kind: str) -> None:
        """Nobody tried is in the release, so that members and outsiders fit alike."""
        members, control, others = people(700, 1), people(700, 2), people(700, 3)
        pairs, sure = MembershipInference().play(target(every_kind(others)[kind], members, control))
        assert covers(pairs.success.interval, 0.5)
        assert covers((pairs.figures["auc_low"], pairs.figures["auc_high"]), 0.5)
        # The border is drawn by the control group, whose chance counts, too.
        assert sure.control is not None
        assert sure.success.interval[0] <= sure.control.interval[1]
        assert not pairs.succeeds
        assert not sure.succeeds

    def test_on_a_single_class(self) -> None:
        original, control = people(300, 1), people(200, 2)
        pairs, sure = MembershipInference(knows_sensitive=False).play(target(all_starred(original), original, control))
        assert pairs.success.share == 0.5
        assert sure.success.share == pytest.approx(0.01)
        assert sure.control is not None
        assert sure.control.successes == pytest.approx(2)

    def test_on_marginals_of_few_values(self) -> None:
        original, control = people(700, 1), people(700, 2)
        release = marginals(original, ("sex",), ("disease",))
        pairs, sure = MembershipInference().play(target(release, original, control))
        assert covers(pairs.success.interval, 0.5)
        assert not sure.succeeds


class TestScore:
    def test_generalized_as_the_definition_says(self) -> None:
        original = people(40, 5)
        ages = pl.col("age") // 30
        wide = plain(original).with_columns(pl.format("[{}..{}]", 30 * ages, 30 * ages + 29).alias("age"))
        rows = wide.select("age", "sex", "disease").to_dicts()
        told = lift(
            PublishedTable(wide.drop("zip"), ("age", "sex"), ("disease",)),
            original,
            recoding=Recoding(),
            sensitive=True,
        )

        def covered(name: str, label: object, value: object) -> bool:
            if name != "age":
                return label == value
            low, high = str(label)[1:-1].split("..")
            return int(low) <= int(str(value)) <= int(high)

        # Labels that never overlap reach exactly the records that have them.
        shares = {
            name: lambda label, name=name: sum(row[name] == label for row in rows) / len(rows)
            for name in ("age", "sex", "disease")
        }
        everybody = plain(original).select("age", "sex", "disease").to_dicts()
        assert told == pytest.approx([generalized_lift(rows, person, covered, shares) for person in everybody])

    @pytest.mark.parametrize(
        "columns", [(("age", "sex"), ("zip", "disease")), (("age", "sex"), ("sex", "zip"), ("disease",))]
    )
    def test_sliced_as_the_definition_says(self, columns: tuple[tuple[str, ...], ...]) -> None:
        original = people(60, 6)
        release = sliced(original, 5, *columns)
        labels = labels_of(columns)
        buckets = [
            [
                [dict(zip(names, row, strict=True)) for row in frame.select(told).rows()]
                for names, told in zip(columns, labels, strict=True)
            ]
            for frame in release.data.partition_by("bucket")
        ]
        told = lift(release, original, recoding=Recoding(), sensitive=True)
        everybody = plain(original).to_dicts()
        assert told == pytest.approx([float(sliced_lift(buckets, person)) for person in everybody])


class TestInput:
    def test_without_control(self) -> None:
        with pytest.raises(InputError, match="needs a control group"):
            MembershipInference().play(target(as_it_is(people(20, 1)), people(20, 1)))

    def test_options(self) -> None:
        with pytest.raises(PolicyError) as caught:
            MembershipInference(knows_sensitive=1, false_positives=0)  # type: ignore[arg-type]
        assert len(caught.value.problems) == 2

    def test_one_person_each(self) -> None:
        original, control = people(1, 1), people(1, 2)
        pairs, sure = MembershipInference().play(target(as_it_is(original), original, control))
        assert pairs.success.people == 1
        assert not pairs.succeeds
        assert sure.notes

    def test_nothing_shared(self) -> None:
        frame = pl.DataFrame({"height": [1, 2], "bucket": [0, 0]})
        counts = pl.DataFrame({"bucket": [0], "illness": ["x"], "count": [2]})
        release = BucketizedTables(frame, counts, ("height",), "illness")
        with pytest.raises(InputError, match="share no attribute"):
            MembershipInference().play(target(release, people(5, 1), people(5, 2)))

    def test_the_seed_changes_nothing(self) -> None:
        original, control = people(50, 1), people(50, 2)
        told = [MembershipInference().play(target(randomized(original), original, control, seed)) for seed in (1, None)]
        assert told[0] == told[1]


SCORES = st.lists(st.integers(0, 6), min_size=1, max_size=30)


@given(SCORES, SCORES)
@examples(60)
def test_area_is_the_share_of_pairs_in_the_right_order(members: list[int], outsiders: list[int]) -> None:
    told = Discrimination.of(np.array(members, float), np.array(outsiders, float))
    assert told.area == pytest.approx(float(area(members, outsiders)))
    low, high = told.interval
    assert 0 <= low <= told.area <= high <= 1


@given(SCORES, SCORES, st.fractions(Fraction(0), Fraction(1)))
@examples(60)
def test_accepted_members_are_counted_at_exactly_the_share(
    members: list[int], outsiders: list[int], share: Fraction
) -> None:
    told = accepted(np.array(members, float), np.array(outsiders, float), float(share))
    expected = naive_accepted(members, outsiders, share)
    assert told == pytest.approx(tuple(map(float, expected)), abs=1e-6)


def test_no_false_positive_allowed_means_better_than_every_outsider() -> None:
    assert accepted(np.array([3.0, 2.0, 2.0]), np.array([2.0, 1.0]), 0.0) == pytest.approx((1.0, 0.0), abs=1e-6)


def test_equal_scores_tell_nothing_and_pass_in_part() -> None:
    same = np.full(200, 0.5)
    told = Discrimination.of(same, same)
    assert told.area == 0.5
    assert accepted(same, same, 0.01) == pytest.approx((2.0, 2.0))


@pytest.mark.parametrize("shift", [0.0, 0.5, 1.5])
def test_the_interval_holds_the_true_area_nineteen_times_in_twenty(shift: float) -> None:
    generator = np.random.default_rng(11)
    true = NormalDist().cdf(shift / np.sqrt(2))
    held = 0
    for _ in range(400):
        told = Discrimination.of(generator.normal(shift, 1, 60), generator.normal(0, 1, 40))
        low, high = told.interval
        held += low <= true <= high
    assert held >= 400 * 0.92


def test_the_interval_ends_where_the_spread_reaches() -> None:
    told = Discrimination(0.8, 50, 70)
    z = NormalDist().inv_cdf(0.975)
    for end in told.interval:
        average = (50 + 70) / 2 - 1
        share = (1 - end) / (2 - end) + end / (1 + end)
        spread = np.sqrt(end * (1 - end) * (1 + average * share) / (50 * 70))
        assert abs(0.8 - end) == pytest.approx(z * spread)


def test_a_perfect_area_is_not_certain() -> None:
    low, high = Discrimination(1.0, 10, 10).interval
    assert 0.5 < low < 1
    assert high == 1

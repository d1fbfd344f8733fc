"""Singling out: works where the release counts few, does not where chance does as well."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.attacks.inference_tables import (
    all_starred,
    as_it_is,
    covers,
    every_kind,
    marginals,
    people,
    plain,
    target,
)
from examples import examples
from naive.inference import isolation_chance as naive_chance
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.attacks.people import cohort_of
from sfumato.evaluation.attacks.singling_out import SinglingOut, isolation_chance, mix_bits, predicates_of
from sfumato.models.k_anonymity import KAnonymity
from sfumato.published import Published, PublishedTable, RandomizedTable
from sfumato.release.anonymize import anonymize
from sfumato.table.reading import read_table
from sfumato.table.schema import Schema
from sfumato.table.table import Table


class TestBaseline:
    @given(st.integers(1, 60), st.floats(0, 1))
    @examples(60)
    def test_no_weight_up_to_the_allowed_one_does_better(self, records: int, weight: float) -> None:
        assert isolation_chance(records, weight) == pytest.approx(naive_chance(records, weight), abs=1e-6)

    def test_without_a_bound_about_37_percent(self) -> None:
        assert isolation_chance(100_000, 1.0) == pytest.approx(1 / math.e, rel=1e-4)

    def test_the_mean_chance_is_no_more_than_that_of_the_mean_weight(self) -> None:
        weights = np.random.default_rng(3).exponential(1 / 200, 1000).clip(0, 1)
        chances = [isolation_chance(200, weight) for weight in weights]
        assert np.mean(chances) <= isolation_chance(200, weights.mean())


class TestWorks:
    @pytest.mark.parametrize("kind", ["generalized", "bucketized", "sliced", "marginal", "randomized"])
    def test_where_combinations_are_unique(self, kind: str) -> None:
        original, control = people(500, 1), people(500, 2)
        (told,) = SinglingOut(predicates=60).play(target(every_kind(original)[kind], original, control))
        assert told.succeeds
        # What the release counts once is alone in the data.
        assert told.success.share == 1 or told.figures["records_per_predicate"] > 1

    def test_on_classes_of_five_with_rare_values(self) -> None:
        """Region and sensitive value: two records at most, and far fewer of the population than one in n."""
        original, control = people(600, 1), people(600, 2)
        (told,) = SinglingOut(predicates=100).play(target(in_classes(original, 5), original, control))
        assert told.succeeds
        assert told.success.baseline < 0.37


class TestDoesNotWork:
    def test_on_large_cells(self) -> None:
        """Cells of many records with the weight that their count says: narrowing isolates as often as chance."""
        original, control = people(3000, 1), people(3000, 2)
        release = marginals(original, ("age", "sex"))
        (told,) = SinglingOut().play(target(release, original, control))
        assert told.success.people == 120
        assert told.figures["records_per_predicate"] == pytest.approx(25)
        assert covers(told.success.interval, told.success.baseline)
        assert not told.succeeds

    def test_on_a_single_class(self) -> None:
        original, control = people(600, 1), people(600, 2)
        (told,) = SinglingOut().play(target(all_starred(original), original, control))
        assert told.success.people == 1
        assert covers(told.success.interval, told.success.baseline)

    def test_on_a_release_of_other_people(self) -> None:
        members, control, others = people(600, 1), people(600, 2), people(600, 3)
        (told,) = SinglingOut().play(target(as_it_is(others), members, control))
        assert not told.succeeds

    def test_equal_records_cannot_be_told_apart(self) -> None:
        same = read_table(pl.DataFrame({"age": [30] * 50, "disease": ["a"] * 50}), SAME)
        (told,) = SinglingOut().play(target(PublishedTable(same.frame, ("age",), ("disease",)), same))
        assert told.success.successes == 0


class TestPredicates:
    def test_every_class_has_one(self) -> None:
        original = people(60, 1)
        release = in_classes(original, 6)
        built = predicates(release, original)
        held = np.bincount(built.predicate, minlength=len(built.records))
        assert len(built.records) == 10
        # Every member of a label occurs, and regions may overlap.
        assert (held >= built.records).all()

    def test_the_smallest_vectors_go_first(self) -> None:
        original = people(300, 1)
        built = predicates(marginals(original, ("sex",), ("age", "zip")), original, count=10)
        assert (built.records == 1).all()

    def test_members_of_labels_isolate_more_than_narrowed_regions(self) -> None:
        """Cohen, Nissim: who asks for a rare member of a published set beats the best predicate of any weight."""
        original, control = rare_kinds(1), rare_kinds(2)
        labels = pl.format("{{{}}}", pl.col("kind").unique().sort().str.join("|").over(pl.col("age") // 2))
        ages = pl.format("[{}..{}]", pl.col("age") // 2 * 2, pl.col("age") // 2 * 2 + 1)
        frame = original.frame.with_columns(ages.alias("age"), labels.alias("kind"))
        (told,) = SinglingOut().play(target(PublishedTable(frame, ("age", "kind"), ()), original, control))
        assert told.success.people == 50
        assert told.success.interval[0] > 0.5
        assert told.succeeds

    def test_chance_looks_drawn_for_each_pair(self) -> None:
        numbers, salts = np.meshgrid(np.arange(300, dtype=np.uint64), np.arange(300, dtype=np.uint64) << np.uint64(20))
        drawn = mix_bits(numbers.ravel(), salts.ravel()).reshape(300, 300)
        assert drawn.min() >= 0
        assert drawn.max() < 1
        assert np.abs(drawn.mean(axis=0) - 0.5).max() < 0.1
        assert np.abs(drawn.mean(axis=1) - 0.5).max() < 0.1
        assert np.abs(np.histogram(drawn, 10, (0, 1))[0] / drawn.size - 0.1).max() < 0.01


class TestInput:
    def test_without_control_every_weight_is_allowed(self) -> None:
        original = people(200, 1)
        (told,) = SinglingOut().play(target(as_it_is(original), original))
        assert told.control is None
        assert told.success.baseline == pytest.approx(isolation_chance(200, 1.0))
        assert "without a control group" in told.notes[0]

    def test_a_small_control_group_is_noted(self) -> None:
        original = people(200, 1)
        (told,) = SinglingOut().play(target(as_it_is(original), original, people(50, 2)))
        assert "50 people" in told.notes[0]

    def test_one_record_is_always_alone(self) -> None:
        original = people(1, 1)
        (told,) = SinglingOut().play(target(as_it_is(original), original))
        assert told.success.share == told.success.baseline == 1

    def test_a_seed_settles_every_choice(self) -> None:
        original, control = people(300, 1), people(300, 2)
        release = in_classes(original, 20)
        played = [SinglingOut(predicates=30).play(target(release, original, control, seed)) for seed in (4, 4, 5)]
        assert played[0] == played[1]
        assert played[0] != played[2]
        assert (
            len({SinglingOut(30).play(target(release, original, control, None))[0].figures["weight"] for _ in range(9)})
            > 1
        )

    def test_options(self) -> None:
        with pytest.raises(PolicyError):
            SinglingOut(predicates=0)

    def test_nothing_shared(self) -> None:
        with pytest.raises(InputError, match="share no attribute"):
            SinglingOut().play(target(PublishedTable(pl.DataFrame({"height": [1]}), ("height",), ()), people(3, 1)))


def rare_kinds(seed: int) -> Table:
    """People of 100 ages, ten of each, and of twenty kinds of which most are rare."""
    shares = 1 / np.arange(1, 21) ** 2
    kinds = np.random.default_rng(seed).choice([f"k{kind:02}" for kind in range(20)], 1000, p=shares / shares.sum())
    frame = pl.DataFrame({"age": np.arange(1000) // 10, "kind": kinds})
    return read_table(frame, Schema(quasi_identifying=["age", "kind"]))


def predicates(release: Published, original: Table, count: int = 1000) -> Any:
    on = target(release, original)
    return predicates_of(on, cohort_of(on), count=count, generator=np.random.default_rng(1))


SAME = Schema(quasi_identifying=["age"], sensitive=["disease"])


def in_classes(table: Table, size: int) -> PublishedTable:
    """Classes of `size` neighbours by place and age, published as tight intervals and value sets."""
    frame = plain(table).sort("zip", "age").with_row_index("row").with_columns(pl.col("row") // size)
    sets = [
        pl.format("{{{}}}", pl.col(name).unique().sort().str.join("|").over("row")).alias(name)
        for name in ("sex", "zip")
    ]
    ages = pl.format("[{}..{}]", pl.min("age").over("row"), pl.max("age").over("row")).alias("age")
    return PublishedTable(frame.with_columns(ages, *sets).drop("row"), ("age", "sex", "zip"), ("disease",))


def test_of_drawn_values_the_classes_are_guessed() -> None:
    """Regions of rows cut anew and a rare sensitive value isolate far more people in the data than others."""
    drawing = np.random.default_rng(5)
    numbers = pl.DataFrame({name: drawing.integers(0, 60, 800) for name in ("age", "height", "job")})
    schema = Schema(quasi_identifying=["age", "height"], sensitive=["job"])
    original, control = (read_table(part.cast({"job": pl.String}), schema) for part in (numbers[:400], numbers[400:]))
    drawn = anonymize(original, KAnonymity(5), anonymizer=Mondrian(), seed=1).draw(seed=1).published
    assert isinstance(drawn, RandomizedTable)
    told, plainly = (
        SinglingOut().play(target(each, original, control))[0] for each in (drawn, replace(drawn, classes=()))
    )
    assert told.succeeds
    assert not plainly.succeeds
    assert told.control is not None
    assert told.success.share > told.control.share + 0.2

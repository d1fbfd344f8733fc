"""Guessing the seed of a shuffle where it must work, and where it cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from evaluation.attacks.seed_guessing import SeedGuessing
from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.published import BucketizedTables, PublishedTable
from sfumato.table.reading import read_table
from sfumato.table.table import Table

MODELS = [sf.KAnonymity(5), sf.DistinctLDiversity(2)]


def people(count: int, seed: int = 1) -> Table:
    generator = np.random.default_rng(seed)
    return read_table(
        pl.DataFrame(
            {
                "age": generator.integers(20, 80, count),
                "sex": generator.choice(["f", "m", None], count),
                "disease": generator.choice(list("abcdefgh"), count),
            }
        ),
        sf.Schema(quasi_identifying=["age", "sex"], sensitive=["disease"]),
    )


def played(table: Table, release: sf.Release, seeds: int = 20) -> AttackResult:
    (result,) = sf.attack(release, table, attacks=SeedGuessing(seeds=seeds)).results
    return result


class TestWhereItMustWork:
    @pytest.mark.parametrize("anonymizer", [sf.Mondrian(), sf.KMember(), sf.Mondrian(mode="relaxed")])
    def test_a_small_seed_tells_everybody(self, anonymizer: Any) -> None:
        table = people(400)
        result = played(table, sf.anonymize(table, MODELS, anonymizer=anonymizer, seed=13))
        assert result.succeeds
        assert result.success.share == 1
        assert result.success.baseline < 0.6
        assert result.figures == {"orders_tried": 21, "orders_that_fit": 1}

    def test_no_shuffle_at_all(self) -> None:
        table = people(100)
        data = sf.anonymize(table, sf.KAnonymity(2), seed=3).data
        frame = table.frame.with_columns(pl.col("age").cast(pl.String))
        assert data.columns == frame.columns
        (result,) = SeedGuessing(seeds=1).play(Target(PublishedTable(frame, ("age", "sex"), ("disease",)), table))
        assert result.success.share == 1

    def test_somebody_was_suppressed(self) -> None:
        """Who is left out shows as soon as the next record does not cover the next person."""
        generator = np.random.default_rng(1)
        ages = np.append(generator.integers(20, 60, 300), [900, 950, 970])
        frame = pl.DataFrame({"age": ages, "disease": generator.choice(list("abcdefgh"), 303)})
        schema = sf.Schema(quasi_identifying={"age": sf.intervals(10)}, sensitive=["disease"])
        table = read_table(frame.sample(fraction=1, shuffle=True, seed=1), schema)
        release = sf.anonymize(table, sf.KAnonymity(5), anonymizer=sf.Optimal(), suppression_limit=0.05, seed=4)
        assert release.data.height == 289
        result = played(table, release)
        assert result.figures["orders_that_fit"] == 1
        assert result.success.successes == 289


class TestWhereItCannot:
    def test_order_from_the_operating_system(self) -> None:
        table = people(400)
        result = played(table, sf.anonymize(table, MODELS))
        assert (result.success.successes, result.figures["orders_that_fit"]) == (0, 0)
        assert not result.succeeds

    def test_a_seed_beyond_those_tried(self) -> None:
        table = people(400)
        assert not played(table, sf.anonymize(table, MODELS, seed=20)).succeeds
        assert played(table, sf.anonymize(table, MODELS, seed=19)).succeeds

    def test_a_table_of_stars_fits_every_order(self) -> None:
        table = people(50)
        data = table.frame.with_columns(age=pl.lit("*"), sex=pl.lit("*"))
        (result,) = SeedGuessing(seeds=5).play(Target(PublishedTable(data, ("age", "sex"), ("disease",)), table))
        assert result.figures["orders_that_fit"] == 6
        assert result.success.successes == 0
        assert not result.succeeds

    def test_one_disease_for_all(self) -> None:
        table = people(60)
        table = read_table(table.frame.with_columns(disease=pl.lit("flu")), table.schema)
        result = played(table, sf.anonymize(table, sf.KAnonymity(5), seed=0))
        assert (result.success.share, result.success.baseline) == (1, 1)
        assert not result.succeeds


class TestSlices:
    def table(self, count: int) -> Table:
        generator = np.random.default_rng(3)
        frame = pl.DataFrame(
            {
                "income": generator.integers(0, 10**6, count),
                "zip": generator.integers(0, 10**6, count),
                "disease": generator.choice(list("abcdefgh"), count),
            }
        )
        return read_table(frame, sf.Schema(quasi_identifying=["income", "zip"], sensitive=["disease"]))

    def played(self, table: Table, seed: int | None) -> AttackResult:
        slicing = sf.Slicing(columns=[["income"], ["zip"], ["disease"]], bucket_size="smallest")
        return played(table, sf.anonymize(table, sf.ProbabilisticLDiversity(3), anonymizer=slicing, seed=seed))

    def test_a_small_seed_undoes_the_permutations(self) -> None:
        result = self.played(self.table(600), 13)
        assert result.figures["orders_that_fit"] == 1
        assert result.succeeds
        # Everybody is unlike all others, so that all ranks in all buckets are known.
        assert (result.success.people, result.success.share) == (600, 1)

    def test_order_from_the_operating_system(self) -> None:
        result = self.played(self.table(600), None)
        assert (result.success.successes, result.figures["orders_that_fit"]) == (0, 0)
        assert not result.succeeds

    def test_too_few_to_tell_seeds_apart(self) -> None:
        result = self.played(self.table(12), 3)
        assert result.figures["orders_tried"] == 0
        assert "too few" in result.notes[1]
        assert not result.succeeds

    def test_nobody_is_unlike_all_others(self) -> None:
        table = self.table(300)
        twins = read_table(pl.concat([table.frame, table.frame.reverse()]), table.schema)
        result = self.played(twins, 3)
        assert (result.success.people, result.figures["orders_tried"]) == (0, 0)
        assert not result.succeeds

    def test_some_people_are_unlike_all_others(self) -> None:
        generator = np.random.default_rng(3)
        table = self.table(2000)
        columns = {"income": pl.Series(generator.integers(0, 2000, 2000)), "zip": pl.Series([1, 2] * 1000)}
        table = read_table(table.frame.with_columns(**columns), table.schema)
        result = self.played(table, 7)
        assert result.success.people < 1200
        assert result.success.share > 1.5 * result.success.baseline
        assert result.succeeds


class TestBadInput:
    def test_more_records_than_people(self) -> None:
        data = pl.DataFrame({"age": ["30"] * 60, "sex": ["f"] * 60, "disease": ["a"] * 60})
        with pytest.raises(InputError, match="more records than the original"):
            SeedGuessing().play(Target(PublishedTable(data, ("age", "sex"), ("disease",)), people(50)))

    def test_another_kind(self) -> None:
        quasi, counts = pl.DataFrame({"age": [1], "bucket": [0]}), {"bucket": [0], "disease": ["a"], "count": [1]}
        buckets = BucketizedTables(quasi, pl.DataFrame(counts), ("age",), "disease")
        with pytest.raises(InputError, match="not a bucketized-tables"):
            SeedGuessing().play(Target(buckets, people(5)))

    @pytest.mark.parametrize("seeds", [0, -1, 2.5, "many", True])
    def test_a_number_of_seeds_that_is_none(self, seeds: Any) -> None:
        with pytest.raises(PolicyError, match="seeds"):
            SeedGuessing(seeds=seeds)

"""Guessing the seed of a shuffle where it must work, and where it cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks.protocol import AttackResult, Target
from sfumato.attacks.seed_guessing import SeedGuessing
from sfumato.errors import InputError, PolicyError
from sfumato.published import PublishedTable, SlicedTable
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


class TestBadInput:
    def test_more_records_than_people(self) -> None:
        data = pl.DataFrame({"age": ["30"] * 60, "sex": ["f"] * 60, "disease": ["a"] * 60})
        with pytest.raises(InputError, match="more records than the original"):
            SeedGuessing().play(Target(PublishedTable(data, ("age", "sex"), ("disease",)), people(50)))

    def test_another_kind(self) -> None:
        sliced = SlicedTable(pl.DataFrame({"bucket": [0], "age": [1]}), (("age",),), ())
        with pytest.raises(InputError, match="not a sliced-table"):
            SeedGuessing().play(Target(sliced, people(5)))

    @pytest.mark.parametrize("seeds", [0, -1, 2.5, "many", True])
    def test_a_number_of_seeds_that_is_none(self, seeds: Any) -> None:
        with pytest.raises(PolicyError, match="seeds"):
            SeedGuessing(seeds=seeds)

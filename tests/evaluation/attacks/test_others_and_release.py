"""Who knows other people, and the release: exact in small buckets, strong where values depend, else no better."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from evaluation.attacks.inference_tables import bucketized, people, plain, sliced, target
from examples import examples
from sfumato.evaluation.attacks.definetti import BucketStock, OthersAndRelease, learn_links
from sfumato.published import PublishedTable
from sfumato.table.table import Table

LEARNERS = ("naive-bayes", "gradient-boosting")


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=5), st.integers(0, 1 << 30))
@examples(60)
def test_rows_have_the_chances_of_all_assignments(rows: list[tuple[int, int]], seed: int) -> None:
    """Every way to hand the values of a bucket to its rows is listed and weighed by what others show."""
    attribute, values = (np.array(column) for column in zip(*rows, strict=True))
    counts = np.random.default_rng(seed).integers(0, 9, (3, 3)).astype(float)
    stock = BucketStock.of(np.zeros(len(rows), dtype=np.int64), values, np.ones(len(rows)), 1, 3)
    bucket = np.zeros(len(rows), dtype=np.int64)
    links = learn_links(bucket, [attribute], [3], stock, rounds=1, exact=10_000, counts=[counts])
    overall = (counts.sum(axis=1) + 1) / (counts.sum() + 3)
    likely = (counts + overall[:, None]) / (counts.sum(axis=0) + 1)
    chances, total = np.zeros((len(rows), 3)), 0.0
    for handed in permutations(values.tolist()):
        weight = float(np.prod(likely[attribute, handed]))
        total += weight
        chances[np.arange(len(rows)), handed] += weight
    found = np.zeros((len(rows), 3))
    found[links.row, stock.value_of[links.pair]] = links.chance
    assert found == pytest.approx(chances / total)


class TestWorks:
    @pytest.mark.parametrize("learner", LEARNERS)
    def test_on_buckets_it_knows_more_than_the_others_tell(self, learner: str) -> None:
        """A disease goes with an age in six of ten; buckets of two diseases leave one of them."""
        original, control = half_linked(1200, 1), half_linked(1200, 2)
        (told,) = OthersAndRelease(learner=learner).play(target(bucketized(original, 2), original, control))
        assert told.succeeds
        assert told.success.share > told.figures["others_alone"] + 0.1
        assert told.success.share > told.figures["random_worlds"] + 0.1

    def test_on_slices(self) -> None:
        original, control = half_linked(1200, 1), half_linked(1200, 2)
        (told,) = OthersAndRelease().play(
            target(sliced(original, 3, ("age", "sex"), ("zip", "disease")), original, control)
        )
        assert told.success.share > told.figures["others_alone"] + 0.05

    def test_on_classes_of_neighbours(self) -> None:
        original, control = half_linked(1200, 1), half_linked(1200, 2)
        frame = plain(original).sort("zip", "sex", "age").with_row_index("row")
        shown = frame.with_columns(age=pl.lit("*")).drop("row")
        told = OthersAndRelease().play(
            target(PublishedTable(shown, ("age", "sex", "zip"), ("disease",)), original, control)
        )[0]
        assert told.unplayed is None
        assert told.success.share > told.figures["others_alone"]


class TestDoesNotWork:
    @pytest.mark.parametrize("learner", LEARNERS)
    def test_on_values_that_depend_on_nothing(self, learner: str) -> None:
        original, control = people(1200, 1), people(1200, 2)
        (told,) = OthersAndRelease(learner=learner).play(target(bucketized(original, 6), original, control))
        assert not told.succeeds

    def test_on_classes_whose_people_fit_others_too(self) -> None:
        original, control = people(300, 1), people(300, 2)
        overlapping = plain(original).with_columns(
            age=pl.Series(["[20..79]", "[20..80]"] * 150), sex=pl.lit("*"), zip=pl.lit("*")
        )
        (told,) = OthersAndRelease().play(
            target(PublishedTable(overlapping, ("age", "sex", "zip"), ("disease",)), original, control)
        )
        assert told.unplayed == "no class holds just the people that fit it alone"


def test_it_needs_others() -> None:
    original = people(100, 1)
    with pytest.raises(sf.PolicyError, match="control"):
        sf.attack(bucketized(original, 4), original, attacks=["others-and-release"])


def half_linked(count: int, seed: int) -> Table:
    """People of whom six in ten have the disease of their age, the others any."""
    table = people(count, seed, linked=True)
    generator = np.random.default_rng(seed + 100)
    any_other = pl.Series([f"disease {code}" for code in generator.integers(0, 6, count)])
    linked = pl.Series(generator.random(count) < 0.6)
    mixed = pl.select(pl.when(linked).then(table.frame["disease"].cast(pl.String)).otherwise(any_other)).to_series()
    return sf.read_table(table.frame.with_columns(mixed.alias("disease")), table.schema)

"""The deFinetti attack: beats random worlds where values depend on each other, does not where they don't."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from evaluation.attacks.inference_tables import as_it_is, bucketized, covers, people, plain, sliced, target
from examples import examples
from naive.inference import learnt_links
from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.attacks.definetti import BucketStock, DeFinetti, learn_links
from sfumato.published import BucketizedTables, SlicedTable
from sfumato.table.reading import read_table
from sfumato.table.schema import Schema
from sfumato.table.table import Table

COLUMNS = (("age", "sex"), ("zip",), ("disease",))


class TestWorks:
    def test_on_buckets(self) -> None:
        """Six diseases that follow from the age, every bucket has six different ones: a chance of 1/6 each."""
        original, control = people(1200, 1, linked=True), people(1200, 2, linked=True)
        (told,) = DeFinetti().play(target(bucketized(original, 6), original, control))
        assert told.figures["random_worlds"] < 0.25
        assert told.success.share > 0.8
        assert told.success.interval[0] > told.success.baseline

    def test_on_slices(self) -> None:
        original = people(1200, 1, linked=True)
        (told,) = DeFinetti().play(target(sliced(original, 6, *COLUMNS), original))
        assert told.succeeds
        assert told.success.share > 0.7

    @pytest.mark.parametrize("exact", [1, 256])
    def test_smokers(self, exact: int) -> None:
        """Kifer's story: cancer and flu in every bucket of two, smokers among them have the cancer far more often."""
        original = smokers(600, seed=1, strength=0.9)
        (told,) = DeFinetti(exact=exact).play(target(bucketized(original, 2), original))
        assert told.figures["random_worlds"] == pytest.approx(0.5, abs=0.03)
        assert told.success.share == pytest.approx(0.9, abs=0.05)

    def test_what_stands_with_the_value_is_taken_as_it_is(self) -> None:
        original = people(600, 1, linked=True)
        (told,) = DeFinetti().play(target(sliced(original, 6, ("sex", "zip"), ("age", "disease")), original))
        assert told.figures["random_worlds"] == pytest.approx(1)
        assert told.success.share == pytest.approx(1)


class TestDoesNotWork:
    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_on_buckets_of_independent_values(self, seed: int) -> None:
        original = people(1200, seed)
        (told,) = DeFinetti().play(target(bucketized(original, 6), original))
        assert covers(told.success.interval, told.success.baseline)

    def test_on_slices_of_independent_values(self) -> None:
        original = people(1200, 1)
        (told,) = DeFinetti().play(target(sliced(original, 6, *COLUMNS), original))
        assert covers(told.success.interval, told.success.baseline)

    def test_on_a_single_bucket(self) -> None:
        """There is nothing to compare: whatever the law, the most frequent value is all that can be said."""
        original = smokers(200, seed=1, strength=0.9)
        (told,) = DeFinetti().play(target(bucketized(original, 200), original))
        assert covers(told.success.interval, told.success.baseline)

    def test_on_coins(self) -> None:
        original = smokers(1000, seed=1, strength=0.5)
        (told,) = DeFinetti().play(target(bucketized(original, 2), original))
        assert covers(told.success.interval, told.success.baseline)


@st.composite
def small_buckets(draw: st.DrawFn) -> list[list[tuple[int, int, int]]]:
    """A few buckets of rows with two attributes and a sensitive value."""
    row = st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 2))
    return draw(st.lists(st.lists(row, min_size=1, max_size=4), min_size=1, max_size=3))


@given(small_buckets(), st.integers(0, 3))
@examples(30)
def test_links_are_those_of_the_plain_twin(drawn: list[list[tuple[int, int, int]]], rounds: int) -> None:
    buckets = []
    for rows in drawn:
        held: dict[object, int] = {}
        for *_, value in sorted(rows, key=lambda row: row[2]):
            held[value] = held.get(value, 0) + 1
        buckets.append(([{"x": x, "y": y} for x, y, _ in rows], held))
    expected = [
        belief[value]
        for beliefs, (_, held) in zip(learnt_links(buckets, {"x": 3, "y": 2}, rounds), buckets, strict=True)
        for belief in beliefs
        for value in held
    ]
    bucket = np.array([place for place, rows in enumerate(drawn) for _ in rows])
    x, y, value = np.array([row for rows in drawn for row in rows]).T
    stock = BucketStock.of(bucket, value, np.ones(len(value)), len(drawn), 3)
    links = learn_links(bucket, (x, y), (3, 2), stock, rounds=rounds, exact=1000)
    np.testing.assert_allclose(links.chance, expected, rtol=1e-7)


class TestInput:
    def test_control_is_judged_by_the_model(self) -> None:
        original, control = people(1200, 1, linked=True), people(1200, 2, linked=True)
        (told,) = DeFinetti().play(target(bucketized(original, 6), original, control))
        assert told.control is not None
        assert told.control.share > 0.5

    def test_ties_share(self) -> None:
        original = read_table(pl.DataFrame({"age": [1, 1], "disease": ["a", "b"]}), ONE)
        (told,) = DeFinetti().play(target(bucketized(original, 2), original))
        assert told.success.successes == pytest.approx(1)

    def test_one_record(self) -> None:
        original = read_table(pl.DataFrame({"age": [1], "disease": ["a"]}), ONE)
        (told,) = DeFinetti().play(target(bucketized(original, 1), original))
        assert told.success.share == told.success.baseline == 1

    def test_a_constant_sensitive_attribute(self) -> None:
        original = read_table(pl.DataFrame({"age": range(12), "disease": ["a"] * 12}), ONE)
        (told,) = DeFinetti().play(target(bucketized(original, 3), original))
        assert told.success.share == told.success.baseline == 1
        assert not told.succeeds

    def test_many_numbers_are_told_in_ranges(self) -> None:
        frame = pl.DataFrame({"age": range(200), "disease": [float(10 * age) for age in range(200)]})
        original = read_table(frame, ONE)
        release = bucketized(original, 4)
        (told,) = DeFinetti(ranges=4).play(target(release, original))
        assert told.goal.endswith("to the right range")
        assert told.success.baseline == pytest.approx(0.25, abs=0.03)

    def test_missing_values(self) -> None:
        frame = plain(people(120, 1, linked=True)).with_columns(
            pl.when(pl.int_range(pl.len()) % 5 == 0).then(None).otherwise(pl.col(name)).alias(name)
            for name in ("age", "disease")
        )
        original = read_table(frame, Schema(quasi_identifying=["age", "sex", "zip"], sensitive=["disease"]))
        (told,) = DeFinetti().play(target(bucketized(original, 3), original))
        assert told.success.people == 120

    def test_nothing_shared(self) -> None:
        quasi = pl.DataFrame({"height": [1, 2], "bucket": [0, 0]})
        counts = pl.DataFrame({"bucket": [0], "disease": ["x"], "count": [2]})
        with pytest.raises(InputError, match="share no attribute"):
            DeFinetti().play(target(BucketizedTables(quasi, counts, ("height",), "disease"), people(4, 1)))

    def test_buckets_that_are_too_large(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sfumato.evaluation.attacks.definetti.MOST_ENTRIES", 100)
        original = people(60, 1)
        with pytest.raises(InputError, match="more than the 100"):
            DeFinetti().play(target(bucketized(original, 60), original))

    def test_generalized_values_in_a_slice_are_noted(self) -> None:
        original = people(60, 1)
        release = sliced(original, 4, *COLUMNS)
        wide = release.data.with_columns(pl.lit("[20..79]").alias("age"))
        (told,) = DeFinetti().play(target(SlicedTable(wide, COLUMNS, ("disease",)), original))
        assert "60 of 60 rows of part 1" in told.notes[0]

    def test_options(self) -> None:
        with pytest.raises(PolicyError) as caught:
            DeFinetti(rounds=0, exact=0, ranges=1)
        assert len(caught.value.problems) == 3

    def test_a_column_without_attributes_that_anybody_knows(self) -> None:
        data = pl.DataFrame({"bucket": [0, 0], "height": [1, 2], "age": [3, 4], "disease": ["a", "b"]})
        release = SlicedTable(data, (("height",), ("age",), ("disease",)), ("disease",))
        original = read_table(pl.DataFrame({"age": [3, 4], "disease": ["a", "b"]}), ONE)
        (told,) = DeFinetti().play(target(release, original))
        assert told.success.people == 2

    def test_other_kinds_are_not_its_business(self) -> None:
        with pytest.raises(InputError, match="does not publish original values"):
            DeFinetti().play(target(as_it_is(people(5, 1)), people(5, 1)))


ONE = Schema(quasi_identifying=["age"], sensitive=["disease"])


def smokers(count: int, *, seed: int, strength: float) -> Table:
    """Half smoke; with chance `strength` a smoker has cancer and another flu, else the other way round."""
    generator = np.random.default_rng(seed)
    smokes = np.arange(count) % 2 == 0
    cancer = smokes == (generator.random(count) < strength)
    frame = pl.DataFrame(
        {"age": np.where(smokes, 1, 2), "person": np.arange(count), "disease": np.where(cancer, "cancer", "flu")}
    )
    schema = Schema(quasi_identifying={"age": None}, sensitive=["disease"], others="drop")
    return read_table(frame, schema)


def dependent(link: float) -> Table:
    """Eight diseases; how somebody lives goes with half of what there is to know of theirs, as often as `link` says."""
    chance = np.random.default_rng(1)
    disease = chance.integers(0, 8, 2000)
    smokes = np.where(chance.random(2000) < link, disease // 2, chance.integers(0, 4, 2000))
    works = np.where(chance.random(2000) < link, disease % 4, chance.integers(0, 4, 2000))
    frame = pl.DataFrame({"smokes": smokes, "works": works, "disease": disease}).cast(pl.String)
    return read_table(frame, sf.Schema(quasi_identifying=["smokes", "works"], sensitive=["disease"]))


@pytest.mark.slow
@pytest.mark.parametrize("slicing", [sf.Slicing, sf.OverlappingSlicing])
def test_guarded_slices_keep_what_the_smallest_ones_give_away(
    slicing: type[sf.Slicing] | type[sf.OverlappingSlicing],
) -> None:
    table = dependent(0.5)
    shares = {}
    for size in ("smallest", "guarded"):
        way = slicing(columns=[["smokes"], ["works"], ["disease"]], bucket_size=size)
        release = sf.anonymize(table, sf.ProbabilisticLDiversity(3), anonymizer=way, seed=1)
        shares[size] = sf.attack(release, table, attacks="definetti", seed=1).results[0].success
    assert shares["smallest"].interval[0] > 1 / 3
    assert shares["guarded"].interval[1] < 1 / 3

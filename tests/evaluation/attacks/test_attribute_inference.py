"""Attribute inference: works where a release ties values to people, does not where it only tells of the population."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from evaluation.attacks.inference_tables import (
    QUASI,
    SCHEMA,
    all_starred,
    as_it_is,
    bucketized,
    covers,
    every_kind,
    marginals,
    people,
    plain,
    target,
)
from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.attacks.learners import AttributeInference, NaiveBayes, naive_bayes
from sfumato.published import PublishedTable
from sfumato.recoding.choice import Recoding
from sfumato.table.reading import read_table
from sfumato.table.schema import Schema
from sfumato.table.table import Table


class TestWorks:
    @pytest.mark.parametrize("kind", ["generalized", "randomized"])
    def test_on_values_published_as_they_are(self, kind: str) -> None:
        original, control = people(800, 1), people(800, 2)
        (told,) = AttributeInference().play(target(every_kind(original)[kind], original, control))
        assert told.succeeds
        assert told.success.share > 0.8
        assert told.control is not None
        assert covers(told.control.interval, 1 / 6)

    @pytest.mark.parametrize("kind", ["bucketized", "sliced"])
    def test_on_small_buckets(self, kind: str) -> None:
        original, control = people(800, 1), people(800, 2)
        (told,) = AttributeInference().play(target(every_kind(original)[kind], original, control))
        assert told.succeeds

    def test_on_numbers_told_in_ranges(self) -> None:
        original, control = salaries(600, 1), salaries(600, 2)
        release = PublishedTable(original.frame, ("age", "sex"), ("salary",))
        (told,) = AttributeInference(ranges=5).play(target(release, original, control))
        assert told.figures["answers"] <= 6
        assert told.success.baseline == pytest.approx(0.2, abs=0.03)
        assert told.success.share > 0.7
        assert told.goal.endswith("to the right range")
        # The law behind the salaries holds for everybody.
        assert told.control is not None
        assert told.control.share > 0.5


class TestDoesNotWork:
    @pytest.mark.parametrize("linked", [False, True])
    def test_on_a_single_class(self, linked: bool) -> None:
        original, control = people(500, 1, linked=linked), people(500, 2, linked=linked)
        (told,) = AttributeInference().play(target(all_starred(original), original, control))
        assert covers(told.success.interval, told.success.baseline)
        assert not told.succeeds

    def test_on_what_holds_for_the_population(self) -> None:
        """The disease follows from the age: large cells give it away, and no less of people who were never asked."""
        original, control = people(3000, 1, linked=True), people(3000, 2, linked=True)
        (told,) = AttributeInference().play(target(marginals(original, ("age", "disease")), original, control))
        assert told.success.share == 1
        assert told.control is not None
        assert told.control.share == 1
        assert not told.succeeds

    @pytest.mark.parametrize("kind", ["generalized", "bucketized", "sliced", "marginal", "randomized"])
    def test_on_a_release_of_other_people(self, kind: str) -> None:
        members, control, others = people(700, 1), people(700, 2), people(700, 3)
        (told,) = AttributeInference().play(target(every_kind(others)[kind], members, control))
        assert told.success.interval[0] <= told.success.baseline
        assert not told.succeeds


class TestClassifier:
    def test_expected_records_of_a_generalized_table(self) -> None:
        """Two labels, one inside the other: [1..2] is spread over 1 and 2 as the whole table has them."""
        ages = ["[1..2]", "[1..2]", "1", "1", "2", "2"]
        frame = pl.DataFrame({"age": ages, "disease": ["a", "b", "a", "a", "b", "b"]})
        model = learnt(PublishedTable(frame, ("age",), ("disease",)), table({"age": [1, 2], "disease": ["a", "b"]}))
        np.testing.assert_allclose(model.prior[:2], [3, 3])
        np.testing.assert_allclose(model.counts[0][:2, :2], [[2.5, 0.5], [0.5, 2.5]], atol=1e-6)

    def test_expected_records_of_buckets(self) -> None:
        original = table({"age": [1, 2, 3, 3], "disease": ["a", "b", "a", "c"]})
        release = bucketized(original, 2)
        model = learnt(release, original)
        expected = np.zeros((4, 3))
        for bucket in (0, 1):
            ages = release.quasi.filter(pl.col("bucket") == bucket)["age"].to_list()
            for value, count in release.counts.filter(pl.col("bucket") == bucket).select("disease", "count").rows():
                for age in ages:
                    expected[age, "abc".index(value)] += count / 2
        np.testing.assert_allclose(model.counts[0], expected)

    def test_marginals_are_counted_as_they_stand(self) -> None:
        original = table({"age": [1, 1, 2], "disease": ["a", "b", "b"]})
        model = learnt(marginals(original, ("age", "disease")), original)
        np.testing.assert_allclose(model.counts[0], [[0, 0], [1, 1], [0, 1]])

    def test_shares_are_those_of_the_definition(self) -> None:
        original = table({"age": [1, 1, 2, 2], "disease": ["a", "a", "a", "b"]})
        shares = learnt(marginals(original, ("age", "disease")), original).shares(slice(0, 4))
        # Ages 0 (missing, nobody), 1, 2: shares of all records with one record more each.
        overall = {1: 3 / 7, 2: 3 / 7}
        for person, age in enumerate([1, 1, 2, 2]):
            held = {"a": {1: 2, 2: 1}[age], "b": {1: 0, 2: 1}[age]}
            weights = [(n + 0.5) / 5 * (held[s] + overall[age]) / (n + 1) for s, n in (("a", 3), ("b", 1))]
            np.testing.assert_allclose(shares[person], np.array(weights) / sum(weights))


class TestInput:
    def test_a_constant_sensitive_attribute(self) -> None:
        original = table({"age": [1, 2, 3, 4], "disease": ["a"] * 4})
        (told,) = AttributeInference().play(target(PublishedTable(original.frame, ("age",), ("disease",)), original))
        assert told.success.share == told.success.baseline == 1
        assert not told.succeeds
        assert any("the same value" in note for note in told.notes)

    def test_one_person(self) -> None:
        original = people(1, 1)
        (told,) = AttributeInference().play(target(as_it_is(original), original, people(1, 2)))
        assert told.success.people == 1
        assert not told.succeeds

    def test_missing_values(self) -> None:
        frame = plain(people(100, 1)).with_columns(
            pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise(pl.col(name)).alias(name)
            for name in ("age", "zip", "disease")
        )
        original = read_table(frame, Schema(quasi_identifying=SCHEMA.quasi_identifying, sensitive=["disease"]))
        (told,) = AttributeInference().play(target(PublishedTable(original.frame, QUASI, ("disease",)), original))
        assert told.success.people == 100

    def test_values_that_nobody_published(self) -> None:
        original = table({"age": [1, 2, 3], "disease": ["a", "a", "hidden"]})
        release = PublishedTable(original.frame[:2], ("age",), ("disease",))
        (told,) = AttributeInference().play(target(release, original))
        assert told.success.successes == 2
        assert any("was not published" in note for note in told.notes)
        assert "hidden" not in str(told)

    def test_nothing_shared(self) -> None:
        release = PublishedTable(pl.DataFrame({"height": ["1"], "disease": ["a"]}), ("height",), ("disease",))
        with pytest.raises(InputError, match="share no"):
            AttributeInference().play(target(release, people(3, 1)))

    def test_options(self) -> None:
        with pytest.raises(PolicyError) as caught:
            AttributeInference(strength=0, ranges=1)
        assert len(caught.value.problems) == 2


def table(columns: dict[str, list[object]]) -> Table:
    return read_table(pl.DataFrame(columns), Schema(quasi_identifying=["age"], sensitive=["disease"]))


def salaries(count: int, seed: int) -> Table:
    generator = np.random.default_rng(seed)
    age, sex = generator.integers(20, 60, count), generator.choice(["f", "m"], count)
    salary = 1000.0 * age + generator.normal(0, 1000, count)
    frame = pl.DataFrame({"age": age, "sex": sex, "salary": salary})
    return read_table(frame, Schema(quasi_identifying=["age", "sex"], sensitive=["salary"]))


def learnt(release: object, original: Table) -> NaiveBayes:
    return naive_bayes(release, original, "disease", recoding=Recoding(), ranges=20)  # type: ignore[arg-type]

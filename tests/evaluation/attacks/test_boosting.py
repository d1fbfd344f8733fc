"""Attribute inference by gradient-boosted trees: what only they can learn, every kind, and where they are missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from evaluation.attacks.inference_tables import every_kind, people, target
from sfumato.errors import PolicyError
from sfumato.evaluation.attacks import AttributeInference, boosting
from sfumato.evaluation.attacks.answers import Answers
from sfumato.evaluation.attacks.boosting import boosted_trees
from sfumato.recoding import Recoding

TREES = AttributeInference(classifier="gradient-boosting")


def crossed(count: int, seed: int) -> sf.Table:
    """Who is ill follows from two attributes together, and from neither alone."""
    generator = np.random.default_rng(seed)
    smokes, works = generator.integers(0, 2, count), generator.integers(0, 2, count)
    frame = pl.DataFrame(
        {
            "smokes": np.where(smokes, "yes", "no"),
            "works": np.where(works, "outdoors", "indoors"),
            "age": generator.integers(20, 80, count),
            "ill": np.where(smokes != works, "cough", "none"),
        }
    )
    return sf.read_table(frame, sf.Schema(quasi_identifying=["smokes", "works", "age"], sensitive=["ill"]))


def test_what_two_attributes_tell_together() -> None:
    table, control = crossed(300, 1), crossed(100, 2)
    release = sf.anonymize(table, sf.KAnonymity(20), seed=1)
    attacks = [AttributeInference(strength=1e6), replace(TREES, strength=1e6)]
    bayes, trees = sf.attack(release, table, control=control, attacks=attacks, seed=1).results
    assert bayes.figures["naive_bayes_alone"] < 0.65
    assert trees.figures["gradient_boosting_alone"] > 0.9
    assert trees.control is not None
    assert trees.control.share > 0.9
    # What others show of the population is learnt by the same trees.
    assert trees.curve is not None
    everybody = next(look for look in trees.curve.looks if look.share == 1)
    assert everybody.population is not None
    assert everybody.population.share > 0.9
    assert not trees.succeeds


@pytest.mark.parametrize("kind", ["generalized", "bucketized", "sliced", "marginal", "randomized"])
def test_every_kind(kind: str) -> None:
    table = people(60, 1, linked=True)
    (result,) = TREES.play(target(every_kind(table)[kind], table))
    assert 0 <= result.figures["gradient_boosting_alone"] <= 1
    assert result.success.people == 60


def test_the_same_for_the_same_seed() -> None:
    table, control = people(60, 1, linked=True), people(40, 2, linked=True)
    one, other = (TREES.play(target(every_kind(table)["sliced"], table, control))[0].to_dict() for _ in range(2))
    assert one == other


def test_chances_of_numbers_ranges_and_missing_values() -> None:
    frame = pl.DataFrame({"x": [1, 2, None, 4] * 30, "c": ["a", None] * 60, "s": [10.5, 20.5, None, 40.5] * 30})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["x", "c"], sensitive=["s"]))
    published = sf.anonymize(table, sf.KAnonymity(30), seed=1).published
    for ranges in (2, 20):
        answers = Answers.of(published.data["s"], np.ones(120), numeric=True, ranges=ranges)
        found = boosted_trees(
            published, table, "s", answers, recoding=Recoding(), generator=np.random.default_rng(1)
        ).shares(slice(None))
        assert found.shape == (120, answers.size)
        assert found.sum(axis=1) == pytest.approx(1)
        assert (found.argmax(axis=1) == answers.codes(frame["s"])).mean() > 0.9


def test_people_with_several_records() -> None:
    table = people(120, 1, linked=True)
    several = replace(table, people=np.repeat(np.arange(60, dtype=np.int32), 2))
    (result,) = TREES.play(target(every_kind(table)["generalized"], several))
    assert result.success.people == 60


def test_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    table = people(60, 1)
    published = every_kind(table)["generalized"]
    monkeypatch.setattr(boosting, "import_module", missing)
    with pytest.raises(PolicyError, match=r"needs scikit-learn.*sfumato\[utility\]"):
        TREES.play(target(published, table))
    # Nothing else asks for it.
    assert AttributeInference().play(target(published, table))


def test_bad_option() -> None:
    with pytest.raises(PolicyError, match="attribute-inference: classifier must be one of naive-bayes"):
        AttributeInference(classifier="forest")  # type: ignore[arg-type]

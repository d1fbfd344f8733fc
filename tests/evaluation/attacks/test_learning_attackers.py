"""Attackers who learn: boosted trees, and who knows only people who are not in the data."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from evaluation.attacks.inference_tables import bucketized, every_kind, people, target
from examples import examples
from sfumato.errors import PolicyError
from sfumato.evaluation.attacks import AttributeInference, learners
from sfumato.evaluation.attacks.definetti import DeFinetti
from sfumato.evaluation.attacks.learners import Answers, beliefs_of, boosted_trees, known_from_others
from sfumato.evaluation.attacks.people import cohort_of
from sfumato.evaluation.attacks.protocol import RowsOfPeople, Target
from sfumato.published import RandomizedTable
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
    monkeypatch.setattr(learners, "import_module", missing)
    with pytest.raises(PolicyError, match=r"needs scikit-learn.*sfumato\[utility\]"):
        TREES.play(target(published, table))
    # Nothing else asks for it.
    assert AttributeInference().play(target(published, table))


def test_bad_option() -> None:
    with pytest.raises(PolicyError, match="attribute-inference: classifier must be one of naive-bayes"):
        AttributeInference(classifier="forest")  # type: ignore[arg-type]


SCHEMA = sf.Schema(quasi_identifying=["x", "y"], sensitive=["s"])
row = st.tuples(st.sampled_from("ab"), st.sampled_from(["p", "q", None]), st.sampled_from("123"))


def table(rows) -> sf.Table:
    return sf.read_table(pl.DataFrame(rows, schema=dict.fromkeys("xys", pl.String), orient="row"), SCHEMA)


def cohort(inside: sf.Table, outside: sf.Table | None):
    nothing = RandomizedTable(inside.frame.select(pl.all().cast(pl.String)), ("x", "y"), ("s",))
    return cohort_of(Target(published=nothing, original=inside, control=outside, seed=1))


def by_hand(others, person) -> dict[str, float]:
    """Naive Bayes from the counts of the others, drawn towards the shares of all by one record."""
    answers = sorted({one[2] for one in others})
    everybody = {value for one in others for value in one[2]}
    assert everybody
    weights = {}
    for answer in answers:
        own = [one for one in others if one[2] == answer]
        weight = (len(own) + 1 / len(answers)) / (len(others) + 1)
        for place in (0, 1):
            values = Counter(one[place] for one in others)
            # A missing value always has a place.
            known = len({None, *values, *DOMAIN[place]})
            overall = (values[person[place]] + 1) / (len(others) + known)
            here = sum(one[place] == person[place] for one in own)
            weight *= (here + overall) / (len(own) + 1)
        weights[answer] = weight
    total = sum(weights.values())
    return {answer: weight / total for answer, weight in weights.items()}


DOMAIN: list[set[str | None]] = [set(), set()]


@examples(60)
@given(st.lists(row, min_size=1, max_size=12), st.lists(row, min_size=1, max_size=8))
def test_it_is_naive_bayes_of_the_others(others, inside) -> None:
    for place in (0, 1):
        DOMAIN[place] = {one[place] for one in (*others, *inside)}
    found = known_from_others(cohort(table(inside), table(others)), "s", ranges=20)
    assert found is not None
    for place, person in enumerate(inside):
        shares = by_hand(others, person)
        assert found.belief[place] == pytest.approx(max(shares.values()))
        tied = [answer for answer, share in shares.items() if share > max(shares.values()) - 1e-12]
        assert found.right[place] == float(person[2] in tied) or len(tied) > 1


def test_nobody_knows_only_others_without_others() -> None:
    assert known_from_others(cohort(table([("a", "p", "1")]), None), "s", ranges=20) is None


def test_a_value_that_no_other_has_cannot_be_named() -> None:
    found = known_from_others(cohort(table([("a", "p", "9")]), table([("a", "p", "1")] * 3)), "s", ranges=20)
    assert found is not None
    assert (found.belief[0], found.right[0]) == (1, 0)


def test_many_numbers_are_named_in_ranges() -> None:
    schema = sf.Schema(quasi_identifying=["age"], sensitive=["pay"])
    ages = np.arange(400) % 40
    inside, outside = (
        sf.read_table(pl.DataFrame({"age": ages, "pay": 100.0 * ages + shift}), schema) for shift in (0, 1)
    )
    nothing = RandomizedTable(inside.frame, ("age",), ("pay",))
    some = cohort_of(Target(published=nothing, original=inside, control=outside, seed=1))
    found = known_from_others(some, "pay", ranges=4)
    assert found is not None
    assert found.right.mean() > 0.9


def test_what_is_believed_of_several_records_together() -> None:
    """Two records of the first person: 1 − .4 · .3 that one of them has the second value."""
    shares = np.array([[0.4, 0.6], [0.3, 0.7], [0.9, 0.1]])
    told = beliefs_of(shares, np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([0, 0, 1]))
    assert told.belief.tolist() == pytest.approx([1 - 0.4 * 0.3, 0.9])
    assert told.right.tolist() == [1, 0]


@pytest.mark.parametrize("attack", [DeFinetti(), AttributeInference()])
def test_people_with_several_records_are_ranked_once(attack) -> None:
    def several(seed: int) -> sf.Table:
        drawn = people(300, seed, linked=True).frame
        frame = pl.concat([drawn, drawn.head(100)]).with_columns(who=pl.Series([*range(300), *range(100)]))
        quasi = {"age": None, "sex": None, "zip": sf.Attribute(kind="categorical")}
        return sf.read_table(
            frame.drop("visit"), sf.Schema(person="who", quasi_identifying=quasi, sensitive=["disease"])
        )

    inside, outside = several(1), several(2)
    told = Target(bucketized(inside, 6), inside, control=outside, rows=RowsOfPeople(), seed=1)
    (result,) = attack.play(told)
    assert result.curve is not None
    everybody = next(look for look in result.curve.looks if look.share == 1)
    assert (everybody.inside.people, everybody.inside.successes) == (300, pytest.approx(result.success.successes))
    assert everybody.control is not None
    assert everybody.control.people == 300
    assert everybody.population is not None
    assert everybody.population.people == 300


def test_it_has_not_seen_the_release() -> None:
    """Of people whose disease follows from nothing, it knows what is frequent, and the release no more."""
    original, control = people(1200, 1), people(1200, 2)
    (result,) = DeFinetti().play(target(bucketized(original, 6), original, control))
    assert result.curve is not None
    everybody = next(look for look in result.curve.looks if look.share == 1)
    assert everybody.population is not None
    assert everybody.population.share == pytest.approx(1 / 6, abs=0.04)

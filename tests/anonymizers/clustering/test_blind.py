"""Blind classes: made by their size alone, so that who runs the algorithm again learns far less."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from anonymizers.clustering.test_strata import EACH_METHOD, people, read
from examples import examples
from sfumato.anonymizers.parts import Partwise
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.classes.statistics import statistics_of
from sfumato.evaluation.attacks.protocol import AttackResult
from sfumato.models.protocol import PrivacyModel
from sfumato.table.encoding import EncodedTable, encode

MODELS = (
    [sf.ProbabilisticLDiversity(2)],
    [sf.KAnonymity(3), sf.DistinctLDiversity(2)],
    [sf.TCloseness(0.45)],
)


@EACH_METHOD
@pytest.mark.parametrize("models", MODELS, ids=lambda models: models[-1].name)
def test_the_first_size_with_which_all_classes_hold(method: type[Partwise], models: list[PrivacyModel]) -> None:
    """A plain twin on one block: sizes are tried by the same maker, with k-anonymity alone."""
    table = encode(read(people(96).drop("region")))
    problem = Problem(table, models, seed=3)
    found = method(blind=True).solve(problem)
    size = max([2, *(int(model.k) for model in models if isinstance(model, sf.KAnonymity))])
    size = max([size, *(int(model.l) for model in models if not isinstance(model, sf.KAnonymity | sf.TCloseness))])
    while size * 3 <= table.height:
        tried = method().solve(Problem(table, [sf.KAnonymity(size)], seed=3))
        if holds(table, tried, models):
            break
        size += max(1, size // 4)
    else:
        tried = Partition(np.zeros(table.height, dtype=np.int32), 1)
    assert found.count == tried.count
    assert found.class_of.tolist() == tried.class_of.tolist()


def holds(table: EncodedTable, partition: Partition, models: list[PrivacyModel]) -> bool:
    statistics = statistics_of(table, partition.class_of, partition.count)
    return all(bool(model.holds(statistics).all()) for model in models)


@EACH_METHOD
@given(st.integers(0, 99), st.sampled_from(MODELS))
@examples(4)
def test_models_hold_in_many_blocks(method: type[Partwise], seed: int, models: list[PrivacyModel]) -> None:
    table = read(people(320, seed=seed).drop("region"))
    release = sf.anonymize(table, models, anonymizer=method(blind=True), seed=seed)
    encoded = encode(table)
    partition = method(blind=True).solve(Problem(encoded, models, seed=seed))
    assert holds(encoded, partition, models)
    assert partition.count > 1
    assert "without a look at who has which sensitive value" in release.report.notes[0]


@EACH_METHOD
def test_few_people_and_sizes_alone(method: type[Partwise]) -> None:
    """Of so few nothing is looked at; where no model looks at sensitive values, nothing changes."""
    few = encode(read(people(49).drop("region")))
    assert method(blind=True).solve(Problem(few, [sf.ProbabilisticLDiversity(2)], seed=1)).count == 1
    table = encode(read(people(250).drop("region")))
    one, other = (
        method(blind=blind).solve(Problem(table, [sf.KAnonymity(4)], seed=1)).class_of for blind in (True, False)
    )
    assert one.tolist() == other.tolist()


def test_who_knows_the_algorithm_learns_less() -> None:
    """Merging what breaks the model tells of whole classes who has what; a size for each block does not."""
    draw = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "age": draw.integers(20, 60, 600),
            "zip": draw.integers(100, 140, 600),
            "disease": draw.choice(["flu", "cold", "gout"], 600, p=[0.45, 0.35, 0.2]),
        }
    )
    looking, blind = (claims(frame, sf.MDAV(blind=blind)) for blind in (False, True))
    assert looking.verdict == "succeeds"
    assert blind.verdict != "succeeds"
    assert blind.figures["claimed"] < looking.figures["claimed"] / 4


def claims(frame: pl.DataFrame, anonymizer: Partwise) -> AttackResult:
    table = read(frame)
    release = sf.anonymize(table, sf.ProbabilisticLDiversity(2), anonymizer=anonymizer, seed=1)
    (result,) = sf.attack(release, table, attacks="minimality", seed=1)["minimality"]
    assert result.unplayed is None
    return result


def test_what_would_look_all_the_same_is_refused() -> None:
    frame = people(200)
    with pytest.raises(sf.PolicyError, match="mdav: strata cannot be solved without a look"):
        sf.MDAV(blind=True, strata=["region"])
    with pytest.raises(sf.PolicyError, match="leave refine or blind out"):
        sf.anonymize(read(frame), sf.DistinctLDiversity(2), anonymizer=sf.MDAV(blind=True), refine=5)
    with pytest.raises(sf.PolicyError, match="leave refine or blind out"):
        sf.anonymize(read(frame), sf.DistinctLDiversity(2), anonymizer=sf.Mondrian(blind=True), refine=5)

"""Linkage with knowledge that is partly wrong: against a plain twin, and where it must be better than exact linkage."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from evaluation.attacks.attacked_tables import SCHEMA, people
from examples import examples
from naive import noisy as naive
from sfumato.errors import PolicyError
from sfumato.evaluation.attacks import NoisyLinkage
from sfumato.evaluation.attacks.linkage import read_links
from sfumato.evaluation.attacks.noisy_linkage import FEWEST_WRONG, AgreementWeights
from sfumato.evaluation.attacks.people import OwnRecords, Victims
from sfumato.published import PublishedTable
from sfumato.recoding import Recoding

LABELS = st.tuples(
    st.sampled_from(["[0..3]", "[2..6]", "4", "7", "*"]), st.sampled_from(["a", "{a|b}", "{a|c|e}", "d", "*"])
)
PEOPLE = st.lists(
    st.tuples(st.integers(0, 9) | st.none(), st.sampled_from("abcde") | st.none()), min_size=2, max_size=9
)
QUASI = sf.Schema(quasi_identifying={"x": sf.Attribute(kind="numeric"), "c": None})


@given(st.lists(LABELS, min_size=1, max_size=10), PEOPLE, st.tuples(*[st.floats(0.01, 0.5)] * 2))
@examples(60)
def test_weights_and_what_is_estimated(labels, asked, wrong) -> None:
    frame = pl.DataFrame(asked, schema={"x": pl.Int64, "c": pl.String}, orient="row")
    if any(frame[name].null_count() == frame.height for name in frame.columns):
        return
    published = pl.DataFrame(labels, schema=dict.fromkeys("xc", pl.String), orient="row")
    keys = pl.Series("key", [""] * published.height)
    each = np.arange(frame.height)
    victims = Victims(frame, QUASI, each, OwnRecords(frame, each, pl.Series("key", [""] * frame.height)))
    reading = read_links(published, victims, ("x", "c"), keys, Recoding())
    weights = AgreementWeights.of(reading)
    first = [
        labels[int(np.flatnonzero(reading.publication.class_of == owner)[0])] for owner in range(len(weights.sizes))
    ]
    found, fits = weights.weigh(each, np.array(wrong))
    for place, person in enumerate(asked):
        for owner, label in enumerate(first):
            assert found[place, owner] == pytest.approx(naive.weight(label, person, asked, wrong), abs=1e-9)
            assert fits[place, owner] == all(map(naive.fits, label, person))
    assert weights.estimate(each) == pytest.approx(naive.estimate(Counter(labels), asked, 15, FEWEST_WRONG), rel=1e-6)


def table_of(count: int, seed: int) -> sf.Table:
    """People of whom many things are known."""
    generator = np.random.default_rng(seed)
    frame = pl.DataFrame({f"x{place}": generator.integers(0, 30, count) for place in range(6)})
    return sf.read_table(
        frame.with_columns(s=pl.int_range(count)),
        sf.Schema(quasi_identifying=[f"x{place}" for place in range(6)], sensitive=["s"]),
    )


def test_it_finds_whom_exact_linkage_misses() -> None:
    """Unchanged values, a fifth of the knowledge wrong: four agreeing values of six are enough."""
    table = table_of(400, 1)
    bare = PublishedTable(table.frame, tuple(table.schema.quasi_identifying), ("s",))
    for weights in ("estimated", "known"):
        (result,) = sf.attack(bare, table, attacks=NoisyLinkage(wrong=0.2, missing=0, weights=weights), seed=1).results
        assert result.succeeds
        assert result.success.share > 0.95
        # Nothing is wrong of 0.8^6 of the people.
        assert result.figures["taking_all_for_true"] == pytest.approx(0.8**6, abs=0.07)
        assert result.figures["believed_wrong"] == pytest.approx(0.2, abs=0.05)
        assert result.allowed is None


def test_without_mistakes_it_is_linkage() -> None:
    table = sf.read_table(people(300, 4).drop("name"), SCHEMA)
    release = sf.anonymize(table, sf.KAnonymity(4), anonymizer=sf.KMember(), seed=1)
    (result,) = sf.attack(release, table, attacks=NoisyLinkage(wrong=0, missing=0, weights="known"), seed=1).results
    exact = sf.attack(release, table, attacks="linkage").results[1].success.share
    assert result.success.share == pytest.approx(result.figures["taking_all_for_true"])
    # Volumes are counted in people here, and in values there.
    assert result.success.share == pytest.approx(exact, abs=0.02)
    assert result.allowed == 0.25
    assert result.is_allowed


def test_more_mistakes_find_fewer_people_and_never_more_than_promised() -> None:
    table = sf.read_table(people(300, 4).drop("name"), SCHEMA)
    release = sf.anonymize(table, sf.KAnonymity(4), seed=1)
    shares = []
    for wrong in (0.0, 0.3, 0.8):
        (result,) = sf.attack(release, table, attacks=NoisyLinkage(wrong=wrong), seed=1).results
        assert result.success.share <= 0.25
        shares.append(result.success.share)
    assert shares[0] > shares[1] > shares[2]


def test_a_register_is_taken_as_it_is() -> None:
    frame = people(300, 4)
    named = sf.Schema(identifying=["name"], quasi_identifying=SCHEMA.quasi_identifying, sensitive=["disease"])
    release = sf.anonymize(sf.read_table(frame, named), sf.KAnonymity(4), seed=1)
    aged = frame.with_columns(pl.when(pl.int_range(pl.len()) % 4 == 0).then(pl.col("age") + 25).otherwise("age"))
    stranger = frame[:1].with_columns(name=pl.lit("nobody"))
    (result,) = sf.attack(
        release, frame, schema=named, register=pl.concat([aged, stranger]), attacks="noisy-linkage", seed=1
    ).results
    assert result.success.people == 300
    assert "partly wrong" in result.knows
    assert result.figures["taking_all_for_true"] < result.success.share


def test_some_people_are_drawn() -> None:
    table = sf.read_table(people(300, 4).drop("name"), SCHEMA)
    release = sf.anonymize(table, sf.KAnonymity(4), seed=1)
    played = [sf.attack(release, table, attacks=NoisyLinkage(people=50), seed=seed).results[0] for seed in (1, 1, 2)]
    assert played[0].success == played[1].success != played[2].success
    assert played[0].success.people == 50


def test_it_is_played_when_it_is_named() -> None:
    table = sf.read_table(people(60, 4).drop("name"), SCHEMA)
    release = sf.anonymize(table, sf.KAnonymity(4), seed=1)
    assert "an assumption" in sf.attack(release, table).unplayed["noisy-linkage"]


def test_people_with_several_records_are_not_looked_for() -> None:
    table = sf.read_table(people(60, 4).drop("name"), SCHEMA)
    release = sf.anonymize(table, sf.KAnonymity(4), seed=1)
    several = replace(table, people=np.repeat(np.arange(30, dtype=np.int32), 2))
    (result,) = sf.attack(release, several, attacks="noisy-linkage", seed=1).results
    assert "several records" in str(result.unplayed)


@pytest.mark.parametrize("wrong", [{"wrong": 1}, {"missing": -0.1}, {"weights": "none"}, {"people": 0}, {"known": 0}])
def test_bad_options(wrong: dict[str, object]) -> None:
    with pytest.raises(PolicyError, match=f"noisy-linkage: {next(iter(wrong))}"):
        NoisyLinkage(**wrong)  # type: ignore[arg-type]

"""Blind cuts: what a release shows decides them, classes keep their promises, and a rerun tells nothing of people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import sfumato as sf
from examples import examples
from sfumato.anonymizers.mondrian import least_blind_block
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.classes.statistics import class_statistics
from sfumato.errors import PolicyError, UnsatisfiableError
from sfumato.evaluation.attacks.minimality import Minimality
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.models.protocol import PrivacyModel
from sfumato.published import PublishedTable
from sfumato.recoding import publish, recode_as_published
from sfumato.table.encoding import encode
from sfumato.table.reading import read_table
from sfumato.table.table import Table

BLIND = sf.Mondrian(blind=True)

SETTINGS = [
    BLIND,
    sf.Mondrian(blind=True, split_rule="anywhere"),
    sf.Mondrian(blind=True, attribute_choice="widest"),
    sf.Mondrian(blind=True, mode="relaxed"),
    sf.Mondrian(blind=True, hierarchy_cuts=True),
    sf.Mondrian(blind=True, extent="region"),
]

MODELS: list[list[PrivacyModel]] = [
    [sf.ProbabilisticLDiversity(2)],
    [sf.DistinctLDiversity(3)],
    [sf.KAnonymity(4), sf.EntropyLDiversity(2.5)],
    [sf.RecursiveLDiversity(2, 2)],
    [sf.TCloseness(0.45)],
    [sf.GuardedValues(("b", "c"), 0.6)],
    [sf.GuardedValues(("a",), 0.3), sf.GuardedValues(("f",), 0.45), sf.DistinctLDiversity(2)],
]


def people(count: int, seed: int, values: str = "abcdef") -> Table:
    """Diseases that go with age, so that cuts are refused."""
    generator = np.random.default_rng(seed)
    age = generator.integers(20, 60, count)
    likely = np.where(generator.random(count) < 0.5, (age - 20) // 7, generator.integers(0, len(values), count))
    frame = pl.DataFrame(
        {
            "age": age,
            "town": generator.choice(["w", "x", "y", "z"], count),
            "disease": [values[int(value) % len(values)] for value in likely],
        }
    )
    tree = sf.groups({"north": ["w", "x"], "south": ["y", "z"]})
    return read_table(frame, sf.Schema(quasi_identifying={"age": None, "town": tree}, sensitive=["disease"]))


def skewed_people(count: int, seed: int) -> Table:
    """Half of them with one disease."""
    generator = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": generator.integers(20, 60, count),
            "zip": generator.integers(0, 30, count),
            "disease": generator.choice(list("abcde"), count, p=[0.5, 0.2, 0.15, 0.1, 0.05]),
        }
    )
    return read_table(frame, sf.Schema(quasi_identifying=["age", "zip"], sensitive=["disease"]))


def solve(table: Table, models: Sequence[PrivacyModel], anonymizer: sf.Mondrian = BLIND, **settings: Any) -> Partition:
    return anonymizer.solve(Problem(encode(table), models, seed=1, **settings))


def attacked(table: Table, models: Sequence[PrivacyModel], anonymizer: sf.Mondrian, attack: Minimality) -> AttackResult:
    encoded = encode(table)
    partition = anonymizer.solve(Problem(encoded, models, seed=1))
    data = publish(recode_as_published(encoded, partition, sf.Recoding()), table, np.arange(table.height))
    published = PublishedTable(data, tuple(table.schema.quasi_identifying), tuple(table.schema.sensitive))
    promised = tuple({"name": model.name, **model.parameters()} for model in models)
    (result,) = attack.play(Target(published, table, models=promised, anonymizer=anonymizer, seed=1))
    return result


def as_sets(class_of: NDArray[np.int32]) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(class_of == number).tolist()) for number in np.unique(class_of[class_of >= 0])}


@pytest.mark.parametrize("anonymizer", SETTINGS, ids=repr)
@pytest.mark.parametrize("models", MODELS, ids=repr)
@pytest.mark.parametrize("count", [40, 700])
def test_classes_satisfy_the_models(anonymizer: sf.Mondrian, models: list[PrivacyModel], count: int) -> None:
    table = people(count, count)
    partition = solve(table, models, anonymizer)
    encoded = encode(table)
    statistics = class_statistics(partition.class_of, partition.count, encoded.sensitive_codes, encoded.sensitive)
    assert all(model.holds(statistics).all() for model in models)
    assert partition.count > 1 or count == 40
    assert "did not look" in partition.notes[0]


@given(st.integers(0, 10**6), st.sampled_from([sf.KMap(2), sf.KMap(5), sf.DeltaPresence(0.5), sf.DeltaPresence(0.8)]))
@examples(60)
def test_what_a_population_says_is_counted_not_imagined(seed: int, model: PrivacyModel) -> None:
    """Whom a class covers follows from quasi-identifying values: both settings judge it alike."""
    generator = np.random.default_rng(seed)
    count = int(generator.integers(20, 150))
    everybody = pl.DataFrame({name: generator.integers(0, generator.integers(2, 8), count) for name in ("age", "town")})
    sample = everybody[generator.permutation(count)[: count // 3]]
    table = read_table(sample, sf.Schema(quasi_identifying=["age", "town"]))
    # Larger classes beside the cuts, which only the setting that sees tries, are another choice.
    with patch("sfumato.anonymizers.mondrian.RETRIED", ()):
        blind, seeing = (_published(table, model, everybody, mondrian) for mondrian in (BLIND, sf.Mondrian()))
    assert blind == seeing


def _published(table: Table, model: PrivacyModel, everybody: pl.DataFrame, anonymizer: sf.Mondrian) -> Any:
    try:
        release = sf.anonymize(table, model, anonymizer=anonymizer, population=everybody, seed=1)
    except UnsatisfiableError:
        return None
    return release.data.rows()


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.sampled_from("abcde")), min_size=6, max_size=60),
    st.sampled_from([sf.ProbabilisticLDiversity(1.5), sf.DistinctLDiversity(2), sf.EntropyLDiversity(1.7)]),
    st.randoms(use_true_random=False),
)
@examples(60)
def test_a_small_table_is_cut_alike_whoever_of_a_class_has_which_value(
    rows: list[tuple[int, int, str]], model: PrivacyModel, random: Any
) -> None:
    """No world that the release leaves open is told from another: that is all a rerun could tell."""
    frame = pl.DataFrame(rows, schema={"place": pl.Int64, "age": pl.Int64, "disease": pl.String}, orient="row")
    schema = sf.Schema(quasi_identifying=["place", "age"], sensitive=["disease"])
    try:
        partition = solve(read_table(frame, schema), [model])
    except UnsatisfiableError:
        assume(False)
    diseases = frame["disease"].to_list()
    for members in map(sorted, as_sets(partition.class_of)):
        shuffled = [diseases[row] for row in members]
        random.shuffle(shuffled)
        for row, disease in zip(members, shuffled, strict=True):
            diseases[row] = disease
    again = solve(read_table(frame.with_columns(disease=pl.Series(diseases)), schema), [model])
    assert as_sets(again.class_of) == as_sets(partition.class_of)


def test_a_table_of_few_classes_is_cut_alike_too() -> None:
    """Place 1 has two people, place 2 all others: whether the two have one disease must not decide the cut."""
    found = set()
    for second in ("HIV", "flu"):
        diseases = ["HIV", second, *(["flu", "gout", "cold", "HIV"] * 40)]
        frame = pl.DataFrame({"place": [1, 1, *([2] * 160)], "disease": diseases})
        table = read_table(frame, sf.Schema(quasi_identifying=["place"], sensitive=["disease"]))
        found.add(solve(table, [sf.ProbabilisticLDiversity(2)]).count)
        assert solve(table, [sf.ProbabilisticLDiversity(2)], sf.Mondrian()).count == (1 if second == "HIV" else 2)
    assert found == {1}


@pytest.mark.parametrize("models", MODELS, ids=repr)
def test_the_order_of_the_input_makes_no_difference(models: list[PrivacyModel]) -> None:
    table = people(600, 5)
    order = np.random.default_rng(2).permutation(600)
    again = solve(Table(table.frame[order], table.schema, table.kinds), models).class_of
    back = np.empty(600, dtype=np.int32)
    back[order] = again
    assert as_sets(back) == as_sets(solve(table, models).class_of)


def test_threads_make_no_difference() -> None:
    table = people(1500, 6)
    one, two = (solve(table, [sf.DistinctLDiversity(3)], threads=threads) for threads in (1, 2))
    assert np.array_equal(one.class_of, two.class_of)
    assert one.notes == two.notes


@pytest.mark.parametrize("anonymizer", SETTINGS, ids=repr)
def test_models_of_sizes_alone_are_cut_as_without(anonymizer: sf.Mondrian) -> None:
    table = people(500, 7)
    options = {name: getattr(anonymizer, name) for name in ("mode", "split_rule", "attribute_choice", "hierarchy_cuts")}
    seeing = sf.Mondrian(**options, extent=anonymizer.extent)
    blind = solve(table, [sf.KAnonymity(5)], anonymizer)
    assert np.array_equal(blind.class_of, solve(table, [sf.KAnonymity(5)], seeing).class_of)
    assert blind.notes == ()


def test_regions_cover_everybody() -> None:
    """Cuts inside blocks are kept as cuts of the whole table."""
    table = people(700, 8)
    partition = solve(table, [sf.DistinctLDiversity(3)], sf.Mondrian(blind=True, extent="region"))
    assert partition.regions is not None
    codes = encode(table).codes
    low, high = partition.regions.low[partition.class_of], partition.regions.high[partition.class_of]
    assert ((low <= codes) & (codes <= high)).all()
    values = np.stack(np.meshgrid(np.arange(40), np.arange(4), indexing="ij"), axis=-1).reshape(-1, 1, 2)
    inside = ((partition.regions.low <= values) & (values <= partition.regions.high)).all(axis=2)
    assert (inside.sum(axis=1) >= 1).all()


def test_records_that_must_be_left_out_are() -> None:
    frame = pl.DataFrame({"age": list(range(300)), "disease": ["flu"] * 160 + ["a", "b", "c", "d"] * 35})
    table = read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["disease"]))
    with pytest.raises(UnsatisfiableError):
        solve(table, [sf.ProbabilisticLDiversity(2)])
    partition = solve(table, [sf.ProbabilisticLDiversity(2)], suppression_limit=60)
    encoded = encode(table)
    statistics = class_statistics(partition.class_of, partition.count, encoded.sensitive_codes, encoded.sensitive)
    assert sf.ProbabilisticLDiversity(2).holds(statistics).all()
    assert 0 < (partition.class_of < 0).sum() <= 60
    assert (partition.covered_by >= 0).all()


def test_blocks_grow_with_k() -> None:
    assert [least_blind_block(k) for k in (1, 5, 10, 50)] == [100, 100, 200, 1000]


def test_options_that_contradict_it() -> None:
    with pytest.raises(PolicyError, match="widths='region' cannot be combined with blind"):
        sf.Mondrian(blind=True, widths="region")
    with pytest.raises(PolicyError, match="blind must be true or false"):
        sf.Mondrian(blind="yes")  # type: ignore[arg-type]


class TestMinimality:
    """The attack works on the defaults and no longer on blind cuts."""

    def test_two_places(self) -> None:
        frame = pl.DataFrame({"place": [1, 1, 2, 2, 2, 2, 2], "disease": ["HIV", "HIV", "a", "b", "c", "d", "e"]})
        table = read_table(frame, sf.Schema(quasi_identifying=["place"], sensitive=["disease"]))
        models = [sf.ProbabilisticLDiversity(2)]
        seeing = attacked(table, models, sf.Mondrian(), Minimality())
        blind = attacked(table, models, BLIND, Minimality())
        assert (seeing.success.successes, seeing.success.people) == (2, 2)
        assert blind.success.people == 0
        # All worlds bring the classes back: the attacker believes what the classes say.
        assert blind.figures["worlds_left"] == blind.figures["worlds"] == 2520
        assert blind.figures["average_certainty"] == pytest.approx(blind.figures["average_certainty_by_class"])

    @pytest.mark.parametrize("model", [sf.ProbabilisticLDiversity(1.5), sf.DistinctLDiversity(2)], ids=repr)
    def test_a_large_table(self, model: PrivacyModel) -> None:
        table, attack = skewed_people(1500, 1), Minimality(worlds=150)
        seeing, blind = (attacked(table, [model], anonymizer, attack) for anonymizer in (sf.Mondrian(), BLIND))
        assert seeing.succeeds
        assert seeing.success.people > 50
        assert not blind.succeeds
        assert blind.success.people < 5
        # It was played: the algorithm brought its classes back, and was run in other worlds.
        assert blind.figures["worlds"] == 150

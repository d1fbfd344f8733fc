"""A stricter promise loses no less: cuts are judged by classes that the models admit."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from models.small_tables import Column, encode
from sfumato.anonymizers import mondrian as mondrian
from sfumato.classes.partition import Partition
from sfumato.models.compiled import compile_rules
from sfumato.models.protocol import PrivacyModel, implied_size, smallest
from sfumato.table.schema import Kind


def table_of(seed: int, height: int = 1_500) -> sf.Table:
    """One value in two is the most frequent, and who has it follows from the place."""
    draw = np.random.default_rng(seed)
    age, place = draw.integers(18, 90, height), draw.integers(0, 6, height)
    risky = draw.random(height) < np.where(place < 3, 0.75, 0.25)
    ill = np.where(risky, "a", draw.choice(["b", "c", "d"], height))
    frame = pl.DataFrame({"age": age, "place": place.astype(str), "work": draw.integers(0, 9, height), "ill": ill})
    attributes = {"age": sf.intervals(5, 20), "place": sf.flat(), "work": sf.flat()}
    return sf.read_table(frame, sf.Schema(quasi_identifying=attributes, sensitive=["ill"]))


def losses(table: sf.Table, model: PrivacyModel, sizes: tuple[int, ...]) -> list[float]:
    return [
        sf.anonymize(table, [sf.KAnonymity(k), model], anonymizer=sf.Mondrian(), seed=1).report.losses.normalized_ncp
        for k in sizes
    ]


@pytest.mark.parametrize("model", [sf.DistinctLDiversity(3), sf.EntropyLDiversity(2), sf.ProbabilisticLDiversity(1.4)])
@pytest.mark.parametrize("seed", range(3))
def test_a_larger_k_loses_no_less(seed: int, model: PrivacyModel) -> None:
    found = losses(table_of(seed), model, (2, 3, 5, 10, 20))
    for place, loss in enumerate(found):
        assert loss <= 1.01 * min(found[place:])


def test_larger_classes_are_tried_where_cuts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same without a second try: somewhere it lost more, and nowhere less."""
    table, model = table_of(4), sf.EntropyLDiversity(2)
    tried = losses(table, model, (2, 3))
    monkeypatch.setattr(mondrian, "RETRIED", ())
    once = losses(table, model, (2, 3))
    assert all(new <= old for new, old in zip(tried, once, strict=True))


def test_a_release_says_that_it_beat_the_one_of_smaller_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    table, models = table_of(4), [sf.KAnonymity(2), sf.EntropyLDiversity(2)]
    said = "Larger classes lose less here"
    offered: list[tuple[str, ...]] = []

    def last(_: object, solutions: list[Partition]) -> Partition:
        offered.extend(solution.notes for solution in solutions)
        return solutions[-1]

    monkeypatch.setattr(mondrian, "least_loss_solution", last)
    assert any(said in note for note in sf.anonymize(table, models, anonymizer=sf.Mondrian(), seed=1).report.notes)
    assert [bool(notes) for notes in offered] == [False, True, True]
    monkeypatch.setattr(mondrian, "RETRIED", ())
    assert not any(said in note for note in sf.anonymize(table, models, anonymizer=sf.Mondrian(), seed=1).report.notes)


@pytest.mark.parametrize("seed", range(3))
def test_so_many_values_need_as_many_records(seed: int) -> None:
    """No class could be smaller, so that asking for the size changes nothing."""
    table = table_of(seed, 300)
    model = sf.DistinctLDiversity(4)
    own, asked = (sf.anonymize(table, [sf.KAnonymity(k), model], anonymizer=sf.Mondrian(), seed=1).data for k in (1, 4))
    assert own.equals(asked)


@given(st.lists(st.integers(0, 5), min_size=6, max_size=30), st.data())
@examples(200)
def test_no_smaller_class_satisfies_the_rules(picks: list[int], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 5))
    model = data.draw(
        st.sampled_from(
            [
                sf.DistinctLDiversity(size),
                sf.EntropyLDiversity(size * 0.9 + 0.1),
                sf.ProbabilisticLDiversity(size * 0.9 + 0.1),
                sf.RecursiveLDiversity(2.0, max(2, size)),
                sf.AlphaKAnonymity(1 / size, 1),
            ]
        )
    )
    rules = compile_rules([sf.KAnonymity(1), model], encode(Column("s", Kind.CATEGORICAL, tuple(picks))))
    least = implied_size(rules.arrays)
    assert least >= smallest(rules.arrays)
    own = picks[: least - 1]
    if own:
        statistics = statistics_among(picks, own)
        assert not model.holds(statistics)[0]


def statistics_among(picks: list[int], own: list[int]) -> object:
    from sfumato.classes.statistics import statistics_of

    table = encode(Column("s", Kind.CATEGORICAL, tuple(picks)))
    class_of = np.full(len(picks), -1, dtype=np.int32)
    class_of[: len(own)] = 0
    return statistics_of(table, class_of, 1)

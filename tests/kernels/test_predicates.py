"""The compiled predicates: equal to the vectorized models on random tables, for one model and for several at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from models.small_tables import CASES, HIERARCHY, Column, encode, memberships, statistics_of
from sfumato import models
from sfumato.classes.statistics import ClassStatistics
from sfumato.kernels.predicates import holds
from sfumato.models.compiled import CompiledRules, compile_rules
from sfumato.models.protocol import PrivacyModel
from sfumato.table.encoding import PeopleOfPopulation
from sfumato.table.schema import Kind


def judged(compiled: CompiledRules, class_of: list[int]) -> list[bool]:
    owners = np.array(class_of)
    scratch = np.full(compiled.arrays.scratch_size, np.nan)
    verdict = []
    for owner in range(owners.max(initial=-1) + 1):
        own = compiled.codes[owners == owner].astype(np.int64) + compiled.arrays.offsets[:-1]
        counts = np.bincount(own.ravel(), minlength=len(compiled.arrays.totals))
        verdict.append(bool(holds(int((owners == owner).sum()), counts, compiled.arrays, scratch)))
    return verdict


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
@examples(40)
def test_compiled_equals_vectorized(name: str, data: st.DataObject) -> None:
    case = data.draw(CASES[name])
    class_of, picks = data.draw(memberships())
    # The compiled form knows the whole table only, so here nobody is suppressed.
    class_of = [owner + 1 for owner in class_of] if -1 in class_of else class_of
    column = case.column(picks)

    compiled = judged(compile_rules([case.model], encode(column)), class_of)

    assert compiled == case.model.holds(statistics_of(class_of, column)).tolist()
    assert compiled == case.expected(class_of, column.values)


@given(data=st.data(), names=st.lists(st.sampled_from(sorted(CASES)), min_size=1, max_size=4))
@examples(60)
def test_several_models_on_several_attributes(data: st.DataObject, names: list[str]) -> None:
    class_of, picks = data.draw(memberships())
    class_of = [owner + 1 for owner in class_of] if -1 in class_of else class_of
    numbers = tuple(None if pick is None else (5, 10, 20, 100, 101, 7)[pick] for pick in picks)
    leaves = tuple(None if pick is None else HIERARCHY.leaves[(pick + place) % 6] for place, pick in enumerate(picks))
    columns = [Column("n", Kind.NUMERIC, numbers), Column("h", Kind.CATEGORICAL, leaves, HIERARCHY)]
    chosen = [_bound(data.draw(CASES[name]).model, data) for name in names]

    compiled = judged(compile_rules(chosen, encode(*columns)), class_of)

    statistics = statistics_of(class_of, *columns)
    assert compiled == np.logical_and.reduce([model.holds(statistics) for model in chosen]).tolist()


def _bound(model: PrivacyModel, data: st.DataObject) -> PrivacyModel:
    if isinstance(model, models.KAnonymity | models.KMap):
        return model
    fitting = {"ordered": ["n"], "hierarchical": ["h"]}.get(getattr(model, "distance", "equal"), ["n", "h", None])
    fitting = ["h"] if isinstance(model, models.GuardedValues) else fitting
    return type(model)(**{**model.parameters(), "attribute": data.draw(st.sampled_from(fitting))})  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "bound", [models.KMap(4), models.KMap(1), models.DeltaPresence(0.5), models.DeltaPresence(0.21)]
)
@given(data=st.data())
@examples(30)
def test_people_of_a_population_are_summed(bound: PrivacyModel, data: st.DataObject) -> None:
    class_of, picks = data.draw(memberships())
    class_of = [owner + 1 for owner in class_of] if -1 in class_of else class_of
    shares = np.array(data.draw(st.lists(st.integers(1, 7), min_size=len(picks), max_size=len(picks))), dtype=np.int64)
    column = Column("n", Kind.NUMERIC, tuple(None if pick is None else 5 * pick for pick in picks))
    population = PeopleOfPopulation(shares, np.zeros((1, 1), np.uint8), shares[:1], ())
    chosen = [bound, models.EntropyLDiversity(1.5), models.KAnonymity(2)][: data.draw(st.integers(1, 3))]

    compiled = judged(compile_rules(chosen, replace(encode(column), population=population)), class_of)

    found = statistics_of(class_of, column)
    people = [
        sum(share for share, own in zip(shares.tolist(), class_of, strict=True) if own == c) for c in range(found.count)
    ]
    statistics = replace(found, population=np.array(people))
    assert compiled == np.logical_and.reduce([model.holds(statistics) for model in chosen]).tolist()


def test_an_empty_class_satisfies_nothing() -> None:
    compiled = compile_rules([models.KAnonymity(1)], encode(Column("s", Kind.CATEGORICAL, ("a", "b"))))
    nothing = np.zeros(0, dtype=np.int64)
    scratch = np.zeros(compiled.arrays.scratch_size)
    assert not holds(0, nothing, compiled.arrays, scratch)
    assert holds(1, nothing, compiled.arrays, scratch)


def test_rules_on_sizes_alone_leave_no_value_codes() -> None:
    compiled = compile_rules([models.KAnonymity(2)], encode(Column("s", Kind.CATEGORICAL, ("a", "b"))))
    assert compiled.codes.shape == (2, 0)
    assert compiled.arrays.offsets.tolist() == [0]
    assert compiled.whole.sizes.tolist() == [2]


def test_only_attributes_that_a_rule_looks_at_are_compiled() -> None:
    first = Column("a", Kind.CATEGORICAL, ("x", "y", "z"))
    second = Column("b", Kind.NUMERIC, (5, None, 100))
    compiled = compile_rules([models.TCloseness(0.5, attribute="b")], encode(first, second))
    assert compiled.codes.tolist() == [[0], [2], [1]]
    assert compiled.codes.dtype == np.uint8
    assert compiled.arrays.totals.tolist() == [1, 1, 1]


def test_the_whole_table_serves_for_what_cannot_be_met() -> None:
    compiled = compile_rules([models.KAnonymity(2)], encode(Column("s", Kind.CATEGORICAL, ("a", "b"))))
    assert isinstance(compiled.whole, ClassStatistics)
    assert models.DistinctLDiversity(3).explain(compiled.whole) is not None

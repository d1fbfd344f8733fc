"""Every model equals its plain twin on random tables, and merging classes never breaks it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from models.small_tables import CASES, memberships, statistics_of
from sfumato.models import KAnonymity, KMap


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
@examples(40)
def test_each_class_is_judged_like_its_twin(name: str, data: st.DataObject) -> None:
    case = data.draw(CASES[name])
    class_of, picks = data.draw(memberships())
    column = case.column(picks)

    verdict = case.model.holds(statistics_of(class_of, column))

    assert verdict.tolist() == case.expected(class_of, column.values)


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
@examples(25)
def test_the_achieved_value_is_that_of_the_worst_class(name: str, data: st.DataObject) -> None:
    case = data.draw(CASES[name])
    class_of, picks = data.draw(memberships().filter(lambda drawn: max(drawn[0]) >= 0))
    column = case.column(picks)

    achieved = case.model.achieved(statistics_of(class_of, column))[-1]

    assert achieved.value == pytest.approx(case.expected_worst(class_of, column.values), abs=1e-12)
    assert achieved.attribute == (None if isinstance(case.model, KAnonymity | KMap) else "s")


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
@examples(40)
def test_merging_classes_that_hold_gives_one_that_holds(name: str, data: st.DataObject) -> None:
    case = data.draw(CASES[name])
    class_of, picks = data.draw(memberships())
    column = case.column(picks)
    holding = case.model.holds(statistics_of(class_of, column)).nonzero()[0].tolist()
    chosen = [owner for owner in holding if data.draw(st.booleans() if len(holding) > 2 else st.just(True))]

    # The merged class is numbered 0; the rest of the table stays, in one class, so that the whole table is the same.
    merged = [-1 if owner < 0 else int(owner not in chosen) for owner in class_of]

    if chosen:
        assert case.model.holds(statistics_of(merged, column))[0]


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
@examples(20)
def test_what_all_records_together_fail_no_partition_satisfies(name: str, data: st.DataObject) -> None:
    case = data.draw(CASES[name])
    class_of, picks = data.draw(memberships().filter(lambda drawn: max(drawn[0]) >= 0))
    statistics = statistics_of(class_of, case.column(picks))

    reason = case.model.explain(statistics)

    if reason is None:
        together = [min(owner, 0) for owner in class_of]
        assert case.model.holds(statistics_of(together, case.column(picks))).all()
    else:
        assert not case.model.holds(statistics).all()


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
@examples(5)
def test_a_table_without_classes_satisfies_everything(name: str, data: st.DataObject) -> None:
    case = data.draw(CASES[name])
    statistics = statistics_of([-1, -1], case.column([0, None]))

    assert case.model.holds(statistics).tolist() == []
    assert case.model.achieved(statistics)[-1].value in (0.0, math.inf)

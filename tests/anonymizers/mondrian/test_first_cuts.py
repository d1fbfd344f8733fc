"""What lies below the first cuts is solved part by part: class by class the solution of the whole table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from engines.test_engines import last_first
from golden.runs import TABLES
from sfumato.anonymizers import mondrian as first_cuts
from sfumato.anonymizers import mondrian as mondrian
from sfumato.anonymizers.feasibility import feasible
from sfumato.anonymizers.protocol import Problem
from sfumato.table.encoding import encode

WAYS = [sf.Mondrian(), sf.Mondrian(split_rule="anywhere"), sf.Mondrian(attribute_choice="widest")]
MODELS = [
    [sf.KAnonymity(3), sf.DistinctLDiversity(2)],
    [sf.KAnonymity(2)],
    [sf.KAnonymity(2), sf.EntropyLDiversity(1.3)],
    [sf.KAnonymity(2), sf.TCloseness(0.6)],
]


@pytest.fixture(autouse=True)
def _no_table_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (mondrian, first_cuts):
        monkeypatch.setattr(module, "MOST_RETRIED", 0)


def alike(anonymizer: sf.Mondrian, problem: Problem) -> None:
    assert first_cuts.solves_below(anonymizer, problem)
    for start in feasible(problem):
        parts = first_cuts.first_parts(anonymizer, start, 60)
        assert len(parts) > 1
        assert sorted(np.concatenate(parts).tolist()) == list(range(problem.table.height))
    found = first_cuts.solve_below_first_cuts(anonymizer, problem, last_first, 60)
    whole = anonymizer.solve(problem)
    assert found.class_of.tolist() == whole.class_of.tolist()
    assert found.covered_by.tolist() == whole.covered_by.tolist()


@pytest.mark.parametrize("anonymizer", WAYS, ids=repr)
@pytest.mark.parametrize(
    "models", [MODELS[0], *(pytest.param(each, marks=pytest.mark.slow) for each in MODELS[1:])], ids=str
)
def test_parts_are_solved_alike(anonymizer: sf.Mondrian, models: Any):
    alike(anonymizer, Problem(encode(sf.read_table(*TABLES["town"])), models))


def test_who_is_left_out_is_covered_alike():
    table = encode(sf.read_table(*TABLES["ward"]))
    problem = Problem(table, [sf.KAnonymity(2), sf.ProbabilisticLDiversity(2)], table.height // 3, seed=1)
    assert all(start.kept is not None for start in feasible(problem))
    alike(sf.Mondrian(), problem)


@pytest.mark.parametrize(
    "other",
    [sf.Mondrian(mode="relaxed"), sf.Mondrian(extent="region"), sf.Mondrian(widths="region"), sf.Mondrian(blind=True)],
    ids=repr,
)
def test_what_needs_the_whole_table(other: sf.Mondrian):
    assert not first_cuts.solves_below(other, Problem(encode(sf.read_table(*TABLES["town"])), MODELS[0]))

"""What tasks on one table have in common is made once, and gives what each would make by itself."""

from __future__ import annotations

import gc
import weakref

import polars as pl
import pytest

import sfumato as sf
from sfumato.anonymizers import feasibility as problem
from sfumato.policy.policy import Policy
from sfumato.release import folding
from sfumato.release.anonymize import made
from sfumato.release.task import Task
from sfumato.table.encoding import encode

VISITS = pl.DataFrame(
    {
        "patient": [f"p{row % 12}" for row in range(30)],
        "age": [20 + row % 12 + row // 20 for row in range(30)],
        "ward": ["abc"[row % 3] for row in range(30)],
        "ill": ["xyz"[row % 7 % 3] for row in range(30)],
    }
)
PEOPLE, DIVERSE = sf.KAnonymity(3), sf.DistinctLDiversity(2)


def policy_of(way: sf.Mondrian | sf.KMember, *models: sf.KAnonymity | sf.DistinctLDiversity) -> Policy:
    schema = sf.Schema(person="patient", quasi_identifying=["age", "ward"], sensitive=["ill"])
    return Policy.of(schema, models, way, sf.Recoding(), 0.0)


def test_people_are_folded_and_models_compiled_once_for_all_methods(monkeypatch: pytest.MonkeyPatch):
    counts = {"fold": 0, "compile_rules": 0}

    def counting(name, work):
        def counted(*arguments):
            counts[name] += 1
            return work(*arguments)

        return counted

    monkeypatch.setattr(folding, "fold", counting("fold", folding.fold))
    monkeypatch.setattr(problem, "compile_rules", counting("compile_rules", problem.compile_rules))
    policies = [
        policy_of(way, *models) for way in (sf.Mondrian(), sf.KMember()) for models in ([PEOPLE], [PEOPLE, DIVERSE])
    ]
    table = sf.read_table(VISITS, policies[0])
    codes = encode(table)
    shared = [made(Task(table, policy, seed=1, threads=1, read=codes)).data for policy in policies]
    # One looks at no sensitive value, the other one at some.
    assert counts == {"fold": 2, "compile_rules": 2}
    for policy, data in zip(policies, shared, strict=True):
        assert made(Task(table, policy, seed=1, threads=1)).data.equals(data)


def test_nothing_is_kept_of_a_table_that_is_gone():
    policy = policy_of(sf.Mondrian(), PEOPLE, DIVERSE)
    table = sf.read_table(VISITS, policy)
    codes = encode(table)
    made(Task(table, policy, seed=1, threads=1, read=codes))
    kept = weakref.ref(codes)
    del codes
    gc.collect()
    assert kept() is None


def test_other_people_are_folded_anew():
    policy = policy_of(sf.Mondrian(), PEOPLE)
    table = sf.read_table(VISITS, policy)
    alone = sf.read_table(VISITS.with_columns(patient=pl.int_range(30)), policy)
    codes = encode(table)
    several, single = (made(Task(each, policy, seed=1, threads=1, read=codes)) for each in (table, alone))
    assert several.report.classes < single.report.classes

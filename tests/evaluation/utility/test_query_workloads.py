"""Queries as values, random workloads, relative errors and bounds."""

from __future__ import annotations

import json
import math
import random
from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive import queries as naive
from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.utility.answers import (
    exact_answers,
    permutation_bounds,
    query_workload,
    relative_errors,
    summarize,
)
from sfumato.evaluation.utility.queries import Among, Query, Range, Workload


def people(count: int, seed: int = 1) -> sf.Table:
    draw = random.Random(seed)
    frame = pl.DataFrame(
        {
            "age": [draw.randint(18, 90) if draw.random() > 0.05 else None for _ in range(count)],
            "born": [date(1990, 1, 1 + draw.randint(0, 27)) for _ in range(count)],
            "town": [draw.choice(["ulm", "bonn", "kiel", "jena", "hof"]) for _ in range(count)],
            "well": [draw.random() < 0.5 for _ in range(count)],
            "illness": [draw.choice(["flu", "cold", "asthma", "gout"]) for _ in range(count)],
            "income": [round(draw.uniform(0, 5000), 2) for _ in range(count)],
        }
    )
    schema = sf.Schema(
        quasi_identifying={"age": sf.intervals(5, 10), "born": None, "town": None, "well": None},
        sensitive=["illness", "income"],
    )
    return sf.read_table(frame, schema)


TABLE = people(2000)


def test_a_workload_has_the_shape_that_was_asked_for():
    workload = query_workload(TABLE, 60, dimensions=2, aggregates=["count", "sum", "average"], seed=5)
    assert len(workload) == 60
    for place, query in enumerate(workload):
        names = [predicate.attribute for predicate in query.where]
        assert len({*names} & {"age", "born", "town", "well"}) == 2
        assert len({*names} & {"illness", "income"}) == 1
        assert query.aggregate == ("count", "sum", "average")[place % 3]
        assert (query.of is None) is (query.aggregate == "count")
        assert query.of in (None, "age", "born", "income")


def test_a_seed_repeats_and_none_does_not():
    assert query_workload(TABLE, 20, seed=3) == query_workload(TABLE, 20, seed=3)
    assert query_workload(TABLE, 20, seed=3) != query_workload(TABLE, 20, seed=4)
    assert query_workload(TABLE, 20) != query_workload(TABLE, 20)


@pytest.mark.parametrize("selectivity", [0.02, 0.1, 0.4])
def test_predicates_on_numbers_select_their_share(selectivity):
    schema = sf.Schema(quasi_identifying=["a", "b"], sensitive=["c"])
    rng = np.random.default_rng(1)
    table = sf.read_table(pl.DataFrame(rng.random((4000, 3)), schema=["a", "b", "c"]), schema)
    workload = query_workload(table, 200, dimensions=2, selectivity=selectivity, seed=2)
    answers = exact_answers(workload, table) / 4000
    assert np.mean(answers) == pytest.approx(selectivity, rel=0.1)


def test_equalities_are_one_value_and_hit_somebody():
    workload = query_workload(TABLE, 100, dimensions=1, predicates="equality", seed=1)
    for query in workload:
        for each in query.where:
            assert len(each.values) == 1 if isinstance(each, Among) else each.low == each.high
    single = Workload(tuple(Query(query.where[:1]) for query in workload))
    assert exact_answers(single, TABLE).min() >= 1


def test_a_table_without_sensitive_attributes_is_asked_about_the_others():
    table = sf.read_table(
        pl.DataFrame({"age": [1, 2, 3], "town": ["a", "b", "b"]}), sf.Schema(quasi_identifying=["age", "town"])
    )
    assert {len(query.where) for query in query_workload(table, 5, dimensions=2, seed=1)} == {2}


def test_workloads_go_through_json():
    workload = query_workload(TABLE, 50, aggregates=["count", "average"], seed=9)
    opened = Workload((*workload, Query((Range("age", -math.inf, 40),))))
    assert Workload.from_dict(json.loads(json.dumps(opened.to_dict()))) == opened


@pytest.mark.parametrize("damaged", [{}, {"queries": []}, {"queries": [{"where": 3}]}, {"queries": None}])
def test_damaged_workloads(damaged):
    with pytest.raises(PolicyError, match="workload"):
        Workload.from_dict(damaged)


def test_texts_of_queries_show_no_value():
    workload = Workload((Query((Range("age", 33, 44), Among("town", ("ulm",)))),))
    text = repr(workload) + repr(workload.queries[0])
    assert "age" in text
    assert not any(value in text for value in ("33", "44", "ulm"))


def test_bad_queries():
    with pytest.raises(PolicyError, match="must rise"):
        Range("age", 2, 1)
    for end in (math.nan, "3", None, True):
        with pytest.raises(PolicyError, match="both ends"):
            Range("age", end, 4)  # type: ignore[arg-type]
    for values in ("ulm", (), (1,), None):
        with pytest.raises(PolicyError, match="values must be"):
            Among("town", values)  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="Range or Among"):
        Query(("age",))  # type: ignore[arg-type]
    with pytest.raises(PolicyError) as caught:
        Query((Range("age", 1, 2), Range("age", 3, 4)), "sum")
    assert len(caught.value.problems) == 2
    with pytest.raises(PolicyError, match="must be one of"):
        Query((), "median")  # type: ignore[arg-type]


def test_bad_options_are_all_named():
    with pytest.raises(PolicyError) as caught:
        query_workload(
            TABLE,
            0,
            dimensions=5,
            selectivity=0,
            aggregates=["mode"],
            of=["town"],
            predicates="regex",  # type: ignore[arg-type, list-item]
        )
    starts = [problem.split(":")[0] for problem in caught.value.problems]
    assert starts == ["queries", "dimensions", "selectivity", "aggregates", "predicates", "of"]
    plain = sf.read_table(pl.DataFrame({"town": ["a", "b"]}), sf.Schema(quasi_identifying=["town"]))
    with pytest.raises(PolicyError, match="no column of numbers"):
        query_workload(plain, 5, aggregates=["sum"])


def test_predicates_keep_to_the_attributes_that_are_named():
    workload = query_workload(TABLE, 30, attributes=["age", "town", "income"], seed=1)
    assert {name for query in workload for name in query.attributes} == {"age", "town", "income"}
    assert {len(query.where) for query in workload} == {3}
    with pytest.raises(PolicyError) as caught:
        query_workload(TABLE, 30, attributes=["illness", "x"], seed=-1)
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["attributes", "attributes", "seed"]


def test_columns_without_values_are_asked_nothing():
    frame = pl.DataFrame(
        {"age": [1, 2], "town": [None, None], "illness": ["a", "b"]}, schema_overrides={"town": pl.String}
    )
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "town"], sensitive=["illness"]))
    assert set(query_workload(table, 20, seed=1).attributes) == {"age", "illness"}


def test_errors_are_relative_to_the_answer_or_to_the_sanity_bound():
    table = sf.read_table(pl.DataFrame({"age": list(range(5000))}), sf.Schema(quasi_identifying=["age"]))
    workload = Workload(
        (
            Query((Range("age", 0, 99),)),
            Query((Range("age", 0, 0),)),
            Query((Range("age", -2, -1),)),
            Query((Range("age", -2, -1),), "average", "age"),
            Query((Range("age", 7, 7),), "average", "age"),
        )
    )
    exact = exact_answers(workload, table)
    assert exact[:3].tolist() == [100, 1, 0]
    errors = relative_errors(workload, exact, np.array([90, 2, 10, 5, np.nan]), table)
    assert errors.tolist() == pytest.approx([0.1, 1 / 5, 10 / 5, np.nan, 1.0], nan_ok=True)
    found = summarize(errors)
    assert (found.queries, found.median, found.worst) == (4, pytest.approx(0.6), 2.0)
    with pytest.raises(InputError, match="every query"):
        relative_errors(workload, exact[:2], exact, table)
    with pytest.raises(InputError, match="no query has an answer"):
        summarize(np.array([np.nan]))


def test_the_worked_bounds():
    group = np.array([20.0, 40.0, 10.0])
    found = permutation_bounds(group, np.zeros(3, dtype=int), np.array([False, True, True]))
    assert (found.count, found.sum_low, found.sum_high) == (2, 30, 60)
    assert (found.average_low, found.average_high) == (15, 30)
    whole = permutation_bounds(group, np.zeros(3, dtype=int), np.ones(3, dtype=bool))
    assert whole.sum_low == whole.sum_high == 70
    nobody = permutation_bounds(group, np.zeros(3, dtype=int), np.zeros(3, dtype=bool))
    assert (nobody.count, nobody.sum_low, nobody.sum_high) == (0, 0, 0)
    assert math.isnan(nobody.average_low)


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-50, 50), st.booleans()), min_size=1, max_size=14))
def test_bounds_add_up_those_of_every_group(rows):
    bucket, values, hits = (np.array(part) for part in zip(*rows, strict=True))
    found = permutation_bounds(values.astype(float), bucket, hits)
    groups = [
        naive.sum_bounds(values[bucket == each].tolist(), int(hits[bucket == each].sum()))
        for each in set(bucket.tolist())
    ]
    assert found.sum_low == sum(low for low, _ in groups)
    assert found.sum_high == sum(high for _, high in groups)
    assert found.sum_low <= values[hits].sum() <= found.sum_high


def test_bad_bounds():
    with pytest.raises(InputError, match="the same length"):
        permutation_bounds(np.zeros(2), np.zeros(3, dtype=int), np.zeros(3, dtype=bool))
    with pytest.raises(InputError, match="missing"):
        permutation_bounds(np.array([np.nan]), np.zeros(1, dtype=int), np.zeros(1, dtype=bool))

"""First cuts that are chosen from counts, and parts that are solved apart, are those of the whole table in memory."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute
import pytest

import sfumato as sf
from sfumato.anonymizers.protocol import Problem
from sfumato.engines import spark_counts
from sfumato.engines.spark_counts import Coded, Cuts, Plan
from sfumato.hierarchy.level_table import HierarchyTable
from sfumato.models.compiled import compile_counted
from sfumato.recoding import TIGHT, recode
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.large.coding import CodedColumn, LargeTable

MODELS = [
    [sf.KAnonymity(3)],
    [sf.KAnonymity(2), sf.DistinctLDiversity(3)],
    [sf.KAnonymity(2), sf.EntropyLDiversity(1.5)],
    [sf.KAnonymity(2), sf.TCloseness(0.5)],
]
WAYS = [sf.Mondrian(), sf.Mondrian(split_rule="anywhere")]


def made_table() -> EncodedTable:
    """Return a table with numbers, missing ones, a hierarchy, categories of few and of many values, and duplicates."""
    rng, n = np.random.default_rng(3), 9_000
    age = rng.integers(0, 90, n)
    frame = pl.DataFrame(
        {
            "age": pl.Series(np.where(rng.random(n) < 0.02, -1, age)).replace(-1, None),
            "job": [f"j{min(int(each), 99)}" for each in rng.exponential(12, n)],
            "zip": [f"{each:03}" for each in rng.integers(0, 200, n)],
            "sex": rng.choice(["f", "m"], n, p=[0.2, 0.8]),
            "ill": [f"d{each}" for each in np.minimum(rng.geometric(0.2, n), 12)],
        }
    )
    frame = pl.concat([frame, frame.head(500)])
    rows = tuple((f"{each:03}", f"{each // 10:02}*", f"{each // 100}**", "*") for each in range(200))
    zips = sf.Attribute(hierarchy=HierarchyTable(rows))
    columns = {"age": sf.Attribute(), "job": sf.Attribute(), "zip": zips, "sex": sf.Attribute()}
    return encode(sf.read_table(frame, sf.Schema(quasi_identifying=columns, sensitive={"ill": sf.Attribute()})))


def plan_of(table: EncodedTable, mondrian: sf.Mondrian, models: Sequence[Any]) -> Plan:
    """Return the plan of a table whose values were counted."""

    def columns(attributes: Any, codes: Any) -> tuple[CodedColumn, ...]:
        counts = [np.bincount(own, minlength=each.cardinality) for each, own in zip(attributes, codes.T, strict=True)]
        none = pl.Series([], dtype=pl.String), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        return tuple(
            CodedColumn(each, none[0], own, none[2], None) for each, own in zip(attributes, counts, strict=True)
        )

    both = columns(table.attributes, table.codes), columns(table.sensitive, table.sensitive_codes)
    roles = sf.Schema(quasi_identifying=[each.name for each in table.attributes], sensitive=["ill"])
    large = LargeTable(roles, (), *both, table.codes, table.sensitive_codes, (), (0, table.height), frozenset())
    rules, _, values = compile_counted(models, table, [column.occurrences for column in both[1]])
    return Plan.of(large, values, rules, mondrian, TIGHT, 2)


def batches_of(table: EncodedTable) -> list[pa.RecordBatch]:
    """Return distinct records as Spark holds them, in two batches and any order."""
    codes = np.concatenate([table.codes, table.sensitive_codes], axis=1).astype(np.int32)
    distinct, weights = np.unique(codes, axis=0, return_counts=True)
    order = np.random.default_rng(1).permutation(len(distinct))
    names = [*(f"q{place}" for place in range(table.codes.shape[1])), "s0"]
    columns = {name: distinct[order, place] for place, name in enumerate(names)}
    whole = pa.RecordBatch.from_pydict({**columns, "w": weights[order].astype(np.int64)})
    return [whole.slice(0, 4_000), whole.slice(4_000)]


def solved_apart(plan: Plan, table: EncodedTable, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Do with functions that workers run what Spark does with them."""
    told, batches = pickle.dumps(plan), batches_of(table)
    coded = pa.Table.from_batches(list(spark_counts._hashed(told, iter(batches)))).to_batches(max_chunksize=3_000)

    def sample(coded_there: Coded, plan: Plan, leaf: int) -> Any:
        records = plan.records(pa.Table.from_batches(coded))
        joined = spark_counts.joined_codes(records, plan.values)
        distinct, _, of = spark_counts.collapsed(joined)
        weights = np.concatenate([batch.column("w") for batch in coded])
        return distinct, np.bincount(of, weights=weights).astype(np.int32)

    def counts(coded_there: Coded, plan: Plan, cuts: Cuts, open_ones: Sequence[int]) -> Any:
        keys = ["part", "attribute", "code", *(f"r{place}" for place in range(len(plan.values)))]
        asked = pickle.dumps((plan, cuts, list(open_ones), keys))
        found: Iterator[Any] = spark_counts._count(asked, iter(coded))
        added = spark_counts._added([pl.DataFrame(pl.from_arrow(pa.Table.from_batches(found)))], keys)
        return [(int(part), rows) for (part,), rows in added.partition_by("part", as_dict=True).items()]

    monkeypatch.setattr(spark_counts, "_sample", sample)
    monkeypatch.setattr(spark_counts, "_counts", counts)
    monkeypatch.setattr(spark_counts, "LEAST_LEAF", 1_500)
    height = sum(batch.num_rows for batch in coded)
    cuts, parts = spark_counts.first_cuts(Coded(None, height, 1_000), plan, lambda done: None)
    routed = pa.Table.from_batches(list(spark_counts._route(pickle.dumps((plan, cuts)), iter(coded))))
    numbers = sorted({*routed.column("part").to_pylist()})
    assert len(numbers) == parts
    return [spark_counts._solve(told, routed.filter(pa.compute.equal(routed["part"], each))) for each in numbers]


def rows_of(parts: Sequence[Any]) -> Counter[Any]:
    """Return all published rows, and how many records have each."""
    found: Counter[Any] = Counter()
    for part in parts:
        classes, rows = (pl.read_ipc(part.column(name)[0].as_py()) for name in ("classes", "rows"))
        labels = classes.select(pl.col("^label.*$"))
        for row in rows.iter_rows():
            found[(*labels.row(row[0]), row[1])] += row[2]
    return found


@pytest.mark.parametrize("mondrian", WAYS, ids=["median", "anywhere"])
@pytest.mark.parametrize(
    "models",
    [MODELS[0], *(pytest.param(each, marks=pytest.mark.slow) for each in MODELS[1:])],
    ids=["k", "distinct", "entropy", "t"],
)
def test_parts_are_those_of_memory(mondrian: sf.Mondrian, models: Any, monkeypatch: pytest.MonkeyPatch):
    table = made_table()
    plan = plan_of(table, mondrian, models)
    parts = solved_apart(plan, table, monkeypatch)
    assert len(parts) > 2
    partition = mondrian.solve_part(start_of(Problem(table, models)))
    whole = recode(table, partition, TIGHT)
    labels = zip(*(column.labels.gather(column.per_class[whole.class_of]) for column in whole.columns), strict=True)
    hidden = table.sensitive_codes[:, 0].tolist()
    expected = Counter((*row, value) for row, value in zip(labels, hidden, strict=True))
    assert rows_of(parts) == expected
    facts = [pickle.loads(part.column("facts")[0].as_py()) for part in parts]
    sums = facts[0]
    for each in facts[1:]:
        sums = sums + each
    assert sums.sums == replace(spark_counts.loss_sums(whole, 2), suppressed=0)


def start_of(problem: Problem) -> Any:
    from sfumato.anonymizers.feasibility import feasible

    (start,) = feasible(problem)
    return start

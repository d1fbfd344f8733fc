"""The linking attack against its plain twin, on small tables of every notation."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from naive.linkage import scores
from sfumato.evaluation.attacks import coverage
from sfumato.evaluation.attacks.linkage import linking_attack
from sfumato.hierarchy import groups, prefixes
from sfumato.table.schema import Attribute, Schema

ZIPS = ["0123", "0124", "0133", "0210", "1000"]
JOBS = {"paid": ["smith", "clerk"], "unpaid": ["pupil"]}
ZIP_TREE = {code: (code, code[:3] + "*", code[:1] + "***", "*") for code in ZIPS}
JOB_TREE = {job: (job, group, "*") for group, jobs in JOBS.items() for job in jobs}
TREES = (None, None, ZIP_TREE, JOB_TREE)

SCHEMA = Schema(
    identifying=["name"],
    quasi_identifying={
        "age": Attribute(kind="numeric"),  # type: ignore[arg-type]
        "town": Attribute(kind="categorical"),  # type: ignore[arg-type]
        "zip": Attribute(hierarchy=prefixes(3, 1, 0)),
        "job": Attribute(hierarchy=groups(JOBS)),
    },
    sensitive=["disease"],
)

ages = st.integers(20, 26)
intervals = st.tuples(ages, ages).map(lambda ends: f"[{min(ends)}..{max(ends)}]")
towns = st.sampled_from(["ulm", "bonn", "köln", "a b"])
sets = st.sets(towns, min_size=2).map(lambda members: "{" + "|".join(sorted(members)) + "}")
records = st.tuples(
    st.one_of(ages.map(str), intervals, st.just("*"), st.none()),
    st.one_of(towns, sets, st.just("*"), st.none()),
    st.one_of(st.sampled_from([label for labels in ZIP_TREE.values() for label in labels]), st.none()),
    st.one_of(st.sampled_from([label for labels in JOB_TREE.values() for label in labels]), st.none()),
    st.sampled_from(["flu", "gout", None]),
)
people = st.tuples(
    st.one_of(ages, st.none()),
    st.one_of(towns, st.none()),
    st.one_of(st.sampled_from(ZIPS), st.none()),
    st.one_of(st.sampled_from([*JOB_TREE, "pope"]), st.none()),
    st.sampled_from(["flu", "gout", "mumps", None, "absent"]),
)


def played(
    rows: list[tuple[Any, ...]], register: list[tuple[Any, ...]], *, told: bool, threshold: float
) -> dict[str, float]:
    names = [*SCHEMA.quasi_identifying, "disease"]
    published = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    kinds = {"age": pl.Int64, "town": pl.String, "zip": pl.String, "job": pl.String, "disease": pl.String}
    everybody = pl.DataFrame(register, schema=kinds, orient="row").with_row_index("name").cast({"name": pl.String})
    truth = everybody.filter(pl.col("disease").ne_missing("absent")) if told else None
    result = linking_attack(published, everybody.drop("disease"), SCHEMA, truth=truth, threshold=threshold)
    assert result.people == len(register)
    return {
        "matched": result.matched,
        "singled_out": result.singled_out,
        "people": result.reidentified.people,
        "false_matches": result.false_matches or 0,
        "missed": result.missed or 0,
        "certainty": result.certainty.successes,
        "reidentified": result.reidentified.successes,
        "learnt": result.learnt.successes,
        "likely": result.likely.successes,
    }


def expected(
    rows: list[tuple[Any, ...]], register: list[tuple[Any, ...]], *, told: bool, threshold: float
) -> dict[str, float]:
    truth = [person[-1] for person in register] if told else None
    found = scores(
        [row[:-1] for row in rows], [row[-1] for row in rows], [p[:-1] for p in register], TREES, truth, threshold
    )
    names = [
        "matched",
        "singled_out",
        "people",
        "false_matches",
        "missed",
        "certainty",
        "reidentified",
        "learnt",
        "likely",
    ]
    return {name: found.get(name, 0) for name in names}


@pytest.mark.slow
@examples(120)
@given(st.lists(records, min_size=1, max_size=40), st.lists(people, min_size=1, max_size=12), st.booleans())
def test_the_same_as_all_pairs(rows: list[tuple[Any, ...]], register: list[tuple[Any, ...]], told: bool) -> None:
    found = played(rows, register, told=told, threshold=0.7)
    assert found == pytest.approx(expected(rows, register, told=told, threshold=0.7))


@examples(40)
@given(
    st.lists(records, min_size=1, max_size=90), st.lists(people, min_size=1, max_size=6), st.sampled_from([0, 40, 96])
)
def test_the_same_however_much_is_tabulated(
    rows: list[tuple[Any, ...]], register: list[tuple[Any, ...]], budget: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage, "TABULATED_BYTES", budget)
        found = played(rows, register, told=True, threshold=0.5)
    assert found == pytest.approx(expected(rows, register, told=True, threshold=0.5))

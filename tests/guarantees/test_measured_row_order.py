"""Row order decides nothing of what is measured and attacked: the same records, release and seed, the same figures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from golden.test_golden import moved
from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.evaluation.attacks import ATTACKS
from sfumato.published import Published
from sfumato.table.row_order import order_rows, settled_order, settled_rows

SCHEMA = sf.Schema(identifying=["name"], quasi_identifying=["age", "sex", "zip"], sensitive=["disease"])
OF_PEOPLE = replace(SCHEMA, identifying=(), person="name")
DIVERSE = sf.ProbabilisticLDiversity(2)
KINDS: dict[str, tuple[Any, list[Any]]] = {
    "mondrian": (ANONYMIZERS["mondrian"](), [sf.KAnonymity(4), DIVERSE]),
    "mdav": (ANONYMIZERS["mdav"](), [sf.KAnonymity(4)]),
    "datafly": (ANONYMIZERS["datafly"](), [sf.KAnonymity(4)]),
    "slicing": (PUBLISHERS["slicing"](), [DIVERSE]),
    "overlapping-slicing": (PUBLISHERS["overlapping-slicing"](), [DIVERSE]),
    "bucketization": (PUBLISHERS["bucketization"](), [DIVERSE]),
    "marginals": (PUBLISHERS["marginals"](), [sf.KAnonymity(4)]),
    "pram": (PUBLISHERS["pram"](), []),
}


def patients(count: int, seed: int) -> pl.DataFrame:
    drawn = np.random.default_rng(seed)
    age = drawn.integers(18, 80, count)
    ill = np.where(
        age > 50, drawn.choice(["heart", "gout", "cold"], count), drawn.choice(["flu", "cold", "cough"], count)
    )
    return pl.DataFrame(
        {
            "name": [f"{seed}-{place}" for place in range(count)],
            "age": age,
            "sex": drawn.choice(["f", "m"], count),
            "zip": drawn.choice(["4700", "4701", "4710", "4712"], count),
            "disease": ill,
        }
    )


def of_people(count: int, seed: int) -> pl.DataFrame:
    """Some of whom have several records."""
    drawn = np.random.default_rng(seed)
    return patients(count, seed).with_columns(name=pl.Series([f"P{seed}-{n}" for n in drawn.integers(0, count, count)]))


def with_rows_moved(published: Published) -> Published:
    return type(published).assemble(
        {name: moved(table, 7) for name, table in published.tables.items()}, published.structure
    )


def played(published: Published, original: Any, control: Any, register: Any = None) -> dict[str, Any]:
    schema = None if isinstance(original, sf.Table) else SCHEMA
    found = sf.attack(published, original, schema=schema, control=control, register=register, seed=3, threads=1)
    told = found.to_dict()
    return {"results": told["results"], "unplayed": told["unplayed"]}


@pytest.mark.parametrize("kind", KINDS)
def test_attacks(kind: str) -> None:
    anonymizer, models = KINDS[kind]
    original, control = patients(90, 1), patients(40, 2)
    register = original.select("name", "age", "sex", "zip")
    published = sf.anonymize(original, models, schema=SCHEMA, anonymizer=anonymizer, seed=1).published
    usual = played(published, original, control, register)
    assert played(with_rows_moved(published), original, control, register) == usual
    assert played(published, moved(original, 4), moved(control, 5), moved(register, 6)) == usual


@pytest.mark.parametrize("anonymizer", ["mondrian", "mdav"])
def test_attacks_on_people_with_several_records(anonymizer: str) -> None:
    original, control = of_people(90, 1), of_people(40, 2)
    table, others = (sf.read_table(frame, OF_PEOPLE) for frame in (original, control))
    published = sf.anonymize(table, sf.KAnonymity(4), anonymizer=ANONYMIZERS[anonymizer](), seed=1).published
    elsewhere = (sf.read_table(moved(frame, 9), OF_PEOPLE) for frame in (original, control))
    assert played(with_rows_moved(published), *elsewhere) == played(published, table, others)


def test_no_attack_reads_the_order_of_rows() -> None:
    assert not [name for name in ATTACKS if getattr(ATTACKS[name], "reads_order", False)]


@pytest.mark.parametrize("kind", ["mondrian", "slicing", "bucketization"])
def test_utility(kind: str) -> None:
    anonymizer, models = KINDS[kind]
    original, others = (sf.read_table(patients(count, count), SCHEMA) for count in (120, 50))
    published = sf.anonymize(original, models, anonymizer=anonymizer, seed=1).published
    moves: list[Callable[[sf.Table], sf.Table]] = [lambda table: table, _moved]
    one, two = (
        sf.measure_utility(
            release, move(original), holdout=move(others), classifiers=["decision-tree", "naive-bayes"], seed=2
        ).to_dict()
        for release, move in zip((published, with_rows_moved(published)), moves, strict=True)
    )
    assert one == two


def _moved(table: sf.Table) -> sf.Table:
    return table.take(np.random.default_rng(11).permutation(table.height))


@pytest.mark.parametrize(("made", "schema"), [(patients, SCHEMA), (of_people, OF_PEOPLE)], ids=["records", "people"])
def test_who_is_held_out(made: Any, schema: sf.Schema) -> None:
    frame = made(60, 3)
    one, two = (sf.hold_out(sf.read_table(each, schema), 0.3, seed=5) for each in (frame, moved(frame, 8)))
    for theirs, others in zip(one, two, strict=True):
        rows = (each.frame.with_columns(pl.col(pl.Categorical).cast(pl.String)).rows() for each in (theirs, others))
        assert sorted(next(rows)) == sorted(next(rows))


@pytest.mark.parametrize("vary", [{"vary": "k", "values": [3, 6]}, {"vary": "records", "values": [40, 70]}])
def test_comparisons(vary: dict[str, Any]) -> None:
    frame = patients(100, 6)
    one, two = (
        sf.compare(
            sf.read_table(each, SCHEMA), anonymizers=["mondrian", "k-member", "slicing"], seed=2, queries=30, threads=1,
            classifiers=True, models=[DIVERSE], repetitions=2, **vary,
        ).frame.drop("seconds", "cpu_seconds")
        for each in (frame, moved(frame, 3))
    )  # fmt: skip
    assert one.equals(two)


def test_messages_name_rows_as_they_were_given() -> None:
    frame = patients(30, 1).with_columns(weight=pl.Series([1.0] * 20 + [0.0] + [1.0] * 9))
    schema = replace(SCHEMA, insensitive=("weight",))
    table = sf.read_table(frame, schema)
    release = sf.anonymize(table, sf.KAnonymity(3), seed=1)
    with pytest.raises(sf.InputError, match="not above 0, first in row 21;"):
        sf.measure_utility(release, table, weights="weight")
    ages = [math.inf if place in (7, 9) else float(age) for place, age in enumerate(frame["age"])]
    far = sf.read_table(frame.with_columns(age=pl.Series(ages)), schema)
    with pytest.raises(sf.InputError, match="infinite number, first in row 8"):
        sf.measure_utility(release, far)
    ages = ["old" if place in (5, 20) else str(age) for place, age in enumerate(frame["age"])]
    register = frame.select("name", "sex", "zip", age=pl.Series(ages))
    with pytest.raises(sf.InputError, match="2 cell\\(s\\) are not numeric, first in row 6"):
        sf.attack(release, frame, schema=schema, attacks="linkage", register=register)


rows = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abn"), st.integers(0, 4)), min_size=1, max_size=14)


@given(rows, st.randoms(use_true_random=False))
@examples(100)
def test_people_are_told_apart_by_all_that_they_hold(drawn: list[tuple[int, str, int]], random: Any) -> None:
    """The table comes out the same, and so does which of its rows are of one person."""
    values = [(age, None if town == "n" else town, person) for age, town, person in drawn]
    found = []
    for _ in range(2):
        frame = pl.DataFrame(values, {"age": pl.Int64, "town": pl.String, "id": pl.Int64}, orient="row")
        schema = sf.Schema(quasi_identifying=["age", "town"], person="id")
        table = order_rows(sf.read_table(frame, schema))
        told = [(age, town) for age, town in table.frame.with_columns(pl.col("town").cast(pl.String)).rows()]
        found.append((told, table.person_of.tolist()))
        random.shuffle(values)
    assert found[0] == found[1]


def test_missing_values_have_a_place() -> None:
    values = [None, 1.5, float("nan"), 0.0, -1.0]
    frame = pl.DataFrame({"a": values, "b": pl.Series(list("zyxwv"), dtype=pl.Categorical)})
    for order in ([0, 1, 2, 3, 4], [3, 1, 4, 0, 2]):
        rows = frame[order][settled_order(frame[order])]
        assert rows["b"].cast(pl.String).to_list() == settled_rows(frame)["b"].cast(pl.String).to_list()


def test_any_stretch_is_a_fair_sample() -> None:
    frame = pl.DataFrame({"a": range(10_000)})
    first = settled_rows(frame)["a"][:1000]
    assert 4700 < first.mean() < 5300  # type: ignore[operator]


def test_published_decimals_are_records_like_others() -> None:
    frame = patients(30, 1).with_columns(paid=pl.Series(range(30)).cast(pl.Decimal(10, 2)))
    schema = replace(SCHEMA, insensitive=("paid",))
    release = sf.anonymize(frame, sf.KAnonymity(3), schema=schema, seed=1)
    assert sf.attack(release, frame, schema=schema, attacks="singling-out", seed=1).results

"""Mondrian that publishes the regions of its cuts: they cover every record, and everybody between them."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from guarantees.tables import Drawn, tables
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import GeneralizedTable
from sfumato.errors import PolicyError
from sfumato.recoding import covers, recode
from sfumato.table.encoding import EncodedTable, encode

OPTIONS = [
    sf.Mondrian(extent="region"),
    sf.Mondrian(extent="region", mode="relaxed"),
    sf.Mondrian(extent="region", hierarchy_cuts=True),
    sf.Mondrian(extent="region", attribute_choice="least-loss"),
    sf.Mondrian(extent="region", split_rule="anywhere"),
    sf.Mondrian(extent="region", widths="region"),
    sf.Mondrian(extent="region", split_rule="median"),
]

quickly = examples(15, *HealthCheck)


def recoded(encoded: EncodedTable, anonymizer: sf.Mondrian, k: int = 2) -> GeneralizedTable:
    partition = anonymizer.solve(Problem(encoded, [sf.KAnonymity(k)], 0, seed=1))
    return recode(encoded, partition)


def covered(generalized: GeneralizedTable, index: int, codes: list[int]) -> np.ndarray:
    """Which classes cover which codes of one attribute, bool (c, codes)."""
    column = generalized.columns[index]
    return covers(column, np.array(codes))[column.per_class]


@pytest.mark.parametrize("anonymizer", OPTIONS, ids=repr)
@given(tables(sensitive=1), st.integers(1, 4))
@quickly
def test_every_record_is_covered_by_its_class(anonymizer: sf.Mondrian, drawn: Drawn, k: int) -> None:
    encoded = encode(sf.read_table(drawn.frame, drawn.schema))
    if encoded.height < k:
        return
    generalized = recoded(encoded, anonymizer, k)
    for index in range(len(encoded.attributes)):
        codes = encoded.codes[:, index].astype(np.int64)
        column = generalized.columns[index]
        values = column.per_class[generalized.class_of]
        assert covers(column, np.arange(encoded.attributes[index].size + 1))[values, codes].all()


@pytest.mark.parametrize("anonymizer", OPTIONS, ids=repr)
@given(st.data())
@quickly
def test_no_combination_of_values_is_left_out(anonymizer: sf.Mondrian, data: st.DataObject) -> None:
    rows = data.draw(
        st.lists(
            st.tuples(st.integers(0, 5), st.sampled_from("abcd"), st.sampled_from("wxyz")), min_size=2, max_size=40
        )
    )
    frame = pl.DataFrame(rows, schema=["age", "job", "town"], orient="row")
    tree = sf.groups({"north": ["w", "x"], "south": ["y", "z"]})
    encoded = encode(sf.read_table(frame, sf.Schema(quasi_identifying={"age": None, "job": None, "town": tree})))
    generalized = recoded(encoded, anonymizer)
    codes = [list(range(attribute.size)) for attribute in encoded.attributes]
    one, two, three = (covered(generalized, index, codes[index]) for index in range(3))
    fitting = np.einsum("ci,cj,ck->ijk", *(part.astype(int) for part in (one, two, three)))
    for place in product(*codes):
        assert fitting[place] > 0


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abcd")), min_size=2, max_size=40))
@quickly
def test_strict_regions_of_numbers_and_sets_do_not_overlap(rows: list[tuple[int, str]]) -> None:
    frame = pl.DataFrame(rows, schema=["age", "job"], orient="row")
    encoded = encode(sf.read_table(frame, sf.Schema(quasi_identifying={"age": None, "job": None})))
    for anonymizer in OPTIONS:
        if anonymizer.mode == "strict":
            generalized = recoded(encoded, anonymizer)
            ages, jobs = (
                covered(generalized, index, list(range(attribute.size)))
                for index, attribute in enumerate(encoded.attributes)
            )
            assert (ages.astype(int).T @ jobs.astype(int) == 1).all()


def test_tight_classes_leave_gaps_where_regions_do_not() -> None:
    frame = pl.DataFrame({"age": [20, 21, 22, 48, 49, 70], "job": list("aabbbb")})
    table = sf.read_table(frame, sf.Schema(quasi_identifying={"age": None, "job": None}))
    labels = {
        extent: sf.anonymize(table, sf.KAnonymity(3), anonymizer=sf.Mondrian(extent=extent), seed=1).data["age"]
        for extent in ("tight", "region")
    }
    assert set(labels["tight"]) == {"[20..23]", "[40..79]"}
    assert set(labels["region"]) == {"[20..39]", "[40..70]"}


def test_missing_values_stay_apart() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, None, None, None], "job": ["a", "a", "b", None, None, None]})
    table = sf.read_table(frame, sf.Schema(quasi_identifying={"age": None, "job": None}))
    release = sf.anonymize(table, sf.KAnonymity(3), anonymizer=sf.Mondrian(extent="region"), seed=1)
    assert sf.verify(release).ok
    assert release.data["age"].null_count() == 3
    mixed = sf.anonymize(table, sf.KAnonymity(6), anonymizer=sf.Mondrian(extent="region"), seed=1)
    assert set(mixed.data["age"]) == set(mixed.data["job"]) == {"*"}


def test_the_order_of_the_records_and_the_threads_change_nothing() -> None:
    generator = np.random.default_rng(1)
    frame = pl.DataFrame({"age": generator.integers(0, 90, 300), "job": generator.choice(list("abcde"), 300)})
    schema = sf.Schema(quasi_identifying={"age": None, "job": None})

    def published(frame: pl.DataFrame, threads: int) -> pl.DataFrame:
        table = sf.read_table(frame, schema)
        release = sf.anonymize(
            table, sf.KAnonymity(5), anonymizer=sf.Mondrian(extent="region"), seed=1, threads=threads
        )
        return release.data.cast(pl.String).sort("age", "job")

    assert published(frame, 1).equals(published(frame.sort("job", "age"), 2))


def test_what_is_left_open_is_settled() -> None:
    assert sf.Mondrian(extent="region").attribute_choice == "widest"
    assert sf.Mondrian(extent="region", split_rule="anywhere").attribute_choice == "least-loss"
    assert sf.Mondrian().attribute_choice == "least-loss"
    assert not sf.Mondrian().decides_regions
    with pytest.raises(PolicyError, match="extent must be one of tight, region"):
        sf.Mondrian(extent="loose")  # type: ignore[arg-type]


def test_other_forms_are_refused() -> None:
    table = sf.read_table(pl.DataFrame({"age": [1, 2, 3, 4]}), sf.Schema(quasi_identifying=["age"]))
    with pytest.raises(PolicyError, match="decides itself"):
        sf.anonymize(
            table, sf.KAnonymity(2), anonymizer=sf.Mondrian(extent="region"), recoding=sf.Recoding(numeric="mean")
        )

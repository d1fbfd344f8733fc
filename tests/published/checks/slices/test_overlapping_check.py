"""Recounting sliced tables whose columns share attributes."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive.slicing import disclosed
from naive.worlds import posteriors, worlds
from sfumato.models.protocol import Check, Outcome
from sfumato.published import SlicedTable
from sfumato.published.apart import labels_of
from sfumato.published.checks.slices import check_slices
from sfumato.table.schema import Attribute, Kind

NAMES = ("a", "b", "s")
CATEGORY = {"s": Attribute(kind=Kind.CATEGORICAL), "r": Attribute(kind=Kind.CATEGORICAL)}
Columns = tuple[tuple[str, ...], ...]
Rows = Sequence[Sequence[Sequence[str]]]
ONE_HOME: list[Columns] = [(("a", "s"), ("a", "b")), (("s",), ("a", "b"), ("b",)), (("a", "b"), ("a", "b", "s"))]
TWO_HOMES: Columns = (("a", "s"), ("b", "s"))


def published(
    rows: Rows, columns: Columns, names: Sequence[str] = NAMES, sensitive: tuple[str, ...] = ("s",)
) -> SlicedTable:
    data = [(number, *record) for number, bucket in enumerate(rows) for record in bucket]
    frame = pl.DataFrame(data, schema=["bucket", *names], orient="row")
    taken = [pl.col("bucket")]
    for column, labels in zip(columns, labels_of(columns), strict=True):
        taken += [pl.col(name).alias(label) for name, label in zip(column, labels, strict=True)]
    return SlicedTable(frame.select(taken), columns, sensitive)


def check(table: SlicedTable, model: sf.ProbabilisticLDiversity | sf.TCloseness | sf.KAnonymity) -> Check:
    return check_slices(table, [model], CATEGORY)[0]


def test_an_attribute_beside_that_tells_the_value() -> None:
    rows = [["xup", "xvq", "yup", "yvq"]]
    assert check(published(rows, ONE_HOME[0]), sf.ProbabilisticLDiversity(2)).outcome is Outcome.HOLDS
    told = check(published(rows, (("b", "s"), ("a", "b"))), sf.ProbabilisticLDiversity(2))
    assert told.outcome is Outcome.BROKEN
    assert told.detail == "2 of 2 groups of rows that agree beside 's' break it, and match no other bucket"


def test_groups_that_match_other_buckets_are_not_judged_by_themselves() -> None:
    rows = [["xup", "xup"], ["xuq", "xuq"]]
    assert check(published(rows, ONE_HOME[0]), sf.ProbabilisticLDiversity(2)).outcome is Outcome.UNDECIDABLE


def test_what_is_achieved() -> None:
    rows = [["xup", "xvq", "xvr"], ["yup", "yvq"]]
    held = check(published(rows, ONE_HOME[0]), sf.ProbabilisticLDiversity(2))
    assert [str(value) for value in held.achieved] == ["l=2 on s"]
    joined = check(published([["xup", "xuq", "yvp", "yvq"]], TWO_HOMES), sf.ProbabilisticLDiversity(2))
    assert [str(value) for value in joined.achieved] == ["l=2 on s"]


def test_t_closeness_of_groups() -> None:
    rows = [["xup", "xvq"], ["yup", "yvq"]]
    assert check(published(rows, ONE_HOME[0]), sf.TCloseness(0)).outcome is Outcome.HOLDS
    assert check(published(rows, TWO_HOMES), sf.TCloseness(0)).outcome is Outcome.UNDECIDABLE


def test_models_of_classes_are_undecidable() -> None:
    assert check(published([["xup"]], ONE_HOME[0]), sf.KAnonymity(1)).outcome is Outcome.UNDECIDABLE


def test_circles_are_undecidable() -> None:
    columns = (("a", "s"), ("b", "s"), ("a", "b"))
    rows = [["xup", "xvq", "yuq", "yvp"]]
    found = check(published(rows, columns), sf.ProbabilisticLDiversity(1))
    assert found.outcome is Outcome.UNDECIDABLE
    assert "circle" in found.detail


def test_joined_columns_that_tell() -> None:
    rows = [["xup", "xvq", "yvp", "yuq", "xup"]]
    found = check(published(rows, TWO_HOMES), sf.ProbabilisticLDiversity(2))
    assert found.outcome is Outcome.UNDECIDABLE
    assert "joined on 's'" in found.detail


def test_copies_that_contradict_each_other() -> None:
    table = published([["xup", "xvq"], ["yup", "yvq"]], ONE_HOME[0])
    changed = table.data.with_columns(pl.Series("a (2)", ["x", "y", "y", "y"]))
    found = check(SlicedTable(changed, table.columns, table.sensitive), sf.ProbabilisticLDiversity(2))
    assert found.outcome is Outcome.BROKEN
    assert found.detail == "copies of an attribute differ in 1 bucket"


def test_a_sensitive_attribute_links_columns_of_another() -> None:
    """Whoever knows b learns r, and with r more of s than its own column says."""
    columns = (("s", "r"), ("b", "r"), ("a",))
    rows = [["xupk", "xvqm", "yuqk", "yvpm"]]
    assert (
        check(published(rows, columns, ("a", "b", "s", "r"), ("s", "r")), sf.ProbabilisticLDiversity(2, "s")).outcome
        is Outcome.HOLDS
    )
    telling = [["xupk", "xvqm", "yupk", "yvqm"]]
    found = check(published(telling, columns, ("a", "b", "s", "r"), ("s", "r")), sf.ProbabilisticLDiversity(2, "s"))
    assert found.outcome is Outcome.UNDECIDABLE


record = st.tuples(st.sampled_from("xy"), st.sampled_from("uv"), st.sampled_from("pqr"))
buckets = st.lists(st.lists(record, min_size=1, max_size=4), min_size=1, max_size=2)


@pytest.mark.parametrize("columns", [*ONE_HOME, TWO_HOMES])
@examples(40)
@given(rows=buckets, ell=st.sampled_from([1, 1.5, 2, 3]))
def test_what_holds_bounds_what_is_learned_from_the_right_bucket_and_from_all(columns, rows, ell) -> None:
    found = check(published(rows, columns), sf.ProbabilisticLDiversity(ell))
    if found.outcome is not Outcome.HOLDS:
        return
    place = {name: at for at, name in enumerate(NAMES)}
    as_places = [tuple(place[name] for name in column) for column in columns]
    for bucket in rows:
        tables = list(worlds(columns, [[tuple(row[at] for at in column) for row in bucket] for column in as_places]))
        for told in posteriors(tables, ["s"], "s").values():
            assert max(told.values()) <= 1 / ell + 1e-9
        for person in bucket:
            assert max(disclosed(person, rows, as_places, 2).values()) <= 1 / ell + 1e-9

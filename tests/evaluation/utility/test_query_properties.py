"""What must hold of answers from any release, whatever the records."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from sfumato.evaluation.utility.answers import estimated_answers
from sfumato.evaluation.utility.queries import Among, Predicate, Query, Range, Workload
from sfumato.published import BucketizedTables, MarginalTables, Published, PublishedTable, SlicedTable

NAMES = ("age", "town", "illness")
Row = tuple[int | None, str | None, str, int]
ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(20, 29)),
        st.one_of(st.none(), st.sampled_from(["ulm", "bonn", "kiel"])),
        st.sampled_from(["flu", "cold", "gout"]),
        st.integers(0, 3),
    ),
    min_size=3,
    max_size=25,
).filter(lambda rows: any(row[0] is not None for row in rows) and any(row[1] is not None for row in rows))


def kinds(rows: list[Row]) -> tuple[sf.Table, list[Published]]:
    types: dict[str, Any] = {"age": pl.Int64, "town": pl.String, "illness": pl.String, "bucket": pl.Int64}
    frame = pl.DataFrame(rows, schema=types, orient="row").sort("bucket")
    table = sf.read_table(frame.drop("bucket"), sf.Schema(quasi_identifying=["age", "town"], sensitive=["illness"]))
    data = frame.drop("bucket")
    low, high = data["age"].min(), data["age"].max()
    label = f"[{low}..{high}]" if low != high else str(low)
    coarse = data.with_columns(pl.when(pl.col("age").is_null()).then(None).otherwise(pl.lit(label)).alias("age"))
    counts = frame.group_by("bucket", "illness").len("count").sort("bucket", "illness")
    linked = (("age", "town"), ("town", "illness"))
    return table, [
        PublishedTable(coarse, ("age", "town"), ("illness",)),
        PublishedTable(data.with_columns(age=pl.lit("*"), town=pl.lit("*")), ("age", "town"), ("illness",)),
        BucketizedTables(frame.drop("illness"), counts, ("age", "town"), "illness"),
        SlicedTable(frame, (("age",), ("town", "illness")), ("illness",)),
        SlicedTable(frame.with_columns(**{"town (2)": frame["town"]}), linked, ("illness",)),
        MarginalTables(tuple(data.group_by(pair).len("count") for pair in linked), linked, ("illness",)),
    ]


def ask(published: Published, table: sf.Table, *wheres: tuple[Predicate, ...]) -> list[float]:
    return estimated_answers(Workload(tuple(map(Query, wheres))), published, table).tolist()


@examples(25)
@given(ROWS, st.integers(20, 29), st.integers(20, 29))
def test_parts_add_up_to_the_whole(rows, cut, other):
    table, releases = kinds(rows)
    low, high = sorted((cut, other))
    town = Among("town", ("ulm", "kiel"))
    for published in releases:
        below, above, both, everybody, narrow, wide = ask(
            published,
            table,
            (Range("age", 0, low), town),
            (Range("age", low + 1, 99), town),
            (Range("age", 0, 99), town),
            (),
            (Range("age", low, low), town),
            (Range("age", low, high), town),
        )
        assert below + above == pytest.approx(both)
        assert everybody == pytest.approx(len(rows))
        assert -1e-9 <= narrow <= wide + 1e-9
        assert both <= everybody + 1e-9


@examples(25)
@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_rows_says_nothing(rows, draw):
    mixed = [*rows]
    draw.shuffle(mixed)
    queries = [(Range("age", 22, 26), Among("illness", ("flu", "gout"))), (Among("town", ("bonn",)),)]
    (table, before), (again, after) = kinds(rows), kinds(mixed)
    for one, other in zip(before, after, strict=True):
        # Slices lose their order inside a bucket only; what stands together stays so.
        assert ask(one, table, *queries) == pytest.approx(ask(other, again, *queries))


@examples(25)
@given(ROWS)
def test_each_sensitive_value_is_counted_exactly(rows):
    table, releases = kinds(rows)
    for published in releases:
        for illness in {row[2] for row in rows}:
            (found,) = ask(published, table, (Among("illness", (illness,)),))
            assert found == pytest.approx(sum(row[2] == illness for row in rows))

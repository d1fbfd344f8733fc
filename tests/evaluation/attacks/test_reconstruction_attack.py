"""Reconstruction: against every possible table, and where it is not played."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from evaluation.attacks.inference_tables import bucketized, marginals, people, sliced, target
from examples import examples
from naive.tables import possible
from sfumato.errors import PolicyError
from sfumato.evaluation.attacks import Reconstruction, reconstruction
from sfumato.published import BucketizedTables, MarginalTables, Published, SlicedTable
from sfumato.published.apart import labels_of

SCHEMA = sf.Schema(quasi_identifying=["x", "y"], sensitive=["s"])
RECORDS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("cd"), st.sampled_from("uvw")), min_size=2, max_size=5
)


def marginal(frame: pl.DataFrame) -> tuple[Published, list[Any]]:
    columns = (("x", "s"), ("y", "s"))
    counted = tuple(frame.group_by(names).agg(pl.len().alias("count")).sort(names) for names in columns)
    tables = [(names, Counter((0, *row) for row in frame.select(names).rows())) for names in columns]
    return MarginalTables(counted, columns, ("s",)), tables


def in_buckets(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[int]]:
    bucket = [place % 2 for place in range(frame.height)]
    return frame.with_columns(bucket=pl.Series(bucket)), bucket


def of_slices(frame: pl.DataFrame) -> tuple[Published, list[Any]]:
    held, bucket = in_buckets(frame)
    columns = (("x",), ("y", "s"))
    order = np.lexsort((frame["x"].to_numpy(), bucket)).tolist()
    labels = [pl.Series("bucket", sorted(bucket))]
    plain = np.argsort(bucket, kind="stable").tolist()
    for names, named, rows in zip(columns, labels_of(columns), (order, plain), strict=True):
        labels += [frame[name][rows].alias(label) for name, label in zip(names, named, strict=True)]
    tables = [(names, Counter(held.select("bucket", *names).rows())) for names in columns]
    return SlicedTable(pl.DataFrame(labels), columns, ("s",)), tables


def of_buckets(frame: pl.DataFrame) -> tuple[Published, list[Any]]:
    held, _ = in_buckets(frame)
    counts = held.group_by("bucket", "s").agg(pl.len().alias("count")).sort("bucket", "s")
    tables = [(names, Counter(held.select("bucket", *names).rows())) for names in (("x", "y"), ("s",))]
    return BucketizedTables(held.drop("s"), counts, ("x", "y"), "s"), tables


@pytest.mark.parametrize("made", [marginal, of_slices, of_buckets])
@given(RECORDS)
@examples(25)
def test_who_has_one_value_in_every_table(made: Any, drawn: list[tuple[str, str, str]]) -> None:
    frame = pl.DataFrame(drawn, schema=dict.fromkeys("xys", pl.String), orient="row")
    published, tables = made(frame)
    known = [{"x": x, "y": y} for x, y, _ in drawn]
    buckets = sorted({row[0] for _, rows in tables for row in rows})
    found = possible(known, sorted({s for *_, s in drawn}), buckets, "s", tables)
    assert all(s in each for (*_, s), each in zip(drawn, found, strict=True))
    (result,) = Reconstruction().play(target(published, sf.read_table(frame, SCHEMA)))
    told = sum(len(each) == 1 for each in found)
    assert (result.success.people, result.success.successes) == (told, told)
    assert result.certainty is not None
    assert result.certainty.wrong == 0
    assert result.succeeds == (told > 0 and len({s for *_, s in drawn}) > 1)


def test_marginals_that_tell_everybody_and_nobody() -> None:
    """With all attributes in one table people of unique values are told; with none beside the sensitive one, nobody."""
    table = people(60, 1)
    everything = marginals(table, ("age", "sex", "zip", "disease"))
    nothing = marginals(table, ("age", "sex", "zip"), ("disease",))
    told = Reconstruction().play(target(everything, table))[0]
    assert told.success.share == 1
    assert told.figures["claimed"] > 0.9
    assert told.succeeds
    none = Reconstruction().play(target(nothing, table))[0]
    assert none.success.people == 0
    assert none.verdict == "no better"
    assert 0 <= none.figures["one_table"] < 0.5


@pytest.mark.parametrize("kind", ["bucketized", "sliced"])
def test_equal_values_in_a_bucket_tell_all_of_it(kind: str) -> None:
    frame = people(24, 1).frame.with_columns(disease=pl.Series(["flu"] * 24))
    table = sf.read_table(frame, people(24, 1).schema)
    published = bucketized(table, 4) if kind == "bucketized" else sliced(table, 4, ("age", "sex"), ("zip", "disease"))
    (result,) = Reconstruction().play(target(published, table))
    # One value alone is no news.
    assert result.success.people == 24
    assert not result.succeeds


def test_where_it_is_not_played(monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(60, 1)
    published = marginals(table, ("age", "disease"))
    (large,) = Reconstruction(most=10).play(target(published, table))
    assert "more than 10 variables" in str(large.unplayed)
    (fewer,) = Reconstruction().play(target(published, table.take(np.arange(50))))
    assert "left out" in str(fewer.unplayed)
    (several,) = Reconstruction().play(target(published, replace(table, people=np.zeros(60, dtype=np.int32))))
    assert "several records" in str(several.unplayed)
    strange = sf.read_table(table.frame.with_columns(age=pl.col("age") + 100), table.schema)
    (other,) = Reconstruction().play(target(published, strange))
    assert "no table was found" in str(other.unplayed)

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(reconstruction, "import_module", missing)
    with pytest.raises(PolicyError, match=r"needs? scipy.*sfumato\[utility\]"):
        Reconstruction().play(target(published, table))


def test_it_is_played_when_it_is_named() -> None:
    table = people(30, 1)
    published = marginals(table, ("age", "disease"))
    assert "integer programs" in sf.attack(published, table).unplayed["reconstruction"]


def test_bad_option() -> None:
    with pytest.raises(PolicyError, match="reconstruction: most"):
        Reconstruction(most=0)

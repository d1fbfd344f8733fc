"""Frames in, frames out: an index stays at home, and categories keep the order that the original declares."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.release.release import _members

GRADES = ["small", "medium", "large"]
PAINS = ["mild", "severe", "deadly"]
SCHEMA = sf.Schema(quasi_identifying=["age", "grade"], sensitive=["pain"])


def pandas_frame() -> pd.DataFrame:
    rows = [(age, grade, pain) for age, grade, pain in product(range(20, 26), GRADES, PAINS)] * 2
    ages, grades, pains = zip(*rows, strict=True)
    return pd.DataFrame(
        {
            "age": ages,
            "grade": pd.Categorical(grades, categories=[*GRADES, "NEVER"], ordered=True),
            "pain": pd.Categorical(pains, categories=PAINS, ordered=True),
        },
        index=pd.Index([f"PERSON{row}" for row in range(len(rows))], name="patient"),
    )


def polars_frame() -> pl.DataFrame:
    plain = pl.DataFrame({name: column.astype(object).tolist() for name, column in pandas_frame().items()})
    return plain.with_columns(pl.col("grade").cast(pl.Enum([*GRADES, "NEVER"])), pl.col("pain").cast(pl.Enum(PAINS)))


def arrow_table() -> pa.Table:
    return pa.Table.from_pandas(pandas_frame())


FRAMES = {"pandas": pandas_frame, "polars": polars_frame, "arrow": arrow_table}


@pytest.mark.parametrize("library", FRAMES)
def test_a_frame_of_any_library_gives_the_same_release(library: str) -> None:
    table = sf.read_table(pl.DataFrame(polars_frame()), SCHEMA)
    expected = sf.anonymize(table, sf.KAnonymity(3), seed=1).to_polars()
    release = sf.anonymize(FRAMES[library](), sf.KAnonymity(3), schema=SCHEMA, seed=1)
    assert release.to_polars().equals(expected)
    assert release.to_polars().schema == expected.schema
    assert release.report.verification.ok


def test_a_policy_says_what_columns_are() -> None:
    policy = sf.Policy.of(SCHEMA, [sf.KAnonymity(3)], sf.Mondrian(), sf.Recoding(), 0.0)
    by_policy, by_keyword = (
        sf.anonymize(pandas_frame(), policy, seed=1),
        sf.anonymize(pandas_frame(), policy=policy, seed=1),
    )
    assert by_policy.data.equals(by_keyword.data)
    assert by_policy.data.equals(sf.anonymize(pandas_frame(), sf.KAnonymity(3), schema=SCHEMA, seed=1).data)


def test_a_path_is_read_too(tmp_path: Path) -> None:
    polars_frame().write_csv(tmp_path / "in.csv")
    release = sf.anonymize(tmp_path / "in.csv", sf.KAnonymity(3), schema=SCHEMA, seed=1)
    assert release.to_polars()["grade"].dtype.categories.to_list()[0].strip("{").startswith("large")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: sf.anonymize(pandas_frame(), sf.KAnonymity(3)), "table: is not a Table; read it with"),
        (
            lambda: sf.anonymize(sf.read_table(pandas_frame(), SCHEMA), sf.KAnonymity(3), schema=SCHEMA),
            "schema: the table was read with one; leave it out",
        ),
        (
            lambda: sf.anonymize(
                pandas_frame(),
                sf.Policy.of(SCHEMA, [sf.KAnonymity(3)], sf.Mondrian(), sf.Recoding(), 0.0),
                schema=SCHEMA,
            ),
            "schema: the policy gives the roles",
        ),
        (lambda: sf.anonymize(None, sf.KAnonymity(3), schema=SCHEMA), "not a table"),
        (lambda: sf.anonymize(pandas_frame(), sf.KAnonymity(3), schema="age"), "schema is not a Schema"),
    ],
)
def test_roles_are_given_once(call: Any, told: str) -> None:
    with pytest.raises(sf.SfumatoError, match=told):
        call()


@pytest.mark.parametrize("library", FRAMES)
def test_categories_keep_their_order(library: str) -> None:
    release = sf.anonymize(FRAMES[library](), sf.KAnonymity(12), schema=SCHEMA, seed=1)
    assert release.to_polars()["pain"].dtype.categories.to_list() == PAINS
    pandas = release.to_pandas()
    assert list(pandas["pain"].cat.categories) == PAINS
    assert pandas["pain"].cat.ordered
    assert (pandas["pain"] < "deadly").sum() == release.data["pain"].is_in(["mild", "severe"]).sum()
    assert not pandas["age"].cat.ordered
    arrow = release.to_arrow()
    assert arrow["pain"].type.ordered
    assert not arrow["age"].type.ordered
    assert arrow["pain"].to_pylist() == release.data["pain"].to_list() == pandas["pain"].tolist()
    assert arrow["age"].to_pylist() == release.data["age"].to_list()


def test_sets_stand_by_their_members() -> None:
    declared = ["z", "y", "a|b", "x"]
    values = [value for value in declared for _ in range(4)]
    frame = pl.DataFrame({"q": pl.Series(values, dtype=pl.Enum(declared)), "s": [0, 1] * 8})
    schema = sf.Schema(quasi_identifying=["q"], sensitive=["s"])
    exact = sf.anonymize(frame, sf.KAnonymity(4), schema=schema, seed=1)
    assert exact.to_polars()["q"].dtype.categories.to_list() == declared
    sets = sf.anonymize(frame, sf.KAnonymity(8), schema=schema, seed=1)
    labels = sets.to_polars()["q"].dtype.categories.to_list()
    lowest = [min(declared.index(member) for member in _members(label)) for label in labels]
    assert all(label.startswith("{") for label in labels)
    assert lowest == sorted(lowest)
    assert {member for label in labels for member in _members(label)} == set(declared)
    assert not sets.to_pandas()["q"].cat.ordered


def test_what_is_not_published_is_not_listed() -> None:
    frame = pandas_frame()
    frame.loc[["PERSON0", "PERSON50"], "grade"] = "NEVER"
    schema = sf.Schema(quasi_identifying={"age": sf.intervals(100), "grade": sf.flat()}, sensitive=["pain"])
    release = sf.anonymize(
        frame, sf.KAnonymity(2), schema=schema, anonymizer=sf.Optimal(), suppression_limit=0.05, seed=1
    )
    assert release.report.suppressed
    pandas, arrow = release.to_pandas(), release.to_arrow()
    dictionaries = [chunk.dictionary.to_pylist() for chunk in arrow["grade"].chunks]
    assert list(pandas["grade"].cat.categories) == GRADES == dictionaries[0]
    assert "NEVER" not in f"{release.to_polars().schema} {arrow.schema} {dictionaries} {pandas.to_csv()}"


@pytest.mark.parametrize("where", ["pandas", "arrow", "parquet"])
@pytest.mark.parametrize("index", ["named", "unnamed", "range", "repeated", "two"])
def test_an_index_is_never_published(where: str, index: str, tmp_path: Path) -> None:
    frame = pandas_frame()
    names = {
        "named": frame.index,
        "unnamed": frame.index.rename(None),
        "range": pd.RangeIndex(len(frame)),
        "repeated": pd.Index(["PERSON"] * len(frame)),
        "two": pd.MultiIndex.from_arrays([frame.index, frame.index], names=["patient", None]),
    }
    frame.index = names[index]
    source: Any = frame if where == "pandas" else pa.Table.from_pandas(frame)
    if where == "parquet":
        frame.to_parquet(tmp_path / "in.parquet")
        source = tmp_path / "in.parquet"
    for others in ("keep", "error"):
        schema = sf.Schema(quasi_identifying=["age", "grade"], sensitive=["pain"], others=others)
        release = sf.anonymize(source, sf.KAnonymity(3), schema=schema, seed=1)
        assert release.data.columns == ["age", "grade", "pain"]
        assert list(release.to_pandas().index) == list(range(len(frame)))
        assert "PERSON" not in release.to_pandas().to_csv()


def test_an_index_with_a_role_is_a_column() -> None:
    schema = sf.Schema(person="patient", quasi_identifying=["age", "grade"], sensitive=["pain"])
    assert sf.read_table(arrow_table(), schema).people is not None


def test_several_tables_are_taken_by_name() -> None:
    release = sf.anonymize(
        pandas_frame(), sf.DistinctLDiversity(2), anonymizer=sf.Bucketization(), schema=SCHEMA, seed=1
    )
    for name, table in release.tables.items():
        assert len(release.to_pandas(name)) == release.to_arrow(name).num_rows == table.height
        assert sorted(release.to_polars(name).cast(pl.String).rows(), key=str) == sorted(
            table.cast(pl.String).rows(), key=str
        )
    with pytest.raises(sf.PolicyError, match="table: this release has several tables"):
        release.to_pandas()
    with pytest.raises(sf.PolicyError, match="there is no such table"):
        release.to_arrow("nothing")


def test_an_absent_pandas_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    release = sf.anonymize(polars_frame(), sf.KAnonymity(3), schema=SCHEMA, seed=1)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(sf.PolicyError, match="pip install pandas"):
        release.to_pandas()


def test_what_streams_arrow_is_a_frame() -> None:
    duckdb = pytest.importorskip("duckdb")
    frame = polars_frame().with_columns(pl.col(pl.Enum).cast(pl.String))
    with duckdb.connect() as connection:
        connection.register("frame", frame.to_arrow())
        relation = connection.sql("select * from frame")
        streamed = sf.anonymize(relation, sf.KAnonymity(3), schema=SCHEMA, seed=1)
    assert streamed.data.equals(sf.anonymize(frame, sf.KAnonymity(3), schema=SCHEMA, seed=1).data)

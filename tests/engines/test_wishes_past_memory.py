"""A k, and an l, of one's own on the disk engine and on Spark: the release of memory, recounted from its parts."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from engines.test_disk import _small_pieces, content, pieces_of_a_town, refused, written
from golden.made_tables import town
from golden.runs import ANONYMIZED
from guarantees.tables import Drawn, tables
from sfumato.engines import disk
from sfumato.errors import SfumatoError
from sfumato.policy.parts import People, Wish

__all__ = ["_small_pieces", "pieces_of_a_town"]

MODELS: list[Any] = [
    [sf.KAnonymity(2)],
    [sf.KAnonymity(2), sf.DistinctLDiversity(2)],
    [sf.KAnonymity(1), sf.ProbabilisticLDiversity(1.2)],
]
SCHEMA = sf.Schema(quasi_identifying=["age", "zip"], sensitive=["disease"], wished_k="own", others="drop")


def policy_of(schema: sf.Schema, models: Any, anonymizer: Any, limit: float, star: bool, rules: Any = ()) -> sf.Policy:
    recoding = sf.Recoding(suppressed="star" if star else "remove")
    policy = sf.Policy.of(schema, models, anonymizer, recoding, limit, 0, People())
    return policy.model_copy(update={"wishes": tuple(rules)})


def released(way: Any, folder: Path) -> Any:
    """The table, the report and the description of a release; or what is refused."""
    try:
        release = way(folder)
    except SfumatoError as error:
        return type(error), [problem.removeprefix("table.csv: ") for problem in error.problems]
    told = release.report.to_dict()
    return content(folder), told, (folder / "release.json").read_bytes() if (folder / "data.csv").exists() else b""


def both(path: Path, policy: sf.Policy, out: Path, elsewhere: Any = sf.anonymize_on_disk) -> tuple[Any, Any]:
    def in_memory(folder: Path) -> Any:
        release = sf.anonymize(sf.read_table(path, policy), policy, seed=7, threads=1)
        release.save(folder)
        return release

    one = released(in_memory, out / "memory")
    return one, released(lambda folder: elsewhere(path, policy, folder, seed=7, threads=1), out / "elsewhere")


@st.composite
def with_wishes(draw: st.DrawFn) -> tuple[Drawn, sf.Schema]:
    """A table some of whose records wish for something; of some tables they are of people with several."""
    drawn = draw(tables(sensitive=1))
    height = drawn.frame.height
    columns = {}
    for name in draw(st.sampled_from([("own_k",), ("own_l",), ("own_k", "own_l")])):
        values = st.sampled_from([None, None, None, 1, 2, 3, 4, 7] if name == "own_k" else [None, None, 1, 2])
        columns[name] = draw(st.lists(values, min_size=height, max_size=height))
    who = draw(st.sampled_from([False, False, True]))
    if who:
        keys = st.sampled_from([None, "p1", "p2", "p3", "p4"])
        columns["who"] = draw(st.lists(keys, min_size=height, max_size=height))
    types = {"who": pl.String, "own_k": pl.Int64, "own_l": pl.Int64}
    added = [pl.Series(name, values, types[name]) for name, values in columns.items()]
    frame = drawn.frame.drop("id", "note").with_columns(added)
    schema = dataclasses.replace(
        drawn.schema, identifying=(), insensitive=(), person="who" if who else None,
        wished_k="own_k" if "own_k" in columns else None, wished_l="own_l" if "own_l" in columns else None,
    )  # fmt: skip
    return dataclasses.replace(drawn, frame=frame), schema


@given(
    with_wishes(), st.sampled_from(sorted(ANONYMIZED)), st.sampled_from(MODELS), st.sampled_from([0.0, 0.0, 0.5]),
    st.booleans(), st.sampled_from(["csv", "parquet"]),
)  # fmt: skip
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_wishes_are_kept_as_in_memory(
    drawn: tuple[Drawn, sf.Schema], setting: str, models: Any, limit: float, star: bool, ending: str
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, (table, schema) = Path(name), drawn
        path = written(table.frame, folder, ending)
        one, two = both(path, policy_of(schema, models, ANONYMIZED[setting], limit, star), folder)
        if len(two) == 3 or not refused(two):
            assert one == two
        if len(two) == 3:
            audit = folder / "elsewhere.audit.json"
            assert sf.verify(folder / "elsewhere", audit=audit if audit.exists() else None).ok
        assert not [each for each in folder.iterdir() if each.name.startswith(".")]


def wishing(rows: int) -> pl.DataFrame:
    """A town some of whose people wish for more than others."""
    own = pl.Series("own", [{0: 9, 7: 3}.get(row % 40) for row in range(rows)], pl.Int64)
    return town(rows).with_columns(own)


def rules_of(frame: pl.DataFrame) -> list[Wish]:
    """Rules about a place and a disease that somebody has."""
    return [
        Wish(k=6, column="zip", value=str(frame["zip"].drop_nulls()[0])),
        Wish(l=2, column="disease", value=str(frame["disease"].drop_nulls()[0])),
    ]


@pytest.mark.usefixtures("pieces_of_a_town")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_and_rules_in_parts(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was asked for in a column and by rules is promised in parts, and recounted there as in one piece."""
    monkeypatch.setattr(disk, "PART", 110)
    frame = wishing(300)
    path = written(frame, tmp_path, ending)
    policy = policy_of(SCHEMA, MODELS[1], sf.Mondrian(), 0.0, False, rules_of(frame))
    one, two = both(path, policy, tmp_path)
    assert one[0] == two[0]
    assert len(list((tmp_path / "elsewhere" / "data").iterdir())) == 3
    streamed, whole = (sf.verify(tmp_path / "elsewhere", engine=engine) for engine in ("auto", "memory"))  # type: ignore[arg-type]
    assert streamed.ok
    assert streamed == whole
    published = pl.read_csv(tmp_path / "memory" / "data.csv", infer_schema=False)
    assert set(published["promised_k"]) > {"10"}
    assert set(published["promised_l"]) >= {"2"}


@pytest.mark.usefixtures("pieces_of_a_town")
@pytest.mark.parametrize("cell", ["50", "7", "", "many", "100000"])
def test_a_promise_that_is_not_kept_is_found(cell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "PART", 110)
    path = written(wishing(300), tmp_path, "csv")
    sf.anonymize_on_disk(path, policy_of(SCHEMA, MODELS[0], sf.Mondrian(), 0.0, False), tmp_path / "out")
    part = tmp_path / "out" / "data" / "part-00001.csv"
    head, first, rest = part.read_text().split("\n", 2)
    assert head.endswith("promised_k")
    part.write_text(f"{head}\n{first.rpartition(',')[0]},{cell}\n{rest}")
    streamed, whole = (sf.verify(tmp_path / "out", engine=engine) for engine in ("auto", "memory"))  # type: ignore[arg-type]
    assert streamed == whole
    assert "k-anonymity" in " ".join(str(check) for check in streamed.checks if "break" in check.detail)


@pytest.mark.parametrize("wish", ["0", "2.5", "many", "-3"])
def test_what_is_no_wish_is_counted(wish: str, tmp_path: Path) -> None:
    frame = wishing(30).with_columns(pl.col("own").cast(pl.String))
    strange = [wish if row in (12, 21) else own for row, own in enumerate(frame["own"])]
    path = written(frame.with_columns(pl.Series("own", strange, pl.String)), tmp_path, "csv")
    one, two = both(path, policy_of(SCHEMA, MODELS[0], sf.Mondrian(), 0.0, False), tmp_path)
    assert one == two
    assert "2 record(s) wish for a k that is no whole number of 1 or more, first in row 13" in str(two[1])


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ([Wish(k=3, column="nowhere", value="x")], "column 'nowhere' is not in the table"),
        ([Wish(k=3, column="zip", value="no such place")], "no record has the value of column 'zip'"),
    ],
)
def test_rules_about_nobody_are_refused(rules: Any, said: str, tmp_path: Path) -> None:
    path = written(wishing(30), tmp_path, "csv")
    one, two = both(path, policy_of(SCHEMA, MODELS[0], sf.Mondrian(), 0.0, False, rules), tmp_path)
    assert one == two
    assert said in str(two[1])


def test_insensitive_columns_beside_wishes_are_refused(tmp_path: Path) -> None:
    path = written(wishing(30), tmp_path, "csv")
    schema = dataclasses.replace(SCHEMA, insensitive=("place",))
    policy = policy_of(schema, MODELS[0], sf.Mondrian(), 0.0, False)
    with pytest.raises(sf.PolicyError, match="told apart by insensitive columns"):
        sf.anonymize_on_disk(path, policy, tmp_path / "out")


def test_spark_knows_wishes(spark_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", spark_server)
    monkeypatch.setattr(disk, "PART", 60)
    frame = wishing(150)
    names = [name for name in frame.columns if name in SCHEMA.roles and name != "own"]
    path = written(frame.select(*names, "own").sort(*names, "own"), tmp_path, "parquet")
    policy = policy_of(SCHEMA, MODELS[1], sf.Mondrian(), 0.1, False, rules_of(frame))
    one, two = both(
        path, policy, tmp_path, lambda path, *how, **more: sf.anonymize_on_spark(str(path), *how, **more)
    )  # fmt: skip
    assert one[0] == two[0]
    there, here = (sf.verify(tmp_path / "elsewhere", engine=engine) for engine in ("spark", "memory"))  # type: ignore[arg-type]
    assert there.ok
    assert {str(check) for check in here.checks if "k-anonymity" in check.promise} <= {*map(str, there.checks)}

"""Any engine against memory, on real tables: the published records are the same set, or the refusal is the same."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from benchmarks import adult, census
from engines.test_dealt_on_disk import files_of
from engines.test_disk import content
from sfumato.cli.app import app

DATA = os.environ.get("SFUMATO_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="SFUMATO_DATA names no folder with the public tables")

MODELS: dict[str, list[dict[str, Any]]] = {
    "k": [{"name": "k-anonymity", "k": 10}],
    "k and l": [{"name": "k-anonymity", "k": 10}, {"name": "distinct-l-diversity", "l": 2}],
    "k and t": [{"name": "k-anonymity", "k": 10}, {"name": "t-closeness", "t": 0.5}],
}
EXACT: dict[str, Any] = {
    "mondrian": sf.Mondrian(),
    "mondrian, cut anywhere": sf.Mondrian(split_rule="anywhere"),
    "mondrian, widest": sf.Mondrian(attribute_choice="widest"),
    "mondrian, regions": sf.Mondrian(extent="region"),
    "mondrian, blind": sf.Mondrian(blind=True),
    "optimal": sf.Optimal(),
    "incognito": sf.Incognito(),
    "datafly": sf.Datafly(),
    "global mondrian": sf.GlobalMondrian(),
    "value generalization": sf.ValueGeneralization(),
}


DEALT: dict[str, Any] = {
    "dealt buckets": sf.Bucketization(),
    "random buckets": sf.Bucketization(members="random"),
    "alike buckets": sf.Bucketization(members="alike"),
    "slices": sf.Slicing(),
    "slices, matching": sf.Slicing(protection="matching", split="median", column_k=5),
}


def adults(rows: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    frame = adult.read_adult(Path(DATA or "") / "adult" / "adult.data").head(rows)
    quasi: dict[str, Any] = {
        "age": sf.Attribute(hierarchy=sf.intervals(5, 10, 20, 40)),
        **{name: sf.Attribute(hierarchy=sf.flat()) for name in ("workclass", "marital-status", "race", "sex")},
    }
    return frame, {"quasi_identifying": quasi, "sensitive": ["occupation"]}


def counted(rows: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    return census.census(rows), {"quasi_identifying": [*census.QUASI_IDENTIFYING], "sensitive": ["income"]}


def patients(rows: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Stays in hospital; some patients have several."""
    path = Path(DATA or "") / "diabetes130" / "diabetic_data.csv.gz"
    frame = pl.read_csv(path, infer_schema_length=None).sort("patient_nbr").head(rows)
    quasi = ["race", "gender", "age", "time_in_hospital"]
    return frame, {"quasi_identifying": quasi, "sensitive": ["readmitted"], "person": "patient_nbr"}


TABLES = {"adult": adults, "census": counted, "diabetes130": patients}


@cache
def table(name: str, rows: int, folder: Path) -> tuple[Path, dict[str, Any]]:
    """Write a table in an order that means nothing, in several files."""
    frame, roles = TABLES[name](rows)
    roles_of = sf.Schema(**roles, others="drop").roles
    kept = frame.select([each for each in frame.columns if each in roles_of])
    kept = kept.sample(fraction=1.0, shuffle=True, seed=1)
    source = folder / f"{name}-{rows}"
    source.mkdir()
    for number, part in enumerate(kept.iter_slices(-(-kept.height // 3))):
        part.write_parquet(source / f"part-{number}.parquet")
    return source, roles


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


def published(source: Path, policy: Path, engine: str, out: Path) -> Any:
    """The records of a release in rising order; where there is none, what is said."""
    words = ["anonymize", str(source), "--policy", str(policy), "--engine", engine, "--out", str(out), "--quiet"]
    done = CliRunner().invoke(app, words)
    if done.exit_code:
        assert not out.exists()
        return done.exit_code, done.output.replace(source.name, "").split(": ", 1)[-1]
    return sorted(content(out).splitlines())


def compared(name: str, rows: int, method: str, models: str, folder: Path, out: Path) -> dict[str, Any]:
    source, roles = table(name, rows, folder)
    given = sf.Policy.of(
        sf.Schema(**roles, others="drop"), sf.Policy.from_mapping(_models(roles, models)).to_models(), EXACT[method],
        sf.Recoding(), 0.0, 0, sf.People(),
    )  # fmt: skip
    given.to_file(out / "policy.toml")
    engines = ("memory", "disk", "spark")
    return {engine: published(source, out / "policy.toml", engine, out / engine) for engine in engines}


def _models(roles: dict[str, Any], models: str) -> dict[str, Any]:
    names = {"quasi-identifying": list(roles["quasi_identifying"]), "sensitive": roles["sensitive"], "others": "drop"}
    return {"columns": names, "models": MODELS[models]}


QUICK = {
    ("adult", 1_000, "mondrian", "k and l"),
    ("adult", 1_000, "mondrian, cut anywhere", "k and t"),
    ("adult", 1_000, "datafly", "k and l"),
    ("adult", 1_000, "global mondrian", "k"),
    ("census", 1_500, "mondrian", "k and t"),
}
SLOW = [
    *(("adult", 30_162, method, models) for method in EXACT for models in MODELS),
    *(("census", 2_000_000, "mondrian", models) for models in MODELS),
]


@needs_data
@pytest.mark.parametrize(
    ("name", "rows", "method", "models"),
    [*sorted(QUICK), *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)],
)
def test_the_set_of_records_is_that_of_memory(
    name: str, rows: int, method: str, models: str, spark_server: str, folder: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("SPARK_REMOTE", spark_server)
    found = compared(name, rows, method, models, folder, tmp_path)
    if isinstance(found["memory"], tuple):
        assert {each[0] for each in found.values()} == {found["memory"][0]}
        return
    assert len(found["memory"]) == min(rows, 30_162 if name == "adult" else rows) + 1
    assert found["disk"] == found["memory"]
    assert found["spark"] == found["memory"]


def folder_of(source: Path, policy: Path, engine: str, out: Path) -> Any:
    """Every table of a release under a seed, parts in a row, and its report; where there is none, what is said."""
    words = ["anonymize", str(source), "--policy", str(policy), "--engine", engine, "--out", str(out), "--quiet"]
    done = CliRunner().invoke(app, [*words, "--seed", "5"])
    if done.exit_code:
        return done.exit_code, done.output.replace(source.name, "").split(": ", 1)[-1]
    assert sf.verify(out).ok
    return {name: content for name, content in files_of(out).items() if name.endswith(".csv") or name == "report.json"}


@needs_data
@pytest.mark.parametrize(
    ("name", "rows", "method"),
    [
        ("adult", 1_000, "dealt buckets"),
        ("adult", 1_000, "slices"),
        *(pytest.param("adult", 30_162, method, marks=pytest.mark.slow) for method in DEALT),
        *(pytest.param("census", 2_000_000, method, marks=pytest.mark.slow) for method in ("dealt buckets", "slices")),
    ],
)
def test_original_values_are_dealt_alike(
    name: str, rows: int, method: str, spark_server: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under a seed the tables of all engines have the same bytes, whatever the order of the source is."""
    monkeypatch.setenv("SPARK_REMOTE", spark_server)
    source, roles = table(name, rows, folder)
    policy = sf.Policy.of(
        sf.Schema(**roles, others="drop"), [sf.ProbabilisticLDiversity(3)], DEALT[method], sf.Recoding(), 0.0, 0,
        sf.People(),
    )  # fmt: skip
    policy.to_file(tmp_path / "policy.toml")
    memory, disk, spark = (
        folder_of(source, tmp_path / "policy.toml", engine, tmp_path / engine) for engine in ("memory", "disk", "spark")
    )
    assert isinstance(memory, dict)
    assert disk == memory
    assert spark == memory


@needs_data
@pytest.mark.parametrize(
    "models", ["k", *(pytest.param(each, marks=pytest.mark.slow) for each in ("k and l", "k and t"))]
)
@pytest.mark.parametrize("rows", [400, pytest.param(101_766, marks=pytest.mark.slow)])
def test_people_with_several_records(
    models: str, rows: int, spark_server: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their records are counted on Spark and coded on disk; the audit file recounts them wherever they were solved."""
    monkeypatch.setenv("SPARK_REMOTE", spark_server)
    found = compared("diabetes130", rows, "mondrian", models, folder, tmp_path)
    assert len(found["memory"]) == rows + 1
    assert found["spark"] == found["memory"]
    assert found["disk"] == found["memory"]
    for engine in found:
        assert sf.verify(tmp_path / engine, audit=tmp_path / f"{engine}.audit.json").ok

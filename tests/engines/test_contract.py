"""What every engine keeps to: a table in rising order gives the same bytes, or the same refusal and nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from engines.test_disk import MODELS, TOWN_SCHEMA, content, policy_of
from golden.made_tables import town
from sfumato.policy.parts import People

ENGINES: dict[str, Callable[..., Any]] = {"disk": sf.anonymize_on_disk, "spark": sf.anonymize_on_spark}
BOTH = pytest.mark.parametrize("engine", ENGINES)
POLICY = policy_of(TOWN_SCHEMA, MODELS[1])


def in_memory(path: Path, policy: sf.Policy, folder: Path) -> Any:
    release = sf.anonymize(sf.read_table(path, policy), policy, seed=3)
    release.save(folder)
    return release


@pytest.fixture
def made(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The verb of the engine that the test is about."""
    name = request.node.callspec.params["engine"]
    if name == "spark":
        monkeypatch.setenv("SPARK_REMOTE", request.getfixturevalue("spark_server"))
    return ENGINES[name]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    frame = town(120).with_columns(pl.when(pl.int_range(pl.len()) % 9 == 0).then(None).otherwise("wage").alias("wage"))
    names = [name for name in frame.columns if name in TOWN_SCHEMA.roles]
    frame.select(names).sort(names).write_parquet(tmp_path / "town.parquet")
    return tmp_path / "town.parquet"


@BOTH
def test_the_release_is_that_of_memory(engine: str, made: Any, path: Path, tmp_path: Path):
    memory = in_memory(path, POLICY, tmp_path / "memory")
    release = made(path, POLICY, tmp_path / engine, seed=3)
    assert content(tmp_path / engine) == content(tmp_path / "memory")
    assert release.report.losses == memory.report.losses
    assert release.report.to_dict() == memory.report.to_dict()
    assert sf.verify(tmp_path / engine).ok


@BOTH
def test_what_cannot_be_met_is_refused_alike(engine: str, made: Any, path: Path, tmp_path: Path):
    policy = policy_of(TOWN_SCHEMA, [sf.KAnonymity(121)])
    with pytest.raises(sf.UnsatisfiableError) as here:
        in_memory(path, policy, tmp_path / "memory")
    with pytest.raises(sf.UnsatisfiableError) as there:
        made(path, policy, tmp_path / engine)
    assert here.value.problems == there.value.problems
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@BOTH
@pytest.mark.parametrize("suppressed", ["remove", "star"])
def test_records_are_left_out_as_in_memory(engine: str, suppressed: Any, made: Any, path: Path, tmp_path: Path):
    """Some that are alike go, whole or not, and the report counts them."""
    schema = sf.Schema(quasi_identifying=["age", "zip", "job"], sensitive=["disease"], others="drop")
    policy = sf.Policy.of(
        schema, [sf.KAnonymity(4)], sf.Optimal(), sf.Recoding(suppressed=suppressed), 0.3, 0, People()
    )  # fmt: skip
    frame = pl.read_parquet(path)
    names = [name for name in frame.columns if name in schema.roles]
    frame.select(names).sort(names).write_parquet(path)
    memory = in_memory(path, policy, tmp_path / "memory")
    release = made(path, policy, tmp_path / engine, seed=3)
    assert memory.report.suppressed >= 4
    assert content(tmp_path / engine) == content(tmp_path / "memory")
    assert release.report.to_dict() == memory.report.to_dict()
    assert (tmp_path / engine / "release.json").read_bytes() == (tmp_path / "memory" / "release.json").read_bytes()
    assert sf.verify(tmp_path / engine).ok


@BOTH
def test_nothing_is_written_over(engine: str, made: Any, path: Path, tmp_path: Path):
    made(path, POLICY, tmp_path / engine)
    before = content(tmp_path / engine)
    with pytest.raises(sf.InputError):
        made(path, POLICY, tmp_path / engine)
    assert content(tmp_path / engine) == before
    made(path, POLICY, tmp_path / engine, overwrite=True)
    assert content(tmp_path / engine) != before
    assert sorted(content(tmp_path / engine).splitlines()) == sorted(before.splitlines())


@BOTH
@pytest.mark.parametrize(
    "anonymizer",
    [
        sf.Bucketization(),
        sf.Bucketization(members="random"),
        sf.Bucketization(members="alike"),
        sf.Slicing(),
        sf.Slicing(column_k=3, protection="matching"),
    ],
    ids=["dealt", "random", "alike", "slicing", "generalized columns"],
)
def test_original_values_are_dealt_as_in_memory(
    engine: str, anonymizer: Any, made: Any, path: Path, tmp_path: Path
) -> None:
    """The whole folders are alike: tables, reports, what they say of themselves."""
    schema = sf.Schema(quasi_identifying=["age", "zip", "job"], sensitive=["disease"], others="drop")
    frame = pl.read_parquet(path)
    names = [name for name in frame.columns if name in schema.roles]
    frame.select(names).sort(names).write_parquet(path)
    policy = policy_of(schema, [sf.ProbabilisticLDiversity(1.5)], anonymizer)
    memory = in_memory(path, policy, tmp_path / "memory")
    release = made(path, policy, tmp_path / engine, seed=3)
    files = sorted(each.name for each in (tmp_path / "memory").iterdir())
    assert files == sorted(each.name for each in (tmp_path / engine).iterdir())
    for name in files:
        assert (tmp_path / engine / name).read_bytes() == (tmp_path / "memory" / name).read_bytes()
    assert release.report.to_dict() == memory.report.to_dict()
    assert memory.report.figures["buckets"] > 1
    without_seed = made(path, policy, tmp_path / "again")
    assert sf.verify(tmp_path / "again").ok
    assert without_seed.report.published == 120


@BOTH
@pytest.mark.parametrize(
    "change",
    [
        {"wished_k": "zip", "insensitive": ["job"]},
        {"person": "zip", "anonymizer": sf.Bucketization()},
        {"anonymizer": sf.OverlappingSlicing()},
        {"anonymizer": sf.Marginals()},
        {"refine": 3},
    ],
    ids=["wishes", "people in buckets", "overlapping slicing", "marginals", "refine"],
)
def test_what_an_engine_does_not_have_is_said(
    engine: str, made: Any, change: dict[str, Any], path: Path, tmp_path: Path
):
    roles = {name: value for name, value in change.items() if name in ("wished_k", "insensitive", "person")}
    schema = sf.Schema(quasi_identifying=["age"], sensitive=["disease"], others="drop", **roles)
    models = [] if "anonymizer" in change else MODELS[0]
    policy = sf.Policy.of(
        schema,
        models,
        change.get("anonymizer", sf.Mondrian()),
        sf.Recoding(),
        0.0,
        change.get("refine", 0),
        sf.People(),
    )
    with pytest.raises(sf.PolicyError) as caught:
        made(path, policy, tmp_path / engine)
    assert any(problem.startswith("engine: ") for problem in caught.value.problems)
    assert not (tmp_path / engine).exists()

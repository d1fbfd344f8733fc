"""The Spark engine publishes what memory does, asked of a Spark Connect server of the test's own.

Under a seed the bytes are those of memory for the same records in rising order.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from engines.test_disk import MODELS, NAMES, STRICT, TOWN_SCHEMA, content, made, policy_of, refused
from engines.test_engines import folder_of, task
from golden.made_tables import town
from golden.runs import ANONYMIZED, BLOCKS
from guarantees.tables import Drawn, tables
from sfumato.anonymizers import mondrian
from sfumato.cli.app import app
from sfumato.engines import LocalEngine, disk, spark_counts
from sfumato.engines import spark as tasks
from sfumato.engines.spark import SparkEngine, spread_counts
from sfumato.errors import InputError, PolicyError, SchemaError, SfumatoError
from sfumato.release import on_spark
from sfumato.release.anonymize import made as made_of
from sfumato.release.on_spark import table_on_spark
from sfumato.table.sources import spark as spark_frames
from sfumato.table.sources import spark_server as spark_server_of


@pytest.fixture(autouse=True)
def _a_server(spark_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests go to the server of the tests; batches hold a few records."""
    monkeypatch.setenv("SPARK_REMOTE", spark_server)
    monkeypatch.setattr(tasks, "ROWS", 7)


@pytest.fixture
def spark(spark_server: str) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    found = SparkSession.builder.remote(spark_server).getOrCreate()
    yield found
    found.stop()


def in_files(frame: pl.DataFrame, folder: Path, count: int) -> Path:
    """The records in several files, one of which may be empty."""
    folder.mkdir()
    size = -(-frame.height // count)
    for number in range(count):
        frame[number * size : (number + 1) * size].write_parquet(folder / f"part-{number}.parquet")
    return folder


def rising(frame: pl.DataFrame, schema: sf.Schema) -> pl.DataFrame:
    return frame.sort([name for name in frame.columns if name in schema.roles])


def releases(frame: pl.DataFrame, policy: sf.Policy, out: Path) -> tuple[Any, Any]:
    """What memory makes of the records in order, and Spark of them as they come: bytes and losses, or problems."""

    def in_memory(folder: Path) -> Any:
        release = sf.anonymize(sf.read_table(rising(frame, policy.to_schema()), policy), policy, seed=7, threads=1)
        release.save(folder)
        return release.report.losses

    def on_spark(folder: Path) -> Any:
        source = in_files(frame, out / "in", 3)
        losses = sf.anonymize_on_spark(str(source), policy, folder, seed=7, threads=1).report.losses
        assert sf.verify(folder).ok
        return losses

    return made(in_memory, out / "memory"), made(on_spark, out / "spark")


def alike(one: Any, two: Any) -> bool:
    """Whether bytes, losses and texts are equal; problems are, but for the name of what was read."""
    if len(one) == 2:
        return len(two) == 2 and one[0] is two[0] and len(one[1]) == len(two[1])
    return bool(one == two)


@given(tables(sensitive=1), st.sampled_from(sorted(STRICT)), st.sampled_from(MODELS))
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
def test_strict_mondrian_cuts_alike(drawn: Drawn, setting: str, models: Any):
    with tempfile.TemporaryDirectory() as name:
        schema = dataclasses.replace(drawn.schema, others="drop")
        one, two = releases(drawn.frame, policy_of(schema, models, STRICT[setting]), Path(name))
        assert alike(one, two)


@given(tables(sensitive=1), st.sampled_from(sorted(ANONYMIZED)))
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_other_anonymizer_publishes_the_same(drawn: Drawn, setting: str):
    with tempfile.TemporaryDirectory() as name:
        schema = dataclasses.replace(drawn.schema, insensitive=(), others="drop")
        one, two = releases(drawn.frame, policy_of(schema, MODELS[0], ANONYMIZED[setting]), Path(name))
        assert refused(two) or alike(one, two)


@pytest.mark.parametrize("schema", [TOWN_SCHEMA, dataclasses.replace(TOWN_SCHEMA, insensitive=(), others="drop")])
def test_a_town_in_several_parts(schema: sf.Schema, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(disk, "PART", 200)
    one, two = releases(town(600), policy_of(schema, MODELS[1]), tmp_path)
    assert one == two
    assert len(list((tmp_path / "spark" / "data").iterdir())) == 3


def test_the_number_of_files_decides_nothing(tmp_path: Path):
    policy, found = policy_of(TOWN_SCHEMA, MODELS[0]), set()
    for count in (1, 7, 200):
        source = in_files(town(100).sample(fraction=1.0, shuffle=True, seed=count), tmp_path / f"in-{count}", count)
        sf.anonymize_on_spark(str(source), policy, tmp_path / f"out-{count}", seed=7)
        found.add(content(tmp_path / f"out-{count}"))
    assert len(found) == 1


@pytest.mark.slow
@pytest.mark.parametrize("models", MODELS, ids=str)
def test_a_large_town(models: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tasks, "ROWS", 1 << 16)
    one, two = releases(town(250_000), policy_of(TOWN_SCHEMA, models), tmp_path)
    assert one == two


def test_without_a_seed_order_is_random_and_the_records_are_the_same(tmp_path: Path, spark: Any):
    frame = town(200)
    source = str(in_files(frame, tmp_path / "in", 7))
    policy = policy_of(TOWN_SCHEMA, MODELS[0])
    memory = sf.anonymize(sf.read_table(frame, policy), policy, seed=1)
    memory.save(tmp_path / "memory")
    sf.anonymize_on_spark(source, policy, tmp_path / "one")
    sf.anonymize_on_spark(spark.read.parquet(source).repartition(3), policy, tmp_path / "two")
    three, one, two = (content(tmp_path / name).splitlines() for name in ("memory", "one", "two"))
    assert one != two
    assert sorted(one) == sorted(two) == sorted(three)


@pytest.mark.parametrize("python", [True, False], ids=["with", "without"])
def test_records_come_partition_by_partition(python: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """With Python on the workers; without it, all at once."""
    from pyspark.sql import DataFrame

    if not python:
        monkeypatch.setattr(DataFrame, "__arrow_c_stream__", None)
    same_as_memory(town(150), policy_of(TOWN_SCHEMA, MODELS[0]), tmp_path)


def test_counts_come_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(spark_frames, "CELLS", 300)
    same_as_memory(town(150), policy_of(WITHOUT_BESIDE, MODELS[0]), tmp_path)


WITHOUT_BESIDE = dataclasses.replace(TOWN_SCHEMA, insensitive=(), others="drop")


def same_as_memory(frame: pl.DataFrame, policy: sf.Policy, tmp_path: Path) -> Any:
    """Compare what is published without a seed, and its losses."""
    release = sf.anonymize_on_spark(str(in_files(frame, tmp_path / "in", 4)), policy, tmp_path / "out")
    memory = sf.anonymize(sf.read_table(frame, policy), policy, seed=1)
    memory.save(tmp_path / "memory")
    assert sorted(content(tmp_path / "out").splitlines()) == sorted(content(tmp_path / "memory").splitlines())
    assert sf.verify(tmp_path / "out").ok
    return release.report, memory.report


@pytest.mark.parametrize("models", [pytest.param(each, marks=pytest.mark.slow) for each in MODELS], ids=str)
def test_by_counts(models: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """No record comes here; every file of the release is written here, in slices."""
    monkeypatch.setattr(mondrian, "MOST_RETRIED", 0)
    monkeypatch.setattr(on_spark, "COUNTED_FROM", 0)
    monkeypatch.setattr(spark_counts, "CELLS", 1_000)
    monkeypatch.setattr(on_spark, "part_count", lambda records: 3)
    monkeypatch.setattr(tasks.SparkBatches, "batches", None)
    counted, memory = same_as_memory(town(600), policy_of(WITHOUT_BESIDE, models), tmp_path)
    # Squared distances are floats, which other parts add up in another order.
    assert counted.losses.squared_error == pytest.approx(memory.losses.squared_error, rel=1e-12)
    same = dataclasses.replace(memory.losses, squared_error=counted.losses.squared_error)
    assert counted.losses == same
    assert (counted.smallest_class, counted.largest_class) == (memory.smallest_class, memory.largest_class)


def test_by_counts_everything_is_asked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What reading asks, and what would stop the release once that is answered."""
    monkeypatch.setattr(on_spark, "COUNTED_FROM", 0)
    monkeypatch.setattr(tasks.SparkBatches, "batches", None)
    frame = pl.DataFrame(
        {"seen": [f"0{1 + i % 7}/0{1 + i % 5}/2020" for i in range(60)], "ill": ["flu", "Flu", "cold"] * 20}
    )
    schema = sf.Schema(quasi_identifying=["seen"], sensitive=["ill"], accept={})
    with pytest.raises(SfumatoError) as caught:
        sf.anonymize_on_spark(
            str(in_files(frame, tmp_path / "in", 1)), policy_of(schema, (sf.KAnonymity(2), sf.DistinctLDiversity(2))),
            tmp_path / "out",
        )  # fmt: skip
    asked = "\n".join(caught.value.problems)
    assert "column 'seen'" in asked
    assert "spellings:ill" in asked


def test_what_needs_too_much_memory_here_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(on_spark, "COUNTED_FROM", 0)
    monkeypatch.setattr(on_spark, "HELD", 10_000_000)
    monkeypatch.setattr(tasks.SparkBatches, "batches", None)
    source = str(in_files(town(100), tmp_path / "in", 1))
    for policy in (policy_of(TOWN_SCHEMA, MODELS[0]), policy_of(WITHOUT_BESIDE, MODELS[0], sf.Datafly())):
        with pytest.raises(
            PolicyError, match=r"needs the codes of all 100 records on this machine here, about 1\.3 GB"
        ):
            sf.anonymize_on_spark(source, policy, tmp_path / "out", memory="1GB")


def test_a_setting_that_stops_a_job_is_named():
    with pytest.raises(InputError) as caught, spark_frames.asking_spark():
        raise RuntimeError(
            "Total size of serialized results of 3 tasks is bigger than spark.driver.maxResultSize 64 MiB"
        )
    assert "spark.driver.maxResultSize" in str(caught.value)
    assert "64" not in str(caught.value)


def test_text_is_read_as_from_a_file(tmp_path: Path):
    rows = "age,zip,ill\n" + "".join(f'{30 + n % 5},0{n % 3},"flu, {"" if n % 4 else "bad"}"\n' for n in range(40))
    (tmp_path / "in.csv").write_text(rows)
    policy = policy_of(sf.Schema(quasi_identifying=["age", "zip"], sensitive=["ill"]), MODELS[0])
    sf.anonymize_on_spark(str(tmp_path / "in.csv"), policy, tmp_path / "out")
    sf.anonymize(sf.read_table(tmp_path / "in.csv", policy), policy, seed=1).save(tmp_path / "memory")
    assert sorted(content(tmp_path / "out").splitlines()) == sorted(content(tmp_path / "memory").splitlines())


def test_text_that_is_brought_here_is_read_as_from_a_file(tmp_path: Path):
    (tmp_path / "in.csv").write_text("age;zip\n1,5;01\n2,5;?\n", encoding="utf-8")
    policy = sf.Policy.from_mapping(
        {
            "columns": {"quasi-identifying": ["age", "zip"]},
            "models": [{"name": "k-anonymity", "k": 2}],
            "source": {"separator": ";", "decimal": ",", "missing": ["?"]},
        }
    )
    here, there = table_on_spark(str(tmp_path / "in.csv"), policy), sf.read_table(tmp_path / "in.csv", policy)
    assert here.kinds == there.kinds
    assert here.frame.sort("age").rows() == there.frame.sort("age").rows()


def test_a_frame_is_a_table(spark: Any, tmp_path: Path):
    frame = town(100)
    found = spark.read.parquet(str(in_files(frame, tmp_path / "in", 2)))
    table = sf.read_table(found, TOWN_SCHEMA)
    kept = sf.read_table(frame, TOWN_SCHEMA)
    assert table.kinds == kept.kinds
    assert sorted(table.frame.write_csv().splitlines()) == sorted(kept.frame.write_csv().splitlines())
    assert sf.anonymize(found, [sf.KAnonymity(3)], schema=TOWN_SCHEMA).report.published == 100


BLOCKWISE = [pytest.param(name, marks=[pytest.mark.slow] * (not name.startswith("MDAV"))) for name in BLOCKS]


@pytest.mark.parametrize("name", BLOCKWISE)
def test_blocks_are_solved_by_workers(name: str, spark: Any, tmp_path: Path):
    with patch.object(tasks, "WAVE", 1):
        elsewhere, here = (made_of(task(name, tasks)) for tasks in (SparkEngine(spark), LocalEngine()))
    assert folder_of(elsewhere, tmp_path / "0") == folder_of(here, tmp_path / "1")


def test_a_repeated_task_finds_the_same():
    sent = [(place, tasks.pickle.dumps(part)) for place, part in enumerate([[3, 1], [], [2]])]
    batch = pa.RecordBatch.from_pydict({"place": [place for place, _ in sent], "part": [part for _, part in sent]})
    attempts = [
        list(tasks._task(tasks.pickle.dumps(sorted), tasks.library_versions())(iter([batch]))) for _ in range(2)
    ]
    assert attempts[0] == attempts[1]
    assert [tasks.pickle.loads(row["solution"].as_py()) for [row] in map(rows_of, attempts[0])] == [[1, 3], [], [2]]


def rows_of(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    return [{name: batch.column(name)[row] for name in batch.schema.names} for row in range(batch.num_rows)]


def negative(part: int) -> int:
    return -part


def refusing(part: int) -> int:
    raise sf.UnsatisfiableError("so many", "and so many")


def crashing(part: int) -> int:
    return 1 // part


def test_what_workers_cannot_do(spark: Any, monkeypatch: pytest.MonkeyPatch):
    def run(solve: Any, parts: Any = (0, 1)) -> list[tuple[int, int]]:
        return sorted(tasks.run_on_spark(spark, solve, parts, wave=1))

    assert run(negative, (3, 4, 5)) == [(0, -3), (1, -4), (2, -5)]
    with pytest.raises(sf.UnsatisfiableError) as caught:
        run(refusing)
    assert caught.value.problems == ("so many", "and so many")
    with pytest.raises(InputError, match="workers could not do its part"):
        run(crashing)
    # Workers are in this process: they find what is put there.
    numbers = iter(range(100))
    with monkeypatch.context() as context:
        context.setattr(tasks, "library_versions", lambda: (str(next(numbers)),))
        with pytest.raises(InputError, match="have other versions"):
            run(negative)
    monkeypatch.setitem(sys.modules, "sfumato.engines.spark", None)
    with pytest.raises(InputError, match="do not have sfumato"):
        run(negative)


def test_groups_are_spread_over_batches():
    """Against numpy's repeat."""
    random = np.random.default_rng(1)
    for most in (1, 2, 3, 7, 100):
        counts = random.integers(1, 12, size=9)
        batches = list(spread_counts(counts, most))
        assert all(len(batch) <= most for batch in batches)
        assert np.concatenate(batches).tolist() == np.repeat(np.arange(9), counts).tolist()


def test_command_line(tmp_path: Path):
    in_files(town(200), tmp_path / "in", 2)
    asked = [
        "anonymize",
        str(tmp_path / "in"),
        "--quasi",
        "age,zip",
        "--others",
        "drop",
        "-k",
        "4",
        "--engine",
        "spark",
    ]
    ran = CliRunner().invoke(app, [*asked, "--out", str(tmp_path / "out")])
    assert ran.exit_code == 0, ran.output
    assert sf.verify(tmp_path / "out").ok


def test_what_counts_do_not_do_is_done_in_memory(tmp_path: Path):
    """The records are brought here, and the command says why."""
    frame = town(120).with_columns(pl.int_range(pl.len()).floordiv(2).alias("who"))
    source = str(in_files(frame, tmp_path / "in", 2))
    asked = ["anonymize", source, "--quasi", "age,zip", "--others", "drop", "-k", "4", "--engine", "spark"]
    for number, (more, reason) in enumerate(
        {
            ("--person", "who", "--set", "people.rows=apart"): "rows are to lie apart",
            ("--bound",): "--bound compares all records with each other",
            ("--set", "policy.refine=3"): "refine compares records of the whole table",
        }.items()
    ):
        out = tmp_path / str(number)
        ran = CliRunner().invoke(app, [*asked, *more, "--out", str(out)])
        assert ran.exit_code == 0, ran.output
        assert "the records are brought into memory here: " in ran.output
        assert reason in ran.output
        assert sf.verify(out, audit=tmp_path / "0.audit.json" if number == 0 else None).ok


POLICY = policy_of(sf.Schema(quasi_identifying=["age"], others="drop"), MODELS[0])


def refusal(source: Any, out: Path, policy: sf.Policy = POLICY) -> str:
    """The one sentence with which a run ends that published nothing."""
    with pytest.raises((InputError, PolicyError, SchemaError)) as caught:
        sf.anonymize_on_spark(source, policy, out)
    assert not out.exists()
    assert not [path for path in out.parent.iterdir() if path.name.startswith(".")]
    assert caught.value.__cause__ is None
    (problem,) = caught.value.problems
    return problem


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = tmp_path / "out"
    folder = in_files(town(50), tmp_path / "in", 1)
    assert "finds no" in refusal(str(tmp_path / "nowhere.parquet"), out)
    assert "finds no" in refusal("no_such_table", out)
    (tmp_path / "torn.parquet").write_bytes((folder / "part-0.parquet").read_bytes()[:-30])
    refusal(str(tmp_path / "torn.parquet"), out)
    (tmp_path / "ragged.csv").write_text("age,zip\n1,2\n3\n", encoding="utf-8")
    refusal(str(tmp_path / "ragged.csv"), out)
    (tmp_path / "mixed").mkdir()
    for number, value in enumerate([1, "a"]):
        pl.DataFrame({"age": [value]}).write_parquet(tmp_path / "mixed" / f"{number}.parquet")
    refusal(str(tmp_path / "mixed"), out)
    raw = POLICY.model_copy(update={"source": POLICY.source.model_copy(update={"quote": ""})})
    assert "without quotes" in refusal(str(tmp_path / "ragged.csv"), out, raw)
    unsaid = policy_of(sf.Schema(quasi_identifying=["age"], others="keep"), MODELS[0])
    assert "the Spark engine does not look" in refusal(str(folder), out, unsaid)
    wishing = sf.Schema(quasi_identifying=["age"], wished_k="zip", insensitive=["job"], others="drop")
    assert "which the Spark engine does not hold" in refusal(str(folder), out, policy_of(wishing, MODELS[0]))
    strange = policy_of(sf.Schema(quasi_identifying={"job": sf.Attribute(kind="numeric")}, others="drop"), MODELS[0])
    assert "row" not in refusal(str(folder), out, strange).replace("record", "")
    monkeypatch.delenv("SPARK_REMOTE")
    assert "names no Spark server" in refusal(str(folder), out)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("SPARK_REMOTE", f"sc://127.0.0.1:{free.getsockname()[1]}/;token=secret")
        said = refusal(str(folder), out)
    assert "nobody answers" in said
    assert "secret" not in said


def test_without_the_client(tmp_path: Path):
    with patch.dict(sys.modules, {"pyspark.sql": None}):
        assert "pip install 'sfumato[spark]'" in refusal("any", tmp_path / "out")


def test_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The client alone cannot start a Spark of its own, and the whole of Spark cannot without Java."""
    for name in ("PATH", "JAVA_HOME", "SPARK_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("SPARK_REMOTE", "local[1]")
    out = tmp_path / "out"
    assert "needs the whole of Spark (pip install 'pyspark[connect]') and Java" in refusal("any", out)


SERVER = """
import sys, time
from pysail.spark import SparkConnectServer
server = SparkConnectServer("127.0.0.1", 0)
server.start(background=True)
print(server.listening_address[1], flush=True)
sys.stdin.read()
"""


def test_a_server_that_goes_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It is killed before it is asked for the counts."""
    folder = in_files(town(50), tmp_path / "in", 1)
    quiet = {**os.environ, "RUST_LOG": "off"}
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=quiet, text=True
    )
    counted = spark_frames.SparkSource.counted

    def killed(*asked: Any, **said: Any) -> Iterator[Any]:
        server.kill()
        server.wait()
        yield from counted(*asked, **said)

    monkeypatch.setattr(spark_frames.SparkSource, "counted", killed)
    monkeypatch.setattr(spark_server_of, "RETRIES", 1)
    try:
        assert server.stdout is not None
        monkeypatch.setenv("SPARK_REMOTE", f"sc://127.0.0.1:{int(server.stdout.readline())}")
        assert "does not answer any more" in refusal(str(folder), tmp_path / "out")
    finally:
        server.kill()
        server.communicate()


@pytest.mark.parametrize("insensitive", [(), ("born",)], ids=["counted", "streamed"])
def test_a_table_that_changes_meanwhile(insensitive: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Another file comes while its records are counted, and one goes."""
    schema = sf.Schema(quasi_identifying=["age"], insensitive=insensitive, others="drop")
    policy, folder = policy_of(schema, MODELS[0]), in_files(town(60), tmp_path / "in", 2)
    chosen = spark_frames.SparkSource.chosen

    def changing(*asked: Any) -> Any:
        found = chosen(*asked)
        count = found.count

        def counted() -> int:
            records = count()
            town(5).write_parquet(folder / "late.parquet")
            return int(records)

        found.count = counted
        return found

    with monkeypatch.context() as context:
        context.setattr(spark_frames.SparkSource, "chosen", changing)
        said = refusal(str(folder), tmp_path / "out", policy)
    assert "changed while it was read" in said or "could not do" in said
    sf.anonymize_on_spark(str(folder), policy, tmp_path / "out")


def test_names_that_no_query_language_likes(tmp_path: Path):
    names = {"age": "a`g e.1", "zip": "*", "job": "count"}
    frame = town(80).select([*names]).rename(names)
    policy = policy_of(sf.Schema(quasi_identifying=[*names.values()]), MODELS[0])
    one, two = releases(frame, policy, tmp_path)
    assert one == two


def test_report_and_description_are_those_of_memory(tmp_path: Path):
    policy = policy_of(TOWN_SCHEMA, MODELS[0])
    releases(town(150), policy, tmp_path)
    for name in NAMES:
        assert (tmp_path / "spark" / name).read_bytes() == (tmp_path / "memory" / name).read_bytes()

"""`sfumato anonymize --engine spark` of a large Parquet file against the same command in memory: CPU and records.

The server is Sail, a Spark Connect server without Java. It runs in the process of the command, so that its CPU time and
its memory count.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import polars as pl

from benchmarks import census
from benchmarks.disk_job import SEED, content_of
from benchmarks.measuring import Cost, median, run_child
from benchmarks.release_job import K, generated
from benchmarks.results import Figure, SkippedJob
from benchmarks.settings import Settings

NAME = "spark"
CPU_BAR = 4.0

_COMMANDS = {"memory": ["-m", "sfumato.cli"], "spark": ["-m", "benchmarks.spark_server"]}


def run(settings: Settings) -> Iterator[Figure]:
    """Measure the synthetic census in rising order, whose release under a seed has the same bytes from both engines."""
    if find_spec("pysail") is None or find_spec("pyspark") is None:
        raise SkippedJob("Sail is not installed; pip install pysail pyspark-client")
    path = generated(
        settings.folder / f"census-{settings.rows}-rising.parquet", lambda target: write_rising(settings.rows, target)
    )
    yield from compare(path, census.QUASI_IDENTIFYING, settings.repeats)


def compare(path: Path, quasi_identifying: Sequence[str], repeats: int) -> Iterator[Figure]:
    """Run memory, Spark, memory, …, and see whether both publish the same records in the same order."""
    costs: dict[str, list[Cost]] = {engine: [] for engine in _COMMANDS}
    hashes = set()
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        for number in range(repeats):
            for engine, command in _COMMANDS.items():
                target = Path(folder) / f"{engine}-{number}"
                words = ["--quasi", ",".join(quasi_identifying), "-k", str(K), "--seed", SEED, "--others", "drop"]
                words += ["--engine", engine, "--out", str(target), "--quiet"]
                costs[engine].append(run_child([*command, "anonymize", str(path), *words]))
                hashes.add(content_of(target))
    memory, spark = (median(costs[engine]) for engine in _COMMANDS)
    ratio = spark.cpu / memory.cpu
    peak = max(cost.peak for cost in costs["spark"]) / 2**30
    detail = f"median of {repeats}: {spark} with the server, {memory} in memory; peak of both {peak:.2f} GiB"
    yield Figure(NAME, "CPU time on Spark (Sail) ÷ in memory", ratio, f"{ratio:.1f} ×", CPU_BAR, True, detail)
    yield Figure(NAME, "different tables published", len(hashes), str(len(hashes)), 1, True, "under one seed")


def write_rising(rows: int, target: Path) -> None:
    """Write the quasi-identifying attributes of the census, in rising order."""
    frame: pl.DataFrame = census.census(rows).select(census.QUASI_IDENTIFYING)
    frame.sort(frame.columns).write_parquet(target)

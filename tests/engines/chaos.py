"""A worker that dies, for tests: run as a program, it asks Spark in a JVM for a release while tasks are lost.

    python tests/engines/chaos.py IN POLICY OUT MASTER

On one machine, ``local[2,30]``, three releases come into OUT: counted, streamed, and one whose files were written by
workers that died twice at each. On a cluster one comes into OUT, made by counts, and an executor is killed in every
stage of it. What was written is recounted by Spark.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch


@dataclass(frozen=True)
class DyingTwice:
    """Solves a part; the first two attempts at each kill their process instead, without a word.

    Every attempt leaves a mark.
    """

    solve: Callable[[Any], Any]
    folder: str

    def __call__(self, part: Any) -> Any:
        """Solve, or die."""
        name = hashlib.sha256(pickle.dumps(part)).hexdigest()
        before = len(list(Path(self.folder).glob(f"{name}-*")))
        (Path(self.folder) / f"{name}-{before}").touch(exist_ok=False)
        if before < 2:
            os._exit(1)
        return self.solve(part)


@dataclass(frozen=True)
class KillingOnce:
    """A task whose first attempt kills an executor instead: the machine of Java that asked for it."""

    task: Callable[..., Any]
    mark: str

    def __call__(self, told: bytes, rows: Any) -> Any:
        """Work, or kill."""
        try:
            Path(self.mark).touch(exist_ok=False)
        except FileExistsError:
            return self.task(told, rows)
        daemon = os.getppid()
        fields = Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()
        os.kill(int(fields[1]), signal.SIGKILL)
        os._exit(1)


LOCAL = "local[2,30]"
STAGES = "_hashed", "_count", "_route", "_solve", "_class_rows", "_rows_of"


def _kills_in_every_stage(marks: Path) -> None:
    """Have a release of few records made by counts, an executor killed in every stage of it."""
    from sfumato.engines import spark_counts
    from sfumato.release import on_spark

    marks.mkdir()
    for stage in STAGES:
        patch.object(spark_counts, stage, KillingOnce(getattr(spark_counts, stage), str(marks / stage))).start()
    patch.object(on_spark, "_write_there", KillingOnce(on_spark._write_there, str(marks / "_write_there"))).start()
    for module, name, value in (
        (on_spark, "COUNTED_FROM", 0),
        (spark_counts, "LEAF", 2_000),
        (spark_counts, "LEAST_LEAF", 2_000),
        (on_spark, "part_count", lambda records: 3),
    ):
        patch.object(module, name, value).start()


def _dying_writers(marks: Path) -> Callable[..., Any]:
    """Have what is sent to workers done by workers that die."""
    from sfumato.engines import spark

    marks.mkdir()
    run = spark.run_on_spark

    def running(session: Any, solve: Any, parts: Any) -> Any:
        return run(session, DyingTwice(solve, str(marks)), parts)

    return running


def main(source: str, policy_file: str, out: Path, master: str) -> None:
    """Make the releases."""
    from pyspark.sql import SparkSession

    import sfumato as sf
    from sfumato.engines import disk
    from sfumato.release import on_spark

    # One session for all: it is found as the active one, and left open. A task may have several parts that kill it.
    session = SparkSession.builder.remote(master).getOrCreate()
    policy = sf.Policy.from_file(policy_file)
    if master != LOCAL:
        _kills_in_every_stage(out / "killed")
        sf.anonymize_on_spark(source, policy, out / "written", written_by="workers")
        sf.verify(out / "written", engine="spark").raise_unless_ok()
        session.stop()
        return
    sf.anonymize_on_spark(source, policy, out / "counted", seed=7)
    sf.anonymize_on_spark(source, policy, out / "streamed")
    patch.object(disk, "PART", 200).start()
    patch.object(on_spark, "run_on_spark", _dying_writers(out / "died")).start()
    sf.anonymize_on_spark(source, policy, out / "written", seed=7, written_by="workers")
    sf.verify(out / "written", engine="spark").raise_unless_ok()
    session.stop()


if __name__ == "__main__":
    # Its own module, where workers find the class.
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from engines import chaos

    chaos.main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4])

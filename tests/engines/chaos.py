"""A worker that dies, for tests: run as a program, it asks Spark in a JVM for a release while tasks are lost.

    python tests/engines/chaos.py dying IN POLICY OUT
    python tests/engines/chaos.py late IN POLICY OUT

Of the first, four releases come into OUT: counted, streamed, one whose parts were solved by workers of which each died
twice, and one whose files were written by such workers; this one is recounted by Spark. Of the second comes one whose
parts were solved where one attempt was late and another was made meanwhile (speculation).
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch


@dataclass(frozen=True)
class Attempts:
    """Solves a part, and keeps a mark of every attempt at each."""

    solve: Callable[[Any], Any]
    folder: str

    def before(self, part: Any) -> int:
        """Return how many attempts at a part there were before this one."""
        name = hashlib.sha256(pickle.dumps(part)).hexdigest()
        for number in range(100):
            with suppress(FileExistsError):
                (Path(self.folder) / f"{name}-{number}").touch(exist_ok=False)
                return number
        raise AssertionError("a hundred attempts")


@dataclass(frozen=True)
class DyingTwice(Attempts):
    """The first two attempts at each part kill their process, without a word."""

    def __call__(self, part: Any) -> Any:
        """Solve, or die."""
        if self.before(part) < 2:
            os._exit(1)
        return self.solve(part)


@dataclass(frozen=True)
class LateOnce(Attempts):
    """The first attempt at the first part that is begun takes a minute."""

    def __call__(self, part: Any) -> Any:
        """Solve, sooner or later."""
        first = not any(Path(self.folder).iterdir())
        if self.before(part) == 0 and first:
            time.sleep(60)
        return self.solve(part)


def late(source: str, policy_file: str, out: Path) -> None:
    """Make a release while Spark repeats a task that is late."""
    from pyspark.sql import SparkSession

    import sfumato as sf

    # On a single machine Spark repeats nothing but in a cluster of its own.
    builder = SparkSession.builder.remote("local-cluster[2,1,1024]")
    settings = {"": "true", ".interval": "100ms", ".multiplier": "1.1", ".quantile": "0.1"}
    for name, value in settings.items():
        builder = builder.config(f"spark.speculation{name}", value)
    session = builder.getOrCreate()
    _sends_parts_to(LateOnce, out / "late-attempts")
    sf.anonymize_on_spark(source, sf.Policy.from_file(policy_file), out / "late", seed=7)
    session.stop()


def _sends_parts_to(kind: type[Any], marks: Path) -> Callable[..., Any]:
    """Have all parts of Mondrian, however small, solved by such workers."""
    from sfumato.anonymizers.mondrian import first_cuts, mondrian
    from sfumato.engines.spark import engine, tasks

    marks.mkdir()
    run = tasks.run_on_spark

    def running(session: Any, solve: Any, parts: Any) -> Any:
        return run(session, kind(solve, str(marks)), parts)

    for module in (mondrian, first_cuts):
        patch.object(module, "MOST_RETRIED", 0).start()
    for name, value in {"LEAVES_FROM": 0, "LEAF": 100, "run_on_spark": running}.items():
        patch.object(engine, name, value).start()
    return running


def dying(source: str, policy_file: str, out: Path) -> None:
    """Make the releases of workers that die."""
    from pyspark.sql import SparkSession

    import sfumato as sf
    from sfumato.engines.disk import dealing
    from sfumato.release import written_by_workers

    # One session for all: it is found as the active one, and left open.
    session = SparkSession.builder.remote("local[2,4]").getOrCreate()
    policy = sf.Policy.from_file(policy_file)
    sf.anonymize_on_spark(source, policy, out / "counted", seed=7)
    sf.anonymize_on_spark(source, policy, out / "streamed")
    running = _sends_parts_to(DyingTwice, out / "died")
    sf.anonymize_on_spark(source, policy, out / "lost", seed=7)
    patch.object(dealing, "PART", 200).start()
    patch.object(written_by_workers, "run_on_spark", running).start()
    sf.anonymize_on_spark(source, policy, out / "written", seed=7, written_by="workers")
    sf.verify(out / "written", engine="spark").raise_unless_ok()
    session.stop()


if __name__ == "__main__":
    # Its own module, where workers find the class.
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from engines import chaos

    {"dying": chaos.dying, "late": chaos.late}[sys.argv[1]](sys.argv[2], sys.argv[3], Path(sys.argv[4]))

"""A worker that dies, for tests: run as a program, it asks Spark in a JVM for a release while tasks are lost.

    python tests/engines/chaos.py IN POLICY OUT

Four releases come into OUT: counted, streamed, one whose parts were solved by workers that died twice at each, and one
whose files were written by such workers; this one is recounted by Spark.
"""

from __future__ import annotations

import hashlib
import os
import pickle
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


def _sends_parts_to_the_dying(marks: Path) -> Callable[..., Any]:
    """Have all parts of Mondrian, however small, solved by workers that die."""
    from sfumato.anonymizers import mondrian as first_cuts
    from sfumato.anonymizers import mondrian as mondrian
    from sfumato.engines import spark

    marks.mkdir()
    run = spark.run_on_spark

    def running(session: Any, solve: Any, parts: Any) -> Any:
        return run(session, DyingTwice(solve, str(marks)), parts)

    for module in (mondrian, first_cuts):
        patch.object(module, "MOST_RETRIED", 0).start()
    for name, value in {"LEAVES_FROM": 0, "LEAF": 100, "run_on_spark": running}.items():
        patch.object(spark, name, value).start()
    return running


def main(source: str, policy_file: str, out: Path) -> None:
    """Make the releases."""
    from pyspark.sql import SparkSession

    import sfumato as sf
    from sfumato.engines import disk
    from sfumato.release import on_spark

    # One session for all: it is found as the active one, and left open. A task may have several parts that kill it.
    session = SparkSession.builder.remote("local[2,30]").getOrCreate()
    policy = sf.Policy.from_file(policy_file)
    sf.anonymize_on_spark(source, policy, out / "counted", seed=7)
    sf.anonymize_on_spark(source, policy, out / "streamed")
    running = _sends_parts_to_the_dying(out / "died")
    sf.anonymize_on_spark(source, policy, out / "lost", seed=7)
    patch.object(disk, "PART", 200).start()
    patch.object(on_spark, "run_on_spark", running).start()
    sf.anonymize_on_spark(source, policy, out / "written", seed=7, written_by="workers")
    sf.verify(out / "written", engine="spark").raise_unless_ok()
    session.stop()


if __name__ == "__main__":
    # Its own module, where workers find the class.
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from engines import chaos

    chaos.main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))

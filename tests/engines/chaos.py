"""A worker that dies, for tests: run as a program, it asks Spark in a JVM for a release while tasks are lost.

    python tests/engines/chaos.py IN POLICY OUT

Four releases come into OUT: counted, streamed, one whose parts were solved by workers that died at first, and one
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
class DyingOnce:
    """Solves a part; the first attempt at each kills its process instead, without a word."""

    solve: Callable[[Any], Any]
    folder: str

    def __call__(self, part: Any) -> Any:
        """Solve, or die."""
        mark = Path(self.folder) / hashlib.sha256(pickle.dumps(part)).hexdigest()
        try:
            mark.touch(exist_ok=False)
        except FileExistsError:
            return self.solve(part)
        os._exit(1)


def main(source: str, policy_file: str, out: Path) -> None:
    """Make the releases."""
    from pyspark.sql import SparkSession

    import sfumato as sf
    from sfumato.anonymizers.mondrian import first_cuts, mondrian
    from sfumato.engines.disk import dealing
    from sfumato.engines.spark import engine, tasks
    from sfumato.release import written_by_workers

    # One session for all: it is found as the active one, and left open.
    session = SparkSession.builder.remote("local[2,4]").getOrCreate()
    policy = sf.Policy.from_file(policy_file)
    sf.anonymize_on_spark(source, policy, out / "counted", seed=7)
    sf.anonymize_on_spark(source, policy, out / "streamed")
    (out / "died").mkdir()
    run = tasks.run_on_spark

    def dying(session: Any, solve: Any, parts: Any) -> Any:
        return run(session, DyingOnce(solve, str(out / "died")), parts)

    for module in (mondrian, first_cuts):
        patch.object(module, "MOST_RETRIED", 0).start()
    for name, value in {"LEAVES_FROM": 0, "LEAF": 100, "run_on_spark": dying}.items():
        patch.object(engine, name, value).start()
    sf.anonymize_on_spark(source, policy, out / "lost", seed=7)
    patch.object(dealing, "PART", 200).start()
    patch.object(written_by_workers, "run_on_spark", dying).start()
    sf.anonymize_on_spark(source, policy, out / "written", seed=7, written_by="workers")
    sf.verify(out / "written", engine="spark").raise_unless_ok()
    session.stop()


if __name__ == "__main__":
    # Its own module, where workers find the class.
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from engines import chaos

    chaos.main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))

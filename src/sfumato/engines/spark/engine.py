"""The engine whose parts are solved by Spark's workers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from sfumato.anonymizers.protocol import Anonymizer, Problem, SolvesParts
from sfumato.classes.partition import Partition
from sfumato.engines.protocol import LocalEngine
from sfumato.engines.spark.tasks import run_on_spark

LEAVES_FROM = 2_000_000
"""Records from which on what lies below Mondrian's first cuts is sent to workers: fewer are cut sooner than sent."""
LEAF = 250_000
"""Distinct records that a task is given, at most."""


@dataclass(frozen=True, eq=False, repr=False)
class SparkEngine(LocalEngine):
    """Encode and write here, and have parts solved on workers; see :class:`~sfumato.engines.protocol.Engine`.

    Attributes
    ----------
    session : pyspark.sql.SparkSession
    """

    session: Any

    def solve(self, anonymizer: Anonymizer, problem: Problem) -> Partition:
        """Solve a problem: its blocks, or what lies below its first cuts, on workers; else here."""
        run = partial(run_on_spark, self.session)
        if isinstance(anonymizer, SolvesParts):
            from sfumato.anonymizers.parts import solve_in_parts

            return solve_in_parts(anonymizer, problem, run)
        from sfumato.anonymizers.mondrian import Mondrian, solve_below_first_cuts, solves_below

        is_large = problem.table.height >= LEAVES_FROM
        if is_large and isinstance(anonymizer, Mondrian) and solves_below(anonymizer, problem):
            return solve_below_first_cuts(anonymizer, problem, run, LEAF)
        return anonymizer.solve(problem)

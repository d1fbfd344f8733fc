"""What the runs of a comparison share: settings, and tables that are read once for all runs that use them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from threading import Lock

from sfumato.comparison.plan import ATTRIBUTES, RECORDS, Plan, Run
from sfumato.comparison.promises import without_people
from sfumato.evaluation.utility.answers import Questions
from sfumato.evaluation.utility.classifiers import TrainedOnce
from sfumato.evaluation.utility.original import Original
from sfumato.evaluation.utility.workload import drawn_workload
from sfumato.parallel import Once
from sfumato.randomness import permutation
from sfumato.recoding import Recoding
from sfumato.table.table import Table

Part = tuple[int | float, int, bool]
"""What tells parts of a table apart: a number of records and a repetition, or of attributes; and who counts."""


@dataclass(frozen=True, eq=False)
class SharedWork:
    """What all runs of a comparison share.

    Attributes
    ----------
    table : Table
        What is anonymized.
    holdout : Table or None
        Records on which classifiers are tested.
    queries : int
        Counts to answer; 0 measures no utility.
    query_seed : int
        Of the queries, which are the same for every anonymizer.
    recoding : Recoding
    suppression_limit : float
    seed : int or None
        Of the first repetition; each further one has a seed of its own.
    """

    table: Table
    holdout: Table | None
    queries: int
    query_seed: int
    recoding: Recoding
    suppression_limit: float
    seed: int | None

    def seed_of(self, run: Run) -> int | None:
        """Return the seed of a run."""
        return None if self.seed is None else self.seed + run.repetition


@dataclass(frozen=True, eq=False, repr=False)
class PreparedTable:
    """A table that runs use, with everything that is computed from it independently of the release.

    Attributes
    ----------
    original : Original
    questions : Questions or None
        The queries and their exact answers; None if no utility is measured.
    trained : Once
        Accuracies of classifiers that were trained on the original, tested on the records that were held out.
    """

    original: Original
    questions: Questions | None
    trained: TrainedOnce = field(default_factory=Once)


class PreparedTables:
    """Every table that runs use: read for the first run that needs it, dropped after the last one.

    Parameters
    ----------
    plan
    ground
    runs
        Those that are still to be done.
    """

    def __init__(self, plan: Plan, ground: SharedWork, runs: Iterable[Run]) -> None:
        self._plan = plan
        self._ground = ground
        self._lock = Lock()
        self._left = Counter(_part(plan, run) for run in runs)
        self._prepared: Once[Part, PreparedTable] = Once()

    def of(self, run: Run) -> PreparedTable:
        """Return the table of a run; while one thread reads it, others that need it wait.

        Raises
        ------
        SfumatoError
            When a column cannot be encoded, or nothing can be asked about it.
        """
        table = self._ground.table
        part = _part(self._plan, run)
        return self._prepared.of(part, lambda: prepared(part_of(table, self._plan, run), self._ground))

    def ended(self, run: Run) -> None:
        """Drop the table of a run after the last run that used it."""
        part = _part(self._plan, run)
        with self._lock:
            self._left[part] -= 1
            if not self._left[part]:
                self._prepared.forget(part)


def prepared(table: Table, ground: SharedWork) -> PreparedTable:
    """Read a table, draw queries about it, and answer them."""
    original = Original.of(table)
    if not ground.queries:
        return PreparedTable(original, None)
    workload = drawn_workload(original, ground.queries, seed=ground.query_seed)
    return PreparedTable(original, Questions.about(workload, original.domains))


def part_of(table: Table, plan: Plan, run: Run) -> Table:
    """Return the part of the table that a run uses: some records, some quasi-identifying attributes, or all."""
    if plan.counts_records(run):
        table = without_people(table)
    if plan.vary == RECORDS:
        rows = permutation(table.frame.height, run.repetition)[: int(run.value)]
        return table.take(rows)
    if plan.vary == ATTRIBUTES:
        return _with_attributes(table, int(run.value))
    return table


def _part(plan: Plan, run: Run) -> Part:
    by_record = plan.counts_records(run)
    if plan.vary == RECORDS:
        return run.value, run.repetition, by_record
    return (run.value if plan.vary == ATTRIBUTES else 0), 0, by_record


def _with_attributes(table: Table, count: int) -> Table:
    """Keep the first attributes that an attacker may know, in declared order."""
    schema = table.schema
    kept = dict(list(schema.quasi_identifying.items())[:count])
    gone = [name for name in schema.quasi_identifying if name not in kept]
    kinds = {name: kind for name, kind in table.kinds.items() if name not in gone}
    fewer = replace(schema, quasi_identifying=kept)
    kept_columns = [name for name in table.frame.columns if name not in gone]
    return replace(table, frame=table.frame[kept_columns], schema=fewer, kinds=kinds)

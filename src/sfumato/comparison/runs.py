"""One run of a comparison: make the release, measure it, and return its figures. Runs share what they can."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

from sfumato.comparison.plan import ATTRIBUTES, RECORDS, Plan, Run, measure_run, without_people
from sfumato.errors import PolicyError, UnsatisfiableError
from sfumato.evaluation.utility.answers import Questions, drawn_workload
from sfumato.evaluation.utility.classifiers import TrainedOnce
from sfumato.evaluation.utility.joint import Original
from sfumato.evaluation.utility.measure import ReleaseView, error_figures
from sfumato.parallel import Once
from sfumato.progress import Progress
from sfumato.randomness import permutation
from sfumato.recoding import Recoding
from sfumato.release.anonymize import made
from sfumato.release.loss_report import Report
from sfumato.release.release import Release
from sfumato.release.task import Arguments, Task
from sfumato.table.table import Table

DONE, _IMPOSSIBLE, _REFUSED = "done", "impossible", "refused"


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run."""

    run: Run
    # ``"done"``; ``"impossible"``: the models cannot be met; ``"refused"``: the anonymizer cannot promise them
    status: str
    reason: str = ""  # why there is no release
    figures: Mapping[str, float] = field(default_factory=dict)  # empty if there is no release

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "anonymizer": self.run.anonymizer,
            "value": self.run.value,
            "repetition": self.run.repetition,
            "status": self.status,
            "reason": self.reason,
            "figures": dict(self.figures),
        }

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> RunOutcome:
        """Read what :meth:`to_dict` wrote."""
        run = Run(entry["anonymizer"], entry["value"], entry["repetition"])
        return cls(run, entry["status"], entry["reason"], entry["figures"])


def outcome_of(run: Run, plan: Plan, ground: SharedWork, prepared: _PreparedTable, progress: Progress) -> RunOutcome:
    """Make one release and measure it, on one thread, whose time is ``cpu_seconds``: several runs go on at a time."""
    began, spent = time.perf_counter(), time.thread_time()
    try:
        release = run_release(run, plan, ground, prepared.original, progress)
    except UnsatisfiableError as error:
        return RunOutcome(run, _IMPOSSIBLE, "; ".join(error.problems))
    except PolicyError as error:
        return RunOutcome(run, _REFUSED, "; ".join(error.problems))
    seconds = {"seconds": time.perf_counter() - began, "cpu_seconds": time.thread_time() - spent}
    own = measure_run(plan.metrics, release, prepared.original.table)
    return RunOutcome(run, DONE, figures={**seconds, **_figures(release), **_utility(release, prepared, ground), **own})


def run_release(run: Run, plan: Plan, ground: SharedWork, original: Original, progress: Progress) -> Release:
    """Make the release of a run, on this thread.

    Raises ``UnsatisfiableError`` when the models cannot be met. Raises ``PolicyError`` when the anonymizer cannot
    promise them.
    """
    table, seed = original.table, ground.seed_of(run)
    people = plan.people_of(run)
    said = Arguments(
        plan.models_of(run), plan.anonymizers[run.anonymizer], ground.recoding, ground.suppression_limit, people=people
    )
    task = Task(table, said.policy(table, seed), seed=seed, threads=1, progress=progress, read=original.encoded)
    return made(task)


def _figures(release: Release) -> dict[str, float]:
    """Return the figures of a release's report that a comparison can use, under the report's own names."""
    report = release.report
    figures: dict[str, float | None] = {"records": report.original, "suppressed": report.suppressed}
    if isinstance(report, Report):
        figures |= {
            "loss": report.losses.normalized_ncp,
            "discernibility": report.losses.discernibility,
            "average_class_size": report.losses.average_class_size,
            "classes": report.classes,
            "highest_risk": report.highest_risk,
            "average_risk": report.average_risk,
        }
    return {name: float(figure) for name, figure in figures.items() if figure is not None}


def _utility(release: Release, prepared: _PreparedTable, ground: SharedWork) -> dict[str, float]:
    if prepared.questions is None:
        return {}
    view = ReleaseView.of(release, prepared.original)
    errors, _ = error_figures(prepared.questions, view.after)
    figures = {f"{aggregate}_error": each.median for aggregate, each in errors.items()}
    if ground.holdout is not None:
        for learnt in view.learnt(ground.holdout, seed=ground.query_seed, trained=prepared.trained):
            figures[f"accuracy_{learnt.learner}_{learnt.target}"] = learnt.release
    views, _ = view.attacker_views()
    return figures | {f"privacy_loss_{each.sensitive}": each.privacy_loss for each in views}


_Part = tuple[int | float, int, bool]
"""What tells parts of a table apart: a number of records and a repetition, or of attributes; and who counts."""


@dataclass(frozen=True, eq=False)
class SharedWork:
    """What all runs of a comparison share."""

    table: Table  # what is anonymized
    holdout: Table | None  # records on which classifiers are tested
    queries: int  # counts to answer; 0 measures no utility
    query_seed: int  # of the queries, which are the same for every anonymizer
    recoding: Recoding
    suppression_limit: float
    seed: int | None  # of the first repetition; each further one has a seed of its own

    def seed_of(self, run: Run) -> int | None:
        """Return the seed of a run."""
        return None if self.seed is None else self.seed + run.repetition


@dataclass(frozen=True, eq=False, repr=False)
class _PreparedTable:
    """A table that runs use, with everything that is computed from it independently of the release."""

    original: Original
    questions: Questions | None  # the queries and their exact answers; None if no utility is measured
    # accuracies of classifiers that were trained on the original, tested on the records that were held out
    trained: TrainedOnce = field(default_factory=Once)


class PreparedTables:
    """The tables of the `runs` to be done: read for the first run that needs one, dropped after the last."""

    def __init__(self, plan: Plan, ground: SharedWork, runs: Iterable[Run]) -> None:
        self._plan = plan
        self._ground = ground
        self._lock = Lock()
        self._left = Counter(_part(plan, run) for run in runs)
        self._prepared: Once[_Part, _PreparedTable] = Once()

    def of(self, run: Run) -> _PreparedTable:
        """Return the table of a run; while one thread reads it, others that need it wait.

        Raises ``SfumatoError`` when a column cannot be encoded, or nothing can be asked about it.
        """
        table = self._ground.table
        part = _part(self._plan, run)
        return self._prepared.of(part, lambda: prepared(run_part(table, self._plan, run), self._ground))

    def ended(self, run: Run) -> None:
        """Drop the table of a run after the last run that used it."""
        part = _part(self._plan, run)
        with self._lock:
            self._left[part] -= 1
            if not self._left[part]:
                self._prepared.forget(part)


def prepared(table: Table, ground: SharedWork) -> _PreparedTable:
    """Read a table, draw queries about it, and answer them."""
    original = Original.of(table)
    if not ground.queries:
        return _PreparedTable(original, None)
    workload = drawn_workload(original, ground.queries, seed=ground.query_seed)
    return _PreparedTable(original, Questions.about(workload, original.domains))


def run_part(table: Table, plan: Plan, run: Run) -> Table:
    """Return the part of the table that a run uses: some records, some quasi-identifying attributes, or all."""
    if plan.counts_records(run):
        table = without_people(table)
    if plan.vary == RECORDS:
        rows = permutation(table.frame.height, run.repetition)[: int(run.value)]
        return table.take(rows)
    if plan.vary == ATTRIBUTES:
        return _with_attributes(table, int(run.value))
    return table


def _part(plan: Plan, run: Run) -> _Part:
    by_record = plan.counts_records(run)
    if plan.vary == RECORDS:
        return run.value, run.repetition, by_record
    return (run.value if plan.vary == ATTRIBUTES else 0), 0, by_record


def _with_attributes(table: Table, count: int) -> Table:
    """Keep the first attributes that an attacker may know, in declared order."""
    schema = table.schema
    quasi = dict(list(schema.quasi_identifying.items())[:count])
    gone = [name for name in schema.quasi_identifying if name not in quasi]
    kinds = {name: kind for name, kind in table.kinds.items() if name not in gone}
    fewer = replace(schema, quasi_identifying=quasi)
    kept_columns = [name for name in table.frame.columns if name not in gone]
    return replace(table, frame=table.frame[kept_columns], schema=fewer, kinds=kinds)

"""One run: make the release, measure it, and say in figures what came of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sfumato.errors import PolicyError, UnsatisfiableError
from sfumato.experiments.plan import ATTRIBUTES, RECORDS, Plan, Run
from sfumato.recoding import Recoding
from sfumato.release.anonymize import anonymize
from sfumato.release.release import Release
from sfumato.release.report import Report
from sfumato.release.utility import measure_utility
from sfumato.running import Progress
from sfumato.shuffle import permutation
from sfumato.table.schema import Schema
from sfumato.table.table import Table
from sfumato.utility.workload import query_workload

DONE, IMPOSSIBLE, REFUSED = "done", "impossible", "refused"


@dataclass(frozen=True)
class Outcome:
    """What came of a run.

    Attributes
    ----------
    run : Run
    status : str
        ``"done"``; ``"impossible"``: the models cannot be met; ``"refused"``: the anonymizer cannot promise them.
    reason : str
        Why there is no release.
    figures : mapping of str to number
        Empty where there is no release.
    """

    run: Run
    status: str
    reason: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)

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
    def from_dict(cls, entry: Mapping[str, Any]) -> Outcome:
        """Read what :meth:`to_dict` wrote."""
        run = Run(entry["anonymizer"], entry["value"], entry["repetition"])
        return cls(run, entry["status"], entry["reason"], entry["figures"])


@dataclass(frozen=True, eq=False)
class Ground:
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


def outcome_of(run: Run, plan: Plan, ground: Ground, progress: Progress) -> Outcome:
    """Make one release and measure it.

    Notes
    -----
    On one thread: a comparison runs several of these at a time. ``cpu_seconds`` is the time of that thread alone.
    """
    table = part_of(ground.table, plan.vary, run)
    seed = None if ground.seed is None else ground.seed + run.repetition
    began, spent = time.perf_counter(), time.thread_time()
    try:
        release = anonymize(
            table,
            plan.models_of(run),
            anonymizer=plan.anonymizers[run.anonymizer],
            recoding=ground.recoding,
            suppression_limit=ground.suppression_limit,
            seed=seed,
            threads=1,
            progress=progress,
        )
    except UnsatisfiableError as error:
        return Outcome(run, IMPOSSIBLE, "; ".join(error.problems))
    except PolicyError as error:
        return Outcome(run, REFUSED, "; ".join(error.problems))
    seconds = {"seconds": time.perf_counter() - began, "cpu_seconds": time.thread_time() - spent}
    return Outcome(run, DONE, figures={**seconds, **_figures(release), **_utility(release, table, ground, progress)})


def part_of(table: Table, vary: str, run: Run) -> Table:
    """Return the part of the table that a run uses: some records, some quasi-identifying attributes, or all."""
    if vary == RECORDS:
        rows = permutation(table.frame.height, run.repetition)[: int(run.value)]
        return Table(table.frame[rows], table.schema, table.kinds, table.source)
    if vary == ATTRIBUTES:
        return _with_attributes(table, int(run.value))
    return table


def _with_attributes(table: Table, count: int) -> Table:
    """Keep the first attributes that an attacker may know, in declared order."""
    schema = table.schema
    kept = dict(list(schema.quasi_identifying.items())[:count])
    gone = [name for name in schema.quasi_identifying if name not in kept]
    fewer = Schema(
        identifying=schema.identifying,
        quasi_identifying=kept,
        sensitive=schema.sensitive,
        insensitive=schema.insensitive,
        others=schema.others,
    )
    kinds = {name: kind for name, kind in table.kinds.items() if name not in gone}
    return Table(table.frame.drop(gone), fewer, kinds, table.source)


def _figures(release: Release) -> dict[str, float]:
    """Figures of a release's report that a comparison can use, under the report's own names."""
    report = release.report
    figures: dict[str, float] = {"records": report.original, "suppressed": report.suppressed}
    if isinstance(report, Report):
        figures |= {
            "loss": report.losses.normalized_ncp,
            "discernibility": report.losses.discernibility,
            "average_class_size": report.losses.average_class_size,
            "classes": report.classes,
            "highest_risk": report.highest_risk,
            "average_risk": report.average_risk,
        }
    return {name: float(figure) for name, figure in figures.items()}


def _utility(release: Release, table: Table, ground: Ground, progress: Progress) -> dict[str, float]:
    if not ground.queries:
        return {}
    workload = query_workload(table, ground.queries, seed=ground.query_seed)
    measured = measure_utility(
        release, table, workload=workload, holdout=ground.holdout, seed=ground.query_seed, progress=progress
    )
    figures = {f"{aggregate}_error": errors.median for aggregate, errors in measured.queries.items()}
    for each in measured.classifiers:
        figures[f"accuracy_{each.learner}_{each.target}"] = each.release
    for trade_off in measured.trade_offs:
        figures[f"privacy_loss_{trade_off.sensitive}"] = trade_off.privacy_loss
    return figures

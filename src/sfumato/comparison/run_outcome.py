"""One run: make the release, measure it, and return its figures."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sfumato.comparison.own_metrics import measured
from sfumato.comparison.plan import Plan, Run
from sfumato.comparison.shared_work import PreparedTable, SharedWork
from sfumato.errors import PolicyError, UnsatisfiableError
from sfumato.evaluation.utility.original import Original
from sfumato.evaluation.utility.release_view import ReleaseView, error_figures
from sfumato.progress import Progress
from sfumato.release.anonymize import made
from sfumato.release.arguments import Arguments
from sfumato.release.loss_report import Report
from sfumato.release.release import Release
from sfumato.release.task import Task

DONE, IMPOSSIBLE, REFUSED = "done", "impossible", "refused"


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run.

    Attributes
    ----------
    run : Run
    status : str
        ``"done"``; ``"impossible"``: the models cannot be met; ``"refused"``: the anonymizer cannot promise them.
    reason : str
        Why there is no release.
    figures : mapping of str to number
        Empty if there is no release.
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
    def from_dict(cls, entry: Mapping[str, Any]) -> RunOutcome:
        """Read what :meth:`to_dict` wrote."""
        run = Run(entry["anonymizer"], entry["value"], entry["repetition"])
        return cls(run, entry["status"], entry["reason"], entry["figures"])


def outcome_of(run: Run, plan: Plan, ground: SharedWork, prepared: PreparedTable, progress: Progress) -> RunOutcome:
    """Make one release and measure it.

    Notes
    -----
    On one thread: a comparison runs several of these at a time. ``cpu_seconds`` is the time of that thread alone.
    """
    began, spent = time.perf_counter(), time.thread_time()
    try:
        release = released(run, plan, ground, prepared.original, progress)
    except UnsatisfiableError as error:
        return RunOutcome(run, IMPOSSIBLE, "; ".join(error.problems))
    except PolicyError as error:
        return RunOutcome(run, REFUSED, "; ".join(error.problems))
    seconds = {"seconds": time.perf_counter() - began, "cpu_seconds": time.thread_time() - spent}
    own = measured(plan.metrics, release, prepared.original.table)
    return RunOutcome(run, DONE, figures={**seconds, **_figures(release), **_utility(release, prepared, ground), **own})


def released(run: Run, plan: Plan, ground: SharedWork, original: Original, progress: Progress) -> Release:
    """Make the release of a run, on this thread.

    Raises
    ------
    UnsatisfiableError
        When the models cannot be met.
    PolicyError
        When the anonymizer cannot promise them.
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


def _utility(release: Release, prepared: PreparedTable, ground: SharedWork) -> dict[str, float]:
    if prepared.questions is None:
        return {}
    seen = ReleaseView.of(release, prepared.original)
    errors, _ = error_figures(prepared.questions, seen.after)
    figures = {f"{aggregate}_error": each.median for aggregate, each in errors.items()}
    if ground.holdout is not None:
        for learnt in seen.learnt(ground.holdout, seed=ground.query_seed, trained=prepared.trained):
            figures[f"accuracy_{learnt.learner}_{learnt.target}"] = learnt.release
    told, _ = seen.told()
    return figures | {f"privacy_loss_{each.sensitive}": each.privacy_loss for each in told}

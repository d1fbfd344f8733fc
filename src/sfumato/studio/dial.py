"""What each k would cost: loss and risk from comparisons that were made of the setup, and the k that still lack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.errors import InputError
from sfumato.numbers import percent
from sfumato.studio.desk import Desk
from sfumato.studio.draft import Draft
from sfumato.studio.jobs import Job

KIND = "dial"
STEPS = (2, 3, 5, 8, 10, 15, 20, 30, 50, 75, 100)
"""The k that the dial stops at, besides the one that is promised."""
PROMISE = "k-anonymity"


@dataclass(frozen=True)
class Stop:
    """One k of the dial."""

    k: int
    # `loss`, `risk`: of a release that was made and thrown away; None where none was
    loss: float | None
    risk: float | None
    said: str  # what it costs, in words
    is_known: bool


def promised_k(draft: Draft) -> int | None:
    """Return the k of k-anonymity, if it is promised."""
    found = [model.get("k") for model in draft.rest.get("models", ()) if model.get("name") == PROMISE]
    return found[0] if found and isinstance(found[0], int) else None


def hindrance(draft: Draft) -> str:
    """Say why no comparison stands for the setup; empty: one does, as it makes the same releases."""
    if promised_k(draft) is None or draft.problems():
        return "There is a dial once the setup is complete and promises k-anonymity."
    if len(draft.anonymizer) > 1 or draft.rest.get("refine"):
        return "There is a dial for methods with their usual options, and without refining."
    return ""


def stops(desk: Desk) -> list[Stop]:
    """Return the stops of the dial, the weakest promise first; none where nothing stands for the setup."""
    draft = desk.draft
    if hindrance(draft):
        return []
    known, now = _known(desk), promised_k(draft)
    assert now is not None
    steps = sorted({now, *(k for k in STEPS if 2 * k <= desk.table.height)})
    return [_stop(k, known.get(k)) for k in steps]


def dial_lacks(desk: Desk) -> list[int]:
    """Return the k of which nothing is known, those near the promised one first."""
    now = promised_k(desk.draft) or 0
    return sorted((stop.k for stop in stops(desk) if not stop.is_known), key=lambda k: abs(k - now))


def with_k(draft: Draft, k: int) -> Draft:
    """Return the draft that promises another k. Raises ``InputError`` when it promises no k-anonymity."""
    if promised_k(draft) is None:
        raise InputError("k: k-anonymity is not promised; add it first")
    models = [{**model, "k": k} if model.get("name") == PROMISE else model for model in draft.rest["models"]]
    return draft.with_rest("models", models)


def cancel_outdated(desk: Desk) -> None:
    """End what fills in the dial of another setup."""
    for job in desk.jobs.of_kind(KIND):
        if not job.has_ended and not _stands_for(desk, job):
            desk.jobs.cancel(job.number)


def _known(desk: Desk) -> dict[int, Mapping[str, Any]]:
    """Return the runs of the method, by k; of several the latest."""
    method = desk.draft.anonymizer["name"]
    found: dict[int, Mapping[str, Any]] = {}
    for job in reversed(desk.jobs.of_kind(KIND, "compare")):
        if job.state == "done" and isinstance(job.result, list) and _stands_for(desk, job):
            found |= {int(row["k"]): row for row in job.result if row.get("anonymizer") == method and row.get("k")}
    return found


def _stands_for(desk: Desk, job: Job) -> bool:
    if job.table != desk.project.sha256:
        return False
    # Policies are held against each other, as they have what a draft leaves out; the method stands in each row.
    before = desk.project.history.entry(job.entry).draft
    return _but_k(before) == _but_k(desk.draft)


def _but_k(draft: Draft) -> Mapping[str, Any] | None:
    if hindrance(draft):
        return None
    return with_k(draft.with_rest("anonymizer", None), 2).policy().to_mapping()


def _stop(k: int, row: Mapping[str, Any] | None) -> Stop:
    if row is None:
        return Stop(k, None, None, "not known yet", False)
    if row.get("status") != "done":
        return Stop(k, None, None, "cannot be met", True)
    loss, risk = row.get("loss"), row.get("average_risk")
    words = [
        f"{name} {percent(value, 3)}" for name, value in (("loss", loss), ("average risk", risk)) if value is not None
    ]
    return Stop(k, loss, risk, ", ".join(words) or "has no loss or risk of this kind", True)

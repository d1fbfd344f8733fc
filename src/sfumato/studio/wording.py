"""Sentences of the pages that are made from what stands in a policy or a result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sfumato.dossier.content import promise_in_words
from sfumato.dossier.decisions import Decision
from sfumato.errors import SfumatoError
from sfumato.numbers import percent
from sfumato.studio.desk import Desk
from sfumato.studio.draft import Draft, in_words
from sfumato.studio.history import HistoryEntry
from sfumato.studio.jobs import Job


def promise(entry: Mapping[str, Any]) -> str:
    """Say what a model promises, for a newcomer; while it is not finished, that it is not."""
    try:
        return promise_in_words(entry)
    except (SfumatoError, KeyError, TypeError):
        return "not finished: fill in what is needed"


def figures(job: Job) -> dict[str, str]:
    """Return the few figures of a release that a list shows: loss, risk, suppression, the least possible loss."""
    result = job.result if isinstance(job.result, Mapping) else {}
    losses, risk = result.get("losses") or {}, result.get("risk") or {}
    records, bound = result.get("records") or {}, result.get("lower_bound") or {}
    shown = {
        "loss": _share(losses.get("normalized_ncp")),
        "highest risk": _share(risk.get("highest_prosecutor")),
        "average risk": _share(risk.get("average_prosecutor")),
        "no release loses less than": _share(bound.get("normalized_ncp")),
    }
    suppressed = records.get("suppressed") if isinstance(records, Mapping) else None
    return {name: its for name, its in {**shown, "suppressed": _count(suppressed)}.items() if its}


def open_findings(job: Job) -> list[str]:
    """Return what no promise of a release covers, and what the steward should know of it, beside "verified"."""
    result = job.result if isinstance(job.result, Mapping) else {}
    bare = [str(each["sentence"]) for each in (result.get("verification") or {}).get("uncovered", ())]
    return [*(f"{sentence[0].upper()}{sentence[1:]}." for sentence in bare), *map(str, result.get("notes") or ())]


def loss_and_risk(job: Job) -> tuple[float, float] | None:
    """Return loss and average risk of a release, where it has both."""
    result = job.result if isinstance(job.result, Mapping) else {}
    loss = (result.get("losses") or {}).get("normalized_ncp")
    risk = (result.get("risk") or {}).get("average_prosecutor")
    return None if loss is None or risk is None else (float(loss), float(risk))


def _share(value: Any) -> str:
    return percent(value, 3) if isinstance(value, (int, float)) else ""


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else ""


# What was decided on the way: the difference of two states in words, with who stands alone and what was lost.


def difference(desk: Desk, before: HistoryEntry, after: HistoryEntry) -> list[str]:
    """Say what differs between two states of the setup, and what was measured of each."""
    words = [in_words(before.draft, after.draft)]
    alone = uniques(desk, before.draft), uniques(desk, after.draft)
    if None not in alone:
        sizes = f"still {alone[1]:,}" if alone[0] == alone[1] else f"{alone[0]:,} → {alone[1]:,}"
        words.append(f"people who stand alone: {sizes}")
    losses = _losses(desk)
    lost = losses.get(before.number), losses.get(after.number)
    if lost[0] is not None and lost[1] is not None:
        more = f"{100 * (lost[1] - lost[0]):+.1f} points"
        words.append(f"loss of the releases made then: {percent(lost[0], 3)} → {percent(lost[1], 3)} ({more})")
    return words


def decisions(desk: Desk, last: HistoryEntry) -> list[Decision]:
    """Return the changes that led to a state, the first one first."""
    way, losses, counted = [last], _losses(desk), dict[str, int | None]()
    while way[-1].parent is not None:
        way.append(desk.project.history.entry(way[-1].parent))
    found = []
    for entry in reversed(way):
        key = _counted_by(entry.draft)
        if key not in counted:
            counted[key] = uniques(desk, entry.draft)
        found.append(Decision(entry.made, entry.note, counted[key], losses.get(entry.number)))
    return found


def uniques(desk: Desk, draft: Draft) -> int | None:
    """Count who stands alone in a state of the setup; None where nobody can be known, or the table is read otherwise.

    Cost of one count of class sizes.
    """
    if not draft.of_role("quasi-identifying") or draft.rest.get("source") != desk.draft.rest.get("source"):
        return None
    try:
        with desk.lock:
            return desk.preview.sizes(desk.attributes(draft), draft.levels).uniques
    except SfumatoError:
        # A hierarchy that did not fit yet.
        return None


def _counted_by(draft: Draft) -> str:
    """Return all that a count depends on."""
    names = draft.of_role("quasi-identifying")
    settings = {name: dict(draft.settings.get(name, {})) for name in names}
    return json.dumps([names, settings, dict(draft.levels), draft.rest.get("source")], sort_keys=True, default=str)


def _losses(desk: Desk) -> dict[int, float]:
    """Return the loss of the latest release of each state of the setup."""
    found: dict[int, float] = {}
    for job in desk.releases():
        place = loss_and_risk(job)
        if place is not None and job.table == desk.project.sha256:
            found.setdefault(job.entry, place[0])
    return found

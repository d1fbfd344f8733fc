"""Sentences of the pages that are made from what stands in a policy or a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.dossier.content import promise_in_words
from sfumato.errors import SfumatoError
from sfumato.numbers import percent
from sfumato.studio.jobs import Job


def promise(entry: Mapping[str, Any]) -> str:
    """Say what a model promises, for a newcomer; while it is not finished, that it is not."""
    try:
        return promise_in_words(entry)
    except (SfumatoError, KeyError, TypeError):
        return "not finished: fill in what is needed"


def figures(job: Job) -> dict[str, str]:
    """Return the few figures of a release that a list shows: loss, risk, suppression, the least possible loss."""
    said = job.result if isinstance(job.result, Mapping) else {}
    losses, risk = said.get("losses") or {}, said.get("risk") or {}
    records, bound = said.get("records") or {}, said.get("lower_bound") or {}
    shown = {
        "loss": _share(losses.get("normalized_ncp")),
        "highest risk": _share(risk.get("highest_prosecutor")),
        "average risk": _share(risk.get("average_prosecutor")),
        "no release loses less than": _share(bound.get("normalized_ncp")),
    }
    suppressed = records.get("suppressed") if isinstance(records, Mapping) else None
    return {name: its for name, its in {**shown, "suppressed": _count(suppressed)}.items() if its}


def loss_and_risk(job: Job) -> tuple[float, float] | None:
    """Return loss and average risk of a release, where it has both."""
    said = job.result if isinstance(job.result, Mapping) else {}
    loss = (said.get("losses") or {}).get("normalized_ncp")
    risk = (said.get("risk") or {}).get("average_prosecutor")
    return None if loss is None or risk is None else (float(loss), float(risk))


def _share(value: Any) -> str:
    return percent(value, 3) if isinstance(value, (int, float)) else ""


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else ""

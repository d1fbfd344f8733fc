"""The only promise that no recipient can recount: how many records were left out."""

from __future__ import annotations

from sfumato.models.checks import Check, Outcome
from sfumato.numbers import percent

SUPPRESSION_PROMISE = "record suppression limit"


def suppression_check(limit: float) -> Check:
    """Return what a release alone can say about its suppression limit."""
    return Check(
        f"{SUPPRESSION_PROMISE} ({percent(limit)})",
        Outcome.UNDECIDABLE,
        detail="the number of original records is not part of the published table",
        required=False,
    )

"""A verification as a notebook shows it."""

from __future__ import annotations

from sfumato.models.protocol import Check, Outcome
from sfumato.notebook import BAD, GOOD, OPEN, PLAIN, Markup, notebook_mark, notebook_table

KINDS = {Outcome.HOLDS: GOOD, Outcome.BROKEN: BAD, Outcome.UNDECIDABLE: OPEN, Outcome.ABSENT: PLAIN}


def check_table(checks: tuple[Check, ...]) -> Markup:
    """Return a table of promises, what became of each, and what was found."""
    rows = [
        (
            notebook_mark(str(check.outcome), KINDS[check.outcome]),
            check.promise,
            "; ".join([*map(str, check.achieved), *([check.detail] if check.detail else [])]),
        )
        for check in checks
    ]
    return notebook_table(("", "promise", "found"), rows)


def verdict(ok: bool) -> Markup:
    """Return one word on the whole."""
    return notebook_mark("verified" if ok else "not verified", GOOD if ok else BAD)

"""Parts that the reports of all kinds of releases share, as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sfumato.models.checks import Outcome
from sfumato.numbers import percent
from sfumato.published.checks.generalized import Verification
from sfumato.published.roles import named


def occasion_lines(purpose: str | None, recipient: str | None) -> list[str]:
    """Say what the release is for and who gets it, where the policy does.

    On one line each, so that free text cannot pass for lines of the report.
    """
    return [
        f"{name:<13}{' '.join(text.split())}"
        for name, text in (("Purpose", purpose), ("Recipient", recipient))
        if text is not None
    ]


def record_line(original: int | None, published: int, suppressed: int, limit: float) -> str:
    """Count the records; where it is not told how many there were, those that are published."""
    if original is None:
        return f"Records      {published:,} published, at most {percent(limit)} suppressed"
    share = percent(suppressed / original, 3)
    return (
        f"Records      {original:,} original, {published:,} published, "
        f"{suppressed:,} suppressed ({share} of at most {percent(limit)})"
    )


def promise_lines(verification: Verification) -> list[str]:
    """Say what became of every promise, and which columns none speaks of."""
    unprotected = verification.roles.unprotected if verification.roles else ()
    passing = [f"  unprotected, published as they are: {named(unprotected)}"] if unprotected else []
    return (
        passing
        + [
            f"  {check.promise}: {check.outcome}"
            + (f", achieved {', '.join(map(str, check.achieved))}" if check.achieved else "")
            + (f"; {check.detail}" if check.detail and check.outcome is Outcome.HOLDS else "")
            for check in verification.checks
        ]
        + [f"  {wishes}" for wishes in verification.wishes]
    )


def section(title: str, lines: Iterable[str]) -> Sequence[str]:
    """Return a title with its lines indented below it, or nothing where there are none."""
    listed = [f"  {line}" for line in lines]
    return [title, *listed] if listed else []

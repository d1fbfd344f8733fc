"""The report of a release that is no generalized table: what it reached, and what it lost or kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.models.checks import Outcome
from sfumato.numbers import figure, percent
from sfumato.published.checks.generalized import Verification
from sfumato.published.protocol import named

# Parts that the reports of all kinds of releases share, as lines of text.


def occasion_lines(purpose: str | None, recipient: str | None) -> list[str]:
    """Say what the release is for and who gets it, on one line each: free text must not pass for report lines."""
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
    passing += [f"  ! {each}" for each in verification.uncovered]
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


DIGITS = 6


@dataclass(frozen=True)
class KindReport:
    """Figures of one release of another kind.

    * `anonymizer`: name and options.
    * `kind`: as ``release.json`` says it.
    * `original`: records before; None where it is not told.
    * `published`: records after.
    * `suppression_limit`: allowed fraction of the original records.
    * `verification`: every promise, recounted from the published tables.
    * `limits`: what this kind of release does not hide.
    * `figures`: what was lost or kept. They may depend on what the release hides, and stay out of its folder.
    * `notes`: what the steward should know of how this release came about; not for the folder either.
    * `sampled`: whether records were drawn: those that were not are no suppressed ones.
    * `hides_original`: whether a recipient is not told how many records there were.
    * `purpose`, `recipient`: what the release is for and who gets it, as the policy says.
    """

    anonymizer: str
    kind: str
    original: int | None
    published: int
    suppression_limit: float
    verification: Verification
    limits: tuple[str, ...]
    figures: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    sampled: bool = False
    hides_original: bool = False
    purpose: str | None = None
    recipient: str | None = None

    @property
    def suppressed(self) -> int:
        """Records that were left out."""
        return 0 if self.sampled or self.original is None else max(self.original - self.published, 0)

    def for_release(self) -> KindReport:
        """Return the edition that goes into a release: without figures and notes.

        Either may have been counted on the original, and an attacker who knows all records but one could try every
        value for that one and see which gives the same figures. What can be worked out from the published tables a
        reader works out.
        """
        original = None if self.hides_original else self.original
        return dataclasses.replace(self, original=original, figures={}, notes=())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for ``report.json``."""
        occasion = {"purpose": self.purpose, "recipient": self.recipient}
        return {
            **{name: text for name, text in occasion.items() if text is not None},
            "kind": self.kind,
            "anonymizer": self.anonymizer,
            "records": self._records(),
            **({"figures": {name: _plain(value) for name, value in self.figures.items()}} if self.figures else {}),
            "verification": self.verification.to_dict(),
            "limits": list(self.limits),
            "notes": list(self.notes),
        }

    def _records(self) -> dict[str, float]:
        counts = {
            "original": self.original,
            "published": self.published,
            "suppressed": None if self.original is None else self.suppressed,
            "suppression_limit": self.suppression_limit,
        }
        return {name: count for name, count in counts.items() if count is not None}

    def _repr_html_(self) -> str:
        """Show notebooks the report."""
        from sfumato.notebook import card
        from sfumato.release.report_html import counts, report_parts

        return card("Report", counts(self), *report_parts(self))

    def __str__(self) -> str:
        """Return the report as a short page of text."""
        figures = [f"{name.replace('_', ' ')}: {figure(value)}" for name, value in self.figures.items()]
        return "\n".join(
            [
                *occasion_lines(self.purpose, self.recipient),
                record_line(self.original, self.published, self.suppressed, self.suppression_limit),
                f"Anonymizer   {self.anonymizer}",
                f"Release      {self.kind.replace('-', ' ')}",
                *section(
                    "Promises     recounted from the published tables",
                    (line.strip() for line in promise_lines(self.verification)),
                ),
                *section("Figures", figures),
                *section("Notes", self.notes),
                *section("Limits", self.limits),
            ]
        )


def _plain(value: float) -> float:
    """Round as the text does; what is no finite number is none in JSON either."""
    return value if isinstance(value, int) else float(f"{value:.{DIGITS}g}")

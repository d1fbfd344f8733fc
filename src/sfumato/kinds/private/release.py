"""What every release under differential privacy is in memory, and its report."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

import polars as pl

from sfumato.kinds.private.check import Domain, SeriesSpent
from sfumato.models.of_kinds import DifferentialPrivacy
from sfumato.published.checks.generalized import Verification
from sfumato.release.formulas import Formulas, frames_without_formulas
from sfumato.release.own_kinds import OwnRelease, Written
from sfumato.release.reports import occasion_lines, promise_lines, section

LIMITS = (
    "It hides whether any one person is in the table, up to ε. It does not hide what the table says about people in "
    "general. The same may be concluded of somebody in it and of somebody who is not.",
    "A group of g people is hidden up to g times ε, and δ grows faster than that.",
    "Another release of the same people adds its ε to this one's.",
    "Nobody can see ε in a file: who made the release attests that the noise was drawn.",
)
"""What such a release does not hide."""


class DeclaredRelease(OwnRelease):
    """What releases under differential privacy share: a budget that was spent, and a report that says so.

    `source`: from what its promises are recounted. `exactly`: how notes for the steward count.
    """

    limits = LIMITS
    source: ClassVar[str]
    exactly: ClassVar[str]

    published: Any
    model: DifferentialPrivacy
    budget: Any
    verification: Verification
    notes: tuple[str, ...]
    policy: Any
    series: SeriesSpent | None

    @property
    @abstractmethod
    def levels_or_sets(self) -> dict[str, Any]:
        """What was published of the columns, as plain values."""

    @property
    @abstractmethod
    def figures(self) -> dict[str, Any]:
        """What the report alone says, as plain values."""

    @property
    @abstractmethod
    def lines(self) -> tuple[str, Sequence[str]]:
        """What the release is in a few words, and what the report says of how it was made."""

    @property
    def costs(self) -> Sequence[str]:
        """What was published, whom the promise is about, and how it was made."""
        what, lines = self.lines
        said = [line for line in lines if line[:1].isalpha() and "  " in line]
        return [f"Published    {what}", f"Between      {self.model.neighbours}", *said]

    @abstractmethod
    def with_domains(self, domains: Mapping[str, Domain]) -> Any:
        """Return what is published with other labels."""

    @property
    def report(self) -> PrivateReport:
        """The report, in the steward's edition."""
        return PrivateReport.of(self, self.policy)

    def written(self, policy: Any, formulas: Formulas | None) -> Written:
        """Return what is written into a folder; each label is looked at once."""
        domains = None if formulas is None else _escaped(self.published.domains, formulas)
        shown = self.published if domains is None else self.with_domains(domains)
        report = PrivateReport.of(self, policy).for_release()
        versions = {"opendp": _opendp_version()}
        return Written(
            shown.tables, {**shown.structure, **self.promised, **self.said_beside}, report, versions=versions
        )

    @property
    def said_beside(self) -> dict[str, Any]:
        """What ``release.json`` says beside the promise."""
        return {}

    def to_dict(self) -> dict[str, object]:
        """Return plain values, for JSON; all but the notes may be published."""
        return {
            "model": {"name": self.model.name, **self.model.parameters()},
            **self.promised,
            **self.levels_or_sets,
            "verification": self.verification.to_dict(),
            "notes": list(self.notes),
        }

    @property
    def promised(self) -> dict[str, Any]:
        """Whom the promise is about, and what was spent for it."""
        series = {} if self.series is None else {"series": self.series.to_dict()}
        return {"neighbours": self.model.neighbours, "budget": self.budget.to_dict(), **series}


def _opendp_version() -> str:
    """Return the version of OpenDP that is installed."""
    try:
        return version("opendp")
    except PackageNotFoundError:
        return "unknown"


def _escaped(domains: Mapping[str, Domain], formulas: Formulas) -> dict[str, Domain] | None:
    """Return the domains with their labels as they are to be written, or None."""
    frames = {name: pl.DataFrame({name: pl.Series(domain.labels, dtype=pl.String)}) for name, domain in domains.items()}
    escaped = frames_without_formulas(frames, formulas)
    if escaped is frames:
        return None
    return {name: replace(domain, labels=tuple(escaped[name][name].to_list())) for name, domain in domains.items()}


@dataclass(frozen=True)
class PrivateReport:
    """The report of a release under differential privacy; `notes` count records, and are not for the folder."""

    release: DeclaredRelease
    notes: tuple[str, ...] = ()
    purpose: str | None = None
    recipient: str | None = None

    @classmethod
    def of(cls, release: DeclaredRelease, policy: Any) -> PrivateReport:
        """Return the report of a release that was made from a policy, if that is known."""
        occasion = (None, None) if policy is None else (policy.purpose, policy.recipient)
        return cls(release, release.notes, *occasion)

    def for_release(self) -> PrivateReport:
        """Return the edition that goes into a release: without notes."""
        return dataclasses.replace(self, notes=())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for ``report.json``."""
        made, occasion = self.release, {"purpose": self.purpose, "recipient": self.recipient}
        return {
            **{name: text for name, text in occasion.items() if text is not None},
            "kind": made.kind.name,
            "epsilon": made.model.epsilon,
            "delta": made.model.delta,
            **made.promised,
            **made.figures,
            "verification": made.verification.to_dict(),
            "limits": list(LIMITS),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        """Return the report as a short page of text."""
        made = self.release
        what, lines = made.lines
        attested = made.verification.checks[0]
        first, *others = promise_lines(made.verification)
        promises = [f"{first}; {attested.detail}", *others]
        return "\n".join(
            [
                *occasion_lines(self.purpose, self.recipient),
                f"Release      {what}",
                f"Promise      {made.model}",
                f"Neighbours   {made.model.neighbours}",
                *lines,
                *section(
                    f"Promises     recounted from the published {made.source}, or attested", map(str.strip, promises)
                ),
                *section(f"Notes        for the steward alone: they count records {made.exactly}", self.notes),
                *section("Limits", LIMITS),
            ]
        )

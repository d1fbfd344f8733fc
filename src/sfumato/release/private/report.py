"""The report of a release under differential privacy: what is promised about whom, and what it cost."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.numbers import counted, figure
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.private.promises import Budget, Step
from sfumato.published.private import NOBODYS, SeriesSpent
from sfumato.published.roles import named
from sfumato.release.description import PRIVATE
from sfumato.release.kind_report import occasion_lines, promise_lines, section

LIMITS = (
    "It hides whether any one person is in the table, up to ε. It does not hide what the table says about people in "
    "general: of somebody in it and of somebody who is not, the same may be concluded.",
    "A group of g people is hidden up to g times ε, and δ grows faster than that.",
    "Another release of the same people adds its ε to this one's.",
    "Nobody can see ε in a file: who made the release attests that the noise was drawn.",
)
"""What such a release does not hide."""


@dataclass(frozen=True)
class PrivateReport:
    """Figures of one release under differential privacy; all but the notes may be published.

    Attributes
    ----------
    model : DifferentialPrivacy
    budget : Budget
    marginals : tuple of tuple of str
    synthetic : int
        Synthetic records.
    verification : Verification
    notes : tuple of str
        What the steward should know; not for the folder, as they count records without noise.
    series : SeriesSpent or None
        What all releases of its ledger have spent.
    purpose, recipient : str or None
        What the release is for and who gets it, as the policy says.
    """

    model: DifferentialPrivacy
    budget: Budget
    marginals: tuple[tuple[str, ...], ...]
    synthetic: int
    verification: Verification
    notes: tuple[str, ...] = ()
    series: SeriesSpent | None = None
    purpose: str | None = None
    recipient: str | None = None

    def for_release(self) -> PrivateReport:
        """Return the edition that goes into a release: without notes."""
        return dataclasses.replace(self, notes=())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for ``report.json``."""
        occasion = {"purpose": self.purpose, "recipient": self.recipient}
        return {
            **{name: text for name, text in occasion.items() if text is not None},
            "kind": PRIVATE,
            "epsilon": self.model.epsilon,
            "delta": self.model.delta,
            "neighbours": self.model.neighbours,
            "budget": self.budget.to_dict(),
            **({} if self.series is None else {"series": self.series.to_dict()}),
            "noise": {"mechanism": self.budget.mechanism, "standard_deviation": self.budget.deviation()},
            "marginals": [list(names) for names in self.marginals],
            "records": {"published": self.synthetic, "suppression_limit": 0.0},
            **({"synthetic": NOBODYS} if self.synthetic else {}),
            "verification": self.verification.to_dict(),
            "limits": list(self.limits),
            "notes": list(self.notes),
        }

    @property
    def limits(self) -> tuple[str, ...]:
        """What the release does not hide."""
        return LIMITS

    def __str__(self) -> str:
        """Return the report as a short page of text."""
        synthetic = f"; {counted(self.synthetic, 'synthetic record')}" if self.synthetic else ""
        return "\n".join(
            [
                *occasion_lines(self.purpose, self.recipient),
                f"Release      {counted(len(self.marginals), 'noisy marginal')}{synthetic}",
                f"Promise      {self.model}",
                f"Neighbours   {self.model.neighbours}",
                f"Noise        {self.budget.mechanism}, by OpenDP; standard deviation of a noisy count up to "
                f"{figure(self.budget.deviation(), 4)}",
                *section("Budget", (self._line(step) for step in self.budget.steps)),
                *([] if self.series is None else [f"Series       {self.series}"]),
                *section("Marginals", (named(names) for names in self.marginals)),
                *([f"Synthetic    {NOBODYS}"] if self.synthetic else []),
                *section(
                    "Promises     recounted from the published tables, or attested",
                    (line.strip() for line in self._promises()),
                ),
                *section("Notes        for the steward alone: they count records without noise", self.notes),
                *section("Limits", self.limits),
            ]
        )

    def _promises(self) -> list[str]:
        attested = self.verification.checks[0]
        first, *others = promise_lines(self.verification)
        return [f"{first}; {attested.detail}", *others]

    def _line(self, step: Step) -> str:
        letter = "ρ" if self.budget.mechanism == "discrete Gaussian" else "ε"
        what = "noise on" if step.what == "counts" else "choice of"
        of_what = counted(step.times, "marginal" if step.what == "counts" else "pair")
        return f"{what} {of_what}: {letter} = {figure(step.spent, 4)}, scale {figure(step.scale, 4)}"

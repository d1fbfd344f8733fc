"""Noisy counts that may be published, their report and their folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from sfumato.errors import PolicyError
from sfumato.kinds.noisy_counts.check import (
    COUNTS,
    NOBODYS,
    SYNTHETIC,
    Budget,
    BudgetStep,
    PrivateMarginals,
    private_verification,
)
from sfumato.kinds.noisy_counts.policy import PrivatePolicy
from sfumato.kinds.private.check import NOISY, Domain, SeriesSpent
from sfumato.kinds.private.release import DeclaredRelease
from sfumato.models.of_kinds import DifferentialPrivacy
from sfumato.numbers import counted, figure
from sfumato.published.apart import COUNT, MarginalTables
from sfumato.published.checks.generalized import Verification
from sfumato.published.protocol import RandomizedTable, named
from sfumato.release.own_kinds import Saver, saver
from sfumato.release.reports import section
from sfumato.table.table import Table


def marginals_of(published: PrivateMarginals) -> MarginalTables:
    """Return fitted counts as count tables; see :meth:`PrivateRelease.as_marginals`."""
    sets = [names for names in published.sets if not any({*names} < {*other} for other in published.sets)]
    frames = []
    for names in sets:
        frame = published.tables[f"marginal_{published.sets.index(names) + 1}"].drop(NOISY)
        rounded = frame.with_columns(frame[COUNT].round().cast(pl.Int64))
        frames.append(rounded.filter(rounded[COUNT] > 0))
    return MarginalTables(tuple(frames), tuple(sets), published.sensitive)


@dataclass(frozen=True, eq=False, repr=False)
class PrivateRelease(DeclaredRelease):
    """Noisy marginals under differential privacy; made by :func:`sfumato.publish_privately`.

    Attributes
    ----------
    published : PrivateMarginals
        What may be published.
    model : DifferentialPrivacy
        What is promised.
    budget : Budget
        How it was spent.
    verification : Verification
        What was recounted of it, and what is attested.
    notes : tuple of str
        For the steward alone: they count records, without noise.
    policy : PrivatePolicy or None
        What the release was made from.
    series : SeriesSpent or None
        What all releases of its ledger have spent, this one included.

    Raises
    ------
    VerificationError
        When something does not hold: such a release cannot be made.
    """

    published: PrivateMarginals
    model: DifferentialPrivacy
    budget: Budget
    verification: Verification
    notes: tuple[str, ...] = ()
    policy: PrivatePolicy | None = None
    series: SeriesSpent | None = None

    kind = COUNTS
    made_by = "publish_privately"
    policy_kind = PrivatePolicy
    settings = ("counting",)
    source = "tables"
    exactly = "without noise"

    def as_marginals(self) -> MarginalTables:
        """Return the fitted counts, rounded, as count tables: for utility and attacks, which take those.

        Sets inside another one are left out, and combinations of which no record is left by rounding.
        """
        return marginals_of(self.published)

    def as_records(self) -> RandomizedTable:
        """Return the synthetic records as a randomized table: for utility and attacks, which take those.

        Raises
        ------
        PolicyError
            When none were drawn.
        """
        if self.published.records is None:
            raise PolicyError("the release has no synthetic records; ask for them with synthetic")
        quasi = self.published.quasi_identifying
        return RandomizedTable(self.published.synthetic, quasi, self.published.sensitive)

    def in_cells(self, table: Table) -> Table:
        """Return a table of people with each value as the cell that it falls into: what attacks and utility compare.

        Parameters
        ----------
        table
            People, in the data or not, read as the original was.

        Raises
        ------
        PolicyError
            When the table has other columns, or the release does not say how it was made.
        """
        if self.policy is None:
            raise PolicyError("the release does not say how it was made; make it with sfumato.publish_privately(...)")
        return self.policy.in_cells(table)

    def recount(self) -> Verification:
        """Recount anew what is published."""
        return private_verification(self.published, self.budget, self.model, self.series)

    @property
    def levels_or_sets(self) -> dict[str, Any]:
        """The columns of each marginal."""
        return {"marginals": [list(names) for names in self.published.sets]}

    @property
    def figures(self) -> dict[str, Any]:
        """Noise, marginals and synthetic records."""
        return {
            "noise": {"mechanism": self.budget.mechanism, "standard_deviation": self.budget.deviation()},
            **self.levels_or_sets,
            "records": {"published": self._synthetic, "suppression_limit": 0.0},
            **({SYNTHETIC: NOBODYS} if self._synthetic else {}),
        }

    @property
    def lines(self) -> tuple[str, Sequence[str]]:
        """How many marginals there are, and what was drawn for them."""
        synthetic = f"; {counted(self._synthetic, 'synthetic record')}" if self._synthetic else ""
        return f"{counted(len(self.published.sets), 'noisy marginal')}{synthetic}", [
            f"Noise        {self.budget.mechanism}, by OpenDP; standard deviation of a noisy count up to "
            f"{figure(self.budget.deviation(), 4)}",
            *section("Budget", (self._line(step) for step in self.budget.steps)),
            *([] if self.series is None else [f"Series       {self.series}"]),
            *section("Marginals", (named(names) for names in self.published.sets)),
            *([f"Synthetic    {NOBODYS}"] if self._synthetic else []),
        ]

    @property
    def said_beside(self) -> dict[str, Any]:
        """What ``release.json`` says of synthetic records."""
        return {} if self.published.records is None else {SYNTHETIC: NOBODYS}

    def with_domains(self, domains: Mapping[str, Domain]) -> PrivateMarginals:
        """Return the marginals with other labels."""
        return replace(self.published, domains=domains)

    @property
    def _synthetic(self) -> int:
        return 0 if self.published.records is None else len(self.published.records)

    def _line(self, step: BudgetStep) -> str:
        letter = "ρ" if self.budget.mechanism == "discrete Gaussian" else "ε"
        what = "noise on" if step.what == "counts" else "choice of"
        of_what = counted(step.times, "marginal" if step.what == "counts" else "pair")
        return f"{what} {of_what}: {letter} = {figure(step.spent, 4)}, scale {figure(step.scale, 4)}"

    def __repr__(self) -> str:
        """Show the promise and sizes."""
        sizes = f"{counted(len(self.published.sets), 'marginal')}, {counted(self.verification.classes, 'cell')}"
        return f"PrivateRelease({self.model}, {sizes})"


save_private: Saver[PrivateRelease, PrivatePolicy] = saver(
    PrivateRelease,
    "save_private",
    "noisy marginals",
    "a file for each marginal, the synthetic records if there are any",
)

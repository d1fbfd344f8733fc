"""A private sample that may be published, and what the steward should know about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from sfumato.errors import PolicyError, VerificationError
from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.numbers import counted
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.private.sampling import SampleBudget
from sfumato.published.generalized import PublishedTable
from sfumato.published.private import SeriesSpent
from sfumato.published.private_sample import PrivateSample
from sfumato.published.randomized import RandomizedTable
from sfumato.table.table import Table

if TYPE_CHECKING:
    # Who verifies a release loads no maker.
    from sfumato.policy.private_policy import PrivateSamplePolicy


@dataclass(frozen=True, eq=False, repr=False)
class PrivateSampleRelease:
    """Generalized records of a random sample under differential privacy.

    Made by :func:`sfumato.publish_private_sample`.

    Attributes
    ----------
    published : PrivateSample
        What may be published.
    model : DifferentialPrivacy
        What is promised.
    budget : SampleBudget
        How it was spent.
    verification : Verification
        What was recounted of it, and what is attested.
    notes : tuple of str
        For the steward alone: they count records exactly.
    policy : PrivateSamplePolicy or None
        What the release was made from.
    series : SeriesSpent or None
        What all releases of its ledger have spent, this one included.

    Raises
    ------
    VerificationError
        When something does not hold: such a release cannot be made.
    """

    published: PrivateSample
    model: DifferentialPrivacy
    budget: SampleBudget
    verification: Verification
    notes: tuple[str, ...] = ()
    policy: PrivateSamplePolicy | None = None
    series: SeriesSpent | None = None

    def __post_init__(self) -> None:
        """Refuse what does not hold."""
        if not self.verification.ok:
            raise VerificationError("this sample was not found to keep its promises; nothing is published")

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The published records, under the name of their file without ending."""
        return self.published.tables

    def as_records(self) -> RandomizedTable:
        """Return the records as a table of which each row stands for 1 / share: for utility, and attacks on rows.

        Compare it with people :meth:`in_levels`.

        Raises
        ------
        PolicyError
            When the sample has no records, as no class of those drawn had k.
        """
        return RandomizedTable(*self._shown(), 1 / self.budget.share)

    def as_classes(self) -> PublishedTable:
        """Return the records as a generalized table: for attacks on classes. They are as under :meth:`as_records`.

        Raises
        ------
        PolicyError
            When the sample has no records.
        """
        return PublishedTable(*self._shown())

    def _shown(self) -> tuple[pl.DataFrame, tuple[str, ...], tuple[str, ...]]:
        shown = self.published
        if not shown.data.height:
            raise PolicyError("the sample has no records: no class of those drawn had k; raise levels, ε or δ")
        return shown.data, shown.quasi_identifying, shown.sensitive

    def in_levels(self, table: Table) -> Table:
        """Return a table of people with each value as it is published: what attacks and utility compare.

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
            raise PolicyError("the release does not say how it was made; make it with publish_private_sample(...)")
        from sfumato.anonymizers.private.sampled import in_levels

        return in_levels(table, self.policy.to_sampling(), self.published)

    def to_dict(self) -> dict[str, object]:
        """Return plain values, for JSON; all but the notes may be published."""
        return {
            "model": {"name": self.model.name, **self.model.parameters()},
            "neighbours": self.model.neighbours,
            "budget": self.budget.to_dict(),
            **({} if self.series is None else {"series": self.series.to_dict()}),
            "levels": dict(self.published.levels),
            "verification": self.verification.to_dict(),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        """Show the promise and sizes."""
        return f"PrivateSampleRelease({self.model}, {counted(self.published.data.height, 'record')})"

"""A release under differential privacy that may be published, and what the steward should know about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from sfumato.errors import PolicyError, VerificationError
from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.numbers import counted
from sfumato.published.bucketized import COUNT
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.private.promises import Budget
from sfumato.published.checks.private.sampling import SampleBudget
from sfumato.published.generalized import PublishedTable
from sfumato.published.marginal import MarginalTables
from sfumato.published.private import NOISY, PrivateMarginals, SeriesSpent
from sfumato.published.private_sample import PrivateSample
from sfumato.published.randomized import RandomizedTable
from sfumato.table.table import Table

if TYPE_CHECKING:
    from sfumato.policy.private_policy import PrivatePolicy, PrivateSamplePolicy


# A private sample that may be published, and what the steward should know about it.


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


@dataclass(frozen=True, eq=False, repr=False)
class PrivateRelease:
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

    def __post_init__(self) -> None:
        """Refuse what does not hold."""
        if not self.verification.ok:
            raise VerificationError("these marginals were not found to keep their promises; nothing is published")

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Every published table under the name of its file, without ending."""
        return self.published.tables

    def as_marginals(self) -> MarginalTables:
        """Return the fitted counts, rounded, as count tables: for utility and attacks, which take those.

        Sets inside another one are left out, and combinations of which no record is left by rounding.
        """
        sets = [names for names in self.published.sets if not self._is_inside(names)]
        frames = []
        for names in sets:
            place = self.published.sets.index(names)
            frame = self.published.tables[f"marginal_{place + 1}"].drop(NOISY)
            rounded = frame.with_columns(frame[COUNT].round().cast(pl.Int64))
            frames.append(rounded.filter(rounded[COUNT] > 0))
        return MarginalTables(tuple(frames), tuple(sets), self.published.sensitive)

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

    def to_dict(self) -> dict[str, object]:
        """Return plain values, for JSON; all but the notes may be published."""
        return {
            "model": {"name": self.model.name, **self.model.parameters()},
            "neighbours": self.model.neighbours,
            "budget": self.budget.to_dict(),
            **({} if self.series is None else {"series": self.series.to_dict()}),
            "marginals": [list(names) for names in self.published.sets],
            "verification": self.verification.to_dict(),
            "notes": list(self.notes),
        }

    def _is_inside(self, names: tuple[str, ...]) -> bool:
        return any(set(names) < set(other) for other in self.published.sets)

    def __repr__(self) -> str:
        """Show the promise and sizes."""
        sizes = f"{counted(len(self.published.sets), 'marginal')}, {counted(self.verification.classes, 'cell')}"
        return f"PrivateRelease({self.model}, {sizes})"

"""A private sample that may be published, its report and its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from sfumato.errors import PolicyError
from sfumato.kinds.private.check import Domain, SeriesSpent
from sfumato.kinds.private.release import DeclaredRelease
from sfumato.kinds.private_sample.check import SAMPLES, PrivateSample, SampleBudget, sample_verification
from sfumato.kinds.private_sample.policy import PrivateSamplePolicy
from sfumato.models.of_kinds import DifferentialPrivacy
from sfumato.numbers import counted, figure, percent
from sfumato.published.checks.generalized import Verification
from sfumato.published.protocol import PublishedTable, RandomizedTable
from sfumato.release.own_kinds import Saver, saver
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class PrivateSampleRelease(DeclaredRelease):
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

    kind = SAMPLES
    made_by = "publish_private_sample"
    policy_kind = PrivateSamplePolicy
    settings = ("sampling",)
    source = "records"
    exactly = "exactly"

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
        from sfumato.kinds.private_sample.make import in_levels

        return in_levels(table, self.policy.to_sampling(), self.published)

    def recount(self) -> Verification:
        """Recount anew what is published."""
        return sample_verification(self.published, self.budget, self.model, self.series)

    @property
    def levels_or_sets(self) -> dict[str, Any]:
        """The level of each column."""
        return {"levels": dict(self.published.levels)}

    @property
    def figures(self) -> dict[str, Any]:
        """Levels, and how many records there are."""
        return {**self.levels_or_sets, "records": {"published": self.published.data.height, "suppression_limit": 0.0}}

    @property
    def lines(self) -> tuple[str, Sequence[str]]:
        """How many records there are, how they were drawn, and on which levels they are."""
        budget, levels = self.budget, self.published.levels
        searched = "levels were named"
        if budget.scale is not None:
            searched = f"{counted(budget.nodes, 'combination')} of levels, ε = {figure(float(budget.searched), 4)}"
        return f"{counted(self.published.data.height, 'record')} of a random sample, generalized", [
            f"Sample       {percent(budget.share, 2)} of the records were drawn, classes below k = {budget.k:,} "
            f"left out: ε = {figure(budget.epsilon, 4)}",
            f"Search       {searched}",
            f"Levels       {', '.join(f'{name} {level}' for name, level in levels.items())}",
            *([] if self.series is None else [f"Series       {self.series}"]),
        ]

    def with_domains(self, domains: Mapping[str, Domain]) -> PrivateSample:
        """Return the records with other labels, wherever they stand."""
        shown = self.published
        columns = [domains[name].column(name, old.codes(shown.data[name])) for name, old in shown.domains.items()]
        return replace(shown, data=pl.DataFrame(columns), domains=domains)

    def __repr__(self) -> str:
        """Show the promise and sizes."""
        return f"PrivateSampleRelease({self.model}, {counted(self.published.data.height, 'record')})"


save_private_sample: Saver[PrivateSampleRelease, PrivateSamplePolicy] = saver(
    PrivateSampleRelease, "save_private_sample", "a private sample", "the records"
)

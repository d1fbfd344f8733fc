"""A private sample that may be published, its report and its folder."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import PolicyError, VerificationError, raise_all
from sfumato.kinds.private.check import SeriesSpent
from sfumato.kinds.private.folder import LIMITS, escaped_domains, said_otherwise
from sfumato.kinds.private_sample.check import KIND, PrivateSample, SampleBudget, described_sample, sample_verification
from sfumato.kinds.private_sample.policy import PrivateSamplePolicy
from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.numbers import counted, figure, percent
from sfumato.published.checks.generalized import Verification
from sfumato.published.generalized import PublishedTable
from sfumato.published.randomized import RandomizedTable
from sfumato.release.formulas import Formulas, cells_like_formulas
from sfumato.release.kind_report import occasion_lines, promise_lines, section
from sfumato.release.text_files import write_text_tables, write_texts, wrong_types
from sfumato.release.transaction import whole_folder
from sfumato.table.table import Table
from sfumato.table.writing import Format

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
        from sfumato.kinds.private_sample.make import in_levels

        return in_levels(table, self.policy.to_sampling(), self.published)

    def recount(self) -> Verification:
        """Recount anew what is published."""
        return sample_verification(self.published, self.budget, self.model, self.series)

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


# Writing folders of private samples, with their report.


@dataclass(frozen=True)
class PrivateSampleReport:
    """Figures of one private sample; all but the notes may be published."""

    release: PrivateSampleRelease
    notes: tuple[str, ...] = ()  # what the steward should know; not for the folder, as they count records exactly
    purpose: str | None = None
    recipient: str | None = None

    def for_release(self) -> PrivateSampleReport:
        """Return the edition that goes into a release: without notes."""
        return dataclasses.replace(self, notes=())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for ``report.json``."""
        occasion = {"purpose": self.purpose, "recipient": self.recipient}
        made = self.release
        return {
            **{name: text for name, text in occasion.items() if text is not None},
            "kind": KIND,
            "epsilon": made.model.epsilon,
            "delta": made.model.delta,
            "neighbours": made.model.neighbours,
            "budget": made.budget.to_dict(),
            **({} if made.series is None else {"series": made.series.to_dict()}),
            "levels": dict(made.published.levels),
            "records": {"published": made.published.data.height, "suppression_limit": 0.0},
            "verification": made.verification.to_dict(),
            "limits": list(LIMITS),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        """Return the report as a short page of text."""
        made, budget = self.release, self.release.budget
        searched = "levels were named"
        if budget.scale is not None:
            searched = f"{counted(budget.nodes, 'combination')} of levels, ε = {figure(float(budget.searched), 4)}"
        return "\n".join(
            [
                *occasion_lines(self.purpose, self.recipient),
                f"Release      {counted(made.published.data.height, 'record')} of a random sample, generalized",
                f"Promise      {made.model}",
                f"Neighbours   {made.model.neighbours}",
                f"Sample       {percent(budget.share, 2)} of the records were drawn, classes below k = {budget.k:,} "
                f"left out: ε = {figure(budget.epsilon, 4)}",
                f"Search       {searched}",
                f"Levels       {', '.join(f'{name} {level}' for name, level in made.published.levels.items())}",
                *([] if made.series is None else [f"Series       {made.series}"]),
                *section(
                    "Promises     recounted from the published records, or attested",
                    (line.strip() for line in self._promises()),
                ),
                *section("Notes        for the steward alone: they count records exactly", self.notes),
                *section("Limits", LIMITS),
            ]
        )

    def _promises(self) -> list[str]:
        attested = self.release.verification.checks[0]
        first, *others = promise_lines(self.release.verification)
        return [f"{first}; {attested.detail}", *others]


def save_private_sample(
    release: PrivateSampleRelease,
    folder: str | Path,
    *,
    policy: PrivateSamplePolicy | None = None,
    format: Format = "csv",
    overwrite: bool = False,
    formulas: Formulas = "keep",
) -> Path:
    """Write a release folder of a private sample, of which :func:`sfumato.verify` recounts what can be recounted.

    It holds the records, ``release.json``, ``policy.toml``, ``report.json`` and ``report.txt``; nothing of it is for
    the steward alone. The folder appears whole or not at all.

    Parameters
    ----------
    release
        As :func:`sfumato.publish_private_sample` returns it.
    folder
        Where to; its parent must exist.
    policy
        What the release was made from, where it is to say more than the release's own: a purpose, a recipient.
    format
        Of the file that holds the records.
    overwrite
        Replace a release that is already there. Whoever has the old one has both, and their budgets add up.
    formulas
        Of cells of CSV that begin like a formula: ``"keep"``, ``"escape"`` or ``"refuse"``.

    Returns
    -------
    pathlib.Path
        The folder.

    Raises
    ------
    InputError
        When the folder cannot be written there.
    PolicyError
        When this is no such release, the policy says something else than that of the release, the format or what to do
        with formulas is unknown, or formulas are refused or cannot be escaped.
    """
    raise_all(PolicyError, _sample_problems(release, policy, format, formulas))
    policy = policy or release.policy
    published = release.published
    if format == "csv":
        published = _sample_without_formulas(published, formulas)
    report = sample_report(release, policy).for_release()
    with whole_folder(Path(folder), overwrite=overwrite) as part:
        facts = write_text_tables(part, published.tables, format)
        content = described_sample(published, release.budget, release.model, release.series, facts)
        write_texts(part, content, report, None if policy is None else policy.published())
    return Path(folder)


def sample_formulas(release: PrivateSampleRelease) -> dict[str, int]:
    """Count the published cells that begin like a formula, by column."""
    return cells_like_formulas(list(release.tables.values()))


def sample_report(release: PrivateSampleRelease, policy: PrivateSamplePolicy | None = None) -> PrivateSampleReport:
    """Return the report of a private sample, in the steward's edition."""
    policy = policy or release.policy
    occasion = (None, None) if policy is None else (policy.purpose, policy.recipient)
    return PrivateSampleReport(release, release.notes, *occasion)


def _sample_without_formulas(published: PrivateSample, formulas: Formulas) -> PrivateSample:
    """Return the records as they are to be written; labels are escaped wherever they stand."""
    domains = escaped_domains(published.domains, formulas)
    if domains is None:
        return published
    columns = [
        domains[name].column(name, domain.codes(published.data[name])) for name, domain in published.domains.items()
    ]
    return replace(published, data=pl.DataFrame(columns), domains=domains)


def _sample_problems(release: object, policy: object, format: object, formulas: object) -> list[str]:
    made_by = "publish_private_sample"
    problems = wrong_types(release, PrivateSampleRelease, made_by, policy, PrivateSamplePolicy, format, formulas)
    if isinstance(release, PrivateSampleRelease) and isinstance(policy, PrivateSamplePolicy):
        problems += said_otherwise(release.policy, policy, ("model", "sampling"))
    return problems


# Recounting private samples; nothing here knows how they are made.

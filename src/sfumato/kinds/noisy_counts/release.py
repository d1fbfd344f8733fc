"""Noisy counts that may be published, their report and their folder."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import PolicyError, VerificationError, raise_all
from sfumato.kinds.noisy_counts.check import (
    KIND,
    NOBODYS,
    Budget,
    BudgetStep,
    PrivateDescription,
    PrivateMarginals,
    private_verification,
)
from sfumato.kinds.noisy_counts.policy import PrivatePolicy
from sfumato.kinds.private.check import NOISY, SeriesSpent
from sfumato.kinds.private.folder import LIMITS, escaped_domains, said_otherwise
from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.numbers import counted, figure
from sfumato.published.bucketized import COUNT
from sfumato.published.checks.generalized import Verification
from sfumato.published.marginal import MarginalTables
from sfumato.published.randomized import RandomizedTable
from sfumato.published.roles import named
from sfumato.release.formulas import Formulas, cells_like_formulas
from sfumato.release.kind_report import occasion_lines, promise_lines, section
from sfumato.release.text_files import write_text_tables, write_texts, wrong_types
from sfumato.release.transaction import whole_folder
from sfumato.table.table import Table
from sfumato.table.writing import Format


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

    def recount(self) -> Verification:
        """Recount anew what is published."""
        return private_verification(self.published, self.budget, self.model, self.series)

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


@dataclass(frozen=True)
class PrivateReport:
    """Figures of one release under differential privacy; all but the notes may be published."""

    model: DifferentialPrivacy
    budget: Budget
    marginals: tuple[tuple[str, ...], ...]
    synthetic: int  # synthetic records
    verification: Verification
    notes: tuple[str, ...] = ()  # what the steward should know; not for the folder, as they count records without noise
    series: SeriesSpent | None = None  # what all releases of its ledger have spent
    # `purpose`, `recipient`: what the release is for and who gets it, as the policy says
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
            "kind": KIND,
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

    def _line(self, step: BudgetStep) -> str:
        letter = "ρ" if self.budget.mechanism == "discrete Gaussian" else "ε"
        what = "noise on" if step.what == "counts" else "choice of"
        of_what = counted(step.times, "marginal" if step.what == "counts" else "pair")
        return f"{what} {of_what}: {letter} = {figure(step.spent, 4)}, scale {figure(step.scale, 4)}"


def save_private(
    release: PrivateRelease,
    folder: str | Path,
    *,
    policy: PrivatePolicy | None = None,
    format: Format = "csv",
    overwrite: bool = False,
    formulas: Formulas = "keep",
) -> Path:
    """Write a release folder of noisy marginals, of which :func:`sfumato.verify` recounts what can be recounted.

    It holds a file for each marginal, the synthetic records if there are any, ``release.json``, ``policy.toml``,
    ``report.json`` and ``report.txt``; nothing of it is for the steward alone. The folder appears whole or not at all.

    Parameters
    ----------
    release
        As :func:`sfumato.publish_privately` returns it.
    folder
        Where to; its parent must exist.
    policy
        What the release was made from, where it is to say more than the release's own: a purpose, a recipient. It must
        say the same of how the release was made.
    format
        Of the files that hold the tables.
    overwrite
        Replace a release that is already there. Anything else is never replaced. Whoever has the old one has both, and
        their budgets add up.
    formulas
        Of cells of CSV that begin like a formula, which a spreadsheet may run: ``"keep"`` them as they are,
        ``"escape"`` them by a ``'`` before, or ``"refuse"`` to write.

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
    raise_all(PolicyError, _problems(release, policy, format, formulas))
    policy = policy or release.policy
    target, shown = Path(folder), release.published
    if format == "csv":
        shown = _without_formulas(shown, formulas)
    report = private_report(release, policy)
    description = PrivateDescription.of(shown, release.budget, release.model, release.series)
    with whole_folder(target, overwrite=overwrite) as part:
        facts = write_text_tables(part, shown.tables, format)
        content = description.to_dict(facts, shown.structure)
        write_texts(part, content, report.for_release(), None if policy is None else policy.published())
    return target


def formula_labels(release: PrivateRelease) -> dict[str, int]:
    """Count the published cells that begin like a formula, by column."""
    return cells_like_formulas(list(release.published.tables.values()))


def private_report(release: PrivateRelease, policy: PrivatePolicy | None = None) -> PrivateReport:
    """Return the report of a release under differential privacy, in the steward's edition."""
    policy = policy or release.policy
    records = release.published.records
    return PrivateReport(
        release.model,
        release.budget,
        release.published.sets,
        0 if records is None else len(records),
        release.verification,
        release.notes,
        release.series,
        None if policy is None else policy.purpose,
        None if policy is None else policy.recipient,
    )


def _without_formulas(published: PrivateMarginals, formulas: Formulas) -> PrivateMarginals:
    domains = escaped_domains(published.domains, formulas)
    return published if domains is None else replace(published, domains=domains)


def _problems(release: object, policy: object, format: object, formulas: object) -> list[str]:
    problems = wrong_types(release, PrivateRelease, "publish_privately", policy, PrivatePolicy, format, formulas)
    if isinstance(release, PrivateRelease) and isinstance(policy, PrivatePolicy):
        problems += said_otherwise(release.policy, policy, ("model", "counting"))
    return problems

"""Writing folders of releases under differential privacy, with their report."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import PolicyError, raise_all
from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.numbers import counted, figure, percent
from sfumato.policy.private_policy import PrivatePolicy, PrivateSamplePolicy
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.private.promises import Budget, BudgetStep
from sfumato.published.private import NOBODYS, Domain, PrivateMarginals, SeriesSpent
from sfumato.published.private_sample import PrivateSample
from sfumato.published.roles import named
from sfumato.release.description import PRIVATE, PRIVATE_SAMPLE
from sfumato.release.folder import whole_folder
from sfumato.release.formulas import Formulas, cells_like_formulas, frames_without_formulas
from sfumato.release.kind_report import occasion_lines, promise_lines, section
from sfumato.release.private.description import PrivateDescription, described_sample
from sfumato.release.private.release import PrivateRelease, PrivateSampleRelease
from sfumato.release.text_files import write_text_tables, write_texts, wrong_types
from sfumato.table.writing import Format

# The report of a release under differential privacy: what is promised about whom, and what it cost.


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


def escaped_domains(domains: Mapping[str, Domain], formulas: Formulas) -> dict[str, Domain] | None:
    """Return the domains with their labels as they are to be written, or None; each label is looked at once."""
    frames = {name: pl.DataFrame({name: pl.Series(domain.labels, dtype=pl.String)}) for name, domain in domains.items()}
    escaped = frames_without_formulas(frames, formulas)
    if escaped is frames:
        return None
    return {name: replace(domain, labels=tuple(escaped[name][name].to_list())) for name, domain in domains.items()}


def said_otherwise(made: object | None, policy: object, settings: Sequence[str]) -> list[str]:
    """Tell which settings a policy has otherwise than the one that a release was made with, if that is known."""
    return [
        f"the policy says another {name} than the release was made with"
        for name in settings
        if made is not None and getattr(made, name) != getattr(policy, name)
    ]


def _without_formulas(published: PrivateMarginals, formulas: Formulas) -> PrivateMarginals:
    domains = escaped_domains(published.domains, formulas)
    return published if domains is None else replace(published, domains=domains)


def _problems(release: object, policy: object, format: object, formulas: object) -> list[str]:
    problems = wrong_types(release, PrivateRelease, "publish_privately", policy, PrivatePolicy, format, formulas)
    if isinstance(release, PrivateRelease) and isinstance(policy, PrivatePolicy):
        problems += said_otherwise(release.policy, policy, ("model", "counting"))
    return problems


# Writing folders of private samples, with their report.


@dataclass(frozen=True)
class PrivateSampleReport:
    """Figures of one private sample; all but the notes may be published.

    Attributes
    ----------
    release : PrivateSampleRelease
    notes : tuple of str
        What the steward should know; not for the folder, as they count records exactly.
    purpose, recipient : str or None
    """

    release: PrivateSampleRelease
    notes: tuple[str, ...] = ()
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
            "kind": PRIVATE_SAMPLE,
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

"""Writing folders of private samples, with their report."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import PolicyError, raise_all
from sfumato.numbers import counted, figure, percent
from sfumato.policy.private_policy import PrivateSamplePolicy
from sfumato.published.private_sample import PrivateSample
from sfumato.release.description import PRIVATE_SAMPLE
from sfumato.release.folder import whole_folder
from sfumato.release.formulas import Formulas, cells_like_formulas
from sfumato.release.kind_report import occasion_lines, promise_lines, section
from sfumato.release.private.folder import escaped_domains, said_otherwise
from sfumato.release.private.report import LIMITS
from sfumato.release.private.sample_description import described_sample
from sfumato.release.private.sample_release import PrivateSampleRelease
from sfumato.release.text_files import write_tables, write_texts, wrong_types
from sfumato.table.writing import Format


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
    raise_all(PolicyError, _problems(release, policy, format, formulas))
    policy = policy or release.policy
    published = release.published
    if format == "csv":
        published = _without_formulas(published, formulas)
    report = sample_report(release, policy).for_release()
    with whole_folder(Path(folder), overwrite=overwrite) as part:
        facts = write_tables(part, published.tables, format)
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


def _without_formulas(published: PrivateSample, formulas: Formulas) -> PrivateSample:
    """Return the records as they are to be written; labels are escaped wherever they stand."""
    domains = escaped_domains(published.domains, formulas)
    if domains is None:
        return published
    columns = [
        domains[name].column(name, domain.codes(published.data[name])) for name, domain in published.domains.items()
    ]
    return replace(published, data=pl.DataFrame(columns), domains=domains)


def _problems(release: object, policy: object, format: object, formulas: object) -> list[str]:
    made_by = "publish_private_sample"
    problems = wrong_types(release, PrivateSampleRelease, made_by, policy, PrivateSamplePolicy, format, formulas)
    if isinstance(release, PrivateSampleRelease) and isinstance(policy, PrivateSamplePolicy):
        problems += said_otherwise(release.policy, policy, ("model", "sampling"))
    return problems

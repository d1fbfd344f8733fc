"""Writing folders of releases under differential privacy, with their report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from sfumato.errors import PolicyError, raise_all
from sfumato.policy.private_policy import PrivatePolicy
from sfumato.published.private import Domain, PrivateMarginals
from sfumato.release.folder import whole_folder
from sfumato.release.formulas import Formulas, cells_like_formulas, frames_without_formulas
from sfumato.release.private.description import PrivateDescription
from sfumato.release.private.release import PrivateRelease
from sfumato.release.private.report import PrivateReport
from sfumato.release.text_files import write_tables, write_texts, wrong_types
from sfumato.table.writing import Format


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
        facts = write_tables(part, shown.tables, format)
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

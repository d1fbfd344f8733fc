"""A verified release: published tables, report, and the folder that holds them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.errors import PolicyError, SfumatoError, VerificationError
from sfumato.models.checks import Check, Outcome
from sfumato.published import Published
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.recount import recount
from sfumato.published.checks.suppression import suppression_check
from sfumato.release.description import Description, build_model, is_of_ratings, read_description
from sfumato.release.folder import MARK, no_release, whole_folder
from sfumato.release.report import Report
from sfumato.release.report_kinds import KindReport
from sfumato.release.table_files import read_published_files, write_tables
from sfumato.table.writing import Format

if TYPE_CHECKING:
    from sfumato.release.ratings.release import RatingRelease


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """Published tables that were verified, with their report.

    Made by :func:`sfumato.anonymize` alone; there is no other way to one, so every release was verified.

    Attributes
    ----------
    published : Published
        What a recipient holds; which of the kinds depends on the anonymizer.
    report : Report or KindReport
        The latter where the release is no generalized table.
    description : Description
        What a verifier needs to know.
    policy : str
        The policy as TOML, in the edition that may be published.
    """

    published: Published
    report: Report | KindReport
    description: Description
    policy: str

    def __repr__(self) -> str:
        """Count the published records and name the promises."""
        promises = ", ".join(check.promise for check in self.report.verification.checks)
        return f"Release({self.report.published} records, {promises})"

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Every published table under the name of its file, without ending."""
        return self.published.tables

    @property
    def data(self) -> pl.DataFrame:
        """The published table, in random order.

        Raises
        ------
        PolicyError
            When the release has several.
        """
        first, *others = self.tables.values()
        if others:
            names = ", ".join(map(repr, self.tables))
            raise PolicyError(f"data: this release has several tables; take them from .tables, which holds {names}")
        return first

    def save(self, folder: str | Path, *, format: Format = "csv", overwrite: bool = False) -> Path:
        """Write the release folder: its tables, ``release.json``, ``policy.toml``, ``report.json``, ``report.txt``.

        The folder appears whole or not at all: it is written beside its place and moved there in one rename.

        Parameters
        ----------
        folder
            Where to; its parent must exist.
        format
            Of the files that hold the tables.
        overwrite
            Replace a release that is already there. Anything else is never replaced.

        Returns
        -------
        pathlib.Path
            The folder.

        Raises
        ------
        InputError
            When the folder cannot be written there.
        PolicyError
            When the format is unknown.
        """
        if format not in ("csv", "parquet"):
            raise PolicyError("format must be 'csv' or 'parquet'")
        target = Path(folder)
        with whole_folder(target, overwrite=overwrite) as part:
            facts = write_tables(self.published, part, format)
            _write_json(part / MARK, self.description.to_dict(tables=facts))
            report = self.report.for_release()
            _write_json(part / "report.json", report.to_dict())
            (part / "report.txt").write_text(f"{report}\n", encoding="utf-8")
            (part / "policy.toml").write_text(self.policy, encoding="utf-8")
        return target


def verify(release: str | Path | Release | RatingRelease) -> Verification:
    """Recount every promise of a release from its published data.

    Parameters
    ----------
    release
        A release folder, or a release in memory; also of ratings.

    Returns
    -------
    Verification
        ``ok`` is False when a promise is broken, when a model is not known here so that nobody has recounted it, or
        when the data file is not the one that was written. What the release alone cannot decide is reported as not
        verifiable, never as holding.

    Raises
    ------
    VerificationError
        When the folder is no release or is damaged so that nothing can be counted.
    """
    if isinstance(release, Release):
        return _recount(release.published, release.description, ())
    if not isinstance(release, (str, os.PathLike)):
        from sfumato.release.ratings.folder import verify_ratings

        return verify_ratings(release)
    try:
        return _recount_folder(Path(release))
    except VerificationError:
        raise
    except SfumatoError as error:
        # What is wrong with a table that somebody hands in is, of a release, a promise that does not hold.
        raise VerificationError(*error.problems) from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "unknown reason"
        raise VerificationError(f"{release}: cannot be read ({reason})") from None


def _recount_folder(folder: Path) -> Verification:
    if problem := no_release(folder):
        raise VerificationError(problem)
    text = (folder / MARK).read_text(encoding="utf-8", errors="replace")
    if is_of_ratings(text):
        from sfumato.release.ratings.folder import verify_rating_folder

        return verify_rating_folder(folder, text)
    description, facts = read_description(text)
    published, integrity = read_published_files(folder, description, facts)
    return _recount(published, description, integrity)


def _recount(published: Published, description: Description, first: tuple[Check, ...]) -> Verification:
    built = [(entry, build_model(entry)) for entry in description.models]
    counted = recount(published, [model for _, model in built if model is not None], description.attributes())
    unknown = tuple(
        Check(f"model {entry.get('name')}", Outcome.UNDECIDABLE, detail="this version does not know the model")
        for entry, model in built
        if model is None
    )
    limit = suppression_check(description.suppression_limit)
    return replace(counted, checks=(*first, *counted.checks, *unknown, limit))


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

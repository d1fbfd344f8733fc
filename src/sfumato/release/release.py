"""A verified release: published tables, report, and the folder that holds them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sfumato.errors import PolicyError
from sfumato.published import Published
from sfumato.release.description import Description
from sfumato.release.folder import whole_folder
from sfumato.release.kind_report import KindReport
from sfumato.release.loss_report import Report
from sfumato.release.table_files import write_tables
from sfumato.release.text_files import write_texts
from sfumato.table.writing import Format


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

        The folder appears whole or not at all: it is written beside its place and moved there in one step.

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
            write_texts(part, self.description.to_dict(tables=facts), self.report.for_release(), self.policy)
        return target

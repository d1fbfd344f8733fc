"""The releases of a series as a recipient reads them, one after the other."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from sfumato.errors import VerificationError, raise_all
from sfumato.models.checks import Check, Outcome
from sfumato.published import PublishedTable
from sfumato.published.checks.generalized import Verification
from sfumato.release.description import Description, own_kind
from sfumato.release.opening import ReleaseFolder, mark_of, opened_folder
from sfumato.release.policy_text import PublishedPolicy
from sfumato.release.verify import recounted
from sfumato.series.description import SeriesPlace
from sfumato.series.table_bytes import byte_rows
from sfumato.table.writing import Format, sha256_of
from sfumato.whole_files import read_regular


@dataclass(frozen=True, eq=False, repr=False)
class ReadRelease:
    """A release of a series that was read from its folder.

    Attributes
    ----------
    path : Path
    place : Place or None
        None where it says that it is of no series.
    opened : ReleaseFolder
    mark : str
        The text of its ``release.json``.
    """

    path: Path
    place: SeriesPlace | None
    opened: ReleaseFolder
    mark: str

    @classmethod
    def of(cls, path: Path) -> ReadRelease:
        """Read a release folder.

        Raises
        ------
        SfumatoError
            When it cannot be read, or is no generalized table.
        """
        release = cls.unread(path)
        _ = release.published
        return release

    @classmethod
    def unread(cls, path: Path) -> ReadRelease:
        """Read what a release folder says of itself; its table is read when it is asked for.

        Raises
        ------
        SfumatoError
            When it cannot be read, or is no release of tables.
        """
        mark = mark_of(path)
        if kind := own_kind(mark):
            raise VerificationError(f"{path.name}: is a release of {kind}, which no series holds")
        return cls(path, SeriesPlace.of(mark), opened_folder(path, mark), mark)

    @cached_property
    def _tables(self) -> tuple[PublishedTable, tuple[Check, ...]]:
        published, integrity = self.opened.read()
        if not isinstance(published, PublishedTable):
            kind = published.kind
            raise VerificationError(f"{self.path.name}: is a {kind}, and a series holds generalized tables alone")
        return published, integrity

    @property
    def published(self) -> PublishedTable:
        """Its table."""
        return self._tables[0]

    @property
    def integrity(self) -> tuple[Check, ...]:
        """Whether its table is the one that was written."""
        return self._tables[1]

    @property
    def description(self) -> Description:
        """What it says of itself."""
        return self.opened.description

    @property
    def policy(self) -> PublishedPolicy:
        """Its ``policy.toml``."""
        return self.opened.policy

    @cached_property
    def written(self) -> pl.DataFrame:
        """Its rows just as they were written; see :func:`~sfumato.series.table_bytes.byte_rows`."""
        path = self.path / self.opened.files["data"].file
        format: Format = "csv" if path.suffix == ".csv" else "parquet"
        return byte_rows(read_regular(path, sys.maxsize), format, self.published.quasi_identifying)

    @cached_property
    def verification(self) -> Verification:
        """The recount of the release by itself.

        Raises
        ------
        SfumatoError
            When it is damaged so that nothing can be counted.
        """
        return recounted(self.opened, self.mark, self.published, self.integrity)

    def refuse_if_changed(self) -> None:
        """Raise VerificationError when its table is not the one that was written. Cost O(bytes), without reading it."""
        paths = [(self.path / facts.file, facts.sha256) for facts in self.opened.files.values()]
        changed = [path.name for path, digest in paths if not path.is_file() or sha256_of(path) != digest]
        raise_all(VerificationError, [f"{self.path}: {changed_words(name)}" for name in changed])


def changed_words(name: str) -> str:
    """Say that a file is not the one that was written."""
    return f"{name} is the file that was written: {Outcome.BROKEN}; put it back"

"""The file of an appended release: the rows of the one before, moved and not read, with newcomers among them.

What was counted of the release before is kept in the ledger, and added to what is counted of the newcomers. So a
release costs what its newcomers cost, and the time of moving bytes.

Letters: n rows of the release.
"""

from __future__ import annotations

import hashlib
import io
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import VerificationError
from sfumato.models.checks import Check, Outcome
from sfumato.published import PublishedTable
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.recount import recount
from sfumato.published.checks.rows import group_rows
from sfumato.published.roles import roles_of
from sfumato.randomness import permutation
from sfumato.release.description import Description, TableFacts, described_models
from sfumato.release.table_files import read_table_file
from sfumato.release.verify import judge_description
from sfumato.series.appended import appended_labels, newcomer_checks, rows_kept
from sfumato.series.reading import ReadRelease, changed_words
from sfumato.series.table_bytes import byte_rows, bytes_of, holds_both, mixed
from sfumato.table.distinct import as_categories
from sfumato.table.writing import Format
from sfumato.whole_files import read_regular

# The different rows of a published table, and how often each stands in it: all that a recount of classes asks for.
#
# Sums over two tables are those of both together, so that what was counted once is not counted again.
#
# Letters: n rows of the table, d different ones.


FORMAT = "1"
_TIMES = " times"
"""No column of a table has such a name."""


@dataclass(frozen=True, eq=False, repr=False)
class RecountedRows:
    """Rows of a published table without its insensitive columns, each once.

    Attributes
    ----------
    rows : polars.DataFrame
        (d, columns); labels as text.
    times : numpy.ndarray
        int64 (d,): how often each stands in the table.
    """

    rows: pl.DataFrame
    times: NDArray[np.int64]

    @classmethod
    def of(cls, published: PublishedTable) -> RecountedRows:
        """Count the rows of a table whose labels are text. Cost O(n)."""
        rows = published.data.select(*published.quasi_identifying, *published.sensitive, *published.promises.values())
        return cls._summed(rows.with_columns(pl.lit(1, dtype=pl.Int64).alias(_TIMES)))

    @classmethod
    def _summed(cls, rows: pl.DataFrame) -> RecountedRows:
        found = rows.group_by(pl.exclude(_TIMES)).agg(pl.col(_TIMES).sum())
        return cls(found.drop(_TIMES), found[_TIMES].to_numpy())

    def __add__(self, other: RecountedRows) -> RecountedRows:
        """Return the counts of two tables together. Cost O(d)."""
        columns = self.rows.columns
        frames = [each._frame().select(*columns, _TIMES) for each in (self, other)]
        return self._summed(pl.concat(frames, how="vertical_relaxed"))

    @cached_property
    def _coded(self) -> pl.DataFrame:
        """The rows with texts as categories, which every count begins with."""
        texts = [column for column in self.rows if column.dtype == pl.String]
        return self.rows.with_columns(as_categories(texts))

    def _frame(self) -> pl.DataFrame:
        return self.rows.with_columns(pl.Series(_TIMES, self.times, dtype=pl.Int64))

    def content(self, sha256: str) -> bytes:
        """Return the content of a file of the ledger; `sha256` is that of the table that was counted."""
        buffer = io.BytesIO()
        self._frame().write_parquet(buffer, metadata=_described(sha256))
        return buffer.getvalue()

    @classmethod
    def read(cls, content: bytes, sha256: str) -> RecountedRows | None:
        """Read the content of a file; None where it is another one, tells of another table, or is of another version.

        The ledger knows the hash of the file, so that damage is found before.
        """
        with suppress(OSError, pl.exceptions.PolarsError):
            said = pl.read_parquet_metadata(io.BytesIO(content))
            if all(said.get(name) == value for name, value in _described(sha256).items()):
                found = pl.read_parquet(io.BytesIO(content))
                return cls(found.drop(_TIMES), found[_TIMES].to_numpy())
        return None

    def recounted(self, published: PublishedTable, description: Description) -> Verification:
        """Recount what a release promises; `published` says the roles of its columns. Cost O(n), nothing is parsed."""
        models, attributes = described_models(description), description.attributes()
        distinct = replace(published, data=self._coded, records=self.times)
        found = recount(distinct, models, attributes, description.attested)
        return replace(found, roles=roles_of(published))

    def class_sizes(self, published: PublishedTable) -> NDArray[np.int64]:
        """Count the rows of each class; int64 (c,)."""
        class_of, count = group_rows(appended_labels(replace(published, data=self._coded)))
        return np.bincount(class_of, weights=self.times, minlength=count).astype(np.int64)


def _described(sha256: str) -> dict[str, str]:
    return {"counted rows": FORMAT, "sha256": sha256}


@dataclass(frozen=True, eq=False, repr=False)
class CarriedOver:
    """The file of a release, and what it was made of.

    Attributes
    ----------
    format : str
    older, new : bytes
        Files with the rows of the release before alone, and with newcomers alone.
    is_new : numpy.ndarray
        bool (n,): which rows are of newcomers.
    newcomers : PublishedTable
        As they are written.
    counted : CountedRows
        Of all rows.
    people : numpy.ndarray or None
        int32: a number for the person of each new row, valid in its class, where people may have several.
    """

    format: Format
    older: bytes
    new: bytes
    is_new: NDArray[np.bool_]
    newcomers: PublishedTable
    counted: RecountedRows
    people: NDArray[np.int32] | None = None

    @cached_property
    def content(self) -> memoryview:
        """Of the file."""
        return mixed(self.older, self.new, self.is_new, self.format) if self.older else memoryview(self.new)

    @cached_property
    def sha256(self) -> str:
        """Of the file, in hexadecimal."""
        return hashlib.sha256(self.content).hexdigest()

    def write(self, folder: Path) -> TableFacts:
        """Write the file; return what ``release.json`` says of it."""
        path = folder / f"data.{self.format}"
        path.write_bytes(self.content)
        return TableFacts(path.name, self.sha256, len(self.is_new), tuple(self.newcomers.data.columns))

    def recount(self, newer: ReadRelease) -> tuple[Verification, tuple[Check, ...]]:
        """Recount a release that was written beside its place: newcomers as their recipient will, all by their counts.

        Returns
        -------
        Verification
            Of the release by itself.
        tuple of Check
            Of the release beside the one before.

        Notes
        -----
        Every cell of newcomers is read from what was written. The rows of the older release are compared byte by byte:
        they were recounted when it was published, and its file has the hash that it had then.
        """
        facts = newer.opened.files["data"]
        path, alone = newer.path / facts.file, replace(self.newcomers, data=self._as_read(newer))
        written = np.memmap(path, dtype=np.uint8, mode="r").data
        there = hashlib.sha256(written).hexdigest() == facts.sha256 and facts.rows == len(self.is_new)
        kept = holds_both(written, self.older, self.new, self.is_new, self.format)
        whole = self.counted.recounted(self.newcomers, newer.description)
        found = judge_description(
            whole, newer.opened, newer.mark, (_said(f"{facts.file} is the file that was written", there),)
        )
        return found, (_said(rows_kept(newer), kept), *newcomer_checks(alone, newer.description, self.people))

    def _as_read(self, newer: ReadRelease) -> pl.DataFrame:
        """Return newcomers as a recipient reads them."""
        alone = newer.path / f"newcomers.{self.format}"
        alone.write_bytes(self.new)
        try:
            return read_table_file(alone, newer.opened.files["data"], newer.description)
        finally:
            alone.unlink()


def _said(promise: str, holds: bool) -> Check:
    return Check(promise, Outcome.HOLDS) if holds else Check(promise, Outcome.BROKEN, detail="it is another one")


def first_of(
    rows: pl.DataFrame, made: PublishedTable, format: Format, people: NDArray[np.int32] | None = None
) -> CarriedOver:
    """Return the file of newcomers alone, in the order of `rows`; `made` says the roles of the columns.

    `people` says whose each row is, where somebody may have several.
    """
    new = bytes_of(rows, format)
    newcomers = replace(made, data=byte_rows(new, format, made.quasi_identifying))
    everybody = np.ones(rows.height, dtype=np.bool_)
    return CarriedOver(format, b"", new, everybody, newcomers, RecountedRows.of(newcomers), people)


def series_content(older: ReadRelease, format: Format) -> bytes:
    """Return the file of a release as it was published.

    Raises
    ------
    VerificationError
        When it was changed since.
    """
    facts = older.opened.files["data"]
    path, content = older.path / facts.file, b""
    with suppress(OSError):
        content = read_regular(path)
    if hashlib.sha256(content).hexdigest() != facts.sha256 or path.suffix != f".{format}":
        raise VerificationError(f"{older.path}: {changed_words(facts.file)}")
    return content


def put_among(
    older: ReadRelease, content: bytes, newcomers: CarriedOver, kept: bytes | None, seed: int | None
) -> CarriedOver:
    """Put newcomers among the rows of the release before, at random places.

    Parameters
    ----------
    older
    content
        Of its file.
    newcomers
        As :func:`first_of` returns them.
    kept
        What the ledger says that was counted of it; what it does not say is counted now.
    seed
        For tests and studies; None draws from the operating system.

    Notes
    -----
    Both come in random order, and every choice of places is as likely as any other: so the whole is in random order.
    """
    facts, labels = older.opened.files["data"], newcomers.newcomers.quasi_identifying
    before = None if kept is None else RecountedRows.read(kept, facts.sha256)
    if before is None:
        rows = byte_rows(content, newcomers.format, labels)
        before = RecountedRows.of(replace(newcomers.newcomers, data=rows))
    is_new = permutation(facts.rows + len(newcomers.is_new), seed) >= facts.rows
    return replace(newcomers, older=content, is_new=is_new, counted=before + newcomers.counted)

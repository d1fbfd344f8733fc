"""The file of an appended release: the rows of the one before, moved and not read, with newcomers among them.

What was counted of the release before is kept in the ledger, and added to what is counted of the newcomers. So a
release costs what its newcomers cost, and the time of moving bytes.

Letters: n rows of the release.
"""

from __future__ import annotations

import hashlib
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
from sfumato.randomness import permutation
from sfumato.release.description import TableFacts
from sfumato.release.table_files import read_table_file
from sfumato.release.verify import judged
from sfumato.series.appended import newcomer_checks, rows_kept
from sfumato.series.counted_rows import CountedRows
from sfumato.series.reading import ReadRelease, changed_words
from sfumato.series.table_bytes import bytes_of, has_both, mixed, rows_of
from sfumato.table.writing import Format
from sfumato.whole_files import read_regular


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
    counted: CountedRows
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
        kept = has_both(written, self.older, self.new, self.is_new, self.format)
        whole = self.counted.recounted(self.newcomers, newer.description)
        found = judged(whole, newer.opened, newer.mark, (_said(f"{facts.file} is the file that was written", there),))
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
    newcomers = replace(made, data=rows_of(new, format, made.quasi_identifying))
    everybody = np.ones(rows.height, dtype=np.bool_)
    return CarriedOver(format, b"", new, everybody, newcomers, CountedRows.of(newcomers), people)


def content_of(older: ReadRelease, format: Format) -> bytes:
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
    before = None if kept is None else CountedRows.read(kept, facts.sha256)
    if before is None:
        rows = rows_of(content, newcomers.format, labels)
        before = CountedRows.of(replace(newcomers.newcomers, data=rows))
    is_new = permutation(facts.rows + len(newcomers.is_new), seed) >= facts.rows
    return replace(newcomers, older=content, is_new=is_new, counted=before + newcomers.counted)

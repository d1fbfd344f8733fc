"""The releases of a series as a recipient reads them, and tables as bytes. Letters: n rows of both files."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import VerificationError, raise_all
from sfumato.kernels.series import flows
from sfumato.models.protocol import Check, Outcome
from sfumato.published import PublishedTable
from sfumato.published.checks.generalized import Verification
from sfumato.release.agreement import PublishedPolicy
from sfumato.release.description import Description, own_kind
from sfumato.release.verify import ReleaseFolder, mark_of, opened_folder, recounted
from sfumato.series.description import SeriesPlace
from sfumato.table.schema import text_of
from sfumato.table.writing import Format, sha256_of
from sfumato.whole_files import read_regular

Flags = NDArray[np.bool_]

_OTHERS = "the table of the release before has other columns or rows than its release.json says; nothing was published"


def bytes_of(rows: pl.DataFrame, format: Format) -> bytes:
    """Return the file of a table, as :func:`~sfumato.table.writing.write_data` would write it."""
    buffer = io.BytesIO()
    if format == "csv":
        rows.write_csv(buffer, null_value='""' if rows.width == 1 else "")
    else:
        # Categories carry the name of their private register into the file.
        rows.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)).write_parquet(buffer)
    return buffer.getvalue()


def byte_rows(content: bytes, format: Format, labels: Sequence[str]) -> pl.DataFrame:
    """Read a file just as it was written: every cell of CSV as its text, and every label as text."""
    if format == "csv":
        rows = pl.read_csv(io.BytesIO(content), infer_schema=False)
        # There a missing value is written like an empty text, as an empty line would be no record to most readers.
        return rows if rows.width > 1 else rows.with_columns(pl.all().replace({"": None}))
    return labels_as_text(pl.read_parquet(io.BytesIO(content)), labels)


def labels_as_text(rows: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Return rows without categories, and with labels of any type as text."""
    written = rows.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    return written.with_columns(text_of(written[name]).alias(name) for name in labels)


def rows_as_written(rows: pl.DataFrame, format: Format, labels: Sequence[str]) -> pl.DataFrame:
    """Return a table as :func:`byte_rows` will read it."""
    return byte_rows(bytes_of(rows, format), format, labels) if format == "csv" else labels_as_text(rows, labels)


def mixed(older: bytes, newer: bytes, is_new: Flags, format: Format) -> memoryview:
    """Put the rows of two files with the same columns into one; each keeps the order of its own.

    `is_new`: bool (n,): from which file each row is. Raises ``VerificationError`` when the older file has other
    columns, or not as many rows. Cost O(bytes); of CSV no cell is read.
    """
    if format != "csv":
        return memoryview(_mixed_parquet(older, newer, is_new))
    header = _header(newer)
    if not older.startswith(header):
        raise VerificationError(_OTHERS)
    content = np.empty(len(older) + len(newer) - len(header), dtype=np.uint8)
    content[: len(header)] = np.frombuffer(header, dtype=np.uint8)
    first, second = _records(older, header), _records(newer, header)
    if flows.interleave(first, second, is_new, content[len(header) :]) < 0:
        raise VerificationError(_OTHERS)
    return content.data


def _mixed_parquet(older: bytes, newer: bytes, is_new: Flags) -> bytes:
    before, new = (pl.read_parquet(io.BytesIO(each)) for each in (older, newer))
    if before.columns != new.columns or before.height != np.count_nonzero(~is_new):
        raise VerificationError(_OTHERS)
    place = np.where(is_new, before.height + np.cumsum(is_new), np.cumsum(~is_new)) - 1
    buffer = io.BytesIO()
    pl.concat([before, new], how="vertical_relaxed")[place].write_parquet(buffer)
    return buffer.getvalue()


def holds_both(content: memoryview, older: bytes, newer: bytes, is_new: Flags, format: Format) -> bool:
    """Tell whether a file holds the rows of two others and nothing else; see :func:`mixed`."""
    if format != "csv":
        rows, before, new = (pl.read_parquet(io.BytesIO(each)) for each in (content, older, newer))
        chosen = pl.Series(is_new, dtype=pl.Boolean)
        return rows.filter(~chosen).equals(before.cast(rows.schema)) and rows.filter(chosen).equals(
            new.cast(rows.schema)
        )
    header = _header(newer)
    if content[: len(header)] != header or not older.startswith(header):
        return False
    merged, first, second = (_records(each, header) for each in (content, older, newer))
    return bool(flows.has_both(merged, is_new, first, second))


def _records(content: bytes | memoryview, header: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(content, dtype=np.uint8)[len(header) :]


def _header(content: bytes) -> bytes:
    """Return the first record of a CSV file; one between quotes does not end it."""
    end = content.find(b"\n") + 1
    while content.count(b'"', 0, end) % 2:
        end = content.find(b"\n", end) + 1
    return content[:end]


@dataclass(frozen=True, eq=False, repr=False)
class ReadRelease:
    """A release of a series that was read from its folder."""

    path: Path
    place: SeriesPlace | None  # None where it says that it is of no series
    opened: ReleaseFolder
    mark: str  # the text of its ``release.json``

    @classmethod
    def of(cls, path: Path) -> ReadRelease:
        """Read a release folder. Raises ``SfumatoError`` when it cannot be read, or is no generalized table."""
        release = cls.unread(path)
        _ = release.published
        return release

    @classmethod
    def unread(cls, path: Path) -> ReadRelease:
        """Read what a release folder says of itself, its table when asked for; SfumatoError when it is none."""
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
        """Its rows just as they were written; see :func:`~sfumato.series.reading.byte_rows`."""
        path = self.path / self.opened.files["data"].file
        format: Format = "csv" if path.suffix == ".csv" else "parquet"
        return byte_rows(read_regular(path, sys.maxsize), format, self.published.quasi_identifying)

    @cached_property
    def verification(self) -> Verification:
        """The recount of the release by itself; ``SfumatoError`` when it is damaged so that nothing can be counted."""
        return recounted(self.opened, self.mark, self.published, self.integrity)

    def refuse_if_changed(self) -> None:
        """Raise VerificationError when its table is not the one that was written. Cost O(bytes), without reading it."""
        paths = [(self.path / facts.file, facts.sha256) for facts in self.opened.files.values()]
        changed = [path.name for path, digest in paths if not path.is_file() or sha256_of(path) != digest]
        raise_all(VerificationError, [f"{self.path}: {changed_words(name)}" for name in changed])


def changed_words(name: str) -> str:
    """Say that a file is not the one that was written."""
    return f"{name} is the file that was written: {Outcome.BROKEN}; put it back"

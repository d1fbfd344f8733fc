"""Parts of a release that Spark's workers write into a folder which they share with this machine.

A task is given the numbers of what its part publishes, in the order that was drawn here, and the values behind them. So
its file is a function of what it is given: an attempt that is repeated, or runs twice at the same time, writes the same
bytes. It writes under a name of its own and renames, so that no half-written file has the name of a part.
"""

from __future__ import annotations

import io
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from sfumato.engines.disk.publishing import PublishedColumns
from sfumato.engines.spark.tasks import run_on_spark
from sfumato.errors import InputError, raise_all
from sfumato.release.description import PartFacts, TableFacts
from sfumato.release.parts import TABLE, part_name
from sfumato.table.writing import Format, write_data

WrittenBy = Literal["here", "workers"]
"""Who writes the parts of a release."""

WRITING, TOKEN = ".writing", "token"
"""A folder for files that are not whole yet, and the file in it by which workers know that they see the same folder."""
NOT_SHARED = (
    "Spark's workers do not see the folder of the release, or may not write there; nothing was published. Name a "
    "folder that this machine and all workers share, or have the release written here"
)


@dataclass(frozen=True, eq=False, repr=False)
class PartWriter:
    """Writes a part; sent to workers.

    Attributes
    ----------
    columns : PublishedColumns
    folder : str
        Of the release.
    format : str
    token : str
        What the file of that name holds.
    table : str
        The folder of the parts.
    """

    columns: PublishedColumns
    folder: str
    format: Format
    token: str
    table: str = TABLE

    def __call__(self, part: tuple[int, bytes]) -> PartFacts:
        """Write a part.

        Raises
        ------
        InputError
            When the folder is not that of the release, or cannot be written.
        """
        number, numbers = part
        frame = self.columns.frame(pl.read_ipc(io.BytesIO(numbers)))
        name, writing = part_name(number, self.format), Path(self.folder) / WRITING
        try:
            is_shared = (writing / TOKEN).read_text() == self.token
        except OSError:
            is_shared = False
        raise_all(InputError, [] if is_shared else [NOT_SHARED])
        path = writing / f"{secrets.token_hex(8)}-{name}"
        sha256 = write_data(frame, path, self.format)
        try:
            os.replace(path, Path(self.folder) / self.table / name)
        except OSError:
            raise InputError(NOT_SHARED) from None
        return PartFacts(name, sha256, frame.height)


@dataclass(frozen=True, eq=False, repr=False)
class WorkersWrite:
    """Has the parts of a release written by workers.

    Attributes
    ----------
    session : pyspark.sql.SparkSession
    """

    session: Any

    def __call__(
        self, columns: PublishedColumns, parts: Iterable[pl.DataFrame], folder: Path, format: Format, table: str = TABLE
    ) -> TableFacts:
        """Write the parts of a table, given as numbers, into the folder of a release; return what is said of them.

        Raises
        ------
        InputError
            When workers do not see the folder, or Spark goes away.
        """
        writing, place, token = folder / WRITING, folder / table, secrets.token_hex(16)
        for made in (writing, place):
            made.mkdir()
        (writing / TOKEN).write_text(token)
        writer = PartWriter(columns, str(folder.absolute()), format, token, table)
        written = [facts for _, facts in run_on_spark(self.session, writer, _payloads(parts))]
        # An attempt that still runs finds no folder any more.
        shutil.rmtree(writing, ignore_errors=True)
        written.sort(key=lambda part: part.file)
        raise_all(InputError, [] if all((place / part.file).is_file() for part in written) else [NOT_SHARED])
        return TableFacts.in_parts(table, written, columns.names)


def _payloads(parts: Iterable[pl.DataFrame]) -> Iterator[tuple[int, bytes]]:
    for number, numbers in enumerate(parts):
        payload = io.BytesIO()
        numbers.write_ipc(payload, compression="lz4")
        yield number, payload.getvalue()

"""Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sfumato.errors import InputError
from sfumato.table.sources.frames import index_columns
from sfumato.table.sources.protocol import Family, Given, TableSource

# Files of Arrow (Feather): the file form and the stream form.


_FILE, _OLD, _STREAM = b"ARROW1", b"FEA1", b"\xff\xff\xff\xff"


@dataclass(frozen=True, eq=False, repr=False)
class ArrowFileSource:
    """Names of the columns of an Arrow file, and how to read them."""

    path: Path
    names: tuple[str, ...]
    is_stream: bool

    is_text = False
    """Values have types of their own."""
    is_columnar = True
    """Columns cost no more one by one than together."""

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Read columns, raising InputError when the file is damaged."""
        frame = _read(self.path, [self.names.index(name) for name in names], is_stream=self.is_stream)
        return [frame.get_column(name) for name in names]


def _read(path: Path, columns: list[int] | None, *, is_stream: bool, rows: int | None = None) -> pl.DataFrame:
    try:
        if is_stream:
            return pl.read_ipc_stream(path, columns=columns, n_rows=rows)
        return pl.read_ipc(path, columns=columns, n_rows=rows)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise InputError("the Arrow file is damaged or cut off; get a whole copy") from None


def _open(given: Given) -> TableSource:
    if given.start.startswith(_OLD):
        raise InputError("this is a Feather file of the first version; write it again with a newer library")
    is_stream = given.start.startswith(_STREAM)
    return ArrowFileSource(given.file, tuple(_read(given.file, None, is_stream=is_stream, rows=0).columns), is_stream)


ARROW = Family(recognizes=lambda given: given.start.startswith((_FILE, _OLD, _STREAM)), open=_open)


_MAGIC = b"PAR1"


@dataclass(frozen=True, eq=False, repr=False)
class ParquetSource:
    """Names of the columns of a Parquet file, and how to read them.

    Attributes
    ----------
    path : pathlib.Path
    names : tuple of str
    index : frozenset of str
        Those that were the index of a pandas frame.
    """

    path: Path
    names: tuple[str, ...]
    index: frozenset[str] = frozenset()

    is_text = False
    """Values have types of their own."""
    is_columnar = True
    """Columns cost no more one by one than together."""

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Read columns.

        Raises
        ------
        InputError
            When the file is damaged.
        """
        try:
            # By number, for the same reason.
            numbers = [self.names.index(name) for name in names]
            return pl.read_parquet(self.path, columns=numbers, glob=False).get_columns()
        except (pl.exceptions.PolarsError, OSError):
            raise _damaged() from None


def parquet_source(path: Path) -> ParquetSource:
    """Open a Parquet file and read the names of its columns.

    Raises
    ------
    InputError
        When the file is damaged.
    """
    try:
        return ParquetSource(path, tuple(pl.read_parquet_schema(path)), index_columns(pl.read_parquet_metadata(path)))
    except (pl.exceptions.PolarsError, OSError):
        raise _damaged() from None


def _damaged() -> InputError:
    return InputError("the Parquet file is damaged or cut off; get a whole copy")


FAMILY = Family(recognizes=lambda given: given.start.startswith(_MAGIC), open=lambda given: parquet_source(given.file))

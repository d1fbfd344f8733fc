"""Writing frames as CSV, Parquet, or for Excel, SPSS and Stata."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

import polars as pl

from sfumato.errors import InputError, SfumatoError
from sfumato.table.csv_lines import LabelLines, label_lines
from sfumato.table.problems import said_of

Codes = Mapping[str, Mapping[str, int]]
"""For columns, the code of each label."""

Format = Literal["csv", "parquet", "xlsx", "sav", "dta"]

FORMATS = get_args(Format)
NO_FORMAT = f"format must be one of {', '.join(FORMATS)}"
PLAIN = FORMATS[:2]
"""Those that hold everything, and in which ratings, series and releases of large tables are written."""

MANY = 50_000
"""From this many records on, preparing every label pays."""


def write_data(frame: pl.DataFrame, path: Path, format: Format, codes: Codes = MappingProxyType({})) -> str:
    """Write a frame; missing values become empty cells, or the missing value of the format.

    Parameters
    ----------
    frame
        Any frame of plain values; the empty text is quoted in CSV, so that it differs from a missing value.
    path
        Written over where it exists.
    format
        ``"csv"`` (UTF-8, comma, header), ``"parquet"``, ``"xlsx"``, ``"sav"`` (SPSS) or ``"dta"`` (Stata). The last
        three are read back, and must hold every value.
    codes
        For SPSS and Stata: codes of labels, by column, which are used where they suffice.

    Returns
    -------
    str
        The sha256 of the file, in hexadecimal.

    Raises
    ------
    InputError
        When the format is unknown or cannot hold the frame, or the file cannot be written (a full disk, a missing
        folder, permissions).
    """
    if format not in FORMATS:
        raise InputError(NO_FORMAT)
    try:
        if format == "parquet":
            _portable(frame).write_parquet(path)
        elif format != "csv":
            _write_foreign(frame, path, format, codes)
        elif frame.height >= MANY and (lines := label_lines(frame)):
            return _write_lines(lines, _header(frame), path)
        else:
            # An empty line would be no record to most readers, so a lone missing value is written as empty text.
            frame.write_csv(path, null_value='""' if frame.width == 1 else "")
        return sha256_of(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        number = getattr(error, "errno", None)
        reason = f" ({os.strerror(number)})" if number else ""
        raise InputError(
            f"{path.name}: the file cannot be written{reason}; check the folder, the disk and permissions"
        ) from None


def _write_foreign(frame: pl.DataFrame, path: Path, format: Format, codes: Codes) -> None:
    from sfumato.table.writers.labelled import PROGRAMS, write_labelled
    from sfumato.table.writers.read_back import check_read_back
    from sfumato.table.writers.workbook import write_workbook

    # Here, where the reason of the system is known, and not in a library.
    path.write_bytes(b"")
    try:
        if format == "xlsx":
            write_workbook(frame, path)
        else:
            write_labelled(frame, path, PROGRAMS[format], codes)
        check_read_back(frame, path)
    except SfumatoError as error:
        raise said_of(path.name, error) from None


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_lines(lines: LabelLines, header: bytes, path: Path) -> str:
    """Write the lines and hash them, while the next ones are made."""
    digest = hashlib.sha256(header)
    with path.open("wb") as file:
        file.write(header)
        for block in lines.blocks(pl.thread_pool_size()):
            file.write(block)
            digest.update(block)
    return digest.hexdigest()


def _header(frame: pl.DataFrame) -> bytes:
    return frame.clear().write_csv().encode()


def _portable(frame: pl.DataFrame) -> pl.DataFrame:
    # Categories carry the name of their private register into the file; text does not, and packs as well.
    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))

"""Files and addresses that are no table themselves: recognised for what they are, and refused with what helps."""

from __future__ import annotations

import os
import re
from functools import partial

from sfumato.errors import InputError
from sfumato.table.sources.protocol import Family, Given, TableSource

# Excel workbooks. How sheets are read is loaded with the first workbook: most tables are none.


_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def _open(given: Given) -> TableSource:
    from sfumato.table.workbooks import open_sheet

    return open_sheet(given)


def _refuse_old(given: Given) -> TableSource:
    # Word by word in the directory of such a file, in UTF-16.
    if "EncryptedPackage".encode("utf-16-le") in given.file.read_bytes():
        raise InputError("the workbook is encrypted; open it with its password and save a copy without one")
    raise InputError("this is a file of an old Office program (such as .xls); save the table as .xlsx")


FAMILY = Family(
    recognizes=lambda given: given.start.startswith(_ZIP),
    open=_open,
    settings=frozenset({"sheet", "range"}),
    layout=frozenset({"header", "columns"}),
    said_of="Excel workbooks",
)
OLD = Family(
    recognizes=lambda given: given.start.startswith(_OLE),
    open=_refuse_old,
    settings=frozenset({"sheet", "range"}),
    layout=frozenset({"header", "columns"}),
    said_of="Excel workbooks",
)


_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/{1,2}[^/]", re.IGNORECASE)
STORES = ("s3", "gs", "gcs", "az", "abfs", "abfss", "hdfs")
"""Schemes of stores that a cluster reaches."""


def _says(given: Given, what: str) -> TableSource:
    raise InputError(what)


def _address(given: Given) -> TableSource:
    scheme = scheme_of(given.value)
    if scheme in STORES:
        raise InputError(f"this is an address of a store ({scheme}); copy the file here, and give its path")
    if scheme in ("http", "https", "ftp"):
        raise InputError("this is an address of the web; nothing is downloaded: fetch the file, and give its path")
    raise InputError(f"addresses of {scheme} are not known; databases are postgresql://, sqlite:/// and duckdb:///")


def scheme_of(source: object) -> str:
    """Return how the address of something elsewhere begins, such as ``https``; empty for everything else."""
    match = _ADDRESS.match(str(source)) if isinstance(source, (str, os.PathLike)) else None
    return match[1].lower() if match else ""


def _file(start: bytes, what: str) -> Family:
    return Family(recognizes=lambda given: given.start[: len(start)] == start, open=partial(_says, what=what))


_PDF = "this is a PDF; get the table as CSV, Excel or Parquet"
_SQLITE = "this is a SQLite database; give sqlite:///PATH, and name its table with ?table=NAME at its end"
_DUCKDB = "this is a DuckDB database; give duckdb:///PATH, and name its table with ?table=NAME at its end"
_R = "this is a file of R; save the table there with arrow::write_parquet(), or as CSV"

FAMILIES = (
    Family(recognizes=lambda given: not given.start and bool(scheme_of(given.value)), open=_address),
    _file(b"SQLite format 3\0", _SQLITE),
    Family(recognizes=lambda given: given.start[8:12] == b"DUCK", open=partial(_says, what=_DUCKDB)),
    _file(b"%PDF", _PDF),
    _file(b"RDX3\n", _R),
    Family(
        recognizes=lambda given: bool(given.start) and given.file.suffix.lower() in (".rds", ".rda", ".rdata"),
        open=partial(_says, what=_R),
    ),
)

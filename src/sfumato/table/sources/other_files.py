"""Files and addresses that are no table themselves: recognised for what they are, and refused with what helps."""

from __future__ import annotations

import os
import re
import zipfile

from sfumato.errors import InputError, raise_all
from sfumato.numbers import counted
from sfumato.table.sources.json_files import JSON, is_json
from sfumato.table.sources.protocol import Family, Given, TableSource
from sfumato.table.sources.text_files import CSV, files_in

# Excel workbooks. How sheets are read is loaded with the first workbook: most tables are none.


_TYPED = (".parquet", ".xlsx", ".xls", ".ods", ".sav", ".dta", ".arrow", ".feather", ".db", ".sqlite")
_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def _open(given: Given) -> TableSource:
    try:
        with zipfile.ZipFile(given.file) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError):
        names = ["xl/"]
    for part, what in _IN_ARCHIVES.items():
        raise_all(InputError, [f"this is {what}"] if any(name.startswith(part) for name in names) else [])
    if any(name.startswith("xl/") or name == "mimetype" for name in names):
        from sfumato.table.workbooks import open_sheet

        return open_sheet(given)
    if names and names[0].endswith(".npy"):
        raise InputError(_NUMPY)
    names = files_in(names)
    if len(names) != 1 or names[0].lower().endswith(_TYPED):
        count = counted(len(names), "file")
        raise InputError(f"this is a zip archive of {count}; unpack it, and give the path of the table in it")
    return (JSON if is_json(names[0]) else CSV).open(given)


def _open_old(given: Given) -> TableSource:
    # Word by word in the directory of such a file, in UTF-16.
    if "EncryptedPackage".encode("utf-16-le") in given.file.read_bytes():
        raise InputError("the workbook is encrypted; open it with its password and save a copy without one")
    from sfumato.table.workbooks import open_other_sheet

    try:
        return open_other_sheet(given)
    except InputError as error:
        raise InputError(
            f"this is a file of an old Office program (such as .xls); save the table as .xlsx: {error}"
        ) from None


FAMILY = Family(
    recognizes=lambda given: given.start.startswith(_ZIP),
    open=_open,
    settings=frozenset({"sheet", "range", "hidden"}),
    layout=frozenset({"header", "columns"}),
    said_of="Excel workbooks",
)
OLD = Family(
    recognizes=lambda given: given.start.startswith(_OLE),
    open=_open_old,
    settings=frozenset({"sheet", "range", "hidden"}),
    layout=frozenset({"header", "columns"}),
    said_of="Excel workbooks",
)


_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/{1,2}[^/]", re.IGNORECASE)
STORES = ("s3", "gs", "gcs", "az", "abfs", "abfss", "hdfs")
"""Schemes of stores that a cluster reaches."""


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


_EXPORT = "get the table as CSV, Excel or Parquet"
_NUMPY = "this is a file of NumPy; save the table there as CSV, or give a structured array in Python"
_PICTURE = f"this is a picture; {_EXPORT}"
_R = "this is a file of R; save the table there with arrow::write_parquet(), or as CSV"
_MAIL = "this is a mail; save the table that is attached to it"
_OF_SCIENCE = "this is a file of arrays (such as NetCDF, MATLAB or FITS); save the table as CSV or Parquet"
_PACKED = "this is packed in a way that is not read; unpack it, or pack it with gzip, xz or zstd"
_WEB = f"this is a page of the web (HTML), whatever its name; {_EXPORT}"
_IN_ARCHIVES = {
    "word/": f"a document of Word; {_EXPORT}",
    "ppt/": f"a presentation of PowerPoint; {_EXPORT}",
    "META-INF/MANIFEST.MF": f"a program (Java); {_EXPORT}",
}
"""Parts of archives that are no table, and what these are."""
_STARTS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"%PDF", f"this is a PDF; {_EXPORT}"),
    (0, b"RDX", _R),
    (0, b"\x89PNG", _PICTURE),
    (0, b"\xff\xd8\xff", _PICTURE),
    (0, b"GIF8", _PICTURE),
    (0, b"II*\0", _PICTURE),
    (0, b"MM\0*", _PICTURE),
    (8, b"WEBP", _PICTURE),
    (0, b"ID3", f"this is a sound; {_EXPORT}"),
    (0, b"\x89HDF", "this is an HDF5 file; save the table as Parquet, as with pandas.read_hdf(...).to_parquet(...)"),
    (0, b"\x93NUMPY", _NUMPY),
    (0, b"Obj\x01", "this is an Avro file; save it as Parquet, as with polars.read_avro(...).write_parquet(...)"),
    (0, b"\x1f\x9d", "this was packed by compress; unpack it, and give the path of the table in it"),
    (0, b"CDF\x01", _OF_SCIENCE), (0, b"CDF\x02", _OF_SCIENCE), (0, b"MATLAB 5.0", _OF_SCIENCE),
    (0, b"SIMPLE  =", _OF_SCIENCE), (0, b"GRIB", _OF_SCIENCE),
    (128, b"DICM", _PICTURE), (4, b"ftyp", f"this is a film; {_EXPORT}"),
    (0, b"PARE", "this Parquet file is encrypted; save it without a key"),
    (0, b"MSCF", _PACKED), (0, b"\x04\x22\x4d\x18", _PACKED), (0, b"\xff\x06\0\0sNaPpY", _PACKED),
    (0, b"PK\x05\x06", "this zip archive is empty; give the path of a table"),
    (0, b"\0\0\x02\0\x06\x04", f"this is a sheet of Lotus; {_EXPORT}"),
    (0, b"FEA1", "this is a Feather file of the first version; save it as Parquet"),
    (0, b"ORC", "this is an ORC file; save the table as Parquet, as with pandas.read_orc(...).to_parquet(...)"),
    (0, b"7z\xbc\xaf", "this is a 7z archive; unpack it, and give the path of the table in it"),
    (0, b"Rar!", "this is a RAR archive; unpack it, and give the path of the table in it"),
    (257, b"ustar", "this is a tar archive; unpack it, and give the path of the table in it"),
    (4, b"Standard ACE DB", f"this is an Access database; {_EXPORT}"),
    (4, b"Standard Jet DB", f"this is an Access database; {_EXPORT}"),
    (0, b"\0\0\x27\x0a", "this is a shapefile; save its attributes as CSV"),
    (0, b"\x7fELF", f"this is a program; {_EXPORT}"),
    (0, b"MZ\x90", f"this is a program; {_EXPORT}"),
    (0, b"{\\rtf", f"this is a text of a word processor (RTF); {_EXPORT}"),
    (12, bytes.fromhex("c2ea8163b31411cf"), "this is a SAS catalog, which holds labels; give the .sas7bdat file"),
    (0, b"\x80\x04\x95", "this is a pickle of Python, which may run anything; save the table as Parquet or CSV"),
    (0, b"\x80\x05\x95", "this is a pickle of Python, which may run anything; save the table as Parquet or CSV"),
)  # fmt: skip
"""Where a file of a kind has which bytes, and what is said of it."""
_WORDS: tuple[tuple[tuple[bytes, ...], str], ...] = (
    ((b"<!doctype html", b"<html", b"<table", b"<head"), _WEB),
    ((b"@relation",), f"this is ARFF, of Weka; {_EXPORT}"),
    (
        (b"insert into", b"create table", b"-- mysql dump", b"--\n-- postgresql"),
        f"these are commands of SQL; {_EXPORT}",
    ),
    ((b"\\documentclass", b"\\begin{"), f"this is LaTeX; {_EXPORT}"),
    ((b"begin:vcard", b"begin:vcalendar"), f"these are cards or a calendar; {_EXPORT}"),
    ((b"-----begin ",), f"this is a key, or an encrypted text; {_EXPORT}"),
    ((b"version https://git-lfs",), "this is a pointer of Git LFS; fetch the file itself with: git lfs pull"),
    ((b"<?xml",), f"this is XML, also where its name says .xls; {_EXPORT}"),
    ((b"from: ", b"received: ", b"return-path: ", b"mime-version: ", b"delivered-to: "), _MAIL),
)
"""Words, in small letters, with which texts begin that are no table."""
_SUFFIXES = {
    (".rds", ".rda", ".rdata"): _R,
    (".dbf",): "this is a dBase file; save its table as CSV, or as .xlsx",
    (".yaml", ".yml"): f"this is YAML; {_EXPORT}",
    (".toml",): f"this is TOML; {_EXPORT}",
    (".fods",): "this is a flat OpenDocument sheet; save it as .ods or .xlsx",
    (".bmp",): _PICTURE,
    (".pkl", ".pickle"): "this is a pickle of Python, which may run anything; save the table as Parquet or CSV",
}


_SYLK = re.compile(rb"ID;P[^\r\n]*[\r\n]+[A-Z]{1,2};[A-Z]")


def what_it_is(given: Given) -> str | None:
    """Say what a file is that is no table; None for all others."""
    start = given.start
    for place, mark, what in _STARTS:
        if start[place : place + len(mark)] == mark:
            return what
    if _SYLK.match(start):
        return f"this is a sheet in SYLK; {_EXPORT}"
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    found = next((what for words, what in _WORDS if text.startswith(words)), None)
    suffix = given.file.suffix.lower() if start else ""
    return found or next((what for suffixes, what in _SUFFIXES.items() if suffix in suffixes), None)


def _refuse(given: Given) -> TableSource:
    raise InputError(what_it_is(given) or "")


FAMILIES = (
    Family(recognizes=lambda given: not given.start and bool(scheme_of(given.value)), open=_address),
    Family(recognizes=lambda given: bool(given.start) and what_it_is(given) is not None, open=_refuse),
)

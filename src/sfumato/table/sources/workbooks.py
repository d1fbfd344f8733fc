"""Excel workbooks. How sheets are read is loaded with the first workbook: most tables are none."""

from __future__ import annotations

from sfumato.errors import InputError
from sfumato.table.sources.protocol import Family, Given, TableSource

_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def _open(given: Given) -> TableSource:
    from sfumato.table.sources.workbook_sheets import open_sheet

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
    said_of="Excel workbooks",
)
OLD = Family(
    recognizes=lambda given: given.start.startswith(_OLE),
    open=_refuse_old,
    settings=frozenset({"sheet", "range"}),
    said_of="Excel workbooks",
)

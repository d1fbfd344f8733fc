"""Workbooks of spreadsheet programs."""

from __future__ import annotations

from sfumato.errors import InputError
from sfumato.table.sources.protocol import Family, Given, TableSource

_ZIP = b"PK\x03\x04"


def _refuse(given: Given) -> TableSource:
    raise InputError("this is a zip archive or spreadsheet; save the table as CSV")


FAMILY = Family(recognizes=lambda given: given.start.startswith(_ZIP), open=_refuse)

"""Standard input, which ``-`` stands for, as on the command lines of other programs."""

from __future__ import annotations

import sys
from pathlib import Path

from sfumato.errors import InputError
from sfumato.table.sources.csv_text import CsvSource, csv_source
from sfumato.table.sources.protocol import Family, Given

DASH = Path("-")
LABEL = "standard input"
_NO_TEXT = (b"PAR1", b"PK\x03\x04")
"""How Parquet files and workbooks begin."""


def _open(given: Given) -> CsvSource:
    """Read all of it: text, plain or packed by gzip, laid out as files are."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        raise InputError("nothing is there; send a table, as in: sfumato anonymize - ... < patients.csv")
    content = sys.stdin.buffer.read()
    if content.startswith(_NO_TEXT):
        raise InputError("holds a Parquet file or a workbook; save it, and give its path")
    return csv_source(content, given.layout)


FAMILY = Family(recognizes=lambda given: given.path == DASH, open=_open)

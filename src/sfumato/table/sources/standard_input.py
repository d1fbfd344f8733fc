"""Standard input, which ``-`` stands for, as on the command lines of other programs."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path
from typing import BinaryIO

from sfumato.errors import InputError
from sfumato.table.sources.csv_text import CsvSource, csv_source
from sfumato.table.sources.protocol import Family, Given

DASH = Path("-")
LABEL = "standard input"
_BLOCK = 1 << 20
_NO_TEXT = (b"PAR1", b"PK\x03\x04")
"""How Parquet files and workbooks begin."""


def _open(given: Given) -> CsvSource:
    """Read all of it: text, plain or packed by gzip, laid out as files are."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        raise InputError("nothing is there; send a table, as in: sfumato anonymize - ... < patients.csv")
    content = _all_of(sys.stdin.buffer)
    if content.startswith(_NO_TEXT):
        raise InputError("holds a Parquet file or a workbook; save it, and give its path")
    return csv_source(content, given.layout)


def _all_of(stream: BinaryIO) -> bytes:
    """Read to the end, waiting so that an interruption ends the waiting.

    Libraries may have asked the system to go on with a read that a signal interrupted; it never goes on with a select.
    """
    try:
        number = stream.fileno()
    except (OSError, ValueError):  # no file of the system, as in a test
        return stream.read()
    if os.name == "nt":  # selects sockets alone
        return stream.read()
    blocks = []
    while select.select([number], [], []) and (block := os.read(number, _BLOCK)):
        blocks.append(block)
    return b"".join(blocks)


FAMILY = Family(recognizes=lambda given: given.path == DASH, open=_open)

"""Where the names of a schema stand in a CSV file that was read without finding them, and which are nearly the same."""

from __future__ import annotations

import csv
from collections.abc import Collection
from itertools import islice

from sfumato.table.csv_file import CsvFile
from sfumato.table.csv_format import CsvFormat

_SEPARATORS = {",": "','", ";": "';'", "\t": "tab", "|": "'|'"}
_LINES = 30
"""Lines in which the names of the columns are looked for."""
_LONGEST = 1 << 16


def names_elsewhere(file: CsvFile, layout: CsvFormat, wanted: Collection[str]) -> str | None:
    """Say with which separator, or in which line, the names of the schema stand; None where nothing is found.

    Parameters
    ----------
    file
        The file, of which the first lines are looked at.
    layout
        As it was read, without finding any of the names.
    wanted
        The names of the schema.
    """
    with file.open_text() as text:
        lines = [line[:_LONGEST].rstrip("\r\n") for line in islice(text, _LINES)]
    for number, line in enumerate(lines, 1):
        for separator in (layout.separator, *_SEPARATORS):
            found = _fields(line, separator, layout.quote).intersection(wanted)
            if not found or len(found) < len(wanted) / 2:
                continue
            where = f"in line {number} of the file; remove the lines above it" if number > 1 else ""
            other = f"separated by {_SEPARATORS[separator]}: add --separator {_SEPARATORS[separator]}"
            parts = [other] if separator != layout.separator else []
            if where or parts:
                return f"the names of the columns stand {' and '.join(filter(None, [where, *parts]))}"
    return None


def _fields(line: str, separator: str, quote: str | None) -> frozenset[str]:
    try:
        row = next(csv.reader([line], delimiter=separator, quotechar=quote or '"'), [])
    except csv.Error:
        return frozenset()
    return frozenset(field.strip() for field in row)

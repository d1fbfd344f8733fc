"""Every way a table comes in: one file a family, and a line for it here.

A new source is a file with a :class:`~sfumato.table.sources.protocol.Family` and its line in :data:`SOURCES`.
"""

from __future__ import annotations

from sfumato.errors import InputError
from sfumato.table.csv_format import CsvFormat
from sfumato.table.sources import csv_text, databases, folders, frames, parquet, workbooks
from sfumato.table.sources.protocol import Family, Given, Place, TableSource

__all__ = ["SOURCES", "Place", "TableSource", "open_source"]

SOURCES: tuple[Family, ...] = (
    frames.FAMILY,
    databases.FAMILY,
    folders.FAMILY,
    parquet.FAMILY,
    workbooks.FAMILY,
    csv_text.FAMILY,
)
"""In this order the families are asked; the last one takes every file."""


def open_source(source: object, layout: CsvFormat, place: Place | None = None) -> TableSource:
    """Open a file or frame as named columns; values are read later.

    Parameters
    ----------
    source
        What any of the :data:`SOURCES` recognises.
    layout
        How text is laid out.
    place
        Where the table lies inside of the source.

    Raises
    ------
    InputError
        When it is none, or cannot be opened.
    """
    try:
        given = Given.of(source, layout, place or Place())
        family = next(family for family in SOURCES if family.recognizes(given))
        return family.open(given)
    except FileNotFoundError:
        raise InputError("there is no such file; check the path") from None
    except (OSError, ValueError):
        raise InputError("the file cannot be read; check the path and its permissions") from None

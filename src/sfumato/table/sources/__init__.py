"""Every way a table comes in: one file a family, and a line for it here.

A new source is a file with a :class:`~sfumato.table.sources.protocol.Family` and its line in :data:`SOURCES`.
"""

from __future__ import annotations

from collections.abc import Collection

from sfumato.errors import InputError, raise_all
from sfumato.table.databases.address import is_database
from sfumato.table.sources import folders, frames, json_files, other_files, spark, standard_input, statistical
from sfumato.table.sources.protocol import CsvFormat, Family, Given, Place, TableSource
from sfumato.table.sources.text_files import CSV

__all__ = ["SOURCES", "Place", "TableSource", "open_source"]


def _open_database(given: Given) -> TableSource:
    from sfumato.table.databases.protocol import database_source

    return database_source(str(given.value), table=given.place.table, query=given.place.query)


DATABASES = Family(recognizes=lambda given: is_database(given.value), open=_open_database)
SOURCES: tuple[Family, ...] = (
    standard_input.FAMILY,
    DATABASES,
    folders.LIST,
    spark.FAMILY,
    standard_input.UNREADABLE,
    frames.FRAMES,
    folders.FOLDER,
    *other_files.FAMILIES,
    folders.PATTERN,
    frames.PARQUET,
    frames.ARROW,
    other_files.FAMILY,
    other_files.OLD,
    *statistical.FAMILIES,
    json_files.JSON,
    CSV,
)
"""In this order the families are asked; the last one takes every file."""


def open_source(source: object, layout: CsvFormat, place: Place | None = None) -> TableSource:
    """Open a file or frame as named columns; values are read later.

    `source`: what any of the :data:`SOURCES` recognises. `layout`: how text is laid out. `place`: what only some
    sources need to be told. Raises ``InputError`` when it is none, cannot be opened, or is told what means nothing to
    it.
    """
    try:
        given = Given.of(source, layout, place or Place())
        family = next(family for family in SOURCES if family.recognizes(given))
        if family is CSV and not given.file.exists():
            raise FileNotFoundError
        raise_all(InputError, _meaningless(given.place.given - family.settings))
        return family.open(given)
    except FileNotFoundError:
        raise InputError("there is no such file; check the path") from None
    except (OSError, ValueError):
        raise InputError("the file cannot be read; check the path and its permissions") from None


def _meaningless(names: Collection[str]) -> list[str]:
    advice = {name: family.said_of for family in SOURCES for name in family.settings if family.said_of}
    # What is asked of a database means nothing to a file that is read with the same policy.
    return [f"{name} is only for {advice[name]}; leave it out" for name in sorted(names) if name in advice]

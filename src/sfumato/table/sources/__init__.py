"""Every way a table comes in: one file a family, and a line for it here.

A new source is a file with a :class:`~sfumato.table.sources.protocol.Family` and its line in :data:`SOURCES`.
"""

from __future__ import annotations

from urllib.parse import quote

import polars as pl

from sfumato.errors import InputError, raise_all
from sfumato.table.databases.address import is_database
from sfumato.table.sources import folders, frames, json_files, other_files, standard_input
from sfumato.table.sources.protocol import CsvFormat, Family, Given, Place, TableSource, is_spark
from sfumato.table.sources.text_files import CSV

__all__ = ["SOURCES", "Place", "TableSource", "open_source"]


# Databases that are files, and where such a file has which bytes.
_MARKS = (("sqlite", 0, b"SQLite format 3\0"), ("duckdb", 8, b"DUCK"))


def _database(given: Given) -> str | None:
    """Return the URL of a database, also of one that is given as a file; None for all else."""
    if is_database(given.value):
        return str(given.value)
    kinds = (kind for kind, place, mark in _MARKS if given.start[place : place + len(mark)] == mark)
    return next((f"{kind}:///{quote(str(given.file.absolute()))}" for kind in kinds), None)


def _open_database(given: Given) -> TableSource:
    from sfumato.table.databases.protocol import database_source

    return database_source(str(_database(given)), table=given.place.table, query=given.place.query)


DATABASES = Family(
    recognizes=lambda given: _database(given) is not None,
    open=_open_database,
    settings=frozenset({"table", "query"}),
    layout=frozenset(),
    said_of="databases",
)


def _open_spark(given: Given) -> TableSource:
    from sfumato.table.sources.spark import spark_source

    return spark_source(given.value)


SPARK = Family(recognizes=lambda given: given.path is None and is_spark(given.value), open=_open_spark)


def _statistical(form: str, suffixes: tuple[str, ...], starts: tuple[bytes, ...]) -> Family:
    """Recognize a form of file of a statistical program; what reads it is loaded with the first."""

    def recognizes(given: Given) -> bool:
        named = given.path is not None and given.path.suffix.lower() in suffixes
        return bool(given.start) and (given.start.startswith(starts) or named)

    def open_one(given: Given) -> TableSource:
        from sfumato.table.sources.statistical import OPENERS

        return OPENERS[form](given)

    said = "files of SPSS, Stata and SAS"
    return Family(recognizes, open_one, settings=frozenset({"codes"}), layout=frozenset({"encoding"}), said_of=said)


_SAS = bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")
STATISTICAL = (
    _statistical("spss", (".sav", ".zsav"), (b"$FL2", b"$FL3")),
    _statistical("stata", (".dta",), (b"<stata_dta>",)),
    _statistical("sas", (".sas7bdat",), (_SAS,)),
    _statistical("spss-portable", (".por",), ()),
    _statistical("sas-transport", (".xpt",), (b"HEADER RECORD*******LIB",)),
)
SOURCES: tuple[Family, ...] = (
    standard_input.FAMILY,
    DATABASES,
    folders.LIST,
    SPARK,
    standard_input.UNREADABLE,
    frames.FRAMES,
    folders.FOLDER,
    *other_files.FAMILIES,
    folders.PATTERN,
    frames.PARQUET,
    frames.ARROW,
    other_files.FAMILY,
    other_files.OLD,
    *STATISTICAL,
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
        family, given = _family_of(source, layout, place)
        if family is CSV and not given.file.exists():
            raise FileNotFoundError
        raise_all(InputError, [f"{name} is only for {_HAVE[name]}; leave it out" for name in _unused(family, given)])
        return family.open(given)
    except FileNotFoundError:
        raise InputError("there is no such file; check the path") from None
    except (OSError, ValueError):
        raise InputError("the file cannot be read; check the path and its permissions") from None


def meaningless(source: object, layout: CsvFormat, place: Place) -> list[str]:
    """Return the settings that :func:`open_source` would refuse; none where the source cannot be looked at."""
    try:
        return _unused(*_family_of(source, layout, place))
    except (InputError, OSError, ValueError):
        return []


def _family_of(source: object, layout: CsvFormat, place: Place | None) -> tuple[Family, Given]:
    given = Given.of(source, layout, place or Place())
    if isinstance(source, pl.DataFrame):  # no other family is asked
        return frames.FRAMES, given
    return next(family for family in SOURCES if family.recognizes(given)), given


def _unused(family: Family, given: Given) -> list[str]:
    return sorted((given.place.given - family.settings) | (given.layout.given - family.layout))


_HAVE = {name: family.said_of for family in SOURCES for name in family.settings if family.said_of} | {
    **dict.fromkeys(("separator", "quote"), "CSV files"),
    **dict.fromkeys(("header", "columns"), "CSV files and Excel workbooks"),
    "encoding": "text files",
}
"""Setting → what has it."""

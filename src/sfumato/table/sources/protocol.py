"""What a source of tables is, how one is recognised, how a text file is laid out, and how all of them are read."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol

import polars as pl

from sfumato.errors import InputError, SfumatoError, raise_all, raise_together
from sfumato.table.written_forms import WrittenForm
from sfumato.whole_files import UNENDING


@dataclass(frozen=True)
class CsvFormat:
    """Layout of a CSV file. Raises ``InputError`` with every setting that cannot be used."""

    separator: str = ","  # one ASCII character between fields
    encoding: str = "utf-8"  # any encoding that Python knows
    # one ASCII character around fields that hold separators or line ends; None if quotes are ordinary text
    quote: str | None = '"'
    header: bool = True  # whether the first row holds the names of the columns
    columns: Sequence[str] | None = None  # names of the columns of a file without header
    strip: bool = True  # whether blanks around a value are dropped
    header_line: int | None = None  # the line with the names, from 1; None looks for it in what others wrote
    footer_lines: int | None = None  # lines below the records that are left out; None asks about what looks like some
    label_lines: int | None = None  # rows below the names that are left out; None looks for units, types and labels
    foreign: bool = False  # whether another program wrote it, so that its layout is looked at

    def __post_init__(self) -> None:
        """Check the settings against each other."""
        problems = []
        if not _is_mark(self.separator):
            problems.append("separator must be one ASCII character that is neither a letter, a digit nor a line end")
        if self.quote is not None and (not _is_mark(self.quote) or self.quote == self.separator):
            problems.append("quote must be one ASCII character other than the separator, or None")
        if not _is_encoding(self.encoding):
            problems.append("encoding must be the name of a text encoding, for example 'utf-8' or 'cp1252'")
        problems.extend(
            f"{what} must be True or False"
            for what, value in (("header", self.header), ("strip", self.strip))
            if not isinstance(value, bool)
        )
        problems.extend(
            f"{name} must be a whole number, {lowest} or above"
            for name, value, lowest in (
                ("header_line", self.header_line, 1),
                ("footer_lines", self.footer_lines, 0),
                ("label_lines", self.label_lines, 0),
            )
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < lowest)
        )
        if self.columns is not None:
            names = (self.columns,) if isinstance(self.columns, str) else self.columns
            if not isinstance(names, Collection) or not all(isinstance(name, str) for name in names):
                raise InputError(*problems, "columns must be a list of column names")
            object.__setattr__(self, "columns", tuple(names))
        if self.header and self.columns is not None:
            problems.append(
                "columns is only for a file without header; add header=False (on the command line: --set "
                "source.header=false), or leave it out"
            )
        if not self.header and not self.columns:
            problems.append("a file without header needs columns, the names of its columns in order")
        raise_all(InputError, problems)

    @property
    def above_records(self) -> int:
        """Rows before the first record: the names, and what is left out below them."""
        return int(self.header) + (self.label_lines or 0)

    @property
    def given(self) -> frozenset[str]:
        """The names of those that only text files have, where they are not as by default."""
        usual = CsvFormat()
        encoding = self.encoding.lower().replace("_", "-").replace("utf8", "utf-8")
        settings = {**vars(self), "encoding": encoding}
        return frozenset(name for name in LAYOUT if settings[name] != getattr(usual, name))


LAYOUT = frozenset({"separator", "encoding", "quote", "header", "columns"})


def _is_mark(text: object) -> bool:
    return isinstance(text, str) and len(text) == 1 and text.isascii() and not text.isalnum() and text not in "\r\n\0"


def _is_encoding(name: object) -> bool:
    try:
        return codecs.lookup(str(name))._is_text_encoding
    except (LookupError, ValueError):
        return False


# Whole numbers of programs that store every number as a float.


EXACT = 2**53
"""Up to here a float tells whole numbers apart."""


STAR = "*"
"""How a release writes a cell that it suppresses."""


def whole_where_whole(column: pl.Series) -> pl.Series:
    """Turn a column of floats into whole numbers if all of them are: 31.0 is 31. Cost O(n)."""
    return column.cast(pl.Int64) if is_whole(column) else column


def is_whole(column: pl.Series) -> bool:
    """Tell whether a column of floats holds whole numbers alone, none so large that it may have been rounded."""
    if not column.dtype.is_float():
        return False
    known = column.drop_nulls()
    return bool(((known == known.round()) & (known.abs() < EXACT)).all())


# Libraries that only some sources need.


def library(name: str, *, extra: str, what: str) -> Any:
    """Import a library of an extra, which `what` needs; ``InputError`` says what installs it when it is absent."""
    try:
        return import_module(name)
    except ImportError:
        raise InputError(
            f"{what} need the library {name}, which is not installed; install it with: pip install 'sfumato[{extra}]'"
        ) from None


_START = 512
"""Bytes at the beginning of a file that tell what it is."""


class TableSource(Protocol):
    """Anything that has named columns."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        ...

    @property
    def is_text(self) -> bool:
        """Whether text may stand for numbers, dates and booleans, so that kinds must be read off it."""
        ...

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Read some columns, raising :class:`~sfumato.errors.InputError`."""
        ...


@dataclass(frozen=True)
class Place:
    """Where a table lies inside of its source, and what of it: None and empty leave it to the source."""

    sheet: str | None = None  # of a workbook
    range: str | None = None  # cells of a sheet, such as ``B3:H500``; the first row names the columns
    codes: str | Sequence[str] = ()  # columns whose codes are read although the file has labels for them
    table: str | None = None  # of a database, with its schema before a dot where it needs one
    query: str | os.PathLike[str] | None = None  # a file with one SELECT, which is asked of a database instead
    hidden: str | None = None  # what becomes of rows and columns that a workbook hides: ``keep`` or ``drop``

    def __post_init__(self) -> None:
        """Check the types. Raises ``InputError`` with every setting that is not of its type."""
        codes = (self.codes,) if isinstance(self.codes, str) else self.codes
        is_list = isinstance(codes, Collection) and all(isinstance(name, str) for name in codes)
        texts = {"sheet": self.sheet, "range": self.range}
        problems = [f"{name} must be a text" for name, text in texts.items() if not isinstance(text, str | None)]
        problems += [] if self.hidden in (None, "keep", "drop") else ["hidden must be 'keep' or 'drop'"]
        raise_all(InputError, [*problems, *([] if is_list else ["codes must be a list of column names"])])
        object.__setattr__(self, "codes", tuple(codes))

    @property
    def given(self) -> frozenset[str]:
        """The names of those that are said."""
        return frozenset(field.name for field in fields(self) if getattr(self, field.name) not in (None, ()))


@dataclass(frozen=True)
class Given:
    """What somebody hands in as a table, with all that can be told without reading it."""

    value: object  # as it was handed in
    path: Path | None  # None for objects that are no path
    start: bytes  # the first bytes of a file; empty for everything else
    layout: CsvFormat  # how text is laid out
    place: Place

    @classmethod
    def of(cls, value: object, layout: CsvFormat, place: Place) -> Given:
        """Look at what was handed in, raising OSError where a file cannot be opened.

        Raises ``InputError`` for a device, a pipe or a socket, which may never end, before anything is read.
        """
        if not isinstance(value, (str, os.PathLike)):
            return cls(value, None, b"", layout, place)
        path = Path(value)
        if not path.is_file():
            if path.exists() and not path.is_dir():
                raise InputError(f"{UNENDING}, or send it to standard input, and name -")
            return cls(value, path, b"", layout, place)
        with path.open("rb") as stream:
            return cls(value, path, stream.read(_START), layout, place)

    @property
    def file(self) -> Path:
        """The path of what is no object."""
        assert self.path is not None
        return self.path


def is_spark(value: object) -> bool:
    """Tell whether an object is a frame of Spark, without loading Spark."""
    return type(value).__module__.startswith("pyspark.sql.") and type(value).__name__ == "DataFrame"


@dataclass(frozen=True)
class Family:
    """Sources of one sort: how they are recognised, and how one is opened.

    Neither loads a library that only this family needs before one of its sources is opened.
    """

    # tells from the object, the path or the first bytes whether a source is of this family
    recognizes: Callable[[Given], bool]
    # opens it as named columns, raising :class:`~sfumato.errors.InputError`; values are read later
    open: Callable[[Given], TableSource]
    settings: frozenset[str] = frozenset()  # those of :class:`Place` that mean something here; others are refused
    layout: frozenset[str] = LAYOUT  # the like of text files
    said_of: str = ""  # what messages call its sources where somebody says a setting that is only for them


@dataclass(frozen=True)
class Reading:
    """How a source is read; equal by value.

    Parameters
    ----------
    separator, encoding, quote
        Layout of a CSV file; ``quote=None`` takes quotes as ordinary text.
    missing
        Texts that stand for a missing value in quasi-identifying and sensitive columns, such as ``"?"``, beside the
        empty field.
    header, columns
        Whether the first row of a CSV file names the columns; if not, `columns` does.
    strip
        Whether blanks around the fields of a CSV file are dropped (inside quotes too), or a list of the columns in
        which they are.
    decimal, thousands, dates
        How numbers and dates are written in the whole file, such as ``","``, ``"."`` and ``"dd.mm.yyyy"`` (or several
        forms); an :class:`~sfumato.Attribute` says it of one column. See
        :class:`~sfumato.table.written_forms.WrittenForm`.
    table, query
        Which table of a database, with its schema before a dot where it needs one; or a file with one SELECT.
    sheet, range
        Where the table lies in a workbook: the name of its sheet, and its cells with the names of the columns in the
        first row, such as ``"B3:H500"``, ``"B3:H"`` (as far down as there is something) or ``"B3"``.
    codes
        Columns of an SPSS, Stata or SAS file that are read as codes, though the file has labels for them.
    header_line, footer_lines, label_lines
        The line of a CSV file that names the columns, from 1, and how many lines below the records are left out, blank
        ones not counted; and how many rows below the names hold units, types or labels. None looks for titles above the
        names and rows of units, and asks about what looks like a footer or labels.
    hidden
        What becomes of rows and columns that a workbook hides: ``"keep"`` or ``"drop"``; None asks.

    Raises
    ------
    InputError
        With every setting that cannot be used.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.Reading(separator=";", decimal=",", missing="?").separator
    ';'
    """

    separator: str = ","
    encoding: str = "utf-8"
    quote: str | None = '"'
    missing: str | Sequence[str] = ("",)
    header: bool = True
    columns: Sequence[str] | None = None
    strip: bool | list[str] | tuple[str, ...] = True
    decimal: str | None = None
    thousands: str | None = None
    dates: str | Sequence[str] | None = None
    table: str | None = None
    query: str | os.PathLike[str] | None = None
    sheet: str | None = None
    range: str | None = None
    codes: Sequence[str] = ()
    header_line: int | None = None
    footer_lines: int | None = None
    label_lines: int | None = None
    hidden: Literal["keep", "drop"] | None = None

    def __post_init__(self) -> None:
        """Settle lists as tuples, and check every setting."""
        errors: list[SfumatoError] = []
        for check in (self.layout, self.form, self.place, self.tokens):
            try:
                check()
            except SfumatoError as error:
                errors.append(error)
        raise_together(errors)
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Sequence) and not isinstance(value, str):
                object.__setattr__(self, field.name, tuple(value))

    def layout(self) -> CsvFormat:
        """Return the layout of a text file; columns in which blanks are dropped are no part of it."""
        everywhere = False if isinstance(self.strip, (list, tuple)) else self.strip
        signs, lines = (
            (self.separator, self.encoding, self.quote),
            (self.header_line, self.footer_lines, self.label_lines),
        )
        return CsvFormat(*signs, self.header, self.columns, everywhere, *lines, foreign=True)

    def form(self) -> WrittenForm:
        """Return how numbers and dates are written."""
        return WrittenForm(self.decimal, self.thousands, dates=self.dates)

    def tokens(self) -> frozenset[str]:
        """Return the texts that stand for a missing value."""
        return missing_texts(self.missing)

    def place(self) -> Place:
        """Return where a table lies inside of a source."""
        return Place(self.sheet, self.range, self.codes, self.table, self.query, self.hidden)

    def changed(self) -> list[str]:
        """Return the names of the settings that are not as they are by default."""
        return [field.name for field in fields(self) if getattr(self, field.name) != field.default]


def refuse_of_tables(what: str, reading: Reading) -> None:
    """Refuse settings of a reading that only tables have."""
    of_tables = ("strip", "decimal", "thousands", "dates", "table", "query")
    problems = [f"{name}: is for tables, and {what} have none of it; leave it out" for name in reading.changed()
                if name in of_tables]  # fmt: skip
    raise_all(InputError, problems)


def missing_texts(missing: object) -> frozenset[str]:
    """Return the texts that stand for a missing value as a set."""
    texts = (missing,) if isinstance(missing, str) else missing
    if not isinstance(texts, Collection) or not all(isinstance(text, str) for text in texts):
        raise InputError("missing must be a text or a list of texts, for example '?' or ['?', 'NA']")
    return frozenset(texts)

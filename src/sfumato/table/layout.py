"""How a file or a database is read: one value for every reader."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from sfumato.errors import InputError, SfumatoError, raise_all, raise_together
from sfumato.table.sources.protocol import CsvFormat, Place
from sfumato.table.written_forms import WrittenForm


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
    header_line, footer_lines
        The line of a CSV file that names the columns, from 1, and how many lines below the records are left out, blank
        ones not counted. None looks for titles above the names, and asks about what looks like a footer.
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
        return CsvFormat(
            self.separator,
            self.encoding,
            self.quote,
            self.header,
            self.columns,
            everywhere,
            self.header_line,
            self.footer_lines,
            foreign=True,
        )

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

"""CSV row by row: slow, exact about what is wrong and where, and able to read what fast parsers cannot."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice

import polars as pl

from sfumato.errors import InputError, raise_all
from sfumato.table.csv_file import CsvFile
from sfumato.table.csv_format import CsvFormat
from sfumato.table.distinct import private_categorical
from sfumato.table.text_encodings import likely_encoding

_CHUNK = 50_000
_LONGEST_FIELD = 2**31 - 1


class _OpenQuoteError(Exception):
    """The last row opens a quote that is never closed."""


def first_row(file: CsvFile, layout: CsvFormat) -> list[str]:
    """Return the fields of the first row that is not blank; empty when there is none."""
    try:
        return next((fields for fields in _rows(file, layout) if fields), [])
    except _OpenQuoteError:
        raise InputError(
            'the first row opens a quote that is never closed; close it, or set quote=None (in a policy quote = "")'
        ) from None


def read_rows(file: CsvFile, layout: CsvFormat, width: int, indices: Sequence[int]) -> list[pl.Series]:
    """Read some columns as categories, checking every row.

    Blank lines are skipped where rows have more than one field.

    Raises
    ------
    InputError
        With every kind of broken row: how many there are, and the number of the first.

    Notes
    -----
    Cost O(bytes), about ten times that of a compiled parser; memory for one chunk of rows beyond the result.
    """
    faults = _Faults(width)
    dtypes = [private_categorical() for _ in indices]
    parts: list[list[pl.Series]] = [[pl.Series([], dtype=dtype)] for dtype in dtypes]
    rows = _checked(_filled(_rows(file, layout), width), faults, 1 if layout.header else 0)
    while chunk := list(islice(rows, _CHUNK)):
        for index, dtype, column in zip(indices, dtypes, parts, strict=True):
            texts = [fields[index] for _, fields in chunk]
            faults.unreadable.extend(_unreadable([number for number, _ in chunk], texts))
            if not faults.unreadable:
                column.append(pl.Series(texts, dtype=dtype))
    if faults.unreadable:
        faults.encoding = likely_encoding(file.strange_bytes())
    raise_all(InputError, faults.problems())
    return [pl.concat(column) for column in parts]


@dataclass
class _Faults:
    """Row numbers of everything that is wrong, and of rows that end in a separator, which is right if all do."""

    width: int
    short: list[int] = field(default_factory=list)
    long: list[int] = field(default_factory=list)
    unreadable: list[int] = field(default_factory=list)
    open_quote: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    rows: int = 0
    encoding: str = ""

    def problems(self) -> list[str]:
        """Say what is wrong, one sentence per kind."""
        if len(self.ended) < self.rows:
            self.long.extend(self.ended)
        sentences = (
            (self.short, f"have fewer than {self.width} fields", "complete the rows, or check separator and quote"),
            (self.long, f"have more than {self.width} fields", "quote fields that hold the separator, or check it"),
            (
                self.unreadable,
                "have bytes that are not in the file's encoding",
                f"give its encoding: they read as {self.encoding}, so add --encoding {self.encoding}",
            ),
            (
                self.open_quote,
                "open a quote that is never closed",
                'close it, or set quote=None (in a policy quote = "")',
            ),
        )
        return [
            f"{len(set(rows))} row(s) {what}, first row {min(rows)}; {advice}"
            for rows, what, advice in sentences
            if rows
        ]


def _checked(rows: Iterator[list[str]], faults: _Faults, skipped: int) -> Iterator[tuple[int, list[str]]]:
    """Pair the rows after the header with their numbers; those with another number of fields are only noted."""
    number = -skipped
    try:
        for fields in rows:
            number += 1
            if number < 1:
                continue
            faults.rows += 1
            if len(fields) == faults.width:
                yield number, fields
            elif len(fields) == faults.width + 1 and not fields[-1]:
                # Where every row ends in a separator, it parts nothing.
                faults.ended.append(number)
                yield number, fields[:-1]
            else:
                (faults.short if len(fields) < faults.width else faults.long).append(number)
    except _OpenQuoteError:
        faults.open_quote.append(number + 1)


def _filled(rows: Iterator[list[str]], width: int) -> Iterator[list[str]]:
    """Drop blank lines; between the rows of a single column they are missing values."""
    blank = 0
    for fields in rows:
        if not fields:
            blank += width == 1
            continue
        yield from ([""] for _ in range(blank))
        blank = 0
        yield fields


def _rows(file: CsvFile, layout: CsvFormat) -> Iterator[list[str]]:
    # Two fields follow the text: if they do not come out as a row of their own, a quote is still open.
    end = ["", "\0"]
    previous: list[str] | None = None
    with file.open_text() as text, _long_fields():
        for fields in _reader(chain(text, [layout.separator.join(end)]), layout):
            if previous is not None:
                yield previous
            previous = fields
    if previous != end:
        raise _OpenQuoteError


def _reader(lines: Iterator[str], layout: CsvFormat) -> Iterator[list[str]]:
    return csv.reader(
        lines,
        delimiter=layout.separator,
        quotechar=layout.quote,
        quoting=csv.QUOTE_MINIMAL if layout.quote else csv.QUOTE_NONE,
        # A blank before an opening quote would make the quote a part of the value.
        skipinitialspace=layout.strip and layout.separator != " ",
    )


@contextmanager
def _long_fields() -> Iterator[None]:
    before = csv.field_size_limit(_LONGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _unreadable(numbers: Sequence[int], texts: Sequence[str]) -> list[int]:
    """Return the numbers of the rows whose text holds bytes that could not be read."""
    if "".join(texts).isprintable():
        return []
    return [number for number, text in zip(numbers, texts, strict=True) if any("\ud800" <= c <= "\udfff" for c in text)]

"""A CSV file as a source of text columns: fast where the file is regular, row by row where it is not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.table.csv_file import CsvFile, first_row, likely_encoding, names_elsewhere, open_csv, read_rows
from sfumato.table.csv_format import CsvFormat
from sfumato.table.distinct import private_categorical
from sfumato.table.sources.protocol import Family

# Whether a CSV file is regular: every row has the same number of fields, every quote is where it belongs.
#
# Fast parsers silently fill short rows and guess about stray quotes. This check makes it safe to use one.


_LINE_END = 10
_CARRIAGE_RETURN = 13


def count_regular_rows(blocks: Iterable[bytes], fields: int, separator: str, quote: str | None) -> int | None:
    """Count the rows of a text if every one has `fields` fields; None otherwise.

    Parameters
    ----------
    blocks
        The text in UTF-8, without the line end of its last row.
    fields
        Fields in each row, ≥ 1.
    separator, quote
        One ASCII character each; quote may be None.

    Returns
    -------
    int or None
        Also None when a quote is left open or is where none belongs.

    Notes
    -----
    Cost O(bytes), a few vectorized passes.
    """
    quotes = _Quotes(ord(quote) if quote else -1, ord(separator))
    rows, fields_so_far = 0, 0
    for block in _closed(blocks, quotes.mark):
        ends, marks = _outside(np.frombuffer(block, dtype=np.uint8), ord(separator), quotes)
        row_ends = np.flatnonzero(ends[marks])
        if len(row_ends) and (np.diff(row_ends, prepend=-1 - fields_so_far) != fields).any():
            return None
        rows += len(row_ends)
        fields_so_far = len(marks) - 1 - row_ends[-1] if len(row_ends) else fields_so_far + len(marks)
        if fields_so_far >= fields or quotes.is_stray:
            return None
    return None if fields_so_far or quotes.is_open else rows


@dataclass
class _Quotes:
    """What is known about quotes so far: whether one is open, and whether one was where none belongs."""

    mark: int
    separator: int
    is_open: bool = False
    is_stray: bool = False
    last: int = _LINE_END


def _closed(blocks: Iterable[bytes], mark: int) -> Iterator[bytes]:
    """Keep quotes at the end of a block for the next one, so that what follows is known, and end the last row."""
    quote, held = bytes([mark]) if mark >= 0 else b"", b""
    for block in blocks:
        body = (held + block).rstrip(quote) if quote else block
        held = (held + block)[len(body) :] if quote else b""
        if body:
            yield body
    yield held + b"\n"


def _outside(text: NDArray[np.uint8], separator: int, quotes: _Quotes) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return where line ends are, bool (bytes,), and the positions of separators and line ends outside quotes."""
    ends = text == _LINE_END
    marks = ends | (text == separator)
    quoted = text == quotes.mark if quotes.mark >= 0 else None
    if quoted is not None and (quotes.is_open or quoted.any()):
        quotes.is_stray |= _has_stray(text, np.flatnonzero(quoted), quotes)
        inside = (np.cumsum(quoted, dtype=np.uint8) + np.uint8(quotes.is_open)) & 1
        marks &= inside == 0
        quotes.is_open = bool(inside[-1])
    quotes.last = int(text[-1])
    return ends, np.flatnonzero(marks)


def _has_stray(text: NDArray[np.uint8], positions: NDArray[np.int64], quotes: _Quotes) -> bool:
    """Tell whether a run of quotes has a length that makes no sense in its place.

    Inside a quoted field an even run is text and an odd one closes the field; outside, a run begins a field, which an
    even run also ends.
    """
    if not len(positions):
        return False
    firsts = np.flatnonzero(np.diff(positions, prepend=-2) != 1)
    is_odd = (np.diff(firsts, append=len(positions)) & 1).astype(np.bool_)
    starts, ends = positions[firsts], positions[np.append(firsts[1:], len(positions)) - 1]
    borders = np.array([quotes.separator, _LINE_END], dtype=np.uint8)
    begins_field = np.isin(np.where(starts > 0, text[starts - 1], quotes.last), borders)
    after = text[ends + 1]
    ends_field = np.isin(after, borders) | (after == _CARRIAGE_RETURN)
    is_inside = ((firsts + quotes.is_open) & 1).astype(np.bool_)
    makes_sense = np.where(is_inside, ~is_odd | ends_field, begins_field & (is_odd | ends_field))
    return not makes_sense.all()


_SAMPLE = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class CsvSource:
    """Names of the columns of a CSV file, and how to read them.

    Attributes
    ----------
    file : CsvFile
    layout : CsvFormat
    width : int
        Fields in the first row.
    names : tuple of str
        Without the last one where it is empty.
    """

    file: CsvFile
    layout: CsvFormat
    width: int
    names: tuple[str, ...]

    is_text = True
    """Every value arrives as text, so that kinds must be read off it."""

    def advice(self, wanted: Collection[str]) -> str | None:
        """Say what seems wrong with separator, header or encoding where the `wanted` columns cannot be read."""
        if any("\ufffd" in name for name in self.names):
            found = likely_encoding(self.file.strange_bytes())
            return f"the names of the columns are not UTF-8; they read as {found}: add --set source.encoding={found}"
        return None if set(wanted) & {*self.names} else names_elsewhere(self.file, self.layout, wanted)

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Read columns as text: Categorical, or String if nearly every value is distinct.

        Empty fields are null or empty text.

        Raises
        ------
        InputError
            When rows are ragged, a quote is never closed or bytes cannot be read: with counts and row numbers.
        """
        indices = [self.names.index(name) for name in names]
        unnamed = list(range(len(self.names), self.width))
        columns = self._read_fast([*indices, *unnamed])
        if columns is None:
            columns = read_rows(self.file, self.layout, self.width, [*indices, *unnamed])
        for number, column in zip(unnamed, columns[len(indices) :], strict=True):
            if not column.cast(pl.String).fill_null("").is_in([""]).all():
                raise InputError(f"column {number + 1} has no name, but holds values; name it in the first row")
        return [column.alias(name) for column, name in zip(columns, names, strict=False)]

    def _read_fast(self, indices: Sequence[int]) -> list[pl.Series] | None:
        assert self.file.content is not None  # unpacked once, for those who count and who parse
        with ThreadPoolExecutor(1) as pool:
            counting = pool.submit(
                count_regular_rows, self.file.blocks(), self.width, self.layout.separator, self.layout.quote
            )
            try:
                frame = self._parse(indices)
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError):
                return None
            counted = counting.result()
        height = (counted or 0) - self.layout.header
        if counted is None or frame.height < height:
            return None
        # Line ends after the last row appear as rows of nulls.
        return [frame[_position(index)].head(height) for index in indices]

    def _parse(self, indices: Sequence[int]) -> pl.DataFrame:
        sample = self._scan({_position(index): pl.String() for index in range(self.width)}, indices, _SAMPLE)
        types: dict[str, pl.DataType] = {_position(index): pl.String() for index in range(self.width)}
        for column in sample:
            if column.n_unique() <= _SAMPLE // 2 or sample.height < _SAMPLE:
                types[column.name] = private_categorical()
        return self._scan(types, indices)

    def _scan(self, types: dict[str, pl.DataType], indices: Sequence[int], limit: int | None = None) -> pl.DataFrame:
        return pl.read_csv(
            self.file.content,
            has_header=False,
            skip_rows=int(self.layout.header),
            schema=types,
            columns=[_position(index) for index in sorted(indices)],
            separator=self.layout.separator,
            quote_char=self.layout.quote,
            glob=False,
            n_rows=limit,
        )


def csv_source(given: Path | bytes, layout: CsvFormat) -> CsvSource:
    """Open a CSV file, or its content, and read the names of its columns.

    Raises
    ------
    InputError
        When the file has no rows, or when the number of given names differs from that of its columns.
    """
    file = open_csv(given, layout)
    fields = first_row(file, layout)
    if not fields:
        raise InputError("the file is empty; it needs a row of column names and records")
    if layout.columns is None:
        # Where every row ends in a separator, so does the header: what follows it is no column.
        ends = len(fields) > 1 and not fields[-1].strip()
        return CsvSource(file, layout, len(fields), tuple(_name(field) for field in (fields[:-1] if ends else fields)))
    if len(layout.columns) != len(fields):
        raise InputError(
            f"{len(layout.columns)} column names were given, but the first row has {len(fields)} fields; "
            "give one name per field, or check the separator"
        )
    return CsvSource(file, layout, len(fields), tuple(layout.columns))


def _name(field: str) -> str:
    return field.strip().encode(errors="surrogateescape").decode(errors="replace")


def _position(index: int) -> str:
    return f"column_{index + 1}"


FAMILY = Family(
    recognizes=lambda given: given.path is not None, open=lambda given: csv_source(given.file, given.layout)
)

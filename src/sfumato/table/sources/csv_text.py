"""A CSV file as a source of text columns: fast where the file is regular, row by row where it is not."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sfumato.errors import InputError
from sfumato.table.csv_file import CsvFile, open_csv
from sfumato.table.csv_format import CsvFormat
from sfumato.table.csv_hints import names_elsewhere
from sfumato.table.csv_rows import first_row, read_rows
from sfumato.table.csv_structure import count_regular_rows
from sfumato.table.distinct import private_categorical
from sfumato.table.sources.protocol import Family
from sfumato.table.text_encodings import likely_encoding

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
            return f"the names of the columns are not UTF-8; they read as {found}: add --encoding {found}"
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

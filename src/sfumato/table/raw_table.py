"""A table before anybody has said what its columns mean: read once, and given roles as often as wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
import polars as pl

from sfumato.errors import InputError
from sfumato.former import FormerReading, reading_of_call
from sfumato.table.columns import ValueReading, kept_column, plain_cells, read_attribute
from sfumato.table.distinct import private_categorical, repeats
from sfumato.table.header import Header, check_names
from sfumato.table.reading import named_source, open_table_as, with_roles
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.sources import TableSource
from sfumato.table.sources.protocol import Reading
from sfumato.table.table import Table

# Columns held in little memory: text that repeats as numbers of its texts.


@dataclass(frozen=True, eq=False, repr=False)
class PackedColumn:
    """A column of text as its texts and, for each record, which of them it has."""

    texts: pl.Series  # of the column's own type
    number: pl.Series  # unsigned (n,), as narrow as may be: the place in `texts`; null for a missing value

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.number)

    def slice(self, start: int, count: int) -> pl.Series:
        """Return the values of some records. Cost O(count)."""
        return self.texts.gather(self.number.slice(start, count))

    def whole(self) -> pl.Series:
        """Return the column. Cost O(n)."""
        return self.texts.gather(self.number)


def packed(column: pl.Series) -> pl.Series | PackedColumn:
    """Return a column in less memory if it is text that repeats; any other as it is. Cost O(bytes of text)."""
    if column.dtype == pl.String:
        if not repeats(column):
            return column
        numbered = column.cast(private_categorical())
    elif isinstance(column.dtype, (pl.Categorical, pl.Enum)):
        numbered = column
    else:
        return column
    physical = numbered.to_physical()
    highest = physical.max()
    if not isinstance(highest, int) or highest >= len(column) // 2:
        return column
    every = pl.Series(column.name, np.arange(highest + 1), dtype=physical.dtype)
    try:
        texts = every.cat.to(numbered.dtype).cast(column.dtype)
    except pl.exceptions.ComputeError:
        # Categories that other columns share: some numbers stand for nothing here.
        return column
    narrow = pl.UInt8 if highest < 1 << 8 else pl.UInt16 if highest < 1 << 16 else pl.UInt32
    return PackedColumn(texts, physical.cast(narrow))


@dataclass(frozen=True, eq=False, repr=False)
class RawTable:
    """The columns of a file or frame as they are, without roles.

    Made by :func:`sfumato.open_table`. Every column is read from the source once, when it is first needed; what was
    read does not change when the file does.

    Attributes
    ----------
    names : tuple of str
        All columns, in the order of the source.
    source : str
        What messages call the table: the file's name, or ``"table"``.
    """

    names: tuple[str, ...]
    source: str
    _opened: TableSource
    _values: ValueReading
    _given: tuple[str, ...]
    _read: dict[str, pl.Series | PackedColumn] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Name the table and count its columns; no value is shown."""
        return f"RawTable({self.source!r}, {len(self.names)} columns)"

    @property
    def height(self) -> int:
        """Number of records; reads the first column."""
        return len(self._held(self.names[0]))

    @property
    def is_text(self) -> bool:
        """Whether every value arrives as text, as from a CSV file, so that kinds are read off the values."""
        return self._opened.is_text

    @property
    def index(self) -> frozenset[str]:
        """The columns that were the index of a pandas frame; a schema may name them."""
        found: frozenset[str] = getattr(self._opened, "index", frozenset())
        return found

    @property
    def value_codes(self) -> Mapping[str, Mapping[str, Any]]:
        """The codes behind the labels of each column of a statistical file."""
        found: Mapping[str, Mapping[str, Any]] = getattr(self._opened, "value_codes", {})
        return found

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a steward should hear of how the file was read, as far as it was."""
        return tuple(getattr(self._opened, "remarks", ()))

    @property
    def reads_roles_alone(self) -> bool:
        """Whether columns to which nobody gave a role are never read, as of a database."""
        return bool(getattr(self._opened, "reads_roles_alone", False))

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Return columns as the source has them; those that were not read before are read now, in one go.

        Raises
        ------
        InputError
            When they cannot be read.
        """
        lacking = [name for name in dict.fromkeys(names) if name not in self._read]
        if lacking:
            self._read.update(zip(lacking, self._opened.read(lacking), strict=True))
        return [_whole(self._read[name]) for name in names]

    def hold(self) -> None:
        """Read every column, and from now on hold text that repeats as numbers of its texts.

        What is returned stays the same; a column takes a byte or two for each record, and is put together again when it
        is asked for as a whole.

        Raises
        ------
        InputError
            When a column cannot be read, or the file has changed meanwhile.
        """
        groups = [[name] for name in self.names] if getattr(self._opened, "is_columnar", False) else [self.names]
        for group in groups:
            self.read(group)
            for name in group:
                held = self._read[name]
                self._read[name] = packed(held) if isinstance(held, pl.Series) else held
        if len({len(held) for held in self._read.values()}) > 1:
            raise InputError("the file has changed while it was read; open it again")

    def texts(self, name: str) -> pl.Series:
        """Return one column as an insensitive one would be published: values of the source, unchanged.

        Raises
        ------
        InputError
            When there is no such column, or it cannot be read.
        """
        return kept_column(plain_cells(self._column(name)), self._values.of(name))

    def some(self, name: str, start: int, count: int) -> pl.Series:
        """Return :meth:`texts` of some records. Cost O(count) for a column that was read."""
        return kept_column(self._held(name).slice(start, count), self._values.of(name))

    def reading_of(self, name: str) -> ValueReading:
        """Return how the values of one column are read."""
        return self._values.of(name)

    def typed(self, name: str, kind: Kind | Attribute | None = None) -> tuple[pl.Series, Kind]:
        """Return one column as a quasi-identifying or sensitive one is read, and its kind; None reads it off.

        An attribute says besides how the values are written, and which of its texts stand for a missing one.

        Raises
        ------
        InputError
            When there is no such column, or its values are not of the declared kind.
        """
        column, reading = self._column(name), self._values.of(name)
        wanted = kind if isinstance(kind, Attribute) else Attribute(kind=kind)
        try:
            read = read_attribute(column, wanted, reading)
        except InputError:
            # A preview asks nothing; giving roles does.
            read = read_attribute(column, wanted, replace(reading, asks=False))
        return read.values.alias(name), read.kind

    def with_schema(self, schema: Schema) -> Table:
        """Give every column its role, without reading again what was read.

        The table is the one that :func:`sfumato.read_table` makes of the same source and schema.

        Raises
        ------
        SfumatoError
            As :func:`sfumato.read_table` does.

        Notes
        -----
        Cost O(n) for each column that is kept: kinds are read off the values again.
        """
        with named_source(self.source) as label:
            return with_roles(self, self._values, schema, label, self._given)

    def _column(self, name: str) -> pl.Series:
        return _whole(self._held(name))

    def _held(self, name: str) -> pl.Series | PackedColumn:
        if name not in self.names:
            raise InputError(f"column {name!r} is not in the table")
        if name not in self._read:
            self.read([name])
        return self._read[name]


def open_table(source: object, *, reading: Reading | None = None, **former: Unpack[FormerReading]) -> RawTable:
    """Open a table whose columns have no roles yet.

    Parameters
    ----------
    source
        As for :func:`sfumato.read_table`.
    reading
        How the source is read.
    **former
        The settings of a :class:`sfumato.Reading` one by one, as in the last version.

    Returns
    -------
    RawTable
        Its ``with_schema`` gives the columns their roles, as often as wanted, and reads each of them only once.

    Raises
    ------
    InputError
        When the source cannot be opened, or the names of its columns are ambiguous or cannot be shown. Such columns are
        given by number.

    Examples
    --------
    >>> import polars as pl, sfumato as sf
    >>> raw = sf.open_table(pl.DataFrame({"age": [30, 31], "sex": ["f", "m"], "ward": ["a", "b"]}))
    >>> raw.with_schema(sf.Schema(quasi_identifying=["age", "sex"], sensitive=["ward"])).kinds["age"]
    <Kind.NUMERIC: 'numeric'>
    """
    with named_source(source, former.get("table") if reading is None else reading.table) as label:
        how = reading_of_call("open_table", reading, former)
        columns = how.columns or ()
        opened, values = open_table_as(source, how)
        if not opened.names:
            raise InputError("there are no columns")
        check_names(Header(opened.names, frozenset(columns)))
        return RawTable(opened.names, label, opened, values, tuple(columns))


def _whole(held: pl.Series | PackedColumn) -> pl.Series:
    return held.whole() if isinstance(held, PackedColumn) else held

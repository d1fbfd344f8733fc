"""From the columns of a source to the typed columns of a table."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import polars as pl

from sfumato.errors import InputError
from sfumato.table.distinct import private_categorical
from sfumato.table.kinds import text_of
from sfumato.table.schema import Kind
from sfumato.table.texts import EXPECTED, Parsed, clean, parse

_PLAIN = (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Date, pl.Datetime, pl.Time, pl.Null)


@dataclass(frozen=True)
class ValueReading:
    """How values are read.

    Attributes
    ----------
    missing : frozenset of str
        Texts that stand for a missing value.
    strip : bool
        Whether blanks around text are dropped.
    is_text : bool
        Whether text may stand for numbers, dates and booleans, as in a CSV file.
    stripped : collection of str
        Columns in which blanks are dropped in any case.
    """

    missing: Collection[str]
    strip: bool
    is_text: bool
    stripped: Collection[str] = ()

    def of(self, name: str) -> ValueReading:
        """Return how the values of one column are read."""
        return replace(self, strip=self.strip or name in self.stripped)


def kept_column(column: pl.Series, reading: ValueReading) -> pl.Series:
    """Return a column that is published as it is; only blanks around fields of a CSV file are dropped.

    Raises
    ------
    InputError
        When its values are not plain values.
    """
    refuse_nested(column)
    return clean(column, strip=True) if reading.is_text and reading.strip else column


def with_missing(column: pl.Series, reading: ValueReading) -> pl.Series:
    """Return a column that was kept as it is without the texts, and the NaN, that stand for a missing value."""
    if column.dtype.is_float():
        return column.fill_nan(None)
    if not is_text(column):
        return column
    texts = column.cast(pl.String)
    return texts.set(texts.is_in(list(reading.missing)).fill_null(True), None)


def typed_column(column: pl.Series, kind: Kind | None, reading: ValueReading) -> tuple[pl.Series, Kind]:
    """Return a column as one of the types that a table may hold, and its kind.

    Parameters
    ----------
    column
        As it came from the source.
    kind
        As declared, or None.
    reading
        How values are read.

    Raises
    ------
    InputError
        Counting the values that are not of the declared kind, with the row of the first.
    """
    values, found = _typed(column, kind, reading)
    return (_canonical(values) if values.dtype.is_float() else values), found


def _canonical(values: pl.Series) -> pl.Series:
    # NaN is a missing value and −0.0 is 0.0: values that count as equal must be published equally.
    return values.fill_nan(None).set((values == 0.0).fill_null(False), 0.0)


def _typed(column: pl.Series, kind: Kind | None, reading: ValueReading) -> tuple[pl.Series, Kind]:
    refuse_nested(column)
    if is_text(column):
        column = column.cast(pl.String) if isinstance(column.dtype, pl.Enum) else column
        wanted = kind or (None if reading.is_text else Kind.CATEGORICAL)
        return _parsed(column, wanted, reading)
    if column.dtype == pl.Null:
        return _parsed(column.cast(pl.String), kind, reading)
    if column.dtype.is_numeric():
        natural, plain = Kind.NUMERIC, _plain_numbers(column)
        if _has_merged(column, plain):
            # Numbers too long for 64 bits are codes, as in a CSV file.
            return _parsed(text_of(column), _kind_of_codes(column, kind), reading)
    elif column.dtype == pl.Boolean:
        natural, plain = Kind.BOOLEAN, column
    else:
        natural, plain = Kind.DATE, _plain_dates(column)
    return (plain, natural) if kind in (None, natural) else _parsed(_as_text(plain), kind, reading)


def _parsed(column: pl.Series, kind: Kind | None, reading: ValueReading) -> tuple[pl.Series, Kind]:
    parsed = parse(column, kind, reading.missing, strip=reading.strip)
    strangers = int(parsed.strangers.sum())
    if strangers:
        raise strange_values(column.name, parsed, strangers, int(parsed.strangers.arg_max() or 0) + 1)
    return parsed.values, parsed.kind


class StrangeValues(InputError):
    """Values that are not of the kind that their column is declared as; `parsed` is what became of them."""

    name: str
    parsed: Parsed


def strange_values(name: str, parsed: Parsed, records: int, row: int) -> StrangeValues:
    """Return the error of a column of which so many records, the first of them in that row, have strange values."""
    error = StrangeValues(
        f"column {name!r} is declared {parsed.kind}, but {records} record(s) do not hold {EXPECTED[parsed.kind]}, "
        f"first in row {row}; correct them, list their text as missing, or declare another kind"
    )
    error.name, error.parsed = name, parsed
    return error


def is_text(column: pl.Series) -> bool:
    """Tell whether a column holds text, or categories."""
    return column.dtype == pl.String or isinstance(column.dtype, (pl.Categorical, pl.Enum))


def is_plain(dtype: pl.DataType) -> bool:
    """Tell whether values of a type are numbers, texts, dates or the like, which can be compared and published."""
    return dtype.is_numeric() or isinstance(dtype, _PLAIN)


def refuse_nested(column: pl.Series) -> None:
    """Raise InputError when the values of a column cannot be published."""
    if not is_plain(column.dtype):
        raise InputError(
            f"column {column.name!r} is of type {column.dtype.base_type()}, which cannot be published; convert it to "
            "numbers, text, dates or booleans"
        )


def _plain_numbers(column: pl.Series) -> pl.Series:
    dtype = column.dtype
    if dtype == pl.Float32:
        # Convert by way of text, so that 0.1 stays 0.1.
        return column.cast(pl.String).cast(pl.Float64)
    if dtype.is_integer() or (isinstance(dtype, pl.Decimal) and not dtype.scale):
        whole = column.cast(pl.Int64, strict=False)
        return whole if whole.null_count() == column.null_count() else column.cast(pl.Float64)
    return column.cast(pl.Float64)


def _has_merged(column: pl.Series, plain: pl.Series) -> bool:
    """Tell whether the cast has merged several numbers into one, or for whole numbers could have."""
    if column.dtype.is_float() or plain.dtype == pl.Int64:
        return False
    return column.dtype.is_integer() or plain.n_unique() < column.n_unique()


def _kind_of_codes(column: pl.Series, kind: Kind | None) -> Kind:
    if kind is Kind.NUMERIC:
        raise InputError(
            f"column {column.name!r} is declared numeric, but has numbers with more digits than 64 bits can "
            "distinguish; round them, or declare it categorical"
        )
    return kind or Kind.CATEGORICAL


def _plain_dates(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Date:
        return column
    if column.dtype == pl.Time:
        raise InputError(f"column {column.name!r} holds times of day; convert it to text or numbers")
    days = column.cast(pl.Date)
    if (days.cast(column.dtype) != column).any():
        raise InputError(f"column {column.name!r} holds times of day beside dates; convert it to dates or to text")
    return days


def _as_text(column: pl.Series) -> pl.Series:
    if not column.dtype.is_float():
        return text_of(column)
    values = column.unique()
    return column.replace_strict(values, text_of(values).cast(private_categorical()))

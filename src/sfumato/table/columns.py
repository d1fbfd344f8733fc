"""From the columns of a source to the typed columns of a table."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import NamedTuple

import polars as pl

from sfumato.errors import InputError
from sfumato.numbers import counted
from sfumato.table.distinct import private_categorical
from sfumato.table.person_keys import person_keys
from sfumato.table.questions import ask, proposals, question_of_codes, question_of_text, remark_on_codes
from sfumato.table.schema import Attribute, Kind, text_of
from sfumato.table.texts import EXPECTED, Parsed, Way, clean, parse, way_of
from sfumato.table.written_forms import PLAIN, WrittenForm, date_form

_MOST_DIGITS = 16
"""Digits from which on floats may not tell whole numbers apart."""
_LONG = rf"^[0-9]{{{_MOST_DIGITS},}}$"
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
    form : WrittenForm
        How numbers and dates are written.
    asks : bool
        Whether text that seems to be meant as numbers or dates is an error that says what to declare.
    codes : collection of str
        Columns in which numbers that look like codes are asked about, too.
    """

    missing: Collection[str]
    strip: bool
    is_text: bool
    stripped: Collection[str] = ()
    form: WrittenForm = PLAIN
    asks: bool = False
    codes: Collection[str] = ()

    def of(self, name: str) -> ValueReading:
        """Return how the values of one column are read."""
        return replace(self, strip=self.strip or name in self.stripped)


class TypedColumn(NamedTuple):
    """A column as a table holds it, its kind, and what a steward should hear of how it was read."""

    values: pl.Series
    kind: Kind
    remarks: tuple[str, ...] = ()


def kept_column(column: pl.Series, reading: ValueReading) -> pl.Series:
    """Return a column that is published as it is; only blanks around fields of a CSV file are dropped.

    Raises
    ------
    InputError
        When its values are not plain values.
    """
    refuse_nested(column)
    return clean(column, strip=True) if reading.is_text and reading.strip and is_text(column) else column


def with_missing(column: pl.Series, reading: ValueReading) -> pl.Series:
    """Return a column that was kept as it is without the texts, and the NaN, that stand for a missing value."""
    if column.dtype.is_float():
        return column.fill_nan(None)
    if not is_text(column):
        return column
    texts = column.cast(pl.String)
    return texts.set(texts.is_in(list(reading.missing)).fill_null(True), None)


def keys_read(column: pl.Series, reading: ValueReading, form: str | None) -> pl.Series:
    """Return the keys of people, null where there is none, in which those of one person are equal.

    Raises
    ------
    InputError
        As of :func:`~sfumato.table.person_keys.person_keys`.
    """
    kept = with_missing(kept_column(column, reading), reading)
    # Whole numbers have one spelling; they are numbered faster than texts.
    return kept if kept.dtype.is_integer() else person_keys(kept, form)


def typed_column(column: pl.Series, kind: Kind | None, reading: ValueReading) -> TypedColumn:
    """Return a column as one of the types that a table may hold, and its kind; see :func:`read_attribute`."""
    return read_attribute(column, Attribute(kind=kind), reading)


def read_attribute(column: pl.Series, attribute: Attribute, reading: ValueReading) -> TypedColumn:
    """Return a column as one of the types that a table may hold, and its kind.

    Parameters
    ----------
    column
        As it came from the source.
    attribute
        What was declared of it.
    reading
        How values are read.

    Raises
    ------
    InputError
        Counting the values that are not of the declared kind, with the row of the first; or saying what to declare.
    """
    typed = _typed(column, attribute, reading)
    return typed._replace(values=_canonical(typed.values)) if typed.values.dtype.is_float() else typed


def _canonical(values: pl.Series) -> pl.Series:
    # NaN is a missing value and −0.0 is 0.0: values that count as equal must be published equally.
    return values.fill_nan(None).set((values == 0.0).fill_null(False), 0.0)


def _typed(column: pl.Series, attribute: Attribute, reading: ValueReading) -> TypedColumn:
    refuse_nested(column)
    kind = _declared_kind(attribute)
    if is_text(column):
        column = column.cast(pl.String) if isinstance(column.dtype, pl.Enum) else column
        if kind is None and not reading.is_text:
            return _text_among_types(column, attribute, reading)
        return _parsed(column, kind, attribute, reading)
    if column.dtype == pl.Null:
        return _parsed(column.cast(pl.String), kind, attribute, reading)
    if column.dtype.is_numeric():
        natural, plain = Kind.NUMERIC, _plain_numbers(column)
        if _has_merged(column, plain):
            # Numbers too long for 64 bits are codes, as in a CSV file.
            return _parsed(text_of(column), _kind_of_codes(column, kind), attribute, reading)
    elif column.dtype == pl.Boolean:
        natural, plain = Kind.BOOLEAN, column
    elif column.dtype == pl.Date or _are_days(column):
        natural, plain = Kind.DATE, column.cast(pl.Date)
    else:
        return _with_clock(column, kind, attribute, reading)
    if kind in (None, natural):
        return TypedColumn(plain, natural)
    return _parsed(_as_text(plain), kind, attribute, reading)


def _text_among_types(column: pl.Series, attribute: Attribute, reading: ValueReading) -> TypedColumn:
    """Read text of a source that has types: as text, which it was made, unless it has a form that was declared."""
    typed = _parsed(column, Kind.CATEGORICAL, replace(attribute, strays=None), reading)
    if not reading.asks or attribute.hierarchy is not None:
        return typed
    texts = column.cast(pl.String).unique() if column.dtype != pl.String else column
    known = parse(texts, Kind.CATEGORICAL, reading.missing, strip=reading.strip).known
    form = attribute.form.over(reading.form)
    if form != PLAIN and way_of(known, form) not in (way_of(known, PLAIN), Way(Kind.CATEGORICAL)):
        return _parsed(column, None, attribute, reading)
    found = [] if Way(Kind.DATE).read(known.head(1)).is_not_null().any() else proposals(known)
    if found:
        raise ask(column.name, found, reading.form)
    return typed


def _declared_kind(attribute: Attribute) -> Kind | None:
    """Return the kind that was declared, also by saying how the values are written."""
    form = attribute.form
    if attribute.kind is not None:
        return attribute.kind
    if form.is_numeric:
        return Kind.NUMERIC
    if form.forms:
        return Kind.DATE if date_form(form.forms[0]).has_day else Kind.NUMERIC
    return None


def _parsed(column: pl.Series, kind: Kind | None, attribute: Attribute, reading: ValueReading) -> TypedColumn:
    form = attribute.form.over(reading.form)
    parsed = parse(column, kind, reading.missing, strip=reading.strip, form=form)
    strangers = int(parsed.strangers.sum())
    if strangers and form.strays is None:
        raise _refused(column.name, parsed, reading.form)
    if _merges_codes(parsed):
        raise _too_long(column.name)
    question = None if kind is not None or form.strays else _question(column, parsed, attribute, reading)
    if question is not None:
        raise question
    remarks = _remarks(column.name, parsed, strangers)
    if kind is None and _may_be_codes(column.name, parsed, attribute, reading):
        remarks += tuple(filter(None, [remark_on_codes(column.name, parsed.known)]))
    return TypedColumn(parsed.values, parsed.kind, remarks)


def _question(column: pl.Series, parsed: Parsed, attribute: Attribute, reading: ValueReading) -> InputError | None:
    """Ask about a column of which nothing was declared, unless its hierarchy says what its values are."""
    if not reading.asks or attribute.hierarchy is not None:
        return None
    if _may_be_codes(column.name, parsed, attribute, reading):
        codes = question_of_codes(column.name, parsed.known)
        if codes is not None:
            return codes

    def strangers(way: Way) -> pl.Series:
        return parse(column, None, reading.missing, strip=reading.strip, way=way).strangers

    return question_of_text(column.name, parsed, reading.form, strangers)


def _may_be_codes(name: str, parsed: Parsed, attribute: Attribute, reading: ValueReading) -> bool:
    return (
        parsed.kind is Kind.NUMERIC
        and name in reading.codes
        and attribute.hierarchy is None
        and parsed.way.date is None
    )


def _remarks(name: str, parsed: Parsed, strangers: int) -> tuple[str, ...]:
    remarks = []
    if strangers:
        remarks.append(
            f"Column {name!r}: {counted(strangers, 'record')} of {len(parsed.values):,} held text that is no "
            f"{'number' if parsed.kind is Kind.NUMERIC else 'date'}, and count as missing (strays)."
        )
    if parsed.way.date is not None and parsed.way.date.has_day and parsed.way.date.has_clock:
        remarks.append(f"Column {name!r}: of timestamps the day was read, as it is written; times of day were dropped.")
    return tuple(remarks)


def _refused(name: str, parsed: Parsed, general: WrittenForm) -> InputError:
    """Count the records that are not of the declared kind; where all are, written otherwise, say what to declare."""
    found = [one for one in proposals(parsed.known) if one.kind is parsed.kind]
    if found:
        return ask(name, found, general)
    return strange_values(name, parsed, int(parsed.strangers.sum()), int(parsed.strangers.arg_max() or 0) + 1)


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
        raise _too_long(column.name)
    return kind or Kind.CATEGORICAL


def _merges_codes(parsed: Parsed) -> bool:
    """Tell whether whole numbers that differ became one number, as they have too many digits for a float."""
    if parsed.values.dtype != pl.Float64 or not (parsed.known.str.len_bytes() >= _MOST_DIGITS).any():
        return False
    long = parsed.known.filter(parsed.known.str.contains(_LONG)).unique()
    return len(long) > parsed.way.read(long).n_unique()


def _too_long(name: str) -> InputError:
    return InputError(
        f"column {name!r} is declared numeric, but has numbers with more digits than 64 bits can distinguish; round "
        "them, or declare it categorical"
    )


def _are_days(column: pl.Series) -> bool:
    """Tell whether timestamps are all of midnight."""
    return column.dtype == pl.Datetime and not bool((column.cast(pl.Date).cast(column.dtype) != column).any())


def _with_clock(column: pl.Series, kind: Kind | None, attribute: Attribute, reading: ValueReading) -> TypedColumn:
    """Read timestamps and times of day as if they were written: what becomes of the clock has to be declared."""
    if kind is Kind.CATEGORICAL:
        return _parsed(text_of(column), kind, attribute, reading)
    form = "%H:%M:%S" if column.dtype == pl.Time else "%Y-%m-%d %H:%M:%S"
    return _parsed(column.dt.to_string(form), kind, attribute, reading)


def _as_text(column: pl.Series) -> pl.Series:
    # Where there is nothing to replace, polars leaves numbers.
    if not column.dtype.is_float() or column.is_empty():
        return text_of(column)
    values = column.unique()
    return column.replace_strict(values, text_of(values).cast(private_categorical()))

"""Values written as text: which kind they are, and reading them as that kind."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import polars as pl

from sfumato.table.distinct import private_categorical
from sfumato.table.schema import Kind
from sfumato.table.written_forms import PLAIN, DateForm, NumberForm, WrittenForm, date_form

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$"
_NOT_FINITE = r"^[+-]?(inf|infinity|nan)$"
_WHOLE = r"^[+-]?[0-9]+$"
_CODE = r"^[+-]?0[0-9]"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_TRUTHS = {"true": True, "false": False}
_YES = ("yes", "1", "y", "t", "ja", "j", "wahr", "oui", "o", "vrai", "si", "sí", "s", "sim")
_NO = ("no", "0", "n", "f", "nein", "falsch", "non", "faux", "não")
_DECLARED_TRUTHS = {**_TRUTHS, **dict.fromkeys(_YES, True), **dict.fromkeys(_NO, False)}

EXPECTED = {
    Kind.NUMERIC: "a number",
    Kind.BOOLEAN: "true or false (or yes and no, ja and nein, 1 and 0)",
    Kind.DATE: "a date like 2024-12-31",
}
"""What each kind but categories must look like."""


@dataclass(frozen=True)
class NumberStyle:
    """How the texts of a column are read.

    Attributes
    ----------
    kind : Kind
    number : NumberForm
    date : DateForm or None
        None: ISO dates.
    """

    kind: Kind
    number: NumberForm = PLAIN.number
    date: DateForm | None = None

    def read(self, texts: pl.Series) -> pl.Series:
        """Return the values; null where a text is not of the kind."""
        if self.date is not None:
            return self.date.read(texts)
        if self.kind is Kind.NUMERIC:
            return _numbers(texts if self.number == PLAIN.number else self.number.plain(texts), texts)
        if self.kind is Kind.BOOLEAN:
            lowered = texts.str.to_lowercase()
            return lowered.replace_strict(_DECLARED_TRUTHS, default=None, return_dtype=pl.Boolean)
        if self.kind is Kind.DATE:
            return texts.str.to_date("%Y-%m-%d", strict=False)
        return texts.cast(private_categorical())


@dataclass(frozen=True, eq=False, repr=False)
class Parsed:
    """A column of text read as one kind.

    Attributes
    ----------
    way : Way
    values : polars.Series
        Int64, Float64, Boolean, Date or Categorical.
    strangers : polars.Series of Boolean
        Records whose text is not of the kind, null in `values`.
    known : polars.Series of String
        The texts that were read, each distinct one at least once, without those that stand for a missing value.
    """

    way: NumberStyle
    values: pl.Series
    strangers: pl.Series
    known: pl.Series

    @property
    def kind(self) -> Kind:
        """Of the column."""
        return self.way.kind


def parse_texts(
    column: pl.Series,
    kind: Kind | None,
    missing: Collection[str],
    *,
    strip: bool,
    form: WrittenForm = PLAIN,
    way: NumberStyle | None = None,
) -> Parsed:
    """Read a column of text (String or Categorical) as `kind`, or as the kind that all its values agree on.

    Only the distinct texts of a Categorical are looked at, so its cost is one gather per record.

    Parameters
    ----------
    column
        The texts.
    kind
        None reads it off the values: true and false are booleans; numbers without leading zeros are numeric (codes like
        zip codes stay categories); ISO dates, and dates of a declared form, are dates; times of a declared form are
        numeric; everything else is categorical.
    missing
        Texts that stand for a missing value, without blanks around them; the empty text always does.
    strip
        Whether blanks around a value are dropped.
    form
        How numbers and dates are written.
    way
        How the texts are read, where that is known already.
    """

    def chosen(known: pl.Series) -> NumberStyle:
        if way is not None:
            return way
        return way_of(known, form) if kind is None else _declared_way(known, kind, form)

    if column.dtype == pl.String:
        return _parse(column, missing, chosen, strip=strip)
    texts = column.unique().drop_nulls()
    parsed = _parse(texts.cast(pl.String), missing, chosen, strip=strip)
    nobody = pl.repeat(False, len(column), dtype=pl.Boolean, eager=True)
    strangers = _spread(parsed.strangers, texts, column) if parsed.strangers.any() else nobody
    return Parsed(parsed.way, _spread(parsed.values, texts, column), strangers, parsed.known)


def clean(column: pl.Series, *, strip: bool) -> pl.Series:
    """Drop the blanks around text that is kept as it is."""
    if not strip:
        return column
    if column.dtype == pl.String:
        return column.str.strip_chars()
    texts = column.unique().drop_nulls()
    cleaned = texts.cast(pl.String).str.strip_chars()
    if (cleaned == texts.cast(pl.String)).all():
        return column
    return _spread(cleaned.cast(private_categorical()), texts, column)


def _spread(values: pl.Series, texts: pl.Series, column: pl.Series) -> pl.Series:
    """Give each record of `column` the value that belongs to its text."""
    numbers = texts.to_physical()
    span = _span(numbers)
    by_number = (
        pl.Series([None], dtype=pl.UInt32)
        .new_from_index(0, span)
        .scatter(numbers, pl.int_range(len(texts), dtype=pl.UInt32, eager=True))
    )
    return values.gather(by_number).gather(column.to_physical()).alias(column.name)


def _span(numbers: pl.Series) -> int:
    highest = numbers.max()
    return 0 if highest is None else int(highest) + 1  # type: ignore[arg-type]


def _parse(
    texts: pl.Series, missing: Collection[str], chosen: Callable[[pl.Series], NumberStyle], *, strip: bool
) -> Parsed:
    cleaned = texts.str.strip_chars() if strip else texts
    tokens = pl.Series(["", *missing], dtype=pl.String)
    # Tokens are compared without blanks, whether or not the blanks around values are dropped.
    present = texts.str.strip_chars().is_in(tokens.implode()).not_()
    cleaned = cleaned.set(~present.fill_null(False), None)
    known = cleaned.drop_nulls()
    way = chosen(known)
    values = way.read(cleaned)
    return Parsed(way, values, values.is_null() & cleaned.is_not_null(), known)


def _declared_way(known: pl.Series, kind: Kind, form: WrittenForm) -> NumberStyle:
    """Return how a column of declared kind is read: ISO dates, unless a declared form fits more of its values."""
    ways = [NumberStyle(kind, form.number), *(way for way in _declared_dates(form) if way.kind is kind)]
    return ways[0] if len(ways) == 1 else min(ways, key=lambda way: way.read(known).null_count())


def way_of(known: pl.Series, form: WrittenForm) -> NumberStyle:
    """Find the one way in which all values can be read, as they are usually written or as `form` says."""
    lowered = known.str.to_lowercase()
    if known.is_empty():
        return NumberStyle(Kind.CATEGORICAL)
    if lowered.is_in(list(_TRUTHS)).all():
        return NumberStyle(Kind.BOOLEAN)
    fitting = [way for way in _declared_dates(form) if not way.read(known).has_nulls()]
    # Where several declared forms fit and mean different days, the column has to say which is its own.
    if fitting and all((way.read(known) == fitting[0].read(known)).all() for way in fitting[1:]):
        return fitting[0]
    if _are_numbers(lowered if form.number == PLAIN.number else form.number.plain(lowered)):
        return NumberStyle(Kind.NUMERIC, form.number)
    if known.str.contains(_DATE).all() and not NumberStyle(Kind.DATE).read(known).has_nulls():
        return NumberStyle(Kind.DATE)
    return NumberStyle(Kind.CATEGORICAL) if form.strays is None else _mostly(known, form)


def _declared_dates(form: WrittenForm) -> list[NumberStyle]:
    dates = [date_form(text) for text in form.forms]
    return [NumberStyle(Kind.DATE if date.has_day else Kind.NUMERIC, date=date) for date in dates]


def _mostly(known: pl.Series, form: WrittenForm) -> NumberStyle:
    """Return how most texts of a column with strays are read; as categories where most are neither number nor date."""
    ways = [NumberStyle(Kind.NUMERIC, form.number), NumberStyle(Kind.DATE), *_declared_dates(form)]
    unread = {way: way.read(known).null_count() for way in ways}
    best = min(ways, key=unread.__getitem__)
    return best if 2 * unread[best] < len(known) else NumberStyle(Kind.CATEGORICAL)


def _are_numbers(lowered: pl.Series) -> bool:
    if lowered.has_nulls():
        return False
    finite = lowered.str.contains(_NUMBER)
    if not finite.any() or not (finite | lowered.str.contains(_NOT_FINITE)).all() or lowered.str.contains(_CODE).any():
        return False
    # Whole numbers too long for 64 bits are codes: as floats they would lose their last digits.
    whole = lowered.str.contains(_WHOLE)
    return not (whole.all() and lowered.cast(pl.Int64, strict=False).has_nulls())


def _numbers(plain: pl.Series, texts: pl.Series) -> pl.Series:
    whole = plain.cast(pl.Int64, strict=False)
    if whole.null_count() == texts.null_count():
        return whole
    lowered = plain.str.to_lowercase()
    numbers = lowered.str.contains(_NUMBER) | lowered.str.contains(_NOT_FINITE)
    return lowered.set(~numbers, None).cast(pl.Float64, strict=False)

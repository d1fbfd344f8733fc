"""Values written as text: which kind they are, and reading them as that kind."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from sfumato.table.distinct import private_categorical
from sfumato.table.schema import Kind

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$"
_NOT_FINITE = r"^[+-]?(inf|infinity|nan)$"
_WHOLE = r"^[+-]?[0-9]+$"
_CODE = r"^[+-]?0[0-9]"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_TRUTHS = {"true": True, "false": False}
_DECLARED_TRUTHS = {**_TRUTHS, "yes": True, "no": False, "1": True, "0": False}

EXPECTED = {
    Kind.NUMERIC: "a number",
    Kind.BOOLEAN: "true or false (or yes and no, 1 and 0)",
    Kind.DATE: "a date like 2024-12-31",
}
"""What each kind but categories must look like."""


@dataclass(frozen=True, eq=False, repr=False)
class Parsed:
    """A column of text read as one kind.

    Attributes
    ----------
    kind : Kind
    values : polars.Series
        Int64, Float64, Boolean, Date or Categorical.
    strangers : polars.Series of Boolean
        Records whose text is not of the kind, null in `values`.
    """

    kind: Kind
    values: pl.Series
    strangers: pl.Series


def parse(column: pl.Series, kind: Kind | None, missing: Collection[str], *, strip: bool) -> Parsed:
    """Read a column of text (String or Categorical) as `kind`, or as the kind that all its values agree on.

    Only the distinct texts of a Categorical are looked at, so its cost is one gather per record.

    Parameters
    ----------
    column
        The texts.
    kind
        None reads it off the values: true and false are booleans; numbers without leading zeros are numeric (codes like
        zip codes stay categories); ISO dates are dates; everything else is categorical.
    missing
        Texts that stand for a missing value, without blanks around them; the empty text always does.
    strip
        Whether blanks around a value are dropped.
    """
    if column.dtype == pl.String:
        return _parse(column, kind, missing, strip=strip)
    texts = column.unique().drop_nulls()
    parsed = _parse(texts.cast(pl.String), kind, missing, strip=strip)
    if not parsed.strangers.any():
        nobody = pl.repeat(False, len(column), dtype=pl.Boolean, eager=True)
        return Parsed(parsed.kind, _spread(parsed.values, texts, column), nobody)
    return Parsed(parsed.kind, _spread(parsed.values, texts, column), _spread(parsed.strangers, texts, column))


def clean(column: pl.Series, *, strip: bool) -> pl.Series:
    """Drop the blanks around text that is kept as it is."""
    if not strip:
        return column
    if column.dtype == pl.String:
        return column.str.strip_chars()
    texts = column.unique().drop_nulls()
    cleaned = texts.cast(pl.String).str.strip_chars()
    return column if (cleaned == texts.cast(pl.String)).all() else _spread(_categories(cleaned), texts, column)


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


def _parse(texts: pl.Series, kind: Kind | None, missing: Collection[str], *, strip: bool) -> Parsed:
    cleaned = texts.str.strip_chars() if strip else texts
    tokens = pl.Series(["", *missing], dtype=pl.String)
    # Tokens are compared without blanks, whether or not the blanks around values are dropped.
    present = texts.str.strip_chars().is_in(tokens.implode()).not_()
    cleaned = cleaned.set(~present.fill_null(False), None)
    known = cleaned.drop_nulls()
    found = kind or _kind_of(known)
    values = _read(cleaned, found)
    return Parsed(found, values, values.is_null() & cleaned.is_not_null())


def _kind_of(known: pl.Series) -> Kind:
    lowered = known.str.to_lowercase()
    if known.is_empty():
        return Kind.CATEGORICAL
    if lowered.is_in(list(_TRUTHS)).all():
        return Kind.BOOLEAN
    if _are_numbers(lowered):
        return Kind.NUMERIC
    if known.str.contains(_DATE).all() and not _read(known, Kind.DATE).has_nulls():
        return Kind.DATE
    return Kind.CATEGORICAL


def _are_numbers(lowered: pl.Series) -> bool:
    finite = lowered.str.contains(_NUMBER)
    if not finite.any() or not (finite | lowered.str.contains(_NOT_FINITE)).all() or lowered.str.contains(_CODE).any():
        return False
    # Whole numbers too long for 64 bits are codes: as floats they would lose their last digits.
    whole = lowered.str.contains(_WHOLE)
    return not (whole.all() and lowered.cast(pl.Int64, strict=False).has_nulls())


def _read(texts: pl.Series, kind: Kind) -> pl.Series:
    if kind is Kind.NUMERIC:
        whole = texts.cast(pl.Int64, strict=False)
        if whole.null_count() == texts.null_count():
            return whole
        lowered = texts.str.to_lowercase()
        numbers = lowered.str.contains(_NUMBER) | lowered.str.contains(_NOT_FINITE)
        return lowered.set(~numbers, None).cast(pl.Float64, strict=False)
    if kind is Kind.BOOLEAN:
        lowered = texts.str.to_lowercase()
        return lowered.replace_strict(_DECLARED_TRUTHS, default=None, return_dtype=pl.Boolean)
    if kind is Kind.DATE:
        return texts.str.to_date("%Y-%m-%d", strict=False)
    return _categories(texts)


def _categories(texts: pl.Series) -> pl.Series:
    return texts.cast(private_categorical())

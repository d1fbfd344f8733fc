"""What one column looks like."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cached_property

import polars as pl

from sfumato.table.distinct import texts_of
from sfumato.table.identification.names import sort_by_name
from sfumato.table.identification.patterns import LIKE_DAYS, LIKE_NAMES, LIKE_RECORDS, MANY, sample, sort_by_values
from sfumato.table.identification.sorts import Sort

LEAST_RECORDS = 50
"""Of fewer records it is not said that hardly two share a value: they hardly could."""
NEARLY_ALL = 0.75
"""Values for each record from which on a column is nearly unique: half of the records then have one of their own."""
HALF = 0.5
"""Values for each record above which sets of them hide hardly anything."""
OFTEN = 0.1
"""The same for columns that a weak sign speaks of: the name `id`, or words with capitals."""
OLD = 90
"""Ages from which on the rule asks for one group."""
LIFETIME = 40
"""Years that dates must span to be dates of birth."""


@dataclass(frozen=True)
class Look:
    """What a column looks like, without any of its values.

    Attributes
    ----------
    by_value, by_name : Sort or None
        What the pattern of its values, and its name, say that it holds.
    distinct, known : int
        Number of its values, and of the records that have one.
    """

    by_value: Sort | None
    by_name: Sort | None
    distinct: int
    known: int

    @property
    def is_nearly_unique(self) -> bool:
        """Whether hardly two records share a value."""
        return self.known >= LEAST_RECORDS and self.distinct >= NEARLY_ALL * self.known

    @property
    def is_mostly_distinct(self) -> bool:
        """Whether sets of its values would hide hardly anything."""
        return self.known >= LEAST_RECORDS and self.distinct > HALF * self.known

    @cached_property
    def sorts(self) -> tuple[Sort, ...]:
        """Everything that it looks like, the most certain first; empty if nothing is suspicious."""
        named = self.by_name if self.by_name is not Sort.AGES else None
        unique = Sort.NEARLY_UNIQUE if self.is_nearly_unique else None
        return tuple(dict.fromkeys(sort for sort in (self.by_value, named, unique) if sort is not None))

    def sentence(self) -> str:
        """Say what was found and how, in words that follow the name of the column."""
        parts = [] if self.by_value is None else [f"its values look like {self.by_value.called}"]
        if self.by_name not in (None, Sort.AGES, self.by_value):
            parts.append(f"its name means {self.by_name.called}")
        if self.is_nearly_unique:
            parts.append(f"hardly two records share a value ({self.distinct:,} values in {self.known:,} records)")
        return ", ".join(parts)


def look_at(column: pl.Series) -> Look:
    """Look at the distinct values of a column, and at its name.

    Cost O(d) for categories and O(n) for everything else: finding the distinct values. A name counts only where there
    are more values than a handful of categories has.
    """
    values = _distinct(column)
    return look_of(column.name, values, len(column) - column.null_count() - _blanks(column, values))


def look_of(name: str, values: pl.Series, known: int) -> Look:
    """Look at a column of which each value is there once, and no missing or empty one; `known` records have one."""
    by_value = None if values.dtype == pl.Boolean else _by_value(values, known)
    by_name = sort_by_name(name) if values.dtype != pl.Boolean else None
    return Look(by_value, by_name if by_name and _counts(by_name, values, known) else None, len(values), known)


def hint(name: str, look: Look) -> str | None:
    """Say what HIPAA's safe harbor asks of a column, or of free text what to do; None where it says nothing of it.

    Its name counts however few values there are, but that of ages: those below 90 may stay.
    """
    named = sort_by_name(name)
    sort = look.by_value or (look.by_name if named is Sort.AGES else named)
    return None if sort is None else f"{name}: {sort.called}; {sort.hint()}"


def _distinct(column: pl.Series) -> pl.Series:
    """Return every value once; texts as texts, and without the empty one."""
    if not isinstance(column.dtype, (pl.Categorical, pl.Enum)):
        values = column.unique().drop_nulls()
    else:
        values = texts_of(column) if isinstance(column.dtype, pl.Categorical) else column.unique().cast(pl.String)
        values = values.drop_nulls()
    return values.filter(values != "") if values.dtype == pl.String else values


def _blanks(column: pl.Series, values: pl.Series) -> int:
    if values.dtype != pl.String:
        return 0
    lengths = column.str.len_bytes() if column.dtype == pl.String else column.cat.len_bytes()
    return int((lengths == 0).sum())


def _by_value(values: pl.Series, known: int) -> Sort | None:
    if values.dtype == pl.String:
        return _of_texts(values, known)
    if values.dtype.is_integer():
        numbers = sample(values.cast(pl.String))
        return _of_dates(numbers.str.to_date("%Y%m%d", strict=False)) if LIKE_DAYS.fits(numbers) else None
    return _of_dates(values.cast(pl.Date)) if values.dtype == pl.Date or values.dtype == pl.Datetime else None


def _of_texts(values: pl.Series, known: int) -> Sort | None:
    found = sort_by_values(values)
    if found is Sort.DATES:
        return _of_years(sample(values).str.extract(r"(\d{4})").cast(pl.Int32, strict=False)) or found
    if found is None and len(values) >= OFTEN * known:
        some = sample(values)
        return next((pattern.sort for pattern in (LIKE_RECORDS, LIKE_NAMES) if pattern.fits(some)), None)
    return found


def _of_dates(days: pl.Series) -> Sort | None:
    """Tell exact dates from those that are all the first of a month."""
    if len(days) < MANY or (days.dt.day() == 1).all():
        return None
    return _of_years(days.dt.year()) or Sort.DATES


def _of_years(years: pl.Series) -> Sort | None:
    low, high = years.min(), years.max()
    if low is None or high is None:
        return None
    spans_a_lifetime = int(high) - int(low) >= LIFETIME and int(high) <= date.today().year  # type: ignore[arg-type]
    return Sort.BIRTHS if spans_a_lifetime else None


def _counts(sort: Sort, values: pl.Series, known: int) -> bool:
    """Tell whether a name is believed: there must be values enough, and of a type that suits what it says."""
    if sort in (Sort.DATES, Sort.NAMES, Sort.FREE_TEXT, Sort.PICTURES) and values.dtype.is_numeric():
        return False
    if sort is Sort.AGES:
        return values.dtype.is_numeric() and float(values.max() or 0) >= OLD  # type: ignore[arg-type]
    if sort in (Sort.CODES, Sort.DATES):
        return len(values) >= max(MANY, OFTEN * known)
    return len(values) >= MANY or 2 * len(values) > max(known, 3)

"""Ratings in long form: a row per rating, with user, issue and rating."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from sfumato.errors import InputError, SfumatoError, raise_all
from sfumato.kernels.ratings.rows import number_by_appearance
from sfumato.table.columns import ValueReading, keys_read, typed_column
from sfumato.table.distinct import Distinct, distinct_of
from sfumato.table.header import Header, raise_together
from sfumato.table.ratings.assembly import Entries
from sfumato.table.ratings.column import rating_column
from sfumato.table.schema import text_of
from sfumato.table.sources import TableSource

PARTS = ("user", "issue", "rating")

_NUMBER = re.compile(r"\s*[+-]?[0-9.]+\s*")


def read_long(
    source: TableSource,
    parts: Sequence[str | None],
    time: str | None,
    reading: ValueReading,
    header: Header,
    key_form: str | None = None,
) -> Entries:
    """Read users, issues and ratings.

    Parameters
    ----------
    source
        Where the columns come from.
    parts
        Names of the columns of users, issues and ratings; None for the first, second or third column.
    time
        Name of the column of times, or None.
    reading
        How values are read.
    header
        The names, and which of them a message may show.
    key_form
        Which spellings of a key are one user's.

    Raises
    ------
    InputError
        With missing columns, missing users or issues, and ratings that are not numbers.
    """
    names = _columns(source.names, parts, time)
    users, issues, ratings, *times = source.read(names)
    if not len(users):
        raise InputError("there are no ratings")
    errors: list[SfumatoError] = []
    user = _identified(lambda: keys_read(users, reading, key_form), "user", errors)
    issue = _identified(lambda: typed_column(issues, None, reading)[0], "issue", errors)
    rating = _rated(ratings, reading, header, errors)
    kept_times = _time(times[0], reading, errors) if times else None
    raise_together(errors)
    return _entries(user, issue, rating, kept_times)


def _columns(names: Sequence[str], parts: Sequence[str | None], time: str | None) -> list[str]:
    if len(names) < len(PARTS):
        raise InputError(
            f"the long form needs a column each for users, issues and ratings, but there are {len(names)}; check the "
            "separator, or set form='wide'"
        )
    if all(_NUMBER.fullmatch(name) for name in names):
        raise InputError("the first row holds only numbers, as a record does; if there is no header, set header=False")
    named = [part or names[place] for place, part in enumerate(parts)]
    wanted = [*named, *([] if time is None else [time])]
    raise_all(InputError, _column_problems(names, dict(zip((*PARTS, "time"), wanted, strict=False))))
    return wanted


def _column_problems(names: Sequence[str], wanted: dict[str, str]) -> list[str]:
    problems = [f"{part}: there is no column {name!r}" for part, name in wanted.items() if name not in names]
    if not problems and len(set(wanted.values())) < len(wanted):
        problems.append("one column is used twice; name different columns for user, issue and rating")
    return problems


def _identified(read: Callable[[], pl.Series], part: str, errors: list[SfumatoError]) -> Distinct | None:
    try:
        distinct = distinct_of(read())
    except SfumatoError as error:
        errors.append(error)
        return None
    if distinct.missing:
        row = int(np.argmax((distinct.rank_of == len(distinct.values))[distinct.raw])) + 1
        errors.append(InputError(f"{distinct.missing} row(s) have no {part}, first row {row}; complete or remove them"))
    return distinct


def _rated(column: pl.Series, reading: ValueReading, header: Header, errors: list[SfumatoError]) -> Distinct | None:
    try:
        return distinct_of(rating_column(column, reading, header))
    except SfumatoError as error:
        errors.append(error)
        return None


def _time(column: pl.Series, reading: ValueReading, errors: list[SfumatoError]) -> pl.Series | None:
    try:
        return column if column.dtype.is_temporal() else typed_column(column, None, reading)[0]
    except SfumatoError as error:
        errors.append(error)
        return None


def _entries(
    user: Distinct | None, issue: Distinct | None, rating: Distinct | None, times: pl.Series | None
) -> Entries:
    assert user is not None
    assert issue is not None
    assert rating is not None
    record_of = number_by_appearance(user.raw, user.rank_of, len(user.values))
    issue_of = issue.rank_of.astype(np.int32)[issue.raw]
    value_of = rating.rank_of.astype(_smallest(len(rating.values)))[rating.raw]
    values = rating.values.cast(pl.Float64).to_numpy()
    names = tuple(text_of(issue.values).to_list())
    if not rating.missing:
        return Entries(len(user.values), names, record_of, issue_of, values, value_of, None, times)
    rows = np.flatnonzero(value_of < len(values))
    return Entries(
        len(user.values),
        names,
        record_of[rows],
        issue_of[rows],
        values,
        value_of[rows],
        rows,
        None if times is None else times.gather(rows),
    )


def _smallest(highest: int) -> type[np.unsignedinteger]:
    """Return the narrowest type for places up to `highest`."""
    return np.uint16 if highest < 1 << 16 else np.uint32

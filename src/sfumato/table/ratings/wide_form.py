"""Ratings in wide form: a row per user, a column per issue, an empty cell where an issue was not rated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from sfumato.errors import InputError, SfumatoError
from sfumato.table.columns import ValueReading, keys_read
from sfumato.table.distinct import distinct_of
from sfumato.table.header import Header, raise_together
from sfumato.table.ratings.assembly import Entries
from sfumato.table.ratings.column import rating_column
from sfumato.table.ratings.sensitive import select
from sfumato.table.sources import TableSource


def read_wide(
    source: TableSource,
    user: str | None,
    issues: Sequence[str] | None,
    reading: ValueReading,
    header: Header,
    key_form: str | None = None,
) -> Entries:
    """Read one record per row.

    Parameters
    ----------
    source
        Where the columns come from.
    user
        Column of users, only checked for repetitions; None where there is none.
    issues
        Names and patterns of the columns that are issues; None for all but `user`.
    reading
        How values are read.
    header
        The names, and which of them a message may show.
    key_form
        Which spellings of a key are one user's.

    Raises
    ------
    InputError
        With missing columns, repeated users and ratings that are not numbers.
    """
    names = _issues(source.names, user, issues)
    columns = source.read([*names, *([] if user is None else [user])])
    if not len(columns[0]):
        raise InputError("there are no records")
    errors: list[SfumatoError] = []
    rated = [_rated(column, reading, header, errors) for column in columns[: len(names)]]
    if user is not None:
        _refuse_repeated(columns[-1], reading, key_form, errors)
    raise_together(errors)
    return _entries(names, rated)


def _issues(names: Sequence[str], user: str | None, issues: Sequence[str] | None) -> list[str]:
    if user is not None and user not in names:
        raise InputError(f"user: there is no column {user!r}")
    others = [name for name in names if name != user]
    chosen = others if issues is None else [others[place] for place in select(issues, others, "column")]
    if not chosen:
        raise InputError("there is no column of ratings; name them with issues")
    return chosen


def _rated(column: pl.Series, reading: ValueReading, header: Header, errors: list[SfumatoError]) -> pl.Series:
    try:
        return rating_column(column, reading, header).cast(pl.Float64)
    except SfumatoError as error:
        errors.append(error)
        return pl.Series(column.name, [], dtype=pl.Float64)


def _refuse_repeated(users: pl.Series, reading: ValueReading, key_form: str | None, errors: list[SfumatoError]) -> None:
    try:
        known = keys_read(users, reading, key_form)
    except SfumatoError as error:
        errors.append(error)
        return
    repeated = len(known.drop_nulls()) - known.drop_nulls().n_unique()
    if repeated:
        row = int((~known.is_first_distinct() & known.is_not_null()).arg_max() or 0) + 1
        errors.append(InputError(f"{repeated} row(s) belong to a user who already has one, first row {row}; keep one"))


def _entries(names: Sequence[str], rated: Sequence[pl.Series]) -> Entries:
    rows = [np.flatnonzero(column.is_not_null().to_numpy()) for column in rated]
    everything = pl.concat([column.drop_nulls().alias("rating") for column in rated])
    distinct = distinct_of(everything)
    issue_of = np.repeat(np.arange(len(names), dtype=np.int32), [len(of_issue) for of_issue in rows])
    record_of = np.concatenate(rows)
    return Entries(
        len(rated[0]),
        tuple(names),
        record_of.astype(np.int32),
        issue_of,
        distinct.values.to_numpy(),
        distinct.rank_of.astype(np.uint32)[distinct.raw],
        record_of,
    )

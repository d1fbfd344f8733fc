"""Reading ratings: a line for each rating, a line for each user, or Netflix's files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, SfumatoError, attempt, raise_all, raise_together, said_of
from sfumato.former import FormerReading, reading_of_call
from sfumato.kernels.ratings.rows import number_by_appearance, repeated_pairs, rows_of
from sfumato.kinds.ratings.ratings import (
    Ratings,
    Scale,
    SensitiveIssues,
    found_scale,
    scale_of,
    select,
    sensitive_choice,
)
from sfumato.table.columns import ValueReading, keys_read, parse_texts, typed_column
from sfumato.table.distinct import Distinct, distinct_of
from sfumato.table.header import Header, check_names
from sfumato.table.person_keys import PersonKey, as_person_key, key_columns, read_key_form
from sfumato.table.reading import label_of
from sfumato.table.schema import Kind, text_of
from sfumato.table.sources import TableSource, open_source
from sfumato.table.sources.frames import FrameSource, frame_source
from sfumato.table.sources.protocol import Reading, refuse_of_tables

# Sort single ratings, in any order, into rows.


@dataclass(frozen=True, eq=False, repr=False)
class Entries:
    """Ratings as they stand in a source. Letters: n records, m issues, z ratings, d distinct ratings."""

    records: int  # n; some may have no rating
    names: tuple[str, ...]  # of the issues, length m
    # `record_of`, `issue_of`: (z,)
    record_of: NDArray[np.int32]
    issue_of: NDArray[np.int32]
    values: NDArray[np.float64]  # (d,): the distinct ratings
    value_of: NDArray[np.integer]  # unsigned integers (z,): index into `values`
    # int64 (z,): row of the source that each rating stands in, from 0; None where rating ``i`` stands in row ``i``
    rows: NDArray[np.int64] | None = None
    times: pl.Series | None = None

    def row(self, place: int) -> int:
        """Return the row number, from 1, that a rating stands in."""
        return (place if self.rows is None else int(self.rows[place])) + 1


def assemble_ratings(entries: Entries, scale: Scale | None, choice: SensitiveIssues, label: str) -> Ratings:
    """Sort ratings into rows, put them on the scale and mark sensitive issues; all mistakes are named at once."""
    errors: list[SfumatoError] = []
    used = _fitting_scale(entries, scale, errors)
    codes = _codes(entries, used, errors)
    starts, order = rows_of(entries.record_of, entries.issue_of, entries.records, len(entries.names))
    issues = entries.issue_of[order]
    _refuse_repeated_pairs(entries, repeated_pairs(starts, issues, order), errors)
    sensitive = _sensitive(choice, entries, errors)
    raise_together(errors)
    times = None if entries.times is None else entries.times.gather(order)
    return Ratings(starts, issues, codes[order], entries.names, sensitive, used, times, label, scale is None)


def _fitting_scale(entries: Entries, scale: Scale | None, errors: list[SfumatoError]) -> Scale:
    if scale is not None:
        return scale
    try:
        if not len(entries.values):
            raise InputError("there is no rating to find the scale from; give the scale")
        return found_scale(entries.values.tolist())
    except InputError as error:
        errors.append(error)
        return Scale(0, 1)


def _codes(entries: Entries, scale: Scale, errors: list[SfumatoError]) -> NDArray[np.uint8] | NDArray[np.uint16]:
    dtype = np.uint8 if scale.size <= 256 else np.uint16
    places = scale.codes(entries.values)
    off = places < 0
    if off.any() and not errors:  # without a scale, nothing is off it
        strangers = off[entries.value_of]
        errors.append(
            InputError(
                f"{np.count_nonzero(strangers)} rating(s) are off the scale of {scale.size} ratings from {scale.low:g} "
                f"to {scale.high:g}, first in row {entries.row(int(strangers.argmax()))}; correct them, list them as "
                "missing, or give another scale"
            )
        )
    placed: NDArray[np.uint8] | NDArray[np.uint16] = np.where(off, 0, places).astype(dtype)[entries.value_of]
    return placed


def _refuse_repeated_pairs(entries: Entries, repeated: tuple[int, int], errors: list[SfumatoError]) -> None:
    count, place = repeated
    if count:
        errors.append(
            InputError(
                f"{count} rating(s) are of an issue that the same user has rated before, first in row "
                f"{entries.row(place)}; keep one of them"
            )
        )


def _sensitive(choice: SensitiveIssues, entries: Entries, errors: list[SfumatoError]) -> NDArray[np.bool_]:
    raters = np.bincount(entries.issue_of, minlength=len(entries.names)).astype(np.int64)
    try:
        return choice.choose(entries.names, raters)
    except InputError as error:
        errors.append(error)
        return np.zeros(len(entries.names), dtype=np.bool_)


# A column of ratings: numbers, and empty where nothing was rated.


def rating_column(column: pl.Series, reading: ValueReading, header: Header) -> pl.Series:
    """Return the ratings of a column, null for none; an error counts the cells without a number, and names a row."""
    if not isinstance(column.dtype, (pl.String, pl.Categorical, pl.Enum)):
        return typed_column(column, Kind.NUMERIC, reading)[0]
    texts = column.cast(pl.String) if isinstance(column.dtype, pl.Enum) else column
    parsed = parse_texts(texts, Kind.NUMERIC, reading.missing, strip=reading.strip)
    strangers = int(parsed.strangers.sum())
    if strangers:
        row = int(parsed.strangers.arg_max() or 0) + 1
        raise InputError(
            f"{header.column(column.name)} should hold ratings, but {strangers} row(s) hold no number, first in row "
            f"{row}; correct them, or list their text as missing"
        )
    return parsed.values


# Ratings in long form: a row per rating, with user, issue and rating.


PARTS = ("user", "issue", "rating")
_NUMBER = re.compile(r"\s*[+-]?[0-9.]+\s*")


def read_long(
    source: TableSource,
    parts: tuple[PersonKey, str | None, str | None],
    time: str | None,
    reading: ValueReading,
    header: Header,
    key_form: str | None = None,
) -> Entries:
    """Read users, issues and ratings, in `parts` or the first columns; several columns of users make one key."""
    names = _columns(source.names, parts, time)
    columns = source.read([name for of_part in names for name in of_part])
    users, (issues, ratings, *times) = columns[: len(names[0])], columns[len(names[0]) :]
    if not len(issues):
        raise InputError("there are no ratings")
    errors: list[SfumatoError] = []
    user = _identified(lambda: keys_read(users, reading, key_form), "user", errors)
    issue = _identified(lambda: typed_column(issues, None, reading)[0], "issue", errors)
    rating = attempt(lambda: distinct_of(rating_column(ratings, reading, header)), errors)
    kept_times = attempt(lambda: _time(times[0], reading), errors) if times else None
    raise_together(errors)
    return _long_entries(user, issue, rating, kept_times)


def _columns(
    names: Sequence[str], parts: tuple[PersonKey, str | None, str | None], time: str | None
) -> list[tuple[str, ...]]:
    """Return the columns of users, of issues, of ratings, and of times where they are asked for."""
    if len(names) < len(PARTS):
        raise InputError(
            f"the long form needs a column each for users, issues and ratings, but there are {len(names)}; check the "
            "separator, or set form='wide'"
        )
    if all(_NUMBER.fullmatch(name) for name in names):
        raise InputError("the first row holds only numbers, as a record does; if there is no header, set header=False")
    named = [key_columns(part) or (names[place],) for place, part in enumerate(parts)]
    wanted = [*named, *([] if time is None else [(time,)])]
    raise_all(InputError, _column_problems(names, dict(zip((*PARTS, "time"), wanted, strict=False))))
    return wanted


def _column_problems(names: Sequence[str], wanted: dict[str, tuple[str, ...]]) -> list[str]:
    every = [(part, name) for part, of_part in wanted.items() for name in of_part]
    problems = [f"{part}: there is no column {name!r}" for part, name in every if name not in names]
    if not problems and len({name for _, name in every}) < len(every):
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


def _time(column: pl.Series, reading: ValueReading) -> pl.Series:
    return column if column.dtype.is_temporal() else typed_column(column, None, reading)[0]


def _long_entries(
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


# Ratings in wide form: a row per user, a column per issue, an empty cell where an issue was not rated.


def read_wide(
    source: TableSource,
    user: PersonKey,
    issues: Sequence[str] | None,
    reading: ValueReading,
    header: Header,
    key_form: str | None = None,
) -> Entries:
    """Read one record per row; `user`: columns checked for repetitions; `issues`: names and patterns, or all others."""
    names = _issues(source.names, user, issues)
    columns = source.read([*names, *key_columns(user)])
    if not len(columns[0]):
        raise InputError("there are no records")
    errors: list[SfumatoError] = []
    rated = [_wide_ratings(column, reading, header, errors) for column in columns[: len(names)]]
    if user is not None:
        _refuse_repeated(columns[len(names) :], reading, key_form, errors)
    raise_together(errors)
    return _wide_entries(names, rated)


def _issues(names: Sequence[str], user: PersonKey, issues: Sequence[str] | None) -> list[str]:
    raise_all(InputError, [f"user: there is no column {name!r}" for name in key_columns(user) if name not in names])
    others = [name for name in names if name not in key_columns(user)]
    chosen = others if issues is None else [others[place] for place in select(issues, others, "column")]
    if not chosen:
        raise InputError("there is no column of ratings; name them with issues")
    return chosen


def _wide_ratings(column: pl.Series, reading: ValueReading, header: Header, errors: list[SfumatoError]) -> pl.Series:
    try:
        return rating_column(column, reading, header).cast(pl.Float64)
    except SfumatoError as error:
        errors.append(error)
        return pl.Series(column.name, [], dtype=pl.Float64)


def _refuse_repeated(
    users: Sequence[pl.Series], reading: ValueReading, key_form: str | None, errors: list[SfumatoError]
) -> None:
    try:
        known = keys_read(users, reading, key_form)
    except SfumatoError as error:
        errors.append(error)
        return
    repeated = len(known.drop_nulls()) - known.drop_nulls().n_unique()
    if repeated:
        row = int((~known.is_first_distinct() & known.is_not_null()).arg_max() or 0) + 1
        errors.append(InputError(f"{repeated} row(s) belong to a user who already has one, first row {row}; keep one"))


def _wide_entries(names: Sequence[str], rated: Sequence[pl.Series]) -> Entries:
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


# Ratings as Netflix shipped them: a line ``FILM:``, then a line ``user,rating,date`` for each of its ratings.


TIME = "time"
_FIELDS = ("user", "rating", TIME)


def netflix_source(path: object) -> FrameSource:
    """Open a file of films and ratings, plain or gzip, as ``user``, ``issue``, ``rating``, ``time``; rows are lines."""
    if not isinstance(path, (str, Path)):
        raise InputError("form 'netflix' reads a text file; give its path, or set form='long' for a frame")
    lines = _lines(Path(path))
    is_film = lines["rating"].is_null() & lines["user"].str.ends_with(":").fill_null(False)
    raise_all(InputError, _problems(lines, is_film))
    films = pl.Series("issue", lines["user"].str.strip_suffix(":")).set(~is_film, None).forward_fill()
    ratings = lines.with_columns(films).filter(~is_film)
    return frame_source(ratings.with_columns(pl.col(TIME).str.to_date("%Y-%m-%d", strict=False)))


def _lines(path: Path) -> pl.DataFrame:
    schema = dict.fromkeys(_FIELDS, pl.String)
    try:
        return pl.read_csv(path, has_header=False, schema=schema, quote_char=None, glob=False, missing_columns="insert")
    except FileNotFoundError:
        raise InputError("there is no such file; check the path") from None
    except (pl.exceptions.PolarsError, OSError):
        raise InputError("the file cannot be read as lines of user,rating,date; check that it is complete") from None


def _problems(lines: pl.DataFrame, is_film: pl.Series) -> list[str]:
    problems = []
    if not len(is_film) or not is_film[0]:
        problems.append("the first line is not a film (a number and a colon); set form='long' for a table of ratings")
    strange = lines["rating"].is_null() & ~is_film
    if strange.any():
        first = int(strange.arg_max() or 0) + 1
        problems.append(f"{strange.sum()} line(s) are neither a film nor user,rating,date, first line {first}")
    return problems


Form = Literal["long", "wide", "netflix"]
_NAMED: dict[Form, tuple[str, ...]] = {
    "long": ("user", "issue", "rating", "time"),
    "wide": ("user", "issues"),
    "netflix": ("time",),
}
"""Which columns may be named in each form."""


def read_ratings(
    source: object,
    *,
    form: Form = "long",
    user: str | Sequence[str] | None = None,
    issue: str | None = None,
    rating: str | None = None,
    time: str | None = None,
    issues: Sequence[str] | None = None,
    sensitive: object = (),
    scale: object = None,
    reading: Reading | None = None,
    key_form: str | None = None,
    **former: Unpack[FormerReading],
) -> Ratings:
    """Read ratings of issues by people.

    Parameters
    ----------
    source
        Path of a CSV file (plain or gzip) or Parquet file, or a polars, pandas or Arrow frame.
    form
        ``"long"``: a row per rating, with user, issue and rating, as MovieLens ships it. ``"wide"``: a row per user and
        a column per issue, as surveys do. ``"netflix"``: a text file with a line ``FILM:`` before the lines
        ``user,rating,date`` of each film.
    user, issue, rating
        Columns of the long form; by default the first, second and third column. In the wide form, `user` is a
        column to check for repeated users and to leave out. `user` may be a list of columns that say together who it
        is.
    time
        Column of the long form with the time of each rating (any name for Netflix' dates). If not given, times are not
        loaded.
    issues
        Columns of the wide form that are issues: names and patterns such as ``"A?"``. None takes all but `user`.
    sensitive
        Sensitive issues: a :class:`~sfumato.kinds.ratings.ratings.SensitiveIssues`, a name, or a list of names and
        patterns.
    scale
        A :class:`~sfumato.Scale`, ``(low, high)`` or ``(low, high, step)``. None finds the coarsest
        scale that holds all ratings, from the lowest to the highest given: declare it if an end of the scale may be
        unused.
    reading
        How a file is read; its missing texts stand for "not rated", such as ``"99"``.
    key_form
        Which spellings of a key are one user's, as :class:`sfumato.Schema` takes it; None asks, by an error.
    **former
        The settings of a :class:`sfumato.Reading` one by one, as in the last version.

    Returns
    -------
    Ratings
        Users are numbered by first appearance and their identifiers dropped; columns that play no part are never
        loaded. An empty rating is no rating, in either form. A user without any rating (or without any of a
        non-sensitive issue) stays, as a record that rated the empty set of issues. Issues of the long form are sorted:
        by number if all are numbers, else as text.

    Raises
    ------
    InputError
        With everything that is wrong, at once: missing columns, missing users or issues, ratings that are not numbers
        or off the scale, issues that a user rated twice, unknown sensitive issues. Columns, row numbers and names that
        the caller gave are named; values are never shown.
    PolicyError
        When `sensitive` is not a choice of issues.

    Notes
    -----
    Cost O(z + n + m) for z ratings, n users and m issues, beside the reading of the source; memory some 40 bytes a
    rating while they are sorted, 5 afterwards.
    """
    label = label_of(source)
    choice = sensitive_choice(sensitive)
    try:
        if form not in _NAMED:
            raise InputError(f"form must be one of {', '.join(_NAMED)}")
        who = None if user is None else as_person_key((user,) if isinstance(user, str) else tuple(user))
        known = scale_of(scale)
        how = reading_of_call("read_ratings", reading, former)
        refuse_of_tables("ratings", how)
        opened = netflix_source(source) if form == "netflix" else open_source(source, how.layout(), how.place())
        values = ValueReading(how.tokens(), True, opened.is_text or form == "netflix")
        given = [
            name
            for name in (*key_columns(who), issue, rating, time, *(issues or ()), *(how.columns or ()))
            if name is not None
        ]
        # Only the first row of a text may be a record.
        names = Header(opened.names, frozenset(given if opened.is_text else opened.names))
        check_names(names)
        read_key_form(key_form)
        entries = _entries(opened, form, (who, issue, rating, time), issues, values, names, key_form)
        return assemble_ratings(entries, known, choice, label)
    except SfumatoError as error:
        raise said_of(label, error) from None


def _entries(
    source: TableSource,
    form: Form,
    parts: tuple[PersonKey, str | None, str | None, str | None],
    issues: Sequence[str] | None,
    reading: ValueReading,
    header: Header,
    key_form: str | None,
) -> Entries:
    _refuse_foreign(form, dict(zip(("user", "issue", "rating", "time", "issues"), (*parts, issues), strict=True)))
    user, issue, rating, time = parts
    if form == "wide":
        return read_wide(source, user, issues, reading, header, key_form)
    if form == "netflix":
        return read_long(source, PARTS, TIME if time else None, reading, header, key_form)
    return read_long(source, (user, issue, rating), time, reading, header, key_form)


def _refuse_foreign(form: Form, named: Mapping[str, object]) -> None:
    """Refuse names of columns that only another form has."""
    foreign = [name for name, given in named.items() if given is not None and name not in _NAMED[form]]
    if foreign:
        raise InputError(
            f"the {form} form takes no {' or '.join(foreign)}; leave it out, or take another form: {', '.join(_NAMED)}"
        )

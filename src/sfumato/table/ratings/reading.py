"""Reading ratings: from a file or frame in long or wide form to sparse rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from sfumato.errors import InputError, SfumatoError
from sfumato.table.columns import ValueReading
from sfumato.table.csv_format import CsvFormat
from sfumato.table.header import Header, check_names, said_of
from sfumato.table.person_keys import read_key_form
from sfumato.table.ratings.assembly import Entries, assembled
from sfumato.table.ratings.long_form import read_long
from sfumato.table.ratings.netflix_form import PARTS, TIME, netflix_source
from sfumato.table.ratings.ratings import Ratings
from sfumato.table.ratings.scale import scale_of
from sfumato.table.ratings.sensitive import sensitive_choice
from sfumato.table.ratings.wide_form import read_wide
from sfumato.table.reading import label_of, missing_texts
from sfumato.table.sources import Place, TableSource, open_source

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
    user: str | None = None,
    issue: str | None = None,
    rating: str | None = None,
    time: str | None = None,
    issues: Sequence[str] | None = None,
    sensitive: object = (),
    scale: object = None,
    separator: str = ",",
    encoding: str = "utf-8",
    quote: str | None = '"',
    missing: str | Sequence[str] = ("",),
    header: bool = True,
    columns: Sequence[str] | None = None,
    sheet: str | None = None,
    range: str | None = None,
    codes: Sequence[str] = (),
    key_form: str | None = None,
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
        column to check for repeated users and to leave out.
    time
        Column of the long form with the time of each rating (any name for Netflix' dates). If not given, times are not
        loaded.
    issues
        Columns of the wide form that are issues: names and patterns such as ``"A?"``. None takes all but `user`.
    sensitive
        Sensitive issues: a :class:`~sfumato.table.ratings.sensitive.SensitiveIssues`, a name, or a list of names and
        patterns.
    scale
        A :class:`~sfumato.table.ratings.scale.Scale`, ``(low, high)`` or ``(low, high, step)``. None finds the coarsest
        scale that holds all ratings, from the lowest to the highest given: declare it if an end of the scale may be
        unused.
    separator, encoding, quote, header, columns, sheet, range, codes
        How a file is read, as :func:`sfumato.read_table` takes it.
    missing
        Texts that stand for "not rated", such as ``"99"``, beside the empty field.
    key_form
        Which spellings of a key are one user's, as :class:`sfumato.Schema` takes it; None asks, by an error.

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
        known = scale_of(scale)
        tokens = missing_texts(missing)
        layout = CsvFormat(separator, encoding, quote, header, columns)
        opened = (
            netflix_source(source)
            if form == "netflix"
            else open_source(source, layout, Place(sheet, range, tuple(codes)))
        )
        reading = ValueReading(tokens, True, opened.is_text or form == "netflix")
        given = [name for name in (user, issue, rating, time, *(issues or ()), *(columns or ())) if name is not None]
        # Only the first row of a text may be a record.
        names = Header(opened.names, frozenset(given if opened.is_text else opened.names))
        check_names(names)
        read_key_form(key_form)
        entries = _entries(opened, form, (user, issue, rating, time), issues, reading, names, key_form)
        return assembled(entries, known, choice, label)
    except SfumatoError as error:
        raise said_of(label, error) from None


def _entries(
    source: TableSource,
    form: Form,
    parts: tuple[str | None, str | None, str | None, str | None],
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

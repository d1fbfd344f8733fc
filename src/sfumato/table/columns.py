"""From the columns of a source to the typed columns of a table."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.numbers import counted
from sfumato.table.distinct import is_plain, private_categorical
from sfumato.table.identification import names_a_day, sort_by_name
from sfumato.table.person_keys import one_key, person_keys
from sfumato.table.schema import Attribute, Kind, text_of
from sfumato.table.written_forms import (
    A_DAY,
    BRACKETS,
    EITHER,
    EXCEL,
    MARKS,
    PLAIN,
    SEVERAL_MARKS,
    SPANS,
    UNITS,
    WHOLE,
    DateForm,
    NumberForm,
    WrittenForm,
    date_form,
    missing_words,
    plain_days,
    plain_signs,
)

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$"
_NOT_FINITE = r"^[+-]?(inf|infinity|nan)$"
_WHOLE = r"^[+-]?[0-9]+$"
_CODE = r"^[+-]?0[0-9]"
# Telephone numbers with the code of their country.
_CALL = r"^\+[0-9]{8,15}$"
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
    """How the texts of a column are read."""

    kind: Kind
    number: NumberForm = PLAIN.number
    date: DateForm | None = None  # None: ISO dates

    def read(self, texts: pl.Series) -> pl.Series:
        """Return the values; null where a text is not of the kind."""
        if self.date is not None:
            return self.date.read(texts)
        if self.kind is Kind.NUMERIC:
            if self.number != PLAIN.number:
                return _texts_as_numbers(self.number.plain(texts), texts)
            values = _texts_as_numbers(texts, texts)
            # Signs behind, brackets and digits of other scripts are looked at where something is no plain number.
            strange = values.null_count() > texts.null_count()
            if not strange:
                return values
            plain = self.number.plain(texts)
            return _texts_as_numbers(plain.zip_with(plain.is_not_null(), texts), texts)
        if self.kind is Kind.BOOLEAN:
            lowered = texts.str.to_lowercase()
            return lowered.replace_strict(_DECLARED_TRUTHS, default=None, return_dtype=pl.Boolean)
        if self.kind is Kind.DATE:
            return texts.str.to_date("%Y-%m-%d", strict=False)
        return texts.cast(private_categorical())


@dataclass(frozen=True, eq=False, repr=False)
class Parsed:
    """A column of text read as one kind."""

    way: NumberStyle
    values: pl.Series  # Int64, Float64, Boolean, Date or Categorical
    strangers: pl.Series  # records whose text is not of the kind, null in `values`
    # the texts that were read, each distinct one at least once, without those that stand for a missing value
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
    """Read a column of text as `kind`, or as the kind that all its values agree on; of categories distinct ones.

    Read off: true and false are booleans; numbers without leading zeros are numeric (zip codes stay categories); ISO
    dates, and dates of a declared form, are dates; times of one are numeric; all else is categorical. `missing`: texts
    that stand for a missing value, besides the empty one. `way`: how the texts are read, where known.
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
    nothing = pl.Series([None], dtype=pl.UInt32).new_from_index(0, span)
    by_number = nothing.scatter(numbers, pl.int_range(len(texts), dtype=pl.UInt32, eager=True))
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
    ways += [_joined(ways[1:])] if len(ways) > 2 else []
    # Of ways that fit as many, what was declared: ISO dates with years of two digits would be of the first century.
    return min([*ways[1:], ways[0]], key=lambda way: way.read(known).null_count())


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
    if len(form.forms) > 1 and not fitting:
        joined = _joined([way for way in _declared_dates(form) if way.kind is Kind.DATE])
        if joined.date is not None and not joined.read(known).has_nulls():
            return joined
    if _are_numbers(lowered if form.number == PLAIN.number else form.number.plain(lowered)):
        return NumberStyle(Kind.NUMERIC, form.number)
    if known.str.contains(_DATE).all() and not NumberStyle(Kind.DATE).read(known).has_nulls():
        return NumberStyle(Kind.DATE)
    return NumberStyle(Kind.CATEGORICAL) if form.strays is None else _mostly(known, form)


def _declared_dates(form: WrittenForm) -> list[NumberStyle]:
    dates = [date_form(text) for text in form.forms]
    return [NumberStyle(Kind.DATE if date.has_day else Kind.NUMERIC, date=date) for date in dates]


def _joined(ways: Sequence[NumberStyle]) -> NumberStyle:
    """Return the way that reads each text in the first of several forms of dates that fits it."""
    dates = [way.date for way in ways if way.date is not None]
    return NumberStyle(Kind.DATE) if not dates else replace(ways[0], date=replace(dates[0], others=tuple(dates[1:])))


def _mostly(known: pl.Series, form: WrittenForm) -> NumberStyle:
    """Return how most texts of a column with strays are read; as categories where most are neither number nor date."""
    found = strays(known)
    if found is not None and form == replace(PLAIN, strays=form.strays):
        return found.way
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
    if not lowered.str.contains(_WHOLE).all():
        return True
    return not (lowered.cast(pl.Int64, strict=False).has_nulls() or lowered.str.contains(_CALL).all())


def _texts_as_numbers(plain: pl.Series, texts: pl.Series) -> pl.Series:
    whole = plain.cast(pl.Int64, strict=False)
    if whole.null_count() == texts.null_count():
        return whole
    lowered = plain.str.to_lowercase()
    numbers = lowered.str.contains(_NUMBER) | lowered.str.contains(_NOT_FINITE)
    return lowered.set(~numbers, None).cast(pl.Float64, strict=False)


# What a steward is asked about columns of text before anything is published: which kind, and how it is written.


# Text that is meant as numbers or dates: in which forms all of it reads. Nothing is guessed.


_FIRST = 8
"""Texts of which a form of dates must fit one before its parts are read."""
_MOST_STRANGE = 0.2
"""Share of the distinct texts that may be no number or date where all others are."""
_FEW_STRANGE = 12
"""And how many distinct ones, at most."""
_FEWEST_ALIKE = 5
"""Distinct numbers or dates that a column has before a few other texts count as strays."""

_NUMBER_LIKE = (
    r"^[^0-9]{0,12}[0-9][0-9.,'’ʼ´_\s\u00a0\u202f\u2009]*"
    r"(?:[eEdD][+\-]?[0-9]+)?(?:[^0-9]{0,16}|[^0-9]{1,8}[23]|\s*[x×*]? ?10\^[0-9]+[^0-9]{1,8})$"
)
_WRITTEN = r"[0-9] [13]/[24]$|[0-9.,]\s*-+(\s|$)|[0-9][dD][+-]?[0-9]|[x*]\s?10|^\(|^[+-]\s|[^\x00-\x7f]"
"""Signs behind a number or apart from it, brackets, and digits and signs of other scripts."""
_DATE_LIKE = (
    r"^[0-9]{1,4}[./\-, _].*[0-9]|^-?[0-9]+:[0-9]{2}|[0-9]\p{L}{3}[0-9]|^[0-9]{1,4}[^0-9]+[0-9]|[년年月]"
    r"|^[0-9]{1,2}\p{L}+ |^/date\(|^\p{L}{2,}[., \-/].*[0-9]{4}|^[\[\"'][0-9].*[0-9][\]\"']$|^[0-9]{8}[ T]|^p[0-9t]"
    r"|^q[1-4] |^\p{L}{2,}, ?[0-9]{1,2}-|^\*\s|^«|^\p{L}{3,}[., ]+[0-9]{1,2},? +['’]?[0-9]{2}$|^[0-9]+ ?\p{L}"
    r"|^\p{L}{1,2}[0-9]+\."
)
_GROUPED = r"^[+\-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+$"
_UNGROUPED = r"^[+\-]?[0-9]{1,3}$"

_IN_DIGITS = ("dd.mm.yyyy", "mm.dd.yyyy", "yyyy.mm.dd", "dd.mm.yy", "mm.dd.yy")
_DAYS = (
    *(form.replace(".", mark) for mark in "./- " for form in _IN_DIGITS),
    *("yy/mm/dd", "yy-mm-dd", "mon dd, yy", "mon dd yy"),
    *(f"dd{mark}mon{mark}{year}" for mark in " -/." for year in ("yyyy", "yy")),
    *(form for mark in "-/." for form in (f"yyyy{mark}mon{mark}dd", f"mon{mark}dd{mark}yyyy")),
    *("dd. mon yyyy", "mon dd, yyyy", "mon dd yyyy", "ddmonyyyy", "yyyymmdd", "yyyy. mon dd", "yyyy mon dd"),
)
_CLOCKS = ("hh:mm", "hh:mm:ss", "hh:mm am", "hh:mm:ss am", "hh:mmz", "hh:mm:ssz")
_MONTHS = ("yyyy-mm", "mm/yyyy", "mm.yyyy", "mm-yyyy", "yyyy/mm", "mon yyyy", "mon-yyyy", "mon-yy", "yyyy mon")
_DATES = (*_DAYS, *(f"{day} {clock}" for day in _DAYS for clock in _CLOCKS), *_CLOCKS[:4], *_MONTHS, "yyyy-ddd")
# Forms that are tried where the name of a column says that it holds days.
_SHORT_MONTHS = ("mm.yy", "mm/yy", "mm-yy")
_TURNED = ("yyyy-dd-mm", "yyyy/dd/mm", "yyyy.dd.mm")
"""Forms that are tried where no other one fits."""
_LAST_YEAR = 2300
"""Later years are of another era, such as that of Buddha."""


@dataclass(frozen=True)
class Proposal:
    """What may be declared of a column."""

    kind: Kind
    form: WrittenForm
    sure: bool = True  # whether nothing else can be meant

    @property
    def way(self) -> NumberStyle:
        """How values are read if it is declared."""
        return NumberStyle(self.kind, self.form.number, date_form(self.form.forms[0]) if self.form.forms else None)


_ISO = Proposal(Kind.DATE, replace(PLAIN, dates="yyyy-mm-dd"))


def proposals(known: pl.Series, share: float = 1.0) -> list[Proposal]:
    """Find all forms in which every text, or a `share` of the distinct ones, reads as a number, a date or a time."""
    if known.is_empty():
        return []
    sample = plain_signs(known.head(_SAMPLE))
    found: list[Proposal] = []
    if _fits(sample.str.contains(_NUMBER_LIKE), share):
        found += _numbers(known, sample, share)
    if _fits(sample.str.contains(_DATE_LIKE), share):
        times = [*_dates(known, sample, share)]
        # A number beside a word for a clock is one only where no clock shows it.
        found = [one for one in found if not times or one.form.unit not in _CLOCK_WORDS] + times
        found += [] if found else _dates(known, sample, share, _TURNED)
        found += [] if found else _spans(known, sample, share)
    return found


def grouped_thousands(known: pl.Series) -> bool:
    """Tell whether plain numbers such as 1.234 may as well be thousands: each point has groups of three digits."""
    if not _may_be_grouped(known.head(_SAMPLE)):
        return False
    return _may_be_grouped(known) and bool(known.str.contains(_GROUPED).any())


def strays(known: pl.Series) -> Proposal | None:
    """Find the form of a column in which all but a few texts are numbers or dates; None where there is none, or two."""
    if len(known) <= _FEWEST_ALIKE:
        return None
    share, sample = 1 - _MOST_STRANGE, known.head(_SAMPLE)
    usual = [Proposal(Kind.NUMERIC, PLAIN), Proposal(Kind.DATE, PLAIN)]
    likely = [proposal for proposal in usual if _fits(proposal.way.read(sample).is_not_null(), share)]
    likely += proposals(known, share)
    distinct = known.unique() if likely else known
    found, past = [], list[pl.Series]()
    for proposal in likely:
        read = proposal.way.read(distinct)
        strange = read.null_count()
        if any(read.equals(other) for other in past):
            continue
        past.append(read)
        if 0 < strange <= _FEW_STRANGE and len(distinct) - strange >= _FEWEST_ALIKE:
            found.append((strange, proposal))
    fewest = min((strange for strange, _ in found), default=0)
    best = [proposal for strange, proposal in found if strange == fewest]
    return best[0] if len(best) == 1 and fewest <= _MOST_STRANGE * len(distinct) else None


def _may_be_grouped(texts: pl.Series) -> bool:
    return bool((texts.str.contains(_GROUPED) | texts.str.contains(_UNGROUPED)).all())


def _fits(fitting: pl.Series, share: float) -> bool:
    return bool(fitting.all()) if share == 1.0 else float(fitting.mean() or 0.0) >= share  # type: ignore[arg-type]


def _numbers(texts: pl.Series, sample: pl.Series, share: float) -> Iterator[Proposal]:
    known = plain_signs(texts)
    unit, is_before = _unit(sample, share)
    unit = unit or _marks_of_one_unit(sample)
    marks = [mark for mark in MARKS if known.str.contains(MARKS[mark]).any()]
    past = set()
    # Where points part thousands, a comma would begin a fraction, whether or not there is one.
    for decimal, thousands in product([".", *([","] if {",", "."} & {*marks} else [])], [None, *marks]):
        if decimal == thousands:
            continue
        form = WrittenForm(decimal, thousands, unit)
        if not _reads(sample, form, share) or not _reads(known, form, share):
            continue
        used = _used(known, form)
        fraction = used.decimal is not None or known.str.contains(r"[0-9][.][0-9]").any()
        plain_unit = unit is None or unit in UNITS or (unit in SEVERAL_MARKS and unit not in _NOT_SURE)
        sure = (plain_unit or (unit not in _NOT_SURE and bool(fraction) and unit not in _CLOCK_WORDS)) and not (
            _may_be_grouped_codes(known, used, bool(fraction)) or known.str.contains(r"^\(.*\)$|_").all()
        )
        is_about = unit in SEVERAL_MARKS or unit in SEVERAL_MARKS[_NOT_EXACT[0]]
        if not sure and not is_about and (is_before or known.n_unique() < _FEWEST_CODES):
            continue
        is_written = used.is_numeric or texts.str.contains(_WRITTEN).any()
        if is_written and used not in past:
            past.add(used)
            yield Proposal(Kind.NUMERIC, used, sure)
    either = WrittenForm(EITHER, None, unit)
    both = {",", "."} <= {*marks} and known.n_unique() >= _FEWEST_CODES and share == 1.0
    if both and not past and all(_reads(each, either, 1.0) for each in (sample, known)):
        yield Proposal(Kind.NUMERIC, either, not known.str.contains(r"[.,][0-9]{3}(?:[^0-9]|$)").any())


def _marks_of_one_unit(sample: pl.Series) -> str | None:
    """Return the unit that is written in several ways, or beside some numbers alone; None where there is none."""
    parts = sample.str.extract_groups(r"^([^0-9+\-]*?)\s*[+\-]?[.,]?[0-9](?:.*[0-9])?\s*([^0-9]*)$").struct.unnest()
    found = {*parts.select(pl.concat_str(pl.nth(0), pl.nth(1))).to_series().unique()}
    return next(
        (unit for unit, marks in SEVERAL_MARKS.items() if len(found) > 1 and found <= {*marks, ""}
         and (len(found) > 2 or unit in _BESIDE_SOME or "" not in found) and ("" in found or unit != "*/†")), None,
    )  # fmt: skip


_BESIDE_SOME = ("ca./~", "*/†", "cr/dr", "$/usd", "€/eur", "£/gbp")
"""Units that one mark beside some of the numbers tells."""
_NOT_EXACT, _SIDES = ("ca./~", "*/†"), ("cr/dr", "h/s", "c/d")
_NOT_SURE = (*_NOT_EXACT, *_SIDES)


_CLOCK_WORDS = ("uhr", "am", "pm", "a.m.", "p.m.", "o'clock")
_LONG_CODE_IN_GROUPS = 9


def _may_be_grouped_codes(known: pl.Series, form: WrittenForm, fraction: bool) -> bool:
    """Tell whether whole numbers in groups may be codes, as telephone numbers are: all are long, and of one length."""
    if form.thousands is None or fraction:
        return False
    digits = known.str.replace_all(r"[^0-9]", "").str.len_bytes()
    return bool(digits.min() == digits.max() and (digits >= _LONG_CODE_IN_GROUPS).all())


_BESIDE = (
    r"[0-9.,][\s\u00a0\u202f]*([^0-9.,\s][^0-9]*|[^0-9.,\sed][^0-9]{0,8}[23]|(?:[x×*] ?)?10\^[0-9]+[^0-9]{1,8})$",
    r"^([^0-9+\-.,]*?[^0-9+\-,\s])[\s\u00a0\u202f]*[+\-]?[.,]?[0-9]",
)
"""What stands behind and before a number."""
_SIGNS = ((WHOLE, "$1"), (BRACKETS, "$1$2"), (r"(.*[0-9.,][^-]*?)\s*-\s*$", "$1"), (r"^[+-]\s*", ""))


def _unit(sample: pl.Series, share: float) -> tuple[str | None, bool]:
    """Return what stands beside the numbers, in all or most texts, and whether before them."""
    bare = sample
    for pattern, plain in _SIGNS:
        bare = bare.str.replace(pattern, plain)
    for place, pattern in enumerate(_BESIDE):
        # Whatever the column is called, "count" too.
        counts = bare.str.extract(pattern).drop_nulls().alias("unit").value_counts(sort=True)
        if len(counts) and counts["count"][0] >= share * len(sample):
            unit = str(counts.row(0)[0])
            if "\n" in unit or "\r" in unit:
                continue
            # Letters without a blank before the digits are a part of a code.
            if not (place and unit.isalpha() and unit not in UNITS and bare.str.contains("[a-z][0-9]").any()):
                return unit, bool(place)
    return None, False


_OF_TIME = {
    word: unit
    for unit, words in (
        ("y", "yr yrs year years jahr jahre an ans año años anno anni"),
        ("mo", "mos month months monat monate mois mes meses mese mesi"),
        ("wk", "w wks week weeks woche wochen semaine semaines semana semanas"),
        ("d", "day days tag tage jour jours día días dia dias giorno giorni"),
        ("h", "hour hours std stunde stunden heure heures hora horas ora ore"),
        ("min", "mins minute minutes minuten minuto minutos"),
    )
    for word in (unit, *words.split())
}
"""Words for one unit of time."""


def has_two_marks(known: pl.Series) -> bool:
    """Tell whether fractions begin with a point in some numbers of a column and with a comma in others."""
    sample = plain_signs(known.head(_SAMPLE))
    if sample.n_unique() < _FEWEST_CODES or not sample.str.contains(r"^[+\-]?[0-9]+(?:[.,][0-9]+)*$").all():
        return False
    return all(sample.str.contains(rf"{mark}[0-9]+$").any() for mark in (r"\.", ","))


def has_several_units(known: pl.Series) -> int:
    """Count the units of a column of numbers, where they are two or more, some perhaps without one; else zero."""
    sample = plain_signs(known.head(_SAMPLE))
    parts = sample.str.extract_groups(
        r"^((?:[^0-9+\-.,]{1,4}?\.?)?)\s*([+\-]?[0-9][0-9.,' ]*?)\s*([^0-9.,\s][^0-9]{0,9})?$"
    ).struct.unnest()
    if parts.to_series(1).has_nulls() or parts.to_series(1).n_unique() < _FEWEST_CODES:
        return 0
    # A letter at once before the digits is a part of a code, as of diagnoses.
    if sample.str.contains("^[a-z][0-9]").all():
        return 0
    units = parts.select(pl.concat_str(pl.nth(0).fill_null(""), pl.nth(2).fill_null(""))).to_series().replace(_OF_TIME)
    sure = units.is_in([*UNITS, *_OF_TIME.values(), ""]).all() or parts.to_series(1).str.contains(r"[.,][0-9]").all()
    count = units.n_unique()
    return count if 2 <= count <= _FEWEST_ALIKE and sure else 0


def _reads(texts: pl.Series, form: WrittenForm, share: float) -> bool:
    plain = form.number.plain(texts)
    if share == 1.0:
        return not plain.has_nulls() and way_of(plain, PLAIN).kind is Kind.NUMERIC
    return _fits(plain.is_not_null(), share)


def _used(known: pl.Series, form: WrittenForm) -> WrittenForm:
    """Leave out what no value uses: a separator that never occurs need not be declared."""
    plain = form.number.plain(known)
    has_fraction = plain.str.contains(".", literal=True).any()
    ungrouped = WrittenForm(form.decimal, None, form.unit).number.plain(known)
    is_grouped = (ungrouped.is_null() & plain.is_not_null()).any()
    # Where thousands stand between blanks or apostrophes, a point is what it always is.
    needs_decimal = has_fraction and (form.decimal == "," or (is_grouped and form.thousands == ","))
    return WrittenForm(form.decimal if needs_decimal else None, form.thousands if is_grouped else None, form.unit)


def _dates(known: pl.Series, sample: pl.Series, share: float, forms: Sequence[str] = _DATES) -> Iterator[Proposal]:
    first, past = plain_days(sample.head(_FIRST)).to_list(), list[pl.Series]()
    for form in forms:
        date = date_form(form)
        if not any(date.fits(text) for text in first):
            continue
        if not all(_fits(date.read(texts).is_not_null(), share) for texts in (sample, known)):
            continue
        kind, read = Kind.DATE if date.has_day else Kind.NUMERIC, date.read(known)
        if any(read.equals(other) for other in past) or (form in _MONTHS and known.n_unique() < _FEWEST_CODES):
            continue
        past.append(read)
        late = date.has_day and _is_late(read)
        centuries = ("19", "20") if "<short>" in date.pattern else ()
        each_century = [form.replace("yy", f"{century}yy") for century in centuries]
        usual = date.is_whole and form not in ("yyyymmdd", "yyyy-ddd")
        sure = usual and not late and not (date.has_day and _is_early(read))
        era = form.replace("yyyy", "bbbb")
        if late and known.str.contains(r"\p{Thai}").all():
            yield Proposal(kind, WrittenForm(dates=era))
            continue
        for each in (*each_century, form, *([era] if late else [])):
            yield Proposal(kind, WrittenForm(dates=each), sure)


def _is_early(days: pl.Series) -> bool:
    """Tell whether a day is of a year in which nobody of a table lived; what looks like a day may be a number."""
    return bool((days.dt.year() < _FIRST_DAY.year).any())


def _is_of_another_era(days: pl.Series) -> bool:
    """Tell whether all years are such as people live in by the calendars of Islam and of Persia."""
    years = days.drop_nulls().dt.year()
    return len(years) > 0 and bool(years.is_between(1290, 1500).all())


def _is_late(days: pl.Series) -> bool:
    return bool((days.dt.year() > _LAST_YEAR).any())


def _spans(known: pl.Series, sample: pl.Series, share: float) -> Iterator[Proposal]:
    for form in SPANS:
        fits = all(_fits(date_form(form).read(texts).is_not_null(), share) for texts in (sample, known))
        if fits and (form != "duration" or known.str.contains("(?i)^p|[0-9][^0-9]+[0-9]").any()):
            # Letters behind numbers may be debit and credit, as S and H are in German.
            letters = known.str.to_lowercase().str.replace_all(r"[^a-z]", "").unique().to_list()
            if sorted(letters) != ["h", "s"]:
                yield Proposal(Kind.NUMERIC, WrittenForm(dates=form))


_FEWEST_CODES = 10
"""Distinct numbers of one length that a column has before they may be codes."""
_LONG_CODE = 5
"""Digits from which on numbers of one length are told of, whatever the name of the column."""
_SHORT_CODE = 3
_CODE_NAME = re.compile(
    r"zip|plz|postcode|postleit|postnr|postnummer|insee"
    r"|(^|[^a-z])(post|postal|cap|codes?|tract|fips|icd|ags|nr|no|id)([^a-z]|$)",
    re.IGNORECASE,
)
"""Names of columns whose numbers are codes."""
_DIGITS = r"^[0-9]+$"
_SAMPLE = 200
_DIGITS_OF_DAYS = {7: "yyyyddd", 8: "yyyymmdd", 14: "yyyy-mm-dd hh:mm:ss"}
_FIRST_DAY, _LAST_DAY = date(1850, 1, 1), date(2100, 1, 1)


def question_of_text(
    name: str, parsed: Parsed, general: WrittenForm, strangers: Callable[[NumberStyle], Strangers]
) -> InputError | Proposal | None:
    """Say how a column without a kind is read, or ask where several ways are possible; `strangers`: who fits none."""
    if parsed.kind is Kind.NUMERIC:
        is_plain = parsed.way == NumberStyle(Kind.NUMERIC) and general.decimal is None
        if is_plain and grouped_thousands(parsed.known):
            return _thousands(name)
        if is_plain and _may_be_codes_with_e(parsed.known):
            return _about_codes(name, "whole numbers with an e between their digits")
        return None if parsed.way.date is not None else question_of_day_counts(name, parsed.values)
    if parsed.kind is Kind.DATE and parsed.way == NumberStyle(Kind.DATE) and _is_late(parsed.values.drop_nulls()):
        return ask(name, [Proposal(Kind.DATE, WrittenForm(dates=form), False) for form in ("bbbb-mm-dd", "yyyy-mm-dd")])
    if parsed.kind is Kind.DATE and parsed.way == NumberStyle(Kind.DATE) and _is_of_another_era(parsed.values):
        return ask(name, [Proposal(Kind.DATE, WrittenForm(dates="yyyy-mm-dd"), False)])
    if parsed.kind is not Kind.CATEGORICAL or parsed.known.is_empty():
        return None
    if parsed.known.head(_SAMPLE).str.contains(_DIGITS).all() and parsed.known.str.contains(_DIGITS).all():
        if packed := packed_days(name, parsed.known):
            return packed
        has_zeros = parsed.known.str.contains("^0[0-9]").any()
        return _about_zeros(name) if has_zeros and parsed.known.str.len_bytes().n_unique() > 1 else None
    if not names_a_day(name) and parsed.known.str.contains(_PERIODS).all():
        return None
    if found := proposals(parsed.known):
        if found[0].kind is Kind.NUMERIC and (counts := question_of_day_counts(name, found[0].way.read(parsed.known))):
            return counts
        return found[0] if len(found) == 1 and found[0].sure else ask(name, found)
    if mixed := question_among_days(name, parsed.known):
        return mixed
    if sums := _sums_of_groups(parsed.known):
        what = f"{counted(sums, 'label')} such as rows have that add up a group; delete these rows"
        return _about_text(name, what)
    if names_a_day(name) and (months := [*_dates(parsed.known, parsed.known.head(_SAMPLE), 1.0, _SHORT_MONTHS)]):
        return ask(name, months)
    # Codes of places may have a letter here and there, as those of Corsica do.
    is_code = bool(_CODE_NAME.search(name)) and parsed.known.str.len_chars().n_unique() == 1
    stray = None if is_code else strays(parsed.known)
    if stray is not None:
        strange = parsed.known.filter(stray.way.read(parsed.known).is_null())
        return stray if _says_nothing(strange) else _about_strays(name, stray, strangers(stray.way))
    several = has_several_units(parsed.known)
    if several:
        units = f"numbers with several units ({several} different ones); write all in one unit"
        return _about_text(name, units)
    if has_two_marks(parsed.known):
        marks = "numbers whose fractions begin with a point in some and a comma in others; write all alike"
        return _about_text(name, marks)
    if _are_days_of_another_language(parsed.known):
        words = "a year, a number up to 31 and a word in each record, as days in a language have that is not known"
        return _about_text(name, f"{words}; write them as 2024-12-31")
    return _about_forms(name, parsed.known)


_SUM = (
    r"(?i)^(?:(?:sub)?total|zwischensumme|summe|ergebnis|sous-total|somme|suma|totale?)\s*:?\s+|"
    r"\s+(?:(?:sub)?total|summe|gesamt|ergebnis|totale?|итог|összesen|toplam[ıi]?|yhteensä)$"
)


def _sums_of_groups(known: pl.Series) -> int:
    """Count the labels that are another label beside a word for a sum, as spreadsheets write below groups."""
    if not known.head(_SAMPLE).str.contains(_SUM).any():
        return 0
    labels = known.unique().cast(pl.String)
    sums = labels.filter(labels.str.contains(_SUM))
    found = int(sums.str.replace(_SUM, "").is_in(labels.implode()).sum())
    return found if found >= _FEWEST_SUMS else 0


_FEWEST_SUMS = 2


def _may_be_codes_with_e(known: pl.Series) -> bool:
    """Tell whether numbers are whole, and some have an e with no sign, as programs seldom write powers of ten."""
    some = bool(known.str.contains(r"(?i)^[0-9]+e[0-9]").any())
    return some and bool(known.str.contains(r"(?i)^[0-9]+(?:e[0-9]+)?$").all())


# Weeks, quarters and half-years, which are labels of their own unless a column is named as days are.
_PERIODS = r"(?i)^(?:\d{4}-?w\d{2}|\d{4}[- ]?[qhs][1-4]|q[1-4][ /\-]\d{4}|[1-4]\.? ?[a-z]+ \d{4})$"
_NO_VALUE = ("null", "(null)", "\\n")
"""What programs write, among numbers or dates, where there is no value, beside the words that people use."""


def _says_nothing(texts: pl.Series) -> bool:
    """Tell whether texts among numbers or dates can be nothing but words for a missing value."""
    plain = texts.str.normalize("NFKC").str.strip_chars().str.to_lowercase().str.replace_all(r"\s+", " ")
    return bool(plain.is_in([*missing_words(sure=True), *_NO_VALUE]).all())


def _are_days_of_another_language(known: pl.Series) -> bool:
    """Tell whether each text has a year, a day of a month and words, of which there are as many as months, or fewer."""
    if len(known) > _SAMPLE and not _are_days_of_another_language(known.head(_SAMPLE)):
        return False
    texts = plain_days(known)
    numbers = texts.str.extract_all("[0-9]+")
    if not (numbers.list.len() == 2).all() or known.n_unique() < _FEWEST_CODES:
        return False
    first, second = (numbers.list.get(place).cast(pl.Int64, strict=False) for place in (0, 1))
    years, days = (first, second) if first.is_between(1850, 2100).all() else (second, first)
    words = texts.str.replace_all(r"[^\p{L}\p{M}]+", " ").str.strip_chars()
    return bool(
        years.is_between(1850, 2100).all() and days.is_between(1, 31).all() and days.n_unique() >= _FEWEST_ALIKE
        and (words.str.len_chars() > 0).all() and 3 <= words.n_unique() <= 12
    )  # fmt: skip


# Days of 1927 to 2064 as spreadsheets count them.
_COUNT = r"^[1-5][0-9]{4}(\.[0-9]+)?$"


def question_among_days(name: str, known: pl.Series) -> InputError | None:
    """Ask about days of which a spreadsheet has counted some."""
    return _about_forms(name, known) if known.str.contains(_COUNT).any() else None


def _about_forms(name: str, known: pl.Series) -> InputError | None:
    """Ask about a column of days that are written in two or three forms, each of which reads in one way."""
    counts_days = known.str.contains(_COUNT)
    usual, rest, forms = NumberStyle(Kind.DATE), known.filter(~counts_days), list[str]()
    while len(rest) and len(forms) < 3:
        if usual.read(rest.head(1)).is_not_null().all():
            form, way = "yyyy-mm-dd", usual
        else:
            read = [one for one in proposals(rest.head(1)) if one.kind is Kind.DATE and one.form.forms]
            counts = [int(one.way.read(rest).is_not_null().sum()) for one in read]
            if not counts or counts.count(max(counts)) > 1:
                return None
            best = read[counts.index(max(counts))]
            form, way = best.form.forms[0], best.way
        forms.append(form)
        rest = rest.filter(way.read(rest).is_null())
    forms += [EXCEL] if forms and counts_days.any() else []
    if len(rest) or len(known) < _FEWEST_ALIKE or len(forms) < 2:
        return None
    counted_words = " (excel: days counted, which a spreadsheet may have taken for months)" if EXCEL in forms else ""
    return question(
        name,
        set_word("dates", json.dumps(forms), name),
        f"every value of column {name!r} reads as a date, in {len(forms)} forms{counted_words}; declare them, in this "
        "order: "
        f"{set_word('dates', json.dumps(forms), name)}; or read it as text: {_as_text_option(name)}",
    )


def question_of_codes(name: str, known: pl.Series) -> InputError | Proposal | None:
    """Read whole numbers of one length as codes where the name says so; ask about long ones, and about days."""
    if packed := packed_days(name, known):
        return packed
    length = digits_each(known)
    if length is None:
        return None
    if length in _DIGITS_OF_DAYS and _read_as_days(known, _DIGITS_OF_DAYS[length]):
        dates = set_word("dates", _DIGITS_OF_DAYS[length], name)
        ways = f"dates ({dates}), codes ({_as_text_option(name)}) or numbers ({set_word('kind', 'numeric', name)})"
        what = f"column {name!r} holds numbers of {length} digits that all read as dates"
        return question(name, dates, f"{what}; say what they are: {ways}")
    if length >= _LONGEST_QUANTITY and (counts := _question_of_counts(name, known.cast(pl.Int64, strict=False))):
        return counts
    if length < _LONGEST_QUANTITY:
        return Proposal(Kind.CATEGORICAL, PLAIN) if _CODE_NAME.search(name) else None
    return _about_codes(name, f"whole numbers of {length} digits each")


_LONGEST_QUANTITY = 12
"""Digits from which on numbers that all have as many are hardly quantities."""


def _about_codes(name: str, what: str) -> InputError:
    return question(
        name,
        _as_text_option(name),
        f"column {name!r} holds {what}; say what they are: codes, as zip codes are ({_as_text_option(name)}), or "
        f"numbers, published as ranges ({set_word('kind', 'numeric', name)}); in a policy kind = "
        '"categorical" or "numeric"',
    )


def remark_on_codes(name: str, known: pl.Series) -> str | None:
    """Tell of whole numbers of one length, five digits or more, that were read as numbers whatever their name."""
    length = digits_each(known)
    if length is None or length < _LONG_CODE:
        return None
    return (
        f"Column {name!r}: whole numbers of {length} digits each were read as numbers. If they are codes, declare "
        f"that: {_as_text_option(name)}."
    )


def digits_each(known: pl.Series) -> int | None:
    """Return the length, three or more, of whole numbers that all have it, if there are ten of them at least."""
    if (_one_length(known.head(_SAMPLE)) or 0) < _SHORT_CODE:
        return None
    length = _one_length(known)
    return None if length is None or known.n_unique() < _FEWEST_CODES else length


_PACKED = {6: ("yymmdd", "ddmmyy", "mmddyy"), 8: ("ddmmyyyy", "mmddyyyy")}
"""Forms of days without a sign between, by their digits; ``yyyymmdd`` is asked about beside codes."""


def packed_days(name: str, known: pl.Series) -> InputError | None:
    """Ask about digits that all read as days in a form that nobody would take for granted."""
    length = digits_each(known)
    if length is None and names_a_day(name) and known.n_unique() >= _FEWEST_CODES:
        lengths = known.str.len_bytes()
        length = next((each for each in _PACKED if lengths.is_in([each - 1, each]).all()), None)
    forms = [form for form in _PACKED.get(length or 0, ()) if _read_as_days(known, form)]
    if not forms or (length in _DIGITS_OF_DAYS and _read_as_days(known, _DIGITS_OF_DAYS[length or 0])):
        return None
    found = [set_word("dates", form, name) for form in forms]
    numbers = f"{set_word('kind', 'numeric', name)}"
    return question(
        name,
        found[0],
        f"column {name!r} holds {length} digits that all read as days; say what they are: days ({' or '.join(found)}), "
        f"codes ({_as_text_option(name)}) or numbers ({numbers})",
    )


_COUNTS_SINCE = (EXCEL, "days since 1960-01-01", "days since 1970-01-01")
"""How spreadsheets, SAS and Stata, and R and Python count days."""
_FIRST_COUNT, _LAST_COUNT = 2_200, 73_050
"""Counts of a spreadsheet from 1906 on, behind all years, to the year 2100."""
_USUAL_COUNTS = 10_000, 60_000
_LONGEST_STAY = 7_305
"""Days that dates may span, twenty years, for numbers beside them to be taken for such days."""


def question_of_day_counts(name: str, numbers: pl.Series) -> InputError | None:
    """Ask about numbers that may count days, in a column named as days are."""
    return _question_of_counts(name, numbers) if names_a_day(name) else None


def _question_of_counts(name: str, numbers: pl.Series) -> InputError | None:
    known = numbers.drop_nulls()
    # Since 1970 as computers count, or since 1960 as SAS and Stata do.
    for unit, low in _COUNTS_OF_TIME.items():
        # People who were born before 1970 have counts below zero.
        is_near = float(known.abs().median() or 0) >= low / 10  # type: ignore[arg-type]
        if known.n_unique() >= _FEWEST_COUNTS and known.is_between(-3 * low, 4 * low).all() and is_near:
            years = (1970, 1960) if unit in _BEFORE_MICROSECONDS else (1970,)
            return _about_counts(name, [f"{unit} since {year}-01-01" for year in years])
    if known.n_unique() >= _FEWEST_COUNTS and known.is_between(*_JULIAN).all():
        return _about_codes(name, "numbers that may be Julian days (write days as 2024-12-31)")
    if known.n_unique() >= _FEWEST_CODES and _may_count_before(known):
        return _about_counts(name, _COUNTS_SINCE[1:])
    return _about_day_counts(name, numbers) if _may_count_days(numbers) else None


_COUNTS_OF_TIME = {unit: a_day // 86_400 * 10**9 for unit, a_day in A_DAY.items() if unit != "days"}
"""What computers count the time in, and the count of a day in 2001."""
_BEFORE_MICROSECONDS = ("seconds", "milliseconds")
_JULIAN = 2_396_000, 2_490_000  # days of 1847 to 2105


def _may_count_before(known: pl.Series) -> bool:
    """Tell whether whole numbers, some of them below zero, may be days since 1960 or 1970, from 1850 on."""
    is_near = known.is_between(-43_800, 25_600) & (known == known.round())
    return bool(is_near.all() and (known < 0).any() and (known.abs() > 366).any())


def question_beside_days(name: str, numbers: pl.Series, days: Sequence[pl.Series]) -> InputError | None:
    """Ask about whole numbers that as counts of days are all of the years in which dates of the same table are."""
    is_code = sort_by_name(name) is not None or _CODE_NAME.search(name) or _PLACE_NAME.search(name)
    if is_code or not numbers.dtype.is_integer() or numbers.n_unique() < _FEWEST_CODES or not _may_count_days(numbers):
        return None
    # Amounts are round more often than days.
    if float((numbers % 5 == 0).mean() or 0) > _MOST_ROUND:  # type: ignore[arg-type]
        return None
    counted = date_form(EXCEL).read(numbers.drop_nulls().cast(pl.String)).cast(pl.Int32)
    for each in days:
        plain = each.drop_nulls().cast(pl.Int32)
        if len(plain):
            low, high = int(plain.min()), int(plain.max())  # type: ignore[arg-type]
            slack = (high - low) // 2
            if high - low <= _LONGEST_STAY and counted.is_between(low - slack, high + slack).all():
                return _about_day_counts(name, numbers)
    return None


_PLACE_NAME = re.compile(
    "region|area|district|kreis|bezirk|county|munic|commun|gemeinde|place|ort|city|town", re.IGNORECASE
)
_MOST_ROUND = 0.4
"""Share of the numbers that may be multiples of five, twice of what chance gives."""


def _may_count_days(numbers: pl.Series) -> bool:
    known = numbers.drop_nulls()
    if known.n_unique() < _FEWEST_COUNTS or not known.is_between(_FIRST_COUNT, _LAST_COUNT).all():
        return False
    return _USUAL_COUNTS[0] <= float(known.median() or 0) <= _USUAL_COUNTS[1]  # type: ignore[arg-type]


_FEWEST_COUNTS = 3


def _about_day_counts(name: str, numbers: pl.Series) -> InputError:
    texts = numbers.drop_nulls().cast(pl.String)
    read = {form: date_form(form).read(texts) for form in _COUNTS_SINCE}
    likely = [form for form, days in read.items() if form == EXCEL or (days < _LAST_LIKELY_DAY).all()]
    return _about_counts(name, likely)


def _about_counts(name: str, forms: Sequence[str]) -> InputError:
    found = [set_word("dates", form, name) for form in forms]
    unit = forms[0].split()[0]
    what = "days, as spreadsheets do" if unit == EXCEL else f"the time, as computers do ({unit})"
    return question(
        name,
        found[0],
        f"column {name!r} holds numbers that may count {what}; say what they are: days "
        f"({' or '.join(found)}), codes ({_as_text_option(name)}) or numbers ({set_word('kind', 'numeric', name)})",
    )


_LAST_LIKELY_DAY = date(2040, 1, 1)


def _read_as_days(known: pl.Series, form: str) -> bool:
    days = date_form(form).read(known)
    return bool(not days.has_nulls() and ((days >= _FIRST_DAY) & (days < _LAST_DAY)).all())


def ask(name: str, found: Sequence[Proposal]) -> InputError:
    """Write the question for a column that reads as numbers or dates throughout: what to declare.

    `found`: one proposal that is not sure, or several of which only the steward knows the right one.
    """
    kinds = " or ".join(dict.fromkeys(_what(proposal) for proposal in found))
    options = list(dict.fromkeys(option_words(name, proposal) for proposal in found))
    sentence = f"every value of column {name!r} reads as a {kinds}"
    if len(options) == 1:
        advice = f"; declare it: {options[0]}"
    else:
        forms = ", ".join(dict.fromkeys(_spelled(proposal.form) for proposal in found))
        advice = f", as {forms}, and only you know which: {' or '.join(options)}"
    return question(name, options[0], f"{sentence}{advice}; or read it as text: {_as_text_option(name)}")


def option_words(name: str, proposal: Proposal) -> str:
    """Write what to declare as options of the command line; a unit that nobody knows is found by itself."""
    form = proposal.form
    needed = (
        ("decimal", form.decimal),
        ("thousands", form.thousands),
        ("dates", next(iter(form.forms), None)),
        ("unit", form.unit if form.unit in UNITS or form.unit in SEVERAL_MARKS else None),
    )
    words = [set_word(key, value, name) for key, value in needed if value]
    return " ".join(words) or set_word("kind", str(proposal.kind), name)


def set_word(key: str, value: str, column: str | None = None) -> str:
    """Write how a setting of the file, or of a column, is said on the command line."""
    is_bare = column is not None and column == column.strip() and not set(column) & set('.=[]"\\')
    place = "source" if column is None else f"column.{column if is_bare else json.dumps(column, ensure_ascii=False)}"
    shown = value if value == value.strip() else json.dumps(value, ensure_ascii=False)
    return f"--set {_quoted(f'{place}.{key}={shown}')}"


def _thousands(name: str) -> InputError:
    return question(
        name,
        set_word("thousands", ".", name),
        f"column {name!r} holds numbers in which every point has three digits behind it; say what points are: marks "
        f"between thousands ({set_word('thousands', '.', name)}) or before fractions "
        f"({set_word('decimal', '.', name)})",
    )


def _about_zeros(name: str) -> InputError:
    numbers, codes = set_word("kind", "numeric", name), _as_text_option(name)
    what = f"column {name!r} holds whole numbers of several lengths, some with leading zeros"
    return question(name, codes, f"{what}; say what they are: numbers ({numbers}), or codes ({codes})")


def _about_strays(name: str, stray: Proposal, strangers: Strangers) -> InputError:
    count, row, _ = strangers
    names = " (if it is a second row of names, or of units, delete it)" if (count, row) == (1, 1) else ""
    return question(
        name,
        set_word("strays", "missing", name),
        f"column {name!r} holds a {_what(stray)} in all records but {count:,}, first in row {row}{names}; correct "
        f"them, give their text with --set source.missing=TEXT, make such texts missing values "
        f"({set_word('strays', 'missing', name)}), or keep all as text: {_as_text_option(name)}",
    )


def _what(proposal: Proposal) -> str:
    if proposal.kind is Kind.DATE:
        return "timestamp" if proposal.way.date is not None and proposal.way.date.has_clock else "date"
    if proposal.form.unit in _NOT_SURE:
        return "number beside a mark" if proposal.form.unit in _NOT_EXACT else "number with debits below zero"
    return "time of day" if proposal.form.forms else "number"


def _spelled(form: WrittenForm) -> str:
    if form.forms:
        return form.forms[0]
    unit = form.unit if form.unit in UNITS else None
    settings = {"decimal": form.decimal, "thousands": form.thousands, "unit": unit}
    words = ", ".join(f"{what} {value!r}" for what, value in settings.items() if value)
    return f"numbers with {words}" if words else "numbers with a unit" if form.unit else "numbers"


def _one_length(texts: pl.Series) -> int | None:
    """Return the length of texts that all have the same one and are digits throughout."""
    length = texts.str.len_bytes()
    first = length.min()
    if first is None or first != length.max() or not texts.str.contains(_DIGITS).all():
        return None
    return int(first)  # type: ignore[arg-type]


def question(column: str, answer: str, problem: str) -> InputError:
    """Return the error that asks about a column; `answer`: the option that answers it, of several the likeliest."""
    error = InputError(problem)
    error.answers = {column: answer}
    return error


def _about_text(name: str, what: str) -> InputError:
    option = _as_text_option(name)
    return question(name, option, f"column {name!r} holds {what}, or read it as text: {option}")


def _as_text_option(name: str) -> str:
    return f"--categorical {_quoted(name)}"


def _quoted(text: str) -> str:
    """Quote a text for a shell where it needs that."""
    if not set(text) & set(" '\"$%€&;()*?<>|\\`!#"):
        return text
    return f"'{text}'" if "'" not in text else f'"{text}"'


_MOST_DIGITS = 16
"""Digits from which on floats may not tell whole numbers apart."""
_LONG = rf"^[0-9]{{{_MOST_DIGITS},}}$"


@dataclass(frozen=True)
class ValueReading:
    """How values are read."""

    missing: Collection[str]  # texts that stand for a missing value
    strip: bool  # whether blanks around text are dropped
    is_text: bool  # whether text may stand for numbers, dates and booleans, as in a CSV file
    stripped: Collection[str] = ()  # columns in which blanks are dropped in any case
    form: WrittenForm = PLAIN  # how numbers and dates are written
    asks: bool = False  # whether text that seems to be meant as numbers or dates is an error that says what to declare
    codes: Collection[str] = ()  # columns in which numbers that look like codes are asked about, too
    # Of distinct values: the records that have each, the first of them from 0, and those without a value.
    behind: tuple[NDArray[np.int64], NDArray[np.int64], int] | None = None

    def of(self, name: str) -> ValueReading:
        """Return how the values of one column are read."""
        return replace(self, strip=self.strip or name in self.stripped)


class Strangers(NamedTuple):
    """Records whose text does not fit the others', the row of the first, from 1, and how many records there are."""

    strange: int
    row: int
    records: int

    @classmethod
    def of(cls, strange: pl.Series, reading: ValueReading) -> Strangers:
        """Count the records behind values that are strange."""
        chosen = strange.fill_null(False).to_numpy()
        if reading.behind is None:
            return cls(int(chosen.sum()), int(chosen.argmax()) + 1 if len(chosen) else 1, len(strange))
        counts, first, missing = reading.behind
        row = int(first[chosen].min()) + 1 if chosen.any() else 1
        return cls(int(counts[chosen].sum()), row, int(counts.sum()) + missing)


class TypedColumn(NamedTuple):
    """A column as a table holds it, its kind, and what a steward should hear of how it was read."""

    values: pl.Series
    kind: Kind
    remarks: tuple[str, ...] = ()


def kept_column(column: pl.Series, reading: ValueReading) -> pl.Series:
    """Return a column that is published as it is; only blanks around fields of a CSV file are dropped.

    Raises ``InputError`` when its values are not plain values.
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


def keys_read(parts: Sequence[pl.Series], reading: ValueReading, form: str | None) -> pl.Series:
    """Return the keys of people, null where there is none, in which those of one person are equal.

    Raises ``InputError`` as of :func:`~sfumato.table.person_keys.person_keys`.
    """
    kept = one_key([with_missing(kept_column(part, reading), reading) for part in parts])
    # Whole numbers have one spelling; they are numbered faster than texts.
    return kept if kept.dtype.is_integer() else person_keys(kept, form)


def typed_column(column: pl.Series, kind: Kind | None, reading: ValueReading) -> TypedColumn:
    """Return a column as one of the types that a table may hold, and its kind; see :func:`read_attribute`."""
    return read_attribute(column, Attribute(kind=kind), reading)


def read_attribute(column: pl.Series, attribute: Attribute, reading: ValueReading) -> TypedColumn:
    """Return a column as one of the types that a table may hold, and its kind; or say what to declare."""
    if attribute.missing:
        reading = replace(reading, missing={*reading.missing, *attribute.missing})
    typed = _typed(column, attribute, reading)
    values = _canonical(typed.values) if typed.values.dtype.is_float() else typed.values
    values = _without_marks(values, attribute.missing) if attribute.missing else values
    return typed._replace(values=_with_one_spelling(values) if attribute.spellings and is_text(values) else values)


def folded_label(text: str) -> str:
    """Return what all spellings of a label share: small letters, single blanks, no invisible ones."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    visible = "".join(letter for letter in plain if unicodedata.category(letter) != "Cf")
    # A sign before a digit, or at an end, is no form of writing: -5 and A- are not 5 and A.
    return re.sub(r"(?<=\w)[\s_\-.]+(?=[^\W\d_])|[\s_]+", " ", visible).strip(" .,;:!")


def _with_one_spelling(values: pl.Series) -> pl.Series:
    """Write all spellings of a label alike. Cost O(n), and O(bytes) of the distinct texts."""
    texts = values.cast(pl.String)
    found = {text: folded_label(text) for text in texts.unique().drop_nulls()}
    # A label of signs alone has nothing that others could share.
    return texts.replace({text: folded or text for text, folded in found.items()}).cast(private_categorical())


def _without_marks(values: pl.Series, marks: Sequence[str]) -> pl.Series:
    """Count numbers as missing that are written as a mark, however a typed source or a file writes them."""
    if not values.dtype.is_numeric():
        return values
    numbers = pl.Series(marks, dtype=pl.String).cast(pl.Float64, strict=False).drop_nulls()
    return values.set(values.cast(pl.Float64).is_in(numbers.to_list()).fill_null(False), None)


def _canonical(values: pl.Series) -> pl.Series:
    # NaN is a missing value and −0.0 is 0.0: values that count as equal must be published equally.
    return values.fill_nan(None).set((values == 0.0).fill_null(False), 0.0)


def _typed(column: pl.Series, attribute: Attribute, reading: ValueReading) -> TypedColumn:
    column = plain_cells(column)
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
        is_open = kind is None and natural is Kind.NUMERIC and reading.asks and attribute.hierarchy is None
        if is_open and (asked := question_of_day_counts(column.name, plain)):
            raise asked
        return TypedColumn(plain, natural)
    return _parsed(_as_text(plain), kind, attribute, reading)


def plain_cells(column: pl.Series) -> pl.Series:
    """Return spans of time as their seconds, and bytes that are text as text."""
    if column.dtype == pl.Duration:
        seconds = column.dt.total_microseconds() / 1e6
        return seconds.cast(pl.Int64) if (seconds == seconds.round()).all() else seconds
    if column.dtype == pl.Binary:
        try:
            return column.cast(pl.String)
        except pl.exceptions.PolarsError:
            return column
    return column


def _text_among_types(column: pl.Series, attribute: Attribute, reading: ValueReading) -> TypedColumn:
    """Read text of a source that has types: as text, which it was made, unless it has a form of numbers or dates."""
    typed = _parsed(column, Kind.CATEGORICAL, replace(attribute, strays=None), reading)
    if not reading.asks or attribute.hierarchy is not None:
        return typed
    texts = column.cast(pl.String).unique()
    known = parse_texts(texts, Kind.CATEGORICAL, reading.missing, strip=reading.strip).known
    form = attribute.form.over(reading.form)
    if form != PLAIN and way_of(known, form) not in (way_of(known, PLAIN), NumberStyle(Kind.CATEGORICAL)):
        return _parsed(column, None, attribute, reading)
    is_usual = NumberStyle(Kind.DATE).read(known.head(1)).is_not_null().any()
    # A frame that pandas or polars reads from a CSV file has days as text.
    # Digits alone have no other form, but those of eight may be days.
    is_bare = is_usual or bool((known.str.contains(_DIGITS) & (known.str.len_bytes() != 8)).all())
    found = [_ISO] if is_usual and way_of(known, PLAIN).kind is Kind.DATE else [] if is_bare else proposals(known)
    if len(found) == 1 and found[0].sure:
        return _proposed(column, found[0], reading)
    if found:
        raise ask(column.name, found)
    if mixed := question_among_days(column.name, known):
        raise mixed
    stray = None if is_bare and not is_usual else strays(known)
    if stray is not None and attribute.strays is None and attribute.kind is None:
        raise _about_strays(column.name, stray, _strangers(column, reading, stray.way))
    if not found and _are_many_numbers(known):
        numbers, codes = set_word("kind", "numeric", column.name), _as_text_option(column.name)
        words = f"its texts are all numbers, and stay text. Numbers: {numbers}; codes: {codes}."
        return typed._replace(remarks=(*typed.remarks, f"Column {column.name!r}: {words}"))
    return typed


def _are_many_numbers(known: pl.Series) -> bool:
    """Tell whether texts are many numbers of several lengths or with fractions, as codes are not."""
    if known.n_unique() < _MANY_NUMBERS or way_of(known, PLAIN).kind is not Kind.NUMERIC:
        return False
    lengths = known.str.replace("^-", "").str.len_bytes()
    return bool(known.str.contains(".", literal=True).any()) or lengths.n_unique() > 1 or lengths[0] == _OF_AN_AGE


_OF_AN_AGE, _MANY_NUMBERS = 2, 20


def _proposed(column: pl.Series, proposal: Proposal, reading: ValueReading) -> TypedColumn:
    """Read a column in the only way in which all of it reads, and say so."""
    parsed = parse_texts(column, None, reading.missing, strip=reading.strip, way=proposal.way)
    remarks = _remarks(column.name, parsed, reading)
    if not remarks:
        words = _spelled(proposal.form)
        written = "with signs, brackets or digits of its own" if words == "numbers" else f"written as {words}"
        if proposal.kind is Kind.CATEGORICAL:
            numbers = set_word("kind", "numeric", column.name)
            said = f"whole numbers of one length were read as codes, as its name says; numbers: {numbers}."
            return TypedColumn(parsed.values, parsed.kind, (f"Column {column.name!r}: {said}",))
        remarks = (f"Column {column.name!r}: every value was read as a {_what(proposal)}, {written}.",)
    return TypedColumn(parsed.values, parsed.kind, remarks)


def _declared_kind(attribute: Attribute) -> Kind | None:
    """Return the kind that was declared, also by saying how the values are written."""
    form = attribute.form
    if attribute.kind is not None:
        return Kind.CATEGORICAL if attribute.kind is Kind.ORDERED else attribute.kind
    if form.is_numeric:
        return Kind.NUMERIC
    if form.forms:
        return Kind.DATE if date_form(form.forms[0]).has_day else Kind.NUMERIC
    return None


def _parsed(column: pl.Series, kind: Kind | None, attribute: Attribute, reading: ValueReading) -> TypedColumn:
    form = attribute.form.over(reading.form)
    column = _unwrapped(column) if reading.asks else column
    parsed = parse_texts(column, kind, reading.missing, strip=reading.strip, form=form)
    if form.strays is None and parsed.strangers.any():
        found = [
            one for one in proposals(parsed.known) if one.kind is parsed.kind and _agrees(one.form, attribute.form)
        ]
        if len(found) == 1 and reading.asks:
            return _proposed(column, found[0], reading)
        raise _refused(column.name, parsed, found, Strangers.of(parsed.strangers, reading))
    if _merges_codes(parsed):
        raise _too_long(column.name)
    question = None if kind is not None or form.strays else _question(column, parsed, attribute, reading)
    if isinstance(question, Proposal):
        return _proposed(column, question, reading)
    if question is not None:
        raise question
    remarks = _remarks(column.name, parsed, reading)
    if kind is None and parsed.kind is Kind.CATEGORICAL and _are_too_long(parsed.known):
        remarks += (f"Column {column.name!r}: whole numbers of too many digits for 64 bits stay text, as codes are.",)
    if kind is None and _may_be_codes(column.name, parsed, attribute, reading):
        remarks += tuple(filter(None, [remark_on_codes(column.name, parsed.known)]))
    return TypedColumn(parsed.values, parsed.kind, remarks)


def _are_too_long(known: pl.Series) -> bool:
    """Tell whether texts are all whole numbers without leading zeros, some of them beyond 64 bits."""
    first = known.head(1)
    if not first.str.contains(r"^-?[1-9][0-9]*$").any() or not known.str.contains(r"^(?:-?[1-9][0-9]*|0)$").all():
        return False
    return bool(known.cast(pl.Int64, strict=False).has_nulls())


_WRAPPED = (r'^="(.*)"$', r'^"([^"]*)"$', r"^=([+-]?[0-9][0-9.,]*)$", r"^'([0-9].*?)'?$")
"""Codes as spreadsheets are told to keep them: as a formula, between quotes, or behind an apostrophe."""


def _unwrapped(column: pl.Series) -> pl.Series:
    """Take codes out of what keeps a spreadsheet from counting with them."""
    first = column.drop_nulls().head(1).cast(pl.String)
    for pattern in _WRAPPED:
        if first.str.contains(pattern).any():
            texts = column.cast(pl.String)
            if texts.filter(texts != "").str.contains(pattern).all():
                return texts.str.replace(pattern, "$1").cast(private_categorical())
    return column


def _agrees(form: WrittenForm, said: WrittenForm) -> bool:
    """Tell whether a form is as far as was said what was said."""
    pairs = ((form.decimal, said.decimal), (form.thousands, said.thousands), (form.unit, said.unit))
    return all(wanted is None or found is None or found == wanted for found, wanted in pairs) and (
        not said.forms or form.forms[:1] == said.forms[:1]
    )


def _question(
    column: pl.Series, parsed: Parsed, attribute: Attribute, reading: ValueReading
) -> InputError | Proposal | None:
    """Ask about a column of which nothing was declared, unless its hierarchy says what its values are."""
    if not reading.asks or attribute.hierarchy is not None:
        return None
    if _may_be_codes(column.name, parsed, attribute, reading):
        codes = question_of_codes(column.name, parsed.known)
        if codes is not None:
            return codes
    return question_of_text(column.name, parsed, reading.form, partial(_strangers, column, reading))


def _strangers(column: pl.Series, reading: ValueReading, way: NumberStyle) -> Strangers:
    """Count the records that a way of reading does not fit."""
    return Strangers.of(parse_texts(column, None, reading.missing, strip=reading.strip, way=way).strangers, reading)


def _may_be_codes(name: str, parsed: Parsed, attribute: Attribute, reading: ValueReading) -> bool:
    is_plain = parsed.kind is Kind.NUMERIC and parsed.way.date is None
    return is_plain and name in reading.codes and attribute.hierarchy is None


# What counts of days have where they tell the time, too.
_PART = r"[.,][0-9]*[1-9]"


def said_of_strays(strange: int, records: int, kind: Kind) -> str:
    """Say how many records held other text than that of a kind."""
    what = "number" if kind is Kind.NUMERIC else "date"
    return f"{counted(strange, 'record')} of {records:,} held text that is no {what}, and count as missing (strays)."


def _remarks(name: str, parsed: Parsed, reading: ValueReading) -> tuple[str, ...]:
    remarks = []
    if parsed.strangers.any():
        strange = Strangers.of(parsed.strangers, reading)
        remarks.append(f"Column {name!r}: {said_of_strays(strange.strange, strange.records, parsed.kind)}")
    way = parsed.way.date
    has_clock = way is not None and (
        way.has_clock or (way.first is not None and parsed.known.str.contains(_PART).any())
    )
    if way is not None and way.has_day and has_clock:
        remarks.append(f"Column {name!r}: of timestamps the day was read, as it is written; times of day were dropped.")
    return tuple(remarks)


def _refused(name: str, parsed: Parsed, found: Sequence[Proposal], strangers: Strangers) -> InputError:
    """Count the records that are not of the declared kind; where all are, written otherwise, say what to declare."""
    if found:
        return ask(name, found)
    return InputError(
        f"column {name!r} is declared {parsed.kind}, but {strangers.strange} record(s) do not hold "
        f"{EXPECTED[parsed.kind]}, first in row {strangers.row}; correct them, list their text as missing, or declare "
        "another kind"
    )


def is_text(column: pl.Series) -> bool:
    """Tell whether a column holds text, or categories."""
    return column.dtype == pl.String or isinstance(column.dtype, (pl.Categorical, pl.Enum))


class NestedValues(InputError):
    """Lists and records in cells, which cannot be published."""


def refuse_nested(column: pl.Series) -> None:
    """Raise NestedValues when the values of a column cannot be published."""
    if not is_plain(column.dtype):
        raise NestedValues(
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

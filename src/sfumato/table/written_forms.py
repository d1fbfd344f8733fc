"""How numbers and dates are written in a text file, as a user declares it: ``decimal=","``, ``dates="dd.mm.yyyy"``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import Literal

import polars as pl

from sfumato.errors import InputError, raise_all

# Dates, timestamps and times as people write them: ``dd.mm.yyyy``, ``mm/dd/yyyy hh:mm``, ``hh:mm:ss``.


_TOKEN = re.compile(r"[0-9]{2}yy(?!yy)|yyyy|yy|mon|mm|dd|hh:mm:ss|hh:mm| ?am| ?z|t(?=hh)|[./\-, ]+")
_LETTERS = re.compile(r"[a-z]")
_CLOCKS = {
    "hh:mm": r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})",
    "hh:mm:ss": r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})(?:[.,][0-9]+)?",
}
_HALF = r" ?(?P<half>[ap])\.?m\.?"
_ZONE = r" ?(?:z|utc|gmt|[+\-][0-9]{2}(?::?[0-9]{2})?|[a-z]{3,4})"
_MONTHS = (
    ("jan", "january", "januar", "jän", "jänner"),
    ("feb", "february", "februar"),
    ("mar", "march", "mär", "märz", "mrz"),
    ("apr", "april"),
    ("may", "mai"),
    ("jun", "june", "juni"),
    ("jul", "july", "juli"),
    ("aug", "august"),
    ("sep", "sept", "september"),
    ("oct", "october", "okt", "oktober"),
    ("nov", "november"),
    ("dec", "december", "dez", "dezember"),
)
_NUMBERS = {name: str(number) for number, names in enumerate(_MONTHS, 1) for name in names}
_FIRST_OF_19 = 30
"""Years of two digits are 1930 to 2029, whenever the file is read: the rule that spreadsheets have."""


@dataclass(frozen=True)
class DateForm:
    """A form of dates, timestamps or times of day."""

    text: str  # as it is declared
    pattern: str  # regular expression with a named group for each part
    century: str | None = None  # before years of two digits, where the form says it

    @property
    def has_day(self) -> bool:
        """Whether values are days, with or without a time, and not times of day."""
        return "<day>" in self.pattern

    @property
    def has_clock(self) -> bool:
        """Whether values have a time of day."""
        return "<hour>" in self.pattern

    @cached_property
    def _python(self) -> re.Pattern[str]:
        return re.compile(self.pattern.replace(r"\p{L}", r"[^\W\d_]"))

    def fits(self, text: str) -> bool:
        """Tell whether one text looks like it; quick, as many forms are tried."""
        return self._python.match(text.lower()) is not None

    def read(self, texts: pl.Series) -> pl.Series:
        """Read days as dates, and times of day as whole minutes or seconds after midnight; null where none is.

        The day is the one that is written, whatever the zone.
        """
        lowered = texts.str.to_lowercase()
        parts = lowered.str.extract_groups(self.pattern).struct.unnest()
        clock = _clock(parts) if self.has_clock else None
        if not self.has_day:
            return pl.Series(texts.name, clock, dtype=pl.Int64)
        days = self._days(parts)
        return days.alias(texts.name) if clock is None else days.set(clock.is_null(), None).alias(texts.name)

    def _days(self, parts: pl.DataFrame) -> pl.Series:
        if "name" in parts.columns:
            month = pl.col("name").replace_strict(_NUMBERS, default=None, return_dtype=pl.String)
        else:
            month = pl.col("month")
        year = pl.col("year")
        if "<short>" in self.pattern:
            short = pl.col("short")
            early = pl.when(short.cast(pl.Int64) < _FIRST_OF_19).then(pl.lit("20")).otherwise(pl.lit("19"))
            year = pl.concat_str(early if self.century is None else pl.lit(self.century), short)
        iso = pl.concat_str(year, month.str.zfill(2), pl.col("day").str.zfill(2), separator="-")
        return parts.select(iso.str.to_date("%Y-%m-%d", strict=False)).to_series()


def _clock(parts: pl.DataFrame) -> pl.Series:
    """Return minutes after midnight, or seconds where they are written; null for times that no clock shows."""
    hour, minute = pl.col("hour").cast(pl.Int64), pl.col("minute").cast(pl.Int64)
    valid = (hour < 24) & (minute < 60)
    if "half" in parts.columns:
        valid &= (hour >= 1) & (hour <= 12)
        hour = hour % 12 + 12 * (pl.col("half") == "p").cast(pl.Int64)
    time = hour * 60 + minute
    if "second" in parts.columns:
        second = pl.col("second").cast(pl.Int64)
        time, valid = time * 60 + second, valid & (second < 60)
    return parts.select(pl.when(valid).then(time)).to_series()


@cache
def date_form(text: str) -> DateForm:
    """Read the declaration of a form.

    `text`: made of ``dd``, ``mm``, ``yyyy`` (or ``yy``: 1930 to 2029; ``19yy``, ``20yy``: that century), ``mon`` (the
    name of a month, English or German), ``hh:mm``, ``hh:mm:ss``, ``am`` (a time of twelve hours), ``z`` (a zone), and
    ``.``, ``/``, ``-``, commas and blanks between. Days and months may have one digit where something stands between.
    Raises ``InputError`` when it is no such form, or has no whole day and no time.
    """
    lowered = text.strip().lower()
    tokens = _TOKEN.findall(lowered)
    pattern = _pattern(tokens)
    if "".join(tokens) != lowered or not _is_whole(pattern):
        raise InputError(
            "dates must be a form such as dd.mm.yyyy, mm/dd/yyyy, 'yyyy-mm-dd hh:mm:ss' or hh:mm, made of dd, mm (or "
            "mon), yyyy (or yy, 19yy, 20yy), hh:mm, hh:mm:ss, am, z and . / - , or blanks between"
        )
    century = next((token[:2] for token in tokens if token.endswith("yy") and token[0].isdigit()), None)
    return DateForm(lowered, pattern, century)


def _pattern(tokens: list[str]) -> str:
    parts = []
    # Where nothing stands between them, days and months have two digits.
    packed = {place for place, pair in enumerate(pairwise(tokens)) if all(_LETTERS.search(token) for token in pair)}
    for place, token in enumerate(tokens):
        width = "{2}" if {place, place - 1} & packed and " " not in token else "{1,2}"
        parts.append(_part(token, width, before_clock=tokens[place + 1 : place + 2] in (["hh:mm"], ["hh:mm:ss"])))
    return "^" + "".join(parts) + "$"


def _part(token: str, width: str, *, before_clock: bool) -> str:
    if token in _CLOCKS:
        return _CLOCKS[token]
    if before_clock and token in (" ", "t"):
        return "[ t]+"
    return {
        "yyyy": "(?P<year>[0-9]{4})",
        "mon": r"(?P<name>\p{L}{3,})\.?",
        "mm": f"(?P<month>[0-9]{width})",
        "dd": f"(?P<day>[0-9]{width})",
        "am": _HALF,
        "z": _ZONE,
    }.get(token.strip() or token, "(?P<short>[0-9]{2})" if token.endswith("yy") else re.escape(token))


def _is_whole(pattern: str) -> bool:
    """Tell whether a pattern has each part once at most, and all of a day, or none of it and a time."""
    groups = re.findall(r"<(\w+)>", pattern)
    if len(set(groups)) < len(groups):
        return False
    of_day = (("day",), ("month", "name"), ("year", "short"))
    counts = [sum(name in groups for name in names) for names in of_day]
    return counts == [1, 1, 1] or (counts == [0, 0, 0] and "hour" in groups)


# Numbers as people write them: decimal commas, thousands separators, currency and percent signs.


_BLANKS = "[ \u00a0\u202f\u2009]"
MARKS = {".": r"\.", ",": ",", " ": _BLANKS, "'": "['\u2019]"}
"""Marks between groups of digits and before fractions, and regular expressions of all that they are written as."""
_MINUS = "\u2212"


@dataclass(frozen=True)
class NumberForm:
    """How numbers are written."""

    decimal: str = "."
    thousands: str | None = None  # between groups of three digits; numbers without groups fit as well
    unit: str | None = None  # before or after every number

    @cached_property
    def _pattern(self) -> str:
        decimal = MARKS[self.decimal]
        whole = "[0-9]+"
        if self.thousands:
            whole = f"(?:[0-9]{{1,3}}(?:{MARKS[self.thousands]}[0-9]{{3}})+|[0-9]+)"
        return rf"^[+\-]?(?:{whole}(?:{decimal}[0-9]*)?|{decimal}[0-9]+)(?:e[+\-]?[0-9]+)?$"

    def plain(self, texts: pl.Series) -> pl.Series:
        """Rewrite numbers with a decimal point and nothing else; null where a text is no number of this form."""
        bare = texts.str.to_lowercase().str.replace(_MINUS, "-", literal=True)
        if self.unit is not None:
            bare = _without_unit(bare, self.unit.lower())
        bare = bare.set(~bare.str.contains(self._pattern), None)
        if self.thousands:
            bare = bare.str.replace_all(MARKS[self.thousands], "")
        return bare if self.decimal == "." else bare.str.replace(",", ".", literal=True)


def _without_unit(texts: pl.Series, unit: str) -> pl.Series:
    """Drop a unit before or after, and the sign that may stand before it; null where there is none."""
    mark = re.escape(unit)
    before = texts.str.extract_groups(rf"^([+\-]?){_BLANKS}*{mark}{_BLANKS}*([+\-]?[0-9.,].*)$").struct.unnest()
    after = texts.str.extract(rf"^(.*[0-9.,]){_BLANKS}*{mark}$")
    joined = before.select(pl.concat_str(pl.nth(0), pl.nth(1))).to_series()
    return joined.zip_with(joined.is_not_null(), after)


Strays = Literal["missing"]
DECIMALS = (".", ",")
THOUSANDS = (".", ",", " ", "'")


@dataclass(frozen=True)
class WrittenForm:
    """How values are written; None and empty say nothing, and the values themselves are asked.

    Raises ``InputError`` with every setting that cannot be used.
    """

    decimal: str | None = None  # ``"."`` or ``","``, before the fraction
    # ``"."``, ``","``, ``" "`` (no-break blanks too) or ``"'"`` between groups of three digits
    thousands: str | None = None
    # what stands before or after every number, such as ``"€"``, ``"%"`` or ``"kg"``; it is dropped
    unit: str | None = None
    # Forms of dates, timestamps or times; see :func:`~sfumato.table.written_forms.date_form`. One form, or several.
    dates: str | Sequence[str] | None = None
    # ``"missing"`` makes a missing value of every text that is no number or date, in a column of numbers or dates
    strays: Strays | None = None

    def __post_init__(self) -> None:
        """Check the settings against each other."""
        dates = self.dates
        listed = () if dates is None else (dates,) if isinstance(dates, str) else dates
        if isinstance(listed, (list, tuple)) and all(isinstance(form, str) for form in listed):
            object.__setattr__(self, "dates", tuple(listed))
        raise_all(InputError, [*self._number_problems(), *_date_problems(listed)])

    def _number_problems(self) -> Iterator[str]:
        if self.decimal is not None and self.decimal not in DECIMALS:
            yield "decimal must be '.' or ','"
        if self.thousands is not None and self.thousands not in THOUSANDS:
            yield "thousands must be '.', ',', ' ' or \"'\""
        if self.thousands is not None and self.thousands == self.decimal:
            yield "thousands must differ from decimal"
        unit = self.unit
        if unit is not None and (not isinstance(unit, str) or not unit.strip() or any(map(str.isdigit, unit))):
            yield "unit must be a text without digits, for example '€'"
        if self.strays not in (None, "missing"):
            yield "strays must be 'missing'"

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of dates."""
        return tuple(self.dates or ())

    @property
    def is_numeric(self) -> bool:
        """Whether something is said about numbers."""
        return not (self.decimal is None and self.thousands is None and self.unit is None)

    @cached_property
    def number(self) -> NumberForm:
        """How numbers are written; with nothing said, with a point and no separators."""
        decimal = self.decimal or ("," if self.thousands == "." else ".")
        return NumberForm(decimal, self.thousands, None if self.unit is None else self.unit.strip())

    def over(self, general: WrittenForm) -> WrittenForm:
        """Return this form of a column, with what it leaves open taken from that of the whole file."""
        if self.is_numeric or not general.is_numeric:
            return replace(self, dates=self.dates or general.dates)
        return replace(general, dates=self.dates or general.dates, strays=self.strays)


def _date_problems(forms: object) -> Iterator[str]:
    if not isinstance(forms, (list, tuple)) or not all(isinstance(form, str) for form in forms):
        yield "dates must be the form of dates, for example 'dd.mm.yyyy', or a list of forms"
        return
    for form in forms:
        try:
            date_form(form)
        except InputError as error:
            yield from error.problems


PLAIN = WrittenForm()
"""Numbers with a decimal point, dates in ISO form."""

"""How numbers and dates are written in a text file, as a user declares it: ``decimal=","``, ``dates="dd.mm.yyyy"``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, cached_property
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal

import polars as pl

from sfumato.errors import InputError, raise_all
from sfumato.numbers import month_numbers

# Dates, timestamps and times as people write them: ``dd.mm.yyyy``, ``mm/dd/yyyy hh:mm``, ``hh:mm:ss``.


_TOKEN = re.compile(r"[0-9]{2}yy(?!yy)|yyyy|bbbb|yy|mon|mm|ddd|dd|hh:mm:ss|hh:mm| ?am| ?z|t(?=hh)|[./\-, ]+")
_LETTERS = re.compile(r"[a-z]")
_CLOCKS = {
    "hh:mm": r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})",
    "hh:mm:ss": r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})(?:[.,][0-9]+)?",
}
_HALF = r" ?(?P<half>[ap])\.?m\.?"
_ZONE = r" ?(?:z|utc|gmt|[+\-][0-9]{2}(?::?[0-9]{2})?|[a-z]{3,4})"
_BUDDHA = 543
"""Years of the Buddhist era are that many more."""
_ORDER = ("weeks", "days", "hours", "minutes", "seconds")
_SECONDS = (604_800, 86_400, 3_600, 60, 1)
_W, _D, _H, _M, _S = (rf"(?P<{name}>[0-9]+(?:[.,][0-9]+)?)" for name in _ORDER)
_CLOCK = "(?P<minutes>[0-5][0-9]):(?P<seconds>[0-5][0-9](?:[.,][0-9]+)?)"
SPANS = {
    # Hours have no fraction here: what stands before a point are days.
    "hhh:mm": ("^(?P<hours>[0-9]+):(?P<minutes>[0-5][0-9])$",),
    "mmm:ss": ("^(?P<minutes>[0-9]+):(?P<seconds>[0-5][0-9](?:[.,][0-9]+)?)$",),
    "hhh:mm:ss": (f"^(?P<hours>[0-9]+):{_CLOCK}$",),
    "duration": (
        rf"^p(?:{_W}w)?(?:{_D}d)?(?:t(?:{_H}h)?(?:{_M}m)?(?:{_S}s)?)?$",
        rf"^{_D} ?d\p{{L}}*,? ?{_H}:(?P<minutes>[0-5][0-9])(?::(?P<seconds>[0-5][0-9](?:\.[0-9]+)?))?$",
        rf"^(?P<days>[0-9]+)\.(?P<hours>[0-2][0-9]):{_CLOCK}$",
        "^(?P<hours>[0-9]+) ?h ?(?P<minutes>[0-5][0-9])$",
        rf"^(?:{_D} ?(?:日|天|일) ?)?(?:{_H} ?(?:時間|小时|小時|시간) ?)?"
        rf"(?:{_M} ?(?:分钟|分鐘|分|분) ?)?(?:{_S} ?(?:秒|초))?$",
        rf"^(?:{_W} ?(?:w|weeks?|wochen?|semaines?|semanas?|settiman[ae]|veck(?:a|or))\.?,? ?)?"
        rf"(?:{_D} ?(?:d|days?|tage?n?|j|jours?|d[ií]as?|giorni|dagar)\.?,? ?)?"
        rf"(?:{_H} ?(?:h|hrs?|hours?|std|stunden?|heures?|horas?|ore|timmar)\.?,? ?)?"
        rf"(?:{_M} ?(?:m|mins?|minutes?|minuten?|mn|minutos?|minuti|minuter)\.?,? ?)?"
        rf"(?:{_S} ?(?:s|secs?|sek|seconds?|sekunden?|secondes?|segundos?|secondi|sekunder)\.?)?$",
    ),
}
"""Forms of spans of time: of hours and minutes, and in words or as ISO has them."""
_COUNTED = r"^(-?[0-9]{1,19}(?:[.,][0-9]+)?)$"
"""Days, or seconds, counted from a first day; a fraction of a day is a time."""
EXCEL = "excel"
_PARTS_OF_SECONDS = {"": 1, "milli": 10**3, "micro": 10**6, "nano": 10**9}
A_DAY = {"days": 1, **{f"{part}seconds": 86_400 * times for part, times in _PARTS_OF_SECONDS.items()}}
_SINCE = re.compile(rf"({'|'.join(A_DAY)}) since ([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})")


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(files("sfumato.table").joinpath("written_forms.toml").read_text(encoding="utf-8"))


@cache
def missing_words(*, sure: bool = False) -> frozenset[str]:
    """Return texts that stand for a missing value, in small letters; `sure`: none that may be an answer or zero."""
    tables = _tables()
    return frozenset(tables["missing"]) - frozenset(tables["no_number_either"] if sure else ())


_ZEROS = (
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50, 0xED0, 0xF20,
    0x1040, 0x17E0, 0x1810, 0x1A80, 0x1B50, 0xA8D0, 0xA9D0, 0xAA50, 0xABF0, 0xFF10,
)  # fmt: skip
"""The zero of each script that has digits of its own."""
_DIGITS = {chr(first + digit): str(digit) for first in _ZEROS for digit in range(10)}
_SIGNS = {
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d", "-"),
    **dict(zip("\uff0e\uff0c\u066b\u066c\uff0f\uff1a\u3000\uff05\uff0b", ".,.,/: %+", strict=True)),
    **dict.fromkeys("\u00ad\u200b\u200e\u200f\u202a\u202b\u202c\u2060\u2066\u2067\u2068\u2069\ufeff", ""),
    # The micro sign and the Greek letter.
    **{f"\u03bc{unit}": f"\u00b5{unit}" for unit in ("g", "l", "m", "s")},
}
_ASCII = {**_DIGITS, **_SIGNS}
_RAISED = {**dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True))}
_POWER = r"([0-9])\s*[×x·⋅*]\s*10\s*\^?\s*([+\-]?[0-9]{1,3})$"
_POINT_ABOVE, _FORTRAN = r"^([+\-]?[0-9]+)·([0-9]+)$", r"^([+\-]?[0-9]*\.[0-9]+)d([+\-]?[0-9]{1,3})$"
"""Fractions behind a point in the middle of the line, and powers of ten as Fortran has them."""
_PARTS = (("½", "5"), ("¼", "25"), ("¾", "75"), (" 1/2$", "5"), (" 1/4$", "25"), (" 3/4$", "75"))


def plain_signs(texts: pl.Series) -> pl.Series:
    """Write digits, signs and powers of ten of all scripts as ASCII has them; in small letters."""
    lowered = texts.str.to_lowercase()
    if lowered.is_empty():
        return lowered
    if lowered.str.contains(r"[^\x00-\x7f]").any():
        lowered = lowered.str.replace_many(list(_ASCII), list(_ASCII.values()))
        raised = lowered.str.contains("[×x·⋅*] ?10[⁻⁰¹²³⁴-⁹]+$")
        if raised.any():
            lowered = lowered.str.replace_many(list(_RAISED), list(_RAISED.values())).zip_with(raised, lowered)
        lowered = lowered.str.replace(_POINT_ABOVE, "$1.$2")
    if lowered.str.contains("[½¼¾]|^[0-9]+ [13]/[24]$").any():
        for part, digits in _PARTS:
            lowered = lowered.str.replace(rf"([0-9])\s*{part}", f"$1.{digits}").str.replace(f"^{part}", f"0.{digits}")
    lowered = lowered.str.replace(_FORTRAN, "${1}e$2")
    return lowered.str.replace(_POWER, "${1}e$2") if lowered.str.contains("[×x·⋅*] ?10").any() else lowered


_DAY_WORDS = (
    (r"[\u00a0\u2009\u202f]", " "), (r"[«»]", ""), (r"\s*[（(][月火水木金土日월화수목금토일][）)]", ""),
    (r"(?:오전|上午|午前)\s*(\d[\d:]*)", "$1 am"), (r"(?:오후|下午|午後)\s*(\d[\d:]*)", "$1 pm"),
    (r"(\p{Thai}+)\.(\p{Thai}+)\.", "$1$2"), (r"^\[([^\[\]]*)\]$", "$1"), (r"^[\"']([^\"']*)[\"']$", "$1"),
    (r"^(?:ngày|the|le|den|born|geb\.?|geboren|née?|\*)\s+", ""), (r"(\p{L}{3})\s+the\s+(\d)", "$1 $2"),
    (r"^(\d{4})\.?\s*gada\s+(\d{1,2})\.\s*(\p{L}+)$", "$2 $3 $1"), (r"^(\d{4})\s*m\.\s*(.*?)(?:\s*d\.)?$", "$1 $2"),
    (r"^(\d{4}),\s+(\p{L})", "$1 $2"), (r"\s*оны\s*|\s*сарын\s*", "-"), (r"\s+d['’](\p{L})", " $1"),
    (r"(\d{4})(?:-?\s?(?:ci|cı|cu|cü|nci|ncı) il|\s+(?:yil|года|року|р|ж|r)\.?|\.\s?a\.?)$", "$1"),
    (r"\s*/\s*", "/"), (r"^(\d{1,2}),(\d{1,2}),(\d{4})$", "$1.$2.$3"), (r"\.['’](\d{2})$", ".$1"),
    (r"\s\([a-z ]+\)$", ""), (r"\s+(?:gmt|utc)([+-]\d)", "$1"), (r"(\d)\.\s+(\d{1,2}:)", "$1 $2"),
    (r"พ\.?ศ\.?\s*", ""), (r"(\d)。\s*(\d)", "$1.$2"), (r"^(\d{1,4})\|(\d{1,2})\|(\d{1,4})$", "$1-$2-$3"),
    (r"\s*tháng\s*|,?\s*năm\s*", "-"), (r"(\p{L}) f[oó]mhair", "${1}fómhair"),
    (r"\s*[年년]\s*", "-"), (r"\s*[月월]\s*", "-"), (r"\s*[日일]", " "), (r"\s+$", ""),
    (r"(\d)(?:st|nd|rd|th|er|º|ª)\b", "$1"), (r"\s+(?:de|del|of|den|ta['’])\s+", " "), (r"\s*г\.?$", ""),
    (r"^(\d{1,2}[/ \-]?\p{L}{3}[/ \-]?\d{4}):", "$1 "), (r"(\d)\.$", "$1"), (r"(\p{L}{2}\.?),\s+(\d{4})", "$1 $2"),
    (r"\s'(\d{2})$", " $1"), (r"^(\d{1,4})_(\d{1,2})_(\d{1,4})$", "$1-$2-$3"), (r"\[[a-z_+\-/0-9]+\]$", ""),
    # What stands between day and time, and how times are written.
    (r"(\d),?\s+(?:um|at|à|a las|alle|às|om|klo|kl)\.?\s+(\d)", "$1 $2"), (r"(\d),\s+(\d{1,2}:\d{2})", "$1 $2"),
    (r"((?:\d{4}|-\d{2})\s+\d{1,2})\s*(?:h|uhr)\.?$", "$1:00"),
    (r"((?:\d{4}|-\d{2})\s+\d{1,2})[.h](\d{2})(?:[.m](\d{2}))?s?$", "$1:$2"),
    (r"^(\d{4}-\d{2}-\d{2})-(\d{2})\.(\d{2})\.(\d{2})(\.\d+)?$", "$1 $2:$3:$4"),
    (r"^(\d{4})(\d{2})(\d{2})t?(\d{2})(\d{2})(\d{2})", "$1-$2-$3 $4:$5:$6"),
    (r"^(\p{L}+\.?)\s+(\d{1,2})\s+(\d{1,2}:\d{2}(?::\d{2})?)\s+(?:[a-z]{3,5}\s+)?(\d{4})$", "$1 $2 $4 $3"),
    (r"^(\d{1,2}:\d{2}(?::\d{2})?)\s+(\d{1,4}[./\-]\d{1,2}[./\-]\d{2,4})$", "$2 $1"),
    (r"^(\d{1,2})[.:](\d{2})\s*uhr$", "$1:$2"),
    # Weeks, months, quarters and half-years as statistical offices have them.
    (r"^(\d{4}-w\d{2})$", "$1-1"), (r"^(\d{4})[- ]?m(\d{2})$", "$1-$2"), (r"^q([1-4])[ /\-](\d{4})$", "${2}q$1"),
    (r"^([1-4])\.? ?(?:quartal|quarter|trimest\w*|kvartal|kwarta\w*) (\d{4})$", "${2}q$1"),
    *((rf"^(\d{{4}})[- ]?q{quarter}$", f"$1-{3 * quarter - 2:02d}") for quarter in range(1, 5)),
    (r"^(\d{4})[- ]?[hs]1$", "$1-01"), (r"^(\d{4})[- ]?[hs]2$", "$1-07"),
)  # fmt: skip
"""Words and signs of days that say nothing, and what stands in their place."""
_HAN = "〇一二三四五六七八九"
_TENS = ((rf"([{_HAN}])十([{_HAN}])", "$1$2"), (rf"([{_HAN}])十", "${1}〇"), (rf"十([{_HAN}])", "一$1"), ("十", "一〇"))
_WEEK_DATE = r"^\d{4}-w\d{2}-[1-7]$"
_UNUSUAL_DAYS = r"\.$| /|/ |-\d{2}\s.*\.|\d{4}\s.*\.|:.*\s|\d{14}|-\d{2}\.\d{2}\."
"""What digits and points alone may have that is no plain day."""
_EPOCH = r"^/date\((-?\d+)(?:[+\-]\d{4})?\)/$"
_ERA = r"^(令和|平成|昭和|大正|明治|民國|民国|[rhstm])(元|\d{1,3})[-.](\d{1,2})[-.](\d{1,2})$"


@cache
def _week_days() -> tuple[str, str]:
    """Return the patterns of a day of the week before and behind a whole day: ``mar 5 2020`` is in March."""
    words = "|".join(_tables()["days"]["of_the_week"].split())
    before = rf"^(?:{words})\.?,?\s+(\d{{1,4}}[./\-]\s?[\divx]{{1,4}}[./\-].*|[^:]*\p{{L}}{{3}}.*)$"
    return before, rf"^(\d{{1,4}}[./\-]\s?\d{{1,2}}[./\-]\s?\d{{1,4}})\s+\(?(?:{words})\.?\)?$"


def plain_days(texts: pl.Series) -> pl.Series:
    """Drop from days what says nothing, and count the years of eras."""
    texts = plain_signs(texts)
    if not texts.str.contains(r"[^0-9.:/\- ]").any() and not texts.str.contains(_UNUSUAL_DAYS).any():
        return texts
    if texts.str.contains(rf"[十{_HAN[1:]}][年月日]").any():
        for pattern, plain in _TENS:
            texts = texts.str.replace_all(pattern, plain)
        texts = texts.str.replace_many(list(_HAN), list("0123456789"))
    for pattern in _week_days():
        texts = texts.str.replace(pattern, "$1")
    for pattern, plain in _DAY_WORDS:
        texts = texts.str.replace_all(pattern, plain)
    if texts.str.contains(_WEEK_DATE).any():
        weeks = texts.str.to_uppercase().str.to_date("%G-W%V-%u", strict=False).cast(pl.String)
        texts = weeks.zip_with(weeks.is_not_null(), texts)
    if texts.str.contains(_EPOCH).any():
        since = texts.str.extract(_EPOCH).cast(pl.Int64).cast(pl.Datetime("ms"))
        texts = since.dt.date().cast(pl.String).zip_with(since.is_not_null(), texts)
    era = texts.str.extract_groups(_ERA).struct.unnest()
    first = era.to_series(0).replace_strict(_tables()["eras"], default=None, return_dtype=pl.Int64)
    year = first + era.to_series(1).str.replace("元", "1").cast(pl.Int64)
    days = era.select(pl.concat_str(year.cast(pl.String), pl.nth(2), pl.nth(3), separator="-")).to_series()
    return days.zip_with(days.is_not_null(), texts)


PACKED = ("ddmmyy", "mmddyy", "ddmmyyyy", "mmddyyyy")
"""Forms of days without a sign between, which begin with a number of one digit or two."""
_FIRST_OF_19 = 30
"""Years of two digits are 1930 to 2029, whenever the file is read: the rule that spreadsheets have."""


@dataclass(frozen=True)
class DateForm:
    """A form of dates, timestamps or times of day."""

    text: str  # as it is declared
    pattern: str  # regular expression with a named group for each part
    century: str | None = None  # before years of two digits, where the form says it
    others: tuple[DateForm, ...] = ()  # forms that are tried where this one does not fit
    first: date | None = None  # day zero, where values are counts from a day
    a_day: int = 1  # how much a day counts then

    @property
    def has_day(self) -> bool:
        """Whether values are days, with or without a time, and not times of day."""
        return "<year>" in self.pattern or "<short>" in self.pattern or self.first is not None

    @property
    def is_whole(self) -> bool:
        """Whether values say all of a day, or are no days."""
        return not self.has_day or ("<day>" in self.pattern and ("<year>" in self.pattern or self.century is not None))

    @property
    def has_clock(self) -> bool:
        """Whether values have a time of day."""
        return "<hour>" in self.pattern

    @cached_property
    def _python(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    def fits(self, text: str) -> bool:
        """Tell whether one text looks like it; quick, as many forms are tried."""
        return self._python.match(text) is not None

    def read(self, texts: pl.Series) -> pl.Series:
        """Read days as dates, times as minutes or seconds after midnight, null for none; zones move no day."""
        read = self._read(texts)
        for other in self.others:
            read = read.zip_with(read.is_not_null(), other.read(texts))
        return read

    def _read(self, texts: pl.Series) -> pl.Series:
        if self.text in SPANS:
            return _spans(plain_signs(texts), SPANS[self.text])
        if self.first is not None:
            return _counted_days(plain_signs(texts), self.first, self.a_day).alias(texts.name)
        days = plain_days(texts)
        if self.text in PACKED and days.str.len_bytes().min() == len(self.text) - 1:
            # The zero before a day or month was lost, as numbers lose it.
            days = days.str.zfill(len(self.text))
        parts = days.str.extract_groups(self.pattern).struct.unnest()
        clock = _clock(parts) if self.has_clock else None
        if not self.has_day:
            return pl.Series(texts.name, clock, dtype=pl.Int64)
        days = self._days(parts) if "of_year" not in parts.columns else parts.select(
            pl.concat_str(pl.nth(0), pl.nth(1)).str.to_date("%Y%j", strict=False)
        ).to_series()  # fmt: skip
        return days.alias(texts.name) if clock is None else days.set(clock.is_null(), None).alias(texts.name)

    def _days(self, parts: pl.DataFrame) -> pl.Series:
        if "name" in parts.columns:
            numbers = month_numbers(parts["name"].drop_nulls().unique().to_list())
            month = pl.col("name").replace_strict(numbers, default=None, return_dtype=pl.String)
        else:
            month = pl.col("month")
        year = pl.col("year")
        if "<short>" in self.pattern:
            short = pl.col("short")
            early = pl.when(short.cast(pl.Int64) < _FIRST_OF_19).then(pl.lit("20")).otherwise(pl.lit("19"))
            year = pl.concat_str(early if self.century is None else pl.lit(self.century), short)
        if "bbbb" in self.text:
            year = (year.cast(pl.Int64) - _BUDDHA).cast(pl.String)
        day = pl.col("day").str.zfill(2) if "day" in parts.columns else pl.when(year.is_not_null()).then(pl.lit("01"))
        iso = pl.concat_str(year, month.str.zfill(2), day, separator="-")
        return parts.select(iso.str.to_date("%Y-%m-%d", strict=False)).to_series()


def _counted_days(texts: pl.Series, first: date, a_day: int) -> pl.Series:
    """Return the days that are so many after the first; null for other texts, and outside the years 1 to 9999."""
    counts = texts.str.extract(_COUNTED).str.replace(",", ".", literal=True).cast(pl.Float64)
    days = (counts / a_day).floor() + (first - date(1970, 1, 1)).days
    known = days.is_between((date.min - date(1970, 1, 1)).days, (date.max - date(1970, 1, 1)).days)
    return days.set(~known.fill_null(False), None).cast(pl.Int32).cast(pl.Date)


def _spans(texts: pl.Series, patterns: Sequence[str]) -> pl.Series:
    """Return spans of time in seconds, or in minutes where only hours and minutes are written; null for other texts."""
    found = pl.repeat(None, len(texts), dtype=pl.Float64, eager=True)
    is_below, texts = texts.str.starts_with("-"), texts.str.strip_prefix("-")
    for pattern in patterns:
        parts = texts.str.extract_groups(pattern).struct.unnest()
        units = [(name, size) for name, size in zip(_ORDER, _SECONDS, strict=True) if name in parts.columns]
        # What is not there counts nothing, but something has to be there.
        cells = [pl.col(name).str.replace(",", ".", literal=True).cast(pl.Float64) * size for name, size in units]
        total = pl.when(pl.any_horizontal(pl.all().is_not_null())).then(pl.sum_horizontal(cells))
        found = found.zip_with(found.is_not_null(), parts.select(total).to_series())
    found = (-found).zip_with(is_below, found)
    found = (found / 60 if "seconds" not in patterns[0] else found).alias(texts.name)
    return found.cast(pl.Int64) if (found.drop_nulls() == found.drop_nulls().round()).all() else found


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
    name of a month, in one of 60 languages, or a Roman number), ``hh:mm``, ``hh:mm:ss``, ``am`` (a time of twelve
    hours), ``z`` (a zone), and ``.``, ``/``, ``-``, commas and blanks between. Days and months may have one digit where
    something stands between. Without ``dd`` the first day of the month is meant; ``bbbb`` is a year of the Buddhist
    era, and ``ddd`` the day of the year. ``hhh:mm``, ``mmm:ss``, ``hhh:mm:ss`` and ``duration`` are spans of time.
    ``excel`` is the number of days that a spreadsheet counts, ``days since 1970-01-01`` that from
    any other day; ``seconds``, ``milliseconds``, ``microseconds`` and ``nanoseconds`` may stand there, too.
    Raises ``InputError`` for everything else.
    """
    lowered = text.strip().lower()
    if lowered == EXCEL:
        return DateForm(lowered, _COUNTED, first=date(1899, 12, 30))
    if counted := _SINCE.fullmatch(lowered):
        return DateForm(lowered, _COUNTED, first=_first_day(counted[2]), a_day=A_DAY[counted[1]])
    if lowered in SPANS:
        return DateForm(lowered, "|".join(SPANS[lowered]))
    tokens = _TOKEN.findall(lowered)
    pattern = _pattern(tokens)
    if "".join(tokens) != lowered or not _is_whole(pattern):
        raise InputError(
            "dates must be a form such as dd.mm.yyyy, mm/dd/yyyy, 'yyyy-mm-dd hh:mm:ss' or hh:mm. Parts of a day are "
            "dd, ddd, mm, mon, yyyy, yy, 19yy, 20yy and bbbb. Parts of a time are hh:mm, hh:mm:ss, am and z. "
            "Between parts stand . / - , or blanks. "
            "Spans of time are hhh:mm, hhh:mm:ss, mmm:ss or duration. Counts of days are excel, or "
            "'days since 1970-01-01', also with seconds or milliseconds"
        )
    century = next((token[:2] for token in tokens if token.endswith("yy") and token[0].isdigit()), None)
    return DateForm(lowered, pattern, century)


def _first_day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError("dates: 'since' must be followed by a day such as 1970-01-01") from None


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
        "bbbb": "(?P<year>[0-9]{4})",
        "mon": r"(?P<name>[^\s0-9.,/:\-]+)\.?",
        "mm": f"(?P<month>[0-9]{width})",
        "dd": f"(?P<day>[0-9]{width})",
        "ddd": "(?P<of_year>[0-9]{3})",
        "am": _HALF,
        "z": _ZONE,
    }.get(token.strip() or token, "(?P<short>[0-9]{2})" if token.endswith("yy") else _between(token))


def _between(token: str) -> str:
    """Return what stands between parts: blanks around a sign are as one likes."""
    return r"\s*" + re.escape(token.strip()).replace(r"\ ", "") + r"\s*" if token.strip() else r"\s+"


def _is_whole(pattern: str) -> bool:
    """Tell whether a pattern has each part once at most, and all of a day, or none of it and a time."""
    groups = re.findall(r"<(\w+)>", pattern)
    if len(set(groups)) < len(groups):
        return False
    if groups == ["year", "of_year"]:
        return True
    of_day = (("day",), ("month", "name"), ("year", "short"))
    counts = [sum(name in groups for name in names) for names in of_day]
    return counts in ([1, 1, 1], [0, 1, 1]) or (counts == [0, 0, 0] and "hour" in groups)


# Numbers as people write them: decimal commas, thousands separators, currency and percent signs.


_BLANKS = "[ \u00a0\u202f\u2009]"
EITHER = ".,"
"""Fractions begin with a point in some numbers, and with a comma in others."""
MARKS = {".": r"\.", ",": ",", " ": _BLANKS, "'": "['\u2019\u02bc\u00b4_]"}
"""Marks between groups of digits and before fractions, and regular expressions of all that they are written as."""
WHOLE = r"[.,]\s*-{1,2}(\s|$)"
"""A dash in place of hundredths: ``12,-``."""
_SIGN_BEHIND = r"^[0-9][0-9.,' ]*[+\-]$"
_BEHIND, _APART = r"^([^-]*[0-9.,][^-]*?)\s*-$", r"^([+-])\s+"
BRACKETS = r"^((?:\p{L}{0,2}\p{Sc}|usd|eur|gbp|chf)?)\s*\((.*)\)$"
"""Minus signs behind a number, brackets around a negative one, and signs that stand apart."""


@dataclass(frozen=True)
class NumberForm:
    """How numbers are written."""

    decimal: str = "."
    thousands: str | None = None  # between groups of three digits; numbers without groups fit as well
    unit: str | None = None  # before or after every number

    @cached_property
    def _pattern(self) -> str:
        decimal = "[.,]" if self.decimal == EITHER else MARKS[self.decimal]
        whole = "[0-9]+"
        if self.thousands:
            mark = MARKS[self.thousands]
            # In India all groups but the last have two digits.
            pairs = f"|[0-9]{{1,2}}(?:{mark}[0-9]{{2}})+{mark}[0-9]{{3}}" if self.thousands == "," else ""
            whole = f"(?:[0-9]{{1,3}}(?:{mark}[0-9]{{3}})+{pairs}|[0-9]+)"
        return rf"^[+\-]?(?:{whole}(?:{decimal}[0-9]*)?|{decimal}[0-9]+)(?:e[+\-]?[0-9]+)?$"

    def plain(self, texts: pl.Series) -> pl.Series:
        """Rewrite numbers with a decimal point and nothing else; null where a text is no number of this form."""
        bare = plain_signs(texts)
        if bare.str.contains("[-(+]").any():
            bare = bare.str.replace(WHOLE, "$1")
            # A plus behind is a sign where some have a minus there; ``90+`` is an age.
            if bare.str.contains(_SIGN_BEHIND).all() and bare.str.ends_with("-").any():
                bare = bare.str.replace(r"\+$", "")
            bare = bare.str.replace(BRACKETS, "-$1$2").str.replace(_BEHIND, "-$1").str.replace(_APART, "$1")
        if self.unit is not None:
            marks = SEVERAL_MARKS.get(self.unit.lower())
            bare = _without_unit(bare, self.unit.lower()) if marks is None else _without_marks(bare, marks)
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


UNITS = frozenset(
    """€ $ £ ¥ ₹ ₽ ₺ ₩ % ‰ ° eur usd gbp chf jpy sek nok dkk pln czk huf inr brl zł kr fr. r$ us$ rs. kč ft lei kg g mg
    µg km m cm mm m² m³ l ml dl °c °f mmhg mg/dl mmol/l km/h bpm h min kwh kcal kj
    rp ₫ ₱ ₦ ฿ ₪ ₴ ₸ ₼ ₾ ₡ ₲ ₵ c$ a$ s$ mx$ nt$ hk$ aud cad nzd cny krw thb idr myr php sgd vnd zar try ils uah ron bgn
    mxn ars clp cop aed sar egp ngn kes sfr sfr. tl лв. руб. 元 円 원 nmol/l µmol/l µl ng ng/ml g/dl g/l pg iu/l
    u/l lb lbs oz in inch inches mi mile miles mph yd gal
    k mio mio. mrd mrd. tsd tsd. bn""".split()  # noqa: SIM905
)
"""Units that a message may show: they are known before any value is read. In small letters."""
SEVERAL_MARKS: dict[str, dict[str, str]] = {
    "$/usd": dict.fromkeys(("$", "us$", "usd", "dollar", "dollars"), ""),
    "€/eur": dict.fromkeys(("€", "eur", "euro", "euros"), ""),
    "£/gbp": dict.fromkeys(("£", "gbp"), ""),
    "ca./~": dict.fromkeys(
        ("~", "≈", "±", "about", "approx.", "approx", "around", "ca.", "ca", "c.", "circa", "etwa", "env.", "environ",
         "ungefähr", "rund", "roughly", "vers", "aprox.", "?"), ""
    ),
    "*/†": dict.fromkeys(("*", "**", "***", "****", "†", "‡", "§", "¹", "²", "³", "a)", "b)", "c)", "1)", "2)"), ""),
    "k/m": {
        **dict.fromkeys(("k", "tsd", "tsd.", "thousand"), "e3"), **dict.fromkeys(("m", "mn", "mio", "mio."), "e6"),
        **dict.fromkeys(("million", "millions"), "e6"), **dict.fromkeys(("b", "bn", "mrd", "mrd.", "billion"), "e9"),
    },
    "cr/dr": {"cr": "", "dr": "-"},
    "h/s": {"h": "", "s": "-"},
    "c/d": {"c": "", "d": "-"},
}  # fmt: skip
"""Units that are written in several ways, or only beside some numbers, and what a mark does: debits are below zero."""


def _without_marks(texts: pl.Series, marks: Mapping[str, str]) -> pl.Series:
    """Drop one of several marks before or behind each number; null where there is another one."""
    parts = texts.str.extract_groups(r"^([^0-9+\-]*?)\s*([+\-]?[.,]?[0-9](?:.*[0-9])?)\s*([^0-9]*)$").struct.unnest()
    mark = pl.concat_str(pl.nth(0).str.strip_chars(), pl.nth(2).str.strip_chars())
    effect = (
        pl.when(mark == "").then(pl.lit("")).otherwise(mark.replace_strict(marks, default=None, return_dtype=pl.String))
    )
    sign, power = (pl.when(effect.str.starts_with(one)).then(effect).otherwise(pl.lit("")) for one in "-e")
    return parts.select(pl.when(effect.is_not_null()).then(pl.concat_str(sign, pl.nth(1), power))).to_series()


_UNIT = r"(?:[^\d]|10\^\d)(?:.*[^\d]|\D*[23])?"
"""Units may have a power, such as kg/m2 and 10^9/l."""
Strays = Literal["missing"]
DECIMALS = (".", ",", EITHER)
THOUSANDS = (".", ",", " ", "'")


@dataclass(frozen=True)
class WrittenForm:
    """How values are written; None and empty say nothing, and the values themselves are asked.

    Raises ``InputError`` with every setting that cannot be used.
    """

    decimal: str | None = None  # ``"."`` or ``","``, before the fraction; ``".,"``: one in some, the other in others
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
            yield "decimal must be '.' or ',', or '.,' for either"
        if self.thousands is not None and self.thousands not in THOUSANDS:
            yield "thousands must be '.', ',', ' ' or \"'\""
        if self.thousands is not None and self.thousands in (self.decimal or ""):
            yield "thousands must differ from decimal"
        unit = self.unit
        if unit is not None and (not isinstance(unit, str) or not re.fullmatch(_UNIT, unit.strip())):
            yield "unit must be a text that begins with no digit, for example '€'"
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

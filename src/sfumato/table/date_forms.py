"""Dates, timestamps and times as people write them: ``dd.mm.yyyy``, ``mm/dd/yyyy hh:mm``, ``hh:mm:ss``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

import polars as pl

from sfumato.errors import InputError

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
    """A form of dates, timestamps or times of day.

    Attributes
    ----------
    text : str
        As it is declared.
    pattern : str
        Regular expression with a named group for each part.
    century : str or None
        Before years of two digits, where the form says it.
    """

    text: str
    pattern: str
    century: str | None = None

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

    Parameters
    ----------
    text
        Made of ``dd``, ``mm``, ``yyyy`` (or ``yy``: 1930 to 2029; ``19yy``, ``20yy``: that century), ``mon`` (the name
        of a month, English or German), ``hh:mm``, ``hh:mm:ss``, ``am`` (a time of twelve hours), ``z`` (a zone), and
        ``.``, ``/``, ``-``, commas and blanks between. Days and months may have one digit where something stands
        between.

    Raises
    ------
    InputError
        When it is no such form, or has no whole day and no time.
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

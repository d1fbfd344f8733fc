"""What columns look like that identify people: by their names, by the pattern of their values, by how many they have.

It looks at distinct values alone, tells of no value, and decides nothing: :mod:`sfumato.release.task` does.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import cached_property
from importlib.resources import files

import polars as pl

from sfumato.table.distinct import texts_of

# Sorts of values that identify people: the eighteen of HIPAA's safe harbor, and three that it has no letter for.


PARAGRAPH = "45 CFR 164.514(b)(2)(i)"
"""The rule that lists the eighteen, by letters."""


class Sort(Enum):
    """One sort: its letter in the rule, what its values are called, and what the rule, or prudence, asks for."""

    NAMES = "A", "names of people", "remove them"
    POSTCODES = "B", "postcodes", "keep the first three digits, and 000 for those where 20,000 people or fewer live"
    PLACES = "B", "addresses or small places", "keep the state, or another place with many people in it"
    COORDINATES = "B", "coordinates", "turn them into districts with many people, or remove them"
    BIRTHS = "C", "dates of birth", "keep the year, and one group for everybody above 89"
    DATES = "C", "exact dates", "keep the year"
    AGES = "C", "ages", "put all above 89 into one group"
    TELEPHONES = "D", "telephone or fax numbers", "remove them"
    MAIL = "F", "e-mail addresses", "remove them"
    SOCIAL = "G", "social security, tax or passport numbers", "remove them"
    RECORDS = "H", "numbers of people, records or cases", "remove them, or name them as the person column"
    INSURANCE = "I", "insurance numbers", "remove them"
    ACCOUNTS = "J", "account or card numbers", "remove them"
    LICENCES = "K", "licence or certificate numbers", "remove them"
    VEHICLES = "L", "vehicle or plate numbers", "remove them"
    DEVICES = "M", "device or serial numbers", "remove them"
    LINKS = "N", "web addresses", "remove them"
    ADDRESSES = "O", "IP addresses", "remove them"
    BODIES = "P", "biometric data", "remove them"
    PICTURES = "Q", "pictures", "remove them"
    CODES = "R", "identifying codes", "remove them, or name them as the person column"
    FREE_TEXT = None, "free text", "remove it, or code what it says into categories"
    NEARLY_UNIQUE = None, "values that hardly two records share", "remove them, or make them coarser"

    def __init__(self, letter: str | None, called: str, advice: str) -> None:
        self.letter, self.called, self.advice = letter, called, advice

    @property
    def is_direct(self) -> bool:
        """Whether one value is enough to reach or look up one person."""
        return self in _DIRECT

    def hint(self) -> str:
        """Say what the rule asks for, with its letter; without one, what to do."""
        return self.advice if self.letter is None else f"HIPAA ({self.letter}): {self.advice}"


_DIRECT = {
    Sort.TELEPHONES, Sort.MAIL, Sort.SOCIAL, Sort.ACCOUNTS, Sort.VEHICLES, Sort.DEVICES, Sort.LINKS, Sort.ADDRESSES,
    Sort.PICTURES,
}  # fmt: skip


# What a column is called: words for identifiers, English and German.


_NAMES = tomllib.loads(files("sfumato.table").joinpath("identification.toml").read_text(encoding="utf-8"))
_PATTERNS = tuple(
    (Sort[sort.upper()], re.compile("|".join(words).replace("{number}", _NAMES["number"])))
    for sort, words in _NAMES["whole"].items()
)
_STEMS = tuple((Sort[sort.upper()], re.compile(stem)) for sort, stem in _NAMES["parts"].items())

_DAYS = re.compile("|".join(_NAMES["days"]))
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def sort_by_name(name: str) -> Sort | None:
    """Return what a column of this name holds, if the name says so.

    A name means a sort if all of it does: ``first_name`` and ``PatientName`` are names of people, ``product_name`` is
    not. A year of birth and a birth weight are no dates of birth.
    """
    plain = name_in_words(name)
    whole = (sort for sort, pattern in _PATTERNS if pattern.fullmatch(plain))
    parts = (sort for sort, stem in _STEMS if stem.search(plain))
    return next(whole, None) or next(parts, None)


def names_a_day(name: str) -> bool:
    """Tell whether a column of this name holds days, in one of twenty languages; the month or the year is no day."""
    return _DAYS.search(name_in_words(name)) is not None


def name_in_words(name: str) -> str:
    """Return a name in small letters, its words parted by blanks: ``birth date`` for ``BirthDate``."""
    parted = re.sub(r"(?<=[a-zäöüß])(?=[A-ZÄÖÜ])", " ", unicodedata.normalize("NFC", name))
    small = parted.lower().translate(_UMLAUTS)
    return " ".join(re.findall(r"[^\W_]+", small))


# What values look like: e-mail addresses, telephone numbers, accounts, coordinates, free text and the like.


MOST_LOOKED_AT = 10_000
"""Of more distinct texts so many, about, are looked at; which ones hangs on nothing but the texts."""
MANY = 20
"""Fewer distinct values are categories, unless each of them is unmistakable."""


@dataclass(frozen=True)
class Pattern:
    """What texts of one sort look like."""

    sort: Sort
    expression: str  # a regular expression; written for polars' engine, which knows no look-around
    share: float  # of the distinct texts, so many match at least; 0: a single one
    holds: Callable[[str], bool] | None = None  # a further test of a text that matches, such as a check digit
    unless: str | None = None  # texts that match this are something else
    least: int = 1  # distinct texts that there must be
    one_like: str | None = None  # at least one of them matches this, too

    def fits(self, texts: pl.Series) -> bool:
        """Tell whether enough of some distinct texts match. Cost O(bytes of the texts)."""
        if len(texts) < self.least:
            return False
        matches = texts.str.contains(self.expression)
        if self.unless is not None:
            matches &= ~texts.str.contains(self.unless)
        count = int(matches.sum())
        if not self._is_enough(count, len(texts)):
            return False
        if self.one_like is not None and not texts.str.contains(self.one_like).any():
            return False
        if self.holds is None:
            return True
        return self._is_enough(sum(map(self.holds, texts.filter(matches))), len(texts))

    def _is_enough(self, count: int, of: int) -> bool:
        return count > 0 and count >= self.share * of


def sort_by_values(texts: pl.Series) -> Sort | None:
    """Return what distinct texts, none missing, are by the first, most certain pattern; blanks around do not count.

    One text is enough that holds an address of e-mail or the web; for others enough texts must be nothing else.
    """
    sample = sample_values(texts).str.strip_chars()
    sample = sample.filter(sample != "")
    return next((pattern.sort for pattern in PATTERNS if pattern.fits(sample)), None)


def sample_values(texts: pl.Series) -> pl.Series:
    """Return about :data:`MOST_LOOKED_AT` of many texts: those whose hash says so, whatever their order."""
    step = len(texts) // MOST_LOOKED_AT
    return texts if step < 2 else texts.filter(texts.hash(0) % step == 0)


def _has_remainder_one(text: str) -> bool:
    """Check an IBAN by ISO 13616: moved, in digits, it leaves 1 when divided by 97."""
    plain = text.replace(" ", "").upper()
    return int("".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])) % 97 == 1


def _has_check_digit(text: str) -> bool:
    """Check the number of a card, or of a telephone (IMEI), by Luhn."""
    digits = [int(digit) for digit in text if digit.isdigit()][::-1]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _has_digits_of_a_telephone(text: str) -> bool:
    return 7 <= sum(letter.isdigit() for letter in text) <= 15


def _is_mixed(text: str) -> bool:
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text))


_OCTET = r"(25[0-5]|2[0-4]\d|1?\d?\d)"
_HEX = "[0-9A-Fa-f]"
_DATE = r"^(\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./](\d{4}|\d{2}))([ T]\d{1,2}:\d{2}.*)?$"
_CAPITAL = r"(\p{Lu}[\p{Ll}'’-]+(\p{Lu}\p{Ll}+)?|\p{Lu}\.)"
_TITLE = r"((?i:mrs?|ms|miss|dr|prof|herr|frau)\.? )*"

LIKE_CARDS = Pattern(
    Sort.ACCOUNTS, r"^(\d{4}[ -]){3}\d{4}$|^\d{4}[ -]\d{6}[ -]\d{5}$|^[3-6]\d{13,15}$", 0.5, holds=_has_check_digit
)
"""Numbers of cards, by their check digit; whole numbers may be such, too."""
PATTERNS = (
    Pattern(Sort.MAIL, r"[\w.+%-]+@[\w-]+(\.[\w-]+)*\.[A-Za-z]{2,}", 0),
    Pattern(Sort.LINKS, r"(?i)\b(https?://|ftp://|www\.)\w", 0),
    Pattern(Sort.ACCOUNTS, r"^[A-Z]{2}\d{2}( ?[A-Z0-9]{4}){2,7} ?[A-Z0-9]{1,4}$", 0.2, holds=_has_remainder_one),
    Pattern(
        # United States; Germany: social security and health insurance; United Kingdom; Switzerland.
        Sort.SOCIAL,
        r"^(\d{3}-\d{2}-\d{4}|\d{2} ?\d{6} ?[A-Z] ?\d{3}|[A-CEGHJ-PR-TW-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]|"
        r"756\.\d{4}\.\d{4}\.\d{2})$",
        0.2,
        unless=r"^(000|666|9\d\d)-|-00-|-0000$",
    ),
    Pattern(Sort.INSURANCE, r"^[A-Z]\d{9}$", 0.8, least=MANY),
    Pattern(Sort.ADDRESSES, rf"^({_OCTET}\.{_OCTET}\.{_OCTET}\.{_OCTET}|({_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}|"
            rf"({_HEX}{{1,4}}:){{2,7}}:({_HEX}{{1,4}}(:{_HEX}{{1,4}})*)?)(/\d+)?$", 0.2),
    Pattern(Sort.DEVICES, rf"^({_HEX}{{2}}[:-]){{5}}{_HEX}{{2}}$", 0.2),
    Pattern(Sort.CODES, rf"^\{{?{_HEX}{{8}}-({_HEX}{{4}}-){{3}}{_HEX}{{12}}\}}?$|"
            rf"^({_HEX}{{32}}|{_HEX}{{40}}|{_HEX}{{64}})$", 0.2),
    LIKE_CARDS,
    Pattern(Sort.VEHICLES, r"^[A-HJ-NPR-Z0-9]{17}$", 0.5, holds=_is_mixed),
    Pattern(Sort.VEHICLES, r"^[A-ZÄÖÜ]{1,3}[- ][A-ZÄÖÜ]{1,2} ?\d{1,4}[EH]?$", 0.8, least=MANY),
    Pattern(Sort.PICTURES, r"(?i)\.(jpe?g|png|heic|bmp|gif|tiff?|dcm)$|^data:image/", 0.2),
    Pattern(Sort.COORDINATES, r"(?i)^(point ?)?\(?-?\d{1,3}\.\d{3,}[,; ] ?-?\d{1,3}\.\d{3,}\)?$|"
            r"^\d{1,3}° ?\d{1,2}['′].*[NSEWO]", 0.5),
    Pattern(Sort.DATES, _DATE, 0.8, least=MANY),
    Pattern(
        Sort.TELEPHONES,
        r"^\+ ?\d[\d ()/.-]{5,}\d$|^\(?0\d{1,5}\)?[ /-][\d /-]{3,}\d$|^\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}$|"
        r"^1-\d{3}-\d{3}-\d{4}$",
        0.5,
        holds=_has_digits_of_a_telephone,
        # A state of the United States and an area in it.
        unless=rf"{_DATE}|^\d{{2}}-\d{{5}}$",
    ),
    Pattern(Sort.POSTCODES, r"^(\d{5}-\d{4}|[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d|\d{4} ?[A-Z]{2}|"
            r"(D|A|CH)-\d{4,5})$", 0.8, least=MANY),
    # Without a leading zero they may be amounts.
    Pattern(Sort.POSTCODES, r"^\d{5}$", 0.9, least=MANY, one_like="^0"),
    Pattern(Sort.FREE_TEXT, r"^\S+( +\S+){4,}", 0.3, least=MANY),
)  # fmt: skip
"""The most certain first."""

LIKE_NAMES = Pattern(
    Sort.NAMES, rf"^{_TITLE}{_CAPITAL}(,? {_TITLE}{_CAPITAL}){{1,3}}( \(.*\))?$", 0.7, least=MANY
)  # fmt: skip
"""Two to four words with capitals: names of people where nearly every record has its own, else of places or goods."""
LIKE_RECORDS = Pattern(Sort.RECORDS, r"^[A-Za-z]{1,5}[-_/ #]?\d{5,12}$|^\d{4,}[-/]\d{2,}$", 0.8, least=MANY)
"""Codes of letters and many digits: numbers of records where many records have their own, else of goods or diseases."""
LIKE_DAYS = Pattern(Sort.DATES, r"^(18|19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$", 1.0, least=MANY)
"""Whole numbers that are dates, 20240131."""


# What one column looks like.


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
    """What a column looks like, without any of its values."""

    # `by_value`, `by_name`: what the pattern of its values, and its name, say that it holds
    by_value: Sort | None
    by_name: Sort | None
    # `distinct`, `known`: number of its values, and of the records that have one
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
    if isinstance(values.dtype, (pl.Categorical, pl.Enum)):
        values = values.cast(pl.String)
    if values.dtype == pl.String:
        return _of_texts(values, known)
    if values.dtype.is_integer():
        numbers = sample_values(values.cast(pl.String))
        if LIKE_DAYS.fits(numbers):
            return _of_dates(numbers.str.to_date("%Y%m%d", strict=False))
        return Sort.ACCOUNTS if LIKE_CARDS.fits(numbers) else None
    return _of_dates(values.cast(pl.Date)) if values.dtype == pl.Date or values.dtype == pl.Datetime else None


def _of_texts(values: pl.Series, known: int) -> Sort | None:
    found = sort_by_values(values)
    if found is Sort.DATES:
        return _of_years(sample_values(values).str.extract(r"(\d{4})").cast(pl.Int32, strict=False)) or found
    if found is None and len(values) >= OFTEN * known:
        some = sample_values(values)
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

"""What values look like: e-mail addresses, telephone numbers, accounts, coordinates, free text and the like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from sfumato.table.identification.sorts import Sort

MOST_LOOKED_AT = 10_000
"""Of more distinct texts so many, about, are looked at; which ones hangs on nothing but the texts."""
MANY = 20
"""Fewer distinct values are categories, unless each of them is unmistakable."""


@dataclass(frozen=True)
class Pattern:
    """What texts of one sort look like.

    Attributes
    ----------
    sort : Sort
    expression : str
        A regular expression; written for polars' engine, which knows no look-around.
    share : float
        Of the distinct texts, so many match at least; 0: a single one.
    holds : callable or None
        A further test of a text that matches, such as a check digit.
    unless : str or None
        Texts that match this are something else.
    least : int
        Distinct texts that there must be.
    one_like : str or None
        At least one of them matches this, too.
    """

    sort: Sort
    expression: str
    share: float
    holds: Callable[[str], bool] | None = None
    unless: str | None = None
    least: int = 1
    one_like: str | None = None

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
    """Return what distinct texts are, if their pattern says so.

    Parameters
    ----------
    texts
        String: each text once, none missing. Blanks around them do not count.

    Returns
    -------
    Sort or None
        The first of the patterns, the most certain ones first. Addresses of e-mail and of the web are found where a
        single text holds one; for the others enough texts must be nothing else.
    """
    looked_at = sample(texts).str.strip_chars()
    looked_at = looked_at.filter(looked_at != "")
    return next((pattern.sort for pattern in PATTERNS if pattern.fits(looked_at)), None)


def sample(texts: pl.Series) -> pl.Series:
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
    Pattern(Sort.ACCOUNTS, r"^(\d{4}[ -]){3}\d{4}$|^\d{4}[ -]\d{6}[ -]\d{5}$|^[3-6]\d{13,15}$", 0.5,
            holds=_has_check_digit),
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
        unless=_DATE,
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
"""Whole numbers that are dates, 20240131; the only pattern of numbers."""

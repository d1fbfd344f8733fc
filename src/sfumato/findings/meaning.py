"""What a column means: numbers that measure, codes that name, labels in an order, places, people, free text.

Judged from the distinct values, how often each occurs, and the name of the column. Nothing is decided: a meaning says
how sure it is, and the steward's word outranks it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.findings.scales import Order, order_of
from sfumato.findings.words import names_of
from sfumato.table.identification import Look, Sort, name_in_words, sort_by_name
from sfumato.table.schema import Kind


class Meaning(StrEnum):
    """What the values of a column are."""

    NUMBER = "number"
    DATE = "date"
    CODE = "nominal code"
    ORDERED = "ordered labels"
    TEXT = "categories"
    PLACE = "place"
    IDENTIFIER = "identifier"
    FREE_TEXT = "free text"
    ITEMS = "items"
    TRUTH = "yes or no"
    EMPTY = "empty"


@dataclass(frozen=True, eq=False)
class Values:
    """The values of a column without what marks a missing one.

    distinct : (d,), each value once, rising; counts : int64 (d,), records that have each; records : of the table.
    """

    name: str
    distinct: pl.Series
    counts: NDArray[np.int64]
    kind: Kind
    records: int

    @property
    def known(self) -> int:
        """Records that have a value."""
        return int(self.counts.sum())


@dataclass(frozen=True)
class Judgement:
    """What a column means, in whose favour the signs speak, and whether they are plain."""

    meaning: Meaning
    reason: str
    sure: bool = True
    order: Order | None = None

    @property
    def is_code(self) -> bool:
        """Whether numbers would name something: codes, and places that are not coordinates."""
        return self.meaning is Meaning.CODE or (self.meaning is Meaning.PLACE and self.reason != COORDINATES)


COORDINATES = "its name is that of coordinates"
"""The reason for places that are measured."""
_PEOPLE = frozenset(
    {Sort.NAMES, Sort.TELEPHONES, Sort.MAIL, Sort.SOCIAL, Sort.RECORDS, Sort.INSURANCE, Sort.ACCOUNTS, Sort.LICENCES,
     Sort.VEHICLES, Sort.DEVICES, Sort.LINKS, Sort.ADDRESSES, Sort.BODIES, Sort.PICTURES, Sort.CODES}
)  # fmt: skip
_PLACES = frozenset({Sort.POSTCODES, Sort.PLACES, Sort.COORDINATES})


def judge_meaning(values: Values, look: Look, siblings: int = 0) -> Judgement:
    """Judge a column by its values, its name and how many others have just these values. Cost O(d log d)."""
    if not len(values.distinct):
        return Judgement(Meaning.EMPTY, "no record has a value")
    found = look.by_value or look.by_name
    if values.kind is Kind.DATE:
        return Judgement(Meaning.DATE, "every value is a date")
    if values.kind is Kind.BOOLEAN:
        return Judgement(Meaning.TRUTH, "the values are true and false")
    if values.kind is Kind.NUMERIC:
        return _of_numbers(values, look, siblings)
    if found in _PEOPLE:
        return Judgement(Meaning.IDENTIFIER, look.sentence(), look.by_value is not None)
    if found in _PLACES or _names_a_place(name_in_words(values.name)):
        return Judgement(Meaning.PLACE, "its name or its values are those of places", look.by_value in _PLACES)
    return _of_texts(values, look)


# Texts.


_YES_OR_NO = (
    {"yes", "no"}, {"y", "n"}, {"true", "false"}, {"t", "f"}, {"ja", "nein"}, {"j", "n"}, {"si", "no"}, {"sim", "nao"},
    {"oui", "non"}, {"1", "0"}, {"tak", "nie"}, {"x", ""},
)  # fmt: skip
_SEPARATORS = (";", "|", ",", "/", "+")
_MOST_LABELS = 60
_ICD = re.compile(r"^[A-TV-Z]\d[0-9A-Z](?:\.?[0-9A-Z]{1,4})?$")


def _of_texts(values: Values, look: Look) -> Judgement:
    texts = values.distinct.cast(pl.String)
    if look.by_value is Sort.DATES or look.by_value is Sort.BIRTHS:
        return Judgement(Meaning.DATE, look.sentence(), False)
    if look.by_value is Sort.FREE_TEXT:
        return Judgement(Meaning.FREE_TEXT, look.sentence())
    if len(texts) == 2 and {text.strip().casefold() for text in texts} in _YES_OR_NO:
        return Judgement(Meaning.TRUTH, "the values say yes and no")
    order = order_of(texts.to_list()) if len(texts) <= _MOST_LABELS else None
    if order is not None:
        return Judgement(Meaning.ORDERED, order.reason, order=order)
    mark = _mark_of_items(texts)
    if mark is not None:
        return Judgement(Meaning.ITEMS, f"the values are lists of items, parted by {mark!r}")
    if _are_codes(texts) and look.is_mostly_distinct:
        return Judgement(Meaning.IDENTIFIER, "the values are codes, and most records have one of their own", False)
    if _are_codes(texts):
        return Judgement(Meaning.CODE, "the values are codes of letters and digits")
    if look.by_name is Sort.FREE_TEXT:
        return Judgement(Meaning.FREE_TEXT, look.sentence(), False)
    if look.is_nearly_unique:
        return Judgement(Meaning.IDENTIFIER, look.sentence(), False)
    return Judgement(Meaning.TEXT, "the values are words")


def _mark_of_items(texts: pl.Series) -> str | None:
    """Return the mark between items: many cells have it, and their parts occur again and again."""
    for mark in _SEPARATORS:
        parted = texts.filter(texts.str.contains(mark, literal=True))
        if len(texts) < 5 or len(parted) < 0.3 * len(texts):
            continue
        parts = parted.str.split(mark).explode(empty_as_null=True).str.strip_chars()
        alone = parts.n_unique()
        if len(parts) >= 4 * alone and alone < len(texts) and float(parts.str.len_chars().mean() or 0) <= 30:  # type: ignore[arg-type]
            return mark
    return None


def _are_codes(texts: pl.Series) -> bool:
    """Tell whether all texts are short codes of capital letters and digits, at least one digit in each."""
    if bool((texts.str.len_chars() > 12).any()):
        return False
    return bool(texts.str.contains(r"^[A-Z]{0,4}[-. ]?[0-9][0-9A-Z.\-/]*$").all())


def _names_a_place(words: str) -> bool:
    whole = names_of("places", r"^((native|birth|home) )?({})( (code|name|id|of \w+))?$")
    return bool(whole.search(words) or names_of("places_anywhere").search(words))


# Numbers.


_LIKERT = 3
"""Columns with just the same few whole numbers, from which on they are answers on one scale."""
_FEW = 15


def _of_numbers(values: Values, look: Look, siblings: int) -> Judgement:
    words = name_in_words(values.name)
    numbers = values.distinct.cast(pl.Float64).to_numpy()
    if look.by_value is Sort.DATES or look.by_value is Sort.BIRTHS:
        return Judgement(Meaning.DATE, look.sentence(), False)
    whole = bool(np.all(numbers == np.round(numbers)))
    if look.by_name is Sort.COORDINATES:
        return Judgement(Meaning.PLACE, COORDINATES)
    if not whole:
        return Judgement(Meaning.NUMBER, "the values have decimals")
    if look.by_name in _PEOPLE and look.is_mostly_distinct:
        return Judgement(Meaning.IDENTIFIER, look.sentence())
    if _counts_rows(numbers, values):
        return Judgement(Meaning.IDENTIFIER, "the values count the records", False)
    if sort_by_name(values.name) is Sort.POSTCODES:
        return Judgement(Meaning.PLACE, "its name is that of postcodes")
    if _names_a_place(words):
        return Judgement(Meaning.PLACE, "its name is that of a place, and its values are codes")
    is_code, is_quantity = bool(names_of("codes").search(words)), _names_a_quantity(words)
    return _of_whole_numbers(values, numbers, (is_code and not is_quantity, is_quantity and not is_code), siblings)


def _names_a_quantity(words: str) -> bool:
    ends = names_of("quantity_ends", r"({})\w*$|^(n|num|nb|no|age|year|y) ?\w*\d*$")
    return bool(names_of("quantities").search(words) or ends.search(words))


def _of_whole_numbers(
    values: Values, numbers: NDArray[np.float64], named: tuple[bool, bool], siblings: int
) -> Judgement:
    is_code, is_quantity = named
    count, low, high = len(numbers), numbers.min(), numbers.max()
    small = count <= _FEW and low >= -9 and high <= 99
    steps = small and count >= 4 and low in (0, 1) and high - low == count - 1
    if steps and high <= 10 and siblings >= _LIKERT and not (is_quantity and _falls(values.counts)):
        return _ordered_numbers(numbers, f"{siblings} columns have the same few answers")
    if steps and names_of("levels").search(name_in_words(values.name)):
        return _ordered_numbers(numbers, "its name is that of levels")
    if is_quantity:
        return Judgement(Meaning.NUMBER, "its name is that of a quantity")
    if is_code:
        return Judgement(Meaning.CODE, "its name is that of a code", small or count > _FEW)
    if small and count == 2:
        return Judgement(Meaning.CODE, "there are two numbers", False)
    if small and _has_gap_for_missing(numbers):
        return Judgement(Meaning.CODE, "a few small numbers and one far above them, as codes have", False)
    if small and count <= 10 and not _falls(values.counts) and _turns(values.counts) >= 3 and low in (0, 1):
        return Judgement(Meaning.CODE, "few small numbers, some frequent and some rare, in no order", False)
    return Judgement(Meaning.NUMBER, "the values are numbers", not small)


def _ordered_numbers(numbers: NDArray[np.float64], reason: str) -> Judgement:
    order = Order(tuple(f"{number:.0f}" for number in numbers), reason)
    return Judgement(Meaning.ORDERED, reason, False, order)


def _counts_rows(numbers: NDArray[np.float64], values: Values) -> bool:
    count = len(numbers)
    return count >= 20 and count == values.known and numbers[-1] - numbers[0] == count - 1 and numbers[0] in (0, 1)


_NONE_CODES = (7, 8, 9, 77, 88, 97, 98, 99)


def _has_gap_for_missing(numbers: NDArray[np.float64]) -> bool:
    """Tell whether a few numbers follow each other, and codes for *none* or *refused* stand apart, such as 9 or 97."""
    run = int(np.argmax(np.append(np.diff(numbers) != 1, True))) + 1
    apart = numbers[run:]
    return run >= 2 and len(apart) > 0 and bool(np.isin(apart, _NONE_CODES).all())


def _falls(counts: NDArray[np.int64]) -> bool:
    """Tell whether frequencies fall from the lowest number on, nearly always, as those of counts do."""
    steps = np.diff(counts)
    return bool(len(steps) and (steps <= 0).mean() >= 0.75)


def _turns(counts: NDArray[np.int64]) -> int:
    """Count how often frequencies turn from rising to falling or back."""
    signs = np.sign(np.diff(counts))
    signs = signs[signs != 0]
    return int((np.diff(signs) != 0).sum())

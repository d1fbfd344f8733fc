"""What a column means: numbers that measure, codes that name, labels in an order, places, people, free text.

Judged from the distinct values, how often each occurs, and the name of the column. Nothing is decided: a meaning says
how sure it is, and the steward's word outranks it.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.findings.words import names_of, scales
from sfumato.hierarchy.education import education_ranks, words_of
from sfumato.table.identification import Look, Sort, name_in_words, sort_by_name
from sfumato.table.schema import Kind

# Orders of labels: which labels are steps of one scale, and in which order.


FEWEST = 3
"""Labels from which on an order says something: two are in order either way."""


class Order(NamedTuple):
    """Labels from the lowest to the highest, and how their order was found."""

    labels: tuple[str, ...]
    reason: str


def order_of(labels: Sequence[str]) -> Order | None:
    """Return the order of distinct labels, or None where none is plain. Cost O(labels · scales)."""
    if not FEWEST <= len(labels) <= 60:
        return None
    words = [words_of(label) for label in labels]
    for rank, reason in _RULES:
        ranks = rank(labels, words)
        if ranks is not None and len(set(ranks)) >= FEWEST:
            rising = sorted(zip(ranks, labels, strict=True))
            return Order(tuple(label for _, label in rising), reason)
    return None


# Numbers inside labels.


_NUMBER = r"(\d+(?:[., ']\d{3})*(?:[.,]\d+)?)"
_BELOW = (
    r"(?:<=?|≤|le(?=\d)|under|below|less than|up to|at most|younger than|unter|bis(?: zu)?|hasta|moins de|menos de)"
)
_ABOVE = r"(?:>=?|≥|gt(?=\d)|over|above|more than|more|at least|from|older than|uber|ueber|ab|mas de|plus de|desde)"
_BETWEEN = r"(?:-|–|to|bis|a|and|und|\.\.|,|;|–)"
_HIGHER = (
    r"(?:\+|plus|and (?:over|older|above|more)|or (?:more|older|over)|und (?:mehr|alter|aelter|daruber)|y mas|et plus)"
)


def _interval(text: str) -> tuple[float, float] | None:
    """Read the ends of an interval, or one number, out of a label; None where it has none or too many."""
    joined = re.sub(r"(?<=\d)_(?=\d)", "-", text.casefold()).replace("_", " ")
    joined = _HALF_OPEN.sub(r"\1;\2", joined)
    plain = joined.replace("years", "").replace("'", "").strip(" []()")
    numbers = [_value(found) for found in re.findall(_NUMBER, plain)]
    if not numbers or len(numbers) > 2:
        return None
    if len(numbers) == 2:
        return (numbers[0], numbers[1]) if numbers[0] <= numbers[1] and re.search(_BETWEEN, plain) else None
    if re.search(rf"(?:^|\W){_BELOW} ?{_NUMBER}", plain):
        return -math.inf, numbers[0]
    if re.search(rf"(?:^|\W){_ABOVE} ?{_NUMBER}", plain) or re.search(rf"{_NUMBER} ?\w* ?{_HIGHER}", plain):
        return numbers[0], math.inf
    return numbers[0], numbers[0]


_HALF_OPEN = re.compile(r"^([\[(\]] ?-?[\d.]+) ?, ?(-?[\d.]+ ?[\])\[])$")
"""An interval as mathematics has it, in which a comma begins no fraction."""


def _value(text: str) -> float:
    if re.fullmatch(r"\d{1,3}(?:[., ']\d{3})+", text):
        return float(re.sub(r"[., ']", "", text))
    # Of several marks the last one begins the fraction.
    return float(re.sub(r"[., '](?=.*[.,])| ", "", text).replace(",", "."))


_NOTHING = {"none", "never", "nothing", "zero", "nie", "nunca", "rural", "rural areas", "village"}
"""Labels without a number that lie below all others."""
_SO_OFTEN = {"once": 1.0, "einmal": 1.0, "une fois": 1.0, "twice": 2.0, "zweimal": 2.0}
"""Words for a number."""
_USUAL = {"norm", "normal"}
"""And those that lie right above these."""
_TOP = {"more", "mehr", "mas", "plus", "or more", "oder mehr", "more often", "ofter", "haufiger", "plus souvent"}
"""And above all others."""
_UNITS = re.compile(
    r"^(?:|h|hrs?|hours?|std|min|minutes?|days?|tage?|weeks?|wochen?|months?|monate?|y|yrs?|years?|jahre?|times?|mal|kg|g|cm|m|km"
    r"|eur|euro|usd|k|q|quartile|quintile|decile|grade|level|stage|stufe|step|rank|tier|year|wave|visit|score|star|stars|klasse)$"
)


def _by_numbers(labels: Sequence[str], words: Sequence[str]) -> list[float] | None:
    """Rank labels by the numbers in them; they must share their other words, and their intervals must not overlap."""
    # Bare numbers count only beside a unit: ``A11`` and ``V02`` are codes, ``2 hrs`` and ``level 3`` are steps.
    ends = {place: _end_word(words[place]) for place, label in enumerate(labels) if not re.search(r"\d", label)}
    if len(ends) > 3 or None in ends.values() or len(set(ends.values())) < len(ends):
        return None
    found = [ends.get(place) or _interval(label) for place, label in enumerate(labels)]
    intervals = _without_nested([one for one in found if one is not None])
    if len(intervals) < len(labels):
        return None
    rest = _other_words(labels, ends)
    if len(rest) > 1 or (all(low == high for low, high in intervals) and not all(map(_UNITS.match, rest))):
        return None
    if not ends and not rest and all(low == high for low, high in intervals):
        return None  # plain numbers
    rising = sorted(intervals)
    if len(set(rising)) < len(rising) or any(first[1] > second[0] for first, second in pairwise(rising)):
        return None
    return [float(rising.index(one)) for one in intervals]


def _end_word(text: str) -> tuple[float, float] | None:
    if text in _NOTHING:
        return -math.inf, -math.inf
    if text in _SO_OFTEN:
        return _SO_OFTEN[text], _SO_OFTEN[text]
    if text in _USUAL:
        return -sys.float_info.max, -sys.float_info.max
    return (math.inf, math.inf) if text in _TOP else None


def _without_nested(intervals: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Let ``> 7`` end where ``> 8`` begins, and ``< 8`` begin where ``< 7`` ends."""
    lows = sorted(low for low, high in intervals if high == math.inf and low != math.inf)
    highs = sorted(high for low, high in intervals if low == -math.inf and high != -math.inf)
    cut = []
    for low, high in intervals:
        if high == math.inf and low != math.inf and low != lows[-1]:
            high = lows[lows.index(low) + 1]
        elif low == -math.inf and high != -math.inf and high != highs[0]:
            low = highs[highs.index(high) - 1]
        cut.append((low, high))
    return cut


_SPENT = re.compile(
    rf"{_NUMBER}|{_HIGHER}|\b{_BELOW}(?=[\W\d_])|{_ABOVE}(?=[\W\d_]|$)"
    r"|[<>]=?|\b(?:to|bis|a|and|und|of|or|than|less|years?|jahre?)\b|(?<=\d)(?:st|nd|rd|th)\b|[\W_]"
)


def _other_words(labels: Sequence[str], without: Mapping[int, object]) -> set[str]:
    """Return what labels say beside numbers and words of comparison, each once: ``BMW 3`` and ``VW 2`` differ."""
    rests = {
        _SPENT.sub("", re.sub("_", " ", label.casefold())).rstrip("s")
        for place, label in enumerate(labels)
        if place not in without
    }
    return rests - {""}


def _by_ordinals(labels: Sequence[str], words: Sequence[str]) -> list[float] | None:
    """Rank labels that begin with a number of their own, such as ``1 = very good`` or ``(3) often``."""
    found = [re.match(r"^\W{0,2}(\d{1,2})\s*[=:.)\]-]\s*\D", label) for label in labels]
    numbers = [int(one.group(1)) for one in found if one is not None]
    if len(numbers) < len(labels) or len(set(numbers)) < len(numbers):
        return None
    return [float(number) for number in numbers]


_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8, "ix": 9, "x": 10}


def _by_signs(labels: Sequence[str], words: Sequence[str]) -> list[float] | None:
    """Rank one label that gets more and more signs, such as ``A``, ``A+``, ``A++``."""
    stems = {label.strip().rstrip("+*") for label in labels}
    return [float(len(label.strip())) for label in labels] if len(stems) == 1 and "" not in stems else None


def _by_roman(labels: Sequence[str], words: Sequence[str]) -> list[float] | None:
    """Rank ``stage IIb`` and the like: Roman numbers from I on, behind the same word."""
    found = [re.fullmatch(r"(\D*?)\b(x|ix|iv|v?i{0,3})\s?([a-d]?)", text) for text in words]
    if not all(one is not None and one.group(2) for one in found) or len({one.group(1) for one in found if one}) > 1:
        return None
    ranks = [_ROMAN[one.group(2)] + "abcd".find(one.group(3) or "a") / 8 for one in found if one is not None]
    return ranks if len(set(ranks)) == len(ranks) and min(ranks) < 2 else None


def _by_letters(labels: Sequence[str], words: Sequence[str]) -> list[float] | None:
    """Rank school grades: A to F, with + and -; A, and another of the first three, must be there."""
    found = [re.fullmatch(r"([a-f])([+-]{0,2})", label.strip().casefold()) for label in labels]
    grades = [one for one in found if one is not None]
    if len(grades) < len(labels) or len({one.group(1) for one in grades}) < 2:
        return None
    if not any(one.group(2) for one in grades):
        return None  # plain letters may be groups, blood types or wards
    return [
        -ord(one.group(1)) + {"+": 0.3, "++": 0.4, "": 0, "-": -0.3, "--": -0.4}.get(one.group(2), 0) for one in grades
    ]


# Levels of education.


def _by_education(labels: Sequence[str], words: Sequence[str]) -> list[float] | None:
    """Rank levels of education; school years lie between primary school and high school."""
    return education_ranks(words)


# Scales that are known by their words.


def _by_words(labels: Sequence[str], words: Sequence[str]) -> list[float] | None:
    """Rank labels that are all steps of one known scale, each another one; a long one may be cut short."""
    for scale in scales():
        ranks = [next((rank for rank, step in enumerate(scale) if text in step), None) for text in words]
        if None in ranks and any(rank is not None for rank in ranks):
            ranks = [_cut_short(text, scale) if rank is None else rank for text, rank in zip(words, ranks, strict=True)]
        if None not in ranks and len(set(ranks)) == len(ranks):
            return [float(rank) for rank in ranks if rank is not None]
    return None


_FEWEST_LETTERS = 4


def _cut_short(text: str, scale: Sequence[frozenset[str]]) -> int | None:
    """Return the only step of a scale that begins with a text, such as ``occas``."""
    if len(text) < _FEWEST_LETTERS:
        return None
    found = [rank for rank, step in enumerate(scale) if any(word.startswith(text) for word in step)]
    return found[0] if len(found) == 1 else None


_MORE_AND_MORE = (
    ("not at all", "gar nicht", "pas du tout"), ("not very", "not too", "not so", "hardly", "kaum", "nicht sehr"),
    ("not", "nicht", "pas"), ("a little", "little", "slightly", "etwas", "un peu"), ("somewhat", "partly", "teilweise"),
    ("fairly", "rather", "quite", "pretty", "moderately", "ziemlich", "eher", "assez"), ("",),
    ("very", "highly", "sehr", "tres", "muy"), ("extremely", "completely", "totally", "ausserst"),
)  # fmt: skip
"""Words that make another one more and more; the word alone stands between."""


def _by_degrees(labels: Sequence[str], words: Sequence[str]) -> list[float] | None:
    """Rank labels that say one thing in several degrees: ``not too happy``, ``pretty happy``, ``very happy``."""
    ranks, rests = [], set[str]()
    for text in words:
        found = [
            (len(word), rank)
            for rank, step in enumerate(_MORE_AND_MORE)
            for word in step
            if text.startswith(f"{word} ")
        ]
        length, rank = max(found, default=(-1, _MORE_AND_MORE.index(("",))))
        ranks.append(float(rank))
        rests.add(text[length + 1 :])
    return ranks if len(rests) == 1 and "" not in rests and len(set(ranks)) == len(ranks) else None


_A_YEAR = {"day": 365, "week": 52, "wk": 52, "month": 12, "quarter": 4, "year": 1, "yr": 1}
_HOW_OFTEN = {
    "once": 1,
    "a": 1,
    "twice": 2,
    "several": 4,
    "sevrl": 4,
    "some": 3,
    "few": 3,
    "every": 1,
    "each": 1,
    "per": 1,
}
_RATE = re.compile(
    r"^(?P<less>lt|less than|under|below|nearly|nrly|almost)? ?(?P<more>more (?:than|thn)|over|gt|above)? ?"
    r"(?P<times>once|twice|several|sevrl|some|few|every|each|[0-9]+)(?: ?(?:to|-|or) ?(?P<to>[0-9]+))? ?"
    r"(?:x|times?)? ?(?:a|an|per|every|each)? ?(?P<unit>day|week|wk|month|quarter|year|yr)s?$"
)
_ONE_WORD = {"daily": 365, "weekly": 52, "monthly": 12, "quarterly": 4, "yearly": 1, "annually": 1, "never": 0}


def _by_rates(labels: Sequence[str], words: Sequence[str]) -> list[float] | None:
    """Rank labels that say how often something is: ``once a year``, ``2-3 times a month``, ``every week``."""
    ranks = []
    for label, text in zip(labels, words, strict=True):
        found = _RATE.match(label.casefold().strip())
        if text in _ONE_WORD:
            ranks.append(float(_ONE_WORD[text]))
        elif found is None:
            return None
        else:
            times = found["times"]
            low = int(times) if times.isdecimal() else _HOW_OFTEN[times]
            middle = (low + int(found["to"] or low)) / 2
            ranks.append(middle * _A_YEAR[found["unit"]] * (0.8 if found["less"] else 1.25 if found["more"] else 1.0))
    return ranks if len(set(ranks)) == len(ranks) else None


_Rule = Callable[[Sequence[str], Sequence[str]], list[float] | None]
_RULES: tuple[tuple[_Rule, str], ...] = (
    (_by_ordinals, "each label begins with its number"),
    (_by_numbers, "the numbers inside the labels rise"),
    (_by_signs, "the labels differ by their number of signs"),
    (_by_roman, "the labels end with Roman numbers"),
    (_by_letters, "the labels are grades"),
    (_by_words, "the labels are steps of a known scale"),
    (_by_degrees, "the labels say one thing in several degrees"),
    (_by_rates, "the labels say how often something is"),
    (_by_education, "the labels are levels of education"),
)


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


ONE_VALUE = "all records have one value"
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
    if len(values.distinct) >= _FEWEST_KEYS and names_of("keys", "^({})$").search(name_in_words(values.name)):
        return Judgement(Meaning.IDENTIFIER, "its name is that of keys", False)
    if values.kind is Kind.NUMERIC:
        return _of_numbers(values, look, siblings)
    if found in _PEOPLE:
        return Judgement(Meaning.IDENTIFIER, look.sentence(), look.by_value is not None)
    if (found in _PLACES or _names_a_place(name_in_words(values.name))) and not _are_addresses(values, look):
        return Judgement(Meaning.PLACE, "its name or its values are those of places", look.by_value in _PLACES)
    return _of_texts(values, look)


# Texts.


_YES_OR_NO = (
    {"yes", "no"}, {"y", "n"}, {"true", "false"}, {"t", "f"}, {"ja", "nein"}, {"j", "n"}, {"si", "no"}, {"sim", "nao"},
    {"oui", "non"}, {"1", "0"}, {"tak", "nie"}, {"x", ""},
)  # fmt: skip
_SEPARATORS = (";", "|", ",", "/", "+")
_MOST_LABELS, _MOST = 60, 0.8
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
    if are_codes(texts) and look.is_mostly_distinct:
        return Judgement(Meaning.IDENTIFIER, "the values are codes, and most records have one of their own", False)
    if are_codes(texts):
        codes = "the values are codes of letters and digits"
        return Judgement(Meaning.CODE, codes if len(texts) > 1 else ONE_VALUE)
    if look.by_name is Sort.FREE_TEXT:
        return Judgement(Meaning.FREE_TEXT, look.sentence(), False)
    if look.is_nearly_unique:
        return Judgement(Meaning.IDENTIFIER, look.sentence(), False)
    return Judgement(Meaning.TEXT, "the values are words" if len(texts) > 1 else ONE_VALUE)


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


def _are_addresses(values: Values, look: Look) -> bool:
    """Tell whether places are those of houses: hardly two records share one, and they have words and numbers."""
    texts = values.distinct.cast(pl.String)
    return look.is_nearly_unique and bool(texts.str.contains(r"(?s)\p{L}{3}.*[ \n][0-9]+\b").mean() > _MOST)  # type: ignore[operator]


def are_codes(texts: pl.Series) -> bool:
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
_FEWEST_KEYS = 30
"""Values below a name of keys that are keys; fewer may be of groups."""


def _of_numbers(values: Values, look: Look, siblings: int) -> Judgement:
    words = name_in_words(values.name)
    numbers = values.distinct.cast(pl.Float64).to_numpy()
    if look.by_value is Sort.DATES or look.by_value is Sort.BIRTHS:
        return Judgement(Meaning.DATE, look.sentence(), False)
    if look.by_value is Sort.ACCOUNTS:
        return Judgement(Meaning.IDENTIFIER, look.sentence())
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
    is_code, is_quantity = bool(names_of("codes").search(words)), names_a_quantity(words)
    return _of_whole_numbers(values, numbers, (is_code and not is_quantity, is_quantity and not is_code), siblings)


def names_a_quantity(words: str) -> bool:
    """Tell whether a name is that of something that is measured or counted."""
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
    if count == 2 and (low, high) == (0, 1) and not names_of("quantities").search(name_in_words(values.name)):
        return Judgement(Meaning.CODE, "there are two numbers, 0 and 1", False)
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
    are_years = numbers[0] >= 1500 and numbers[-1] <= 2200
    return count >= 20 and count == values.known and numbers[-1] - numbers[0] == count - 1 and (
        numbers[0] in (0, 1) or (count >= _FEWEST_RUNNING and not are_years)
    )  # fmt: skip


_FEWEST_RUNNING = 100
"""Numbers that follow each other, from which on they count records whatever the first one is."""


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

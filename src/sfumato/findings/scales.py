"""Orders of labels: which labels are steps of one scale, and in which order.

Three ways, from the surest: numbers inside labels (``18-25``, ``< 5``, ``65+``, ``Q3``, ``stage II``), levels of
education, and scales that are known by their words, in several languages. Labels that no rule ranks, or that two rules
rank differently, have no order: a wrong order is worse than none.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from sfumato.findings.words import scales

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


def words_of(label: str) -> str:
    """Return a label in small letters without accents, its words parted by single blanks."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label)
    plain = "".join(
        letter for letter in unicodedata.normalize("NFKD", parted.casefold()) if not unicodedata.combining(letter)
    )
    return " ".join(re.findall(r"[^\W_]+|[+<>≤≥=%-]+", plain))


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


def _value(text: str) -> float:
    grouped = re.fullmatch(r"\d{1,3}(?:[., ']\d{3})+", text)
    return float(re.sub(r"[., ']", "", text)) if grouped else float(text.replace(",", ".").replace(" ", ""))


_NOTHING = {"none", "norm", "normal", "never", "nothing", "zero", "nie", "nunca", "rural", "rural areas", "village"}
"""Labels without a number that lie below all others."""
_TOP = {"more", "mehr", "mas", "plus", "or more", "oder mehr"}
"""And above all others."""
_UNITS = re.compile(
    r"^(?:|h|hrs?|hours?|std|min|minutes?|days?|tage?|weeks?|wochen?|months?|monate?|y|yrs?|years?|jahre?|times?|mal|kg|g|cm|m|km"
    r"|eur|euro|usd|k|q|quartile|quintile|decile|grade|level|stage|stufe|step|rank|tier|year|wave|visit|score|star|stars|klasse)$"
)


def _by_numbers(labels: Sequence[str], words: Sequence[str]) -> list[float] | None:
    """Rank labels by the numbers in them; they must share their other words, and their intervals must not overlap.

    Bare numbers count only beside a unit: ``A11`` and ``V02`` are codes, ``2 hrs`` and ``level 3`` are steps.
    """
    ends = {place: _end_word(words[place]) for place, label in enumerate(labels) if not re.search(r"\d", label)}
    if len(ends) > 2 or None in ends.values() or len(set(ends.values())) < len(ends):
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


_EDUCATION = tuple(
    (re.compile(pattern), rank)
    for pattern, rank in (
        (r"^(no|none|without|never)\b.*(school|education|schooling)?$|^illiterate|ohne|^less than primary|kein", 0.0),
        (r"pre ?school|preprimary|pre ?primary|nursery|kindergarten|early childhood", 1.0),
        (r"\bprimary|elementary|grundschule|primaria|primaire", 2.0),
        (r"lower second|middle school|junior high|hauptschul|mittelschul|secundaria", 4.0),
        (r"realschul|mittlere reife", 4.5),
        (r"vocational|grammar|apprentic|lehre|berufs", 6.0),
        (r"(high ?school|hs)\b.*(grad|diploma)?|upper second|\bsecondary|abitur|matura|bachiller", 6.5),
        (r"assoc|technical college|fachhochschul|short cycle", 8.0),
        (r"college (grad|degree)|bachelor|undergrad|\btertiary|licen[ct]|\buniversity", 9.0),
        (r"master|diplom|graduate school|postgrad", 10.0),
        (r"prof ?school|professional degree", 11.0),
        (r"doctor|ph ?d|promotion", 12.0),
    )
)
_PARTLY = tuple(
    (re.compile(pattern), rank)
    for pattern, rank in (
        (r"incomplete primary|some primary|less than primary", 1.5),
        (r"some high ?school|incomplete secondary|less than high ?school", 5.0),
        (r"post secondary|no degree|some (college|univ)|incomplete (tertiary|univ)", 7.5),
    )
)
"""What would be taken for the whole level."""
_GRADE = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?\b")
_SCHOOLS = re.compile(
    r"school|educat|colleg|degree|bachelor|primary|secondary|tertiary|master|doctor|schul|abitur|grad|hs|th\b"
)


def _by_education(labels: Sequence[str], words: Sequence[str]) -> list[float] | None:
    """Rank levels of education; school years lie between primary school and high school."""
    if sum(bool(_SCHOOLS.search(text)) for text in words) < FEWEST:
        return None
    ranks = [_education(text) for text in words]
    return [rank for rank in ranks if rank is not None] if None not in ranks else None


def _education(text: str) -> float | None:
    plain = " ".join(text.replace("-", " ").split())
    years = [int(number) for number in _GRADE.findall(plain)]
    if years and re.search(r"\d(?:st|nd|rd|th)|grade|klasse", plain) and max(years) <= 13:
        return 1.8 + max(years) * 0.35
    partly = [rank for pattern, rank in _PARTLY if pattern.search(plain)]
    # The last stem that is found is the highest level that the label names.
    found = partly or [rank for pattern, rank in _EDUCATION if pattern.search(plain)]
    return found[-1] if found else None


# Scales that are known by their words.


def _by_words(labels: Sequence[str], words: Sequence[str]) -> list[float] | None:
    """Rank labels that are all steps of one known scale, each another one."""
    for scale in scales():
        ranks = [next((rank for rank, step in enumerate(scale) if text in step), None) for text in words]
        if None not in ranks and len(set(ranks)) == len(ranks):
            return [float(rank) for rank in ranks if rank is not None]
    return None


_Rule = Callable[[Sequence[str], Sequence[str]], list[float] | None]
_RULES: tuple[tuple[_Rule, str], ...] = (
    (_by_ordinals, "each label begins with its number"),
    (_by_numbers, "the numbers inside the labels rise"),
    (_by_signs, "the labels differ by their number of signs"),
    (_by_roman, "the labels end with Roman numbers"),
    (_by_letters, "the labels are grades"),
    (_by_words, "the labels are steps of a known scale"),
    (_by_education, "the labels are levels of education"),
)

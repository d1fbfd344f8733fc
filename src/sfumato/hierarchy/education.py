"""Levels of education by their words, and the levels of ISCED that they reach."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

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
FEWEST = 3
"""Labels that must speak of schools."""
_REACHED = (
    (3.95, "low", "at most primary"), (6.0, "low", "lower secondary"), (7.2, "medium", "upper secondary"),
    (8.0, "medium", "after secondary"), (9.5, "high", "first degrees"), (99.0, "high", "master and above"),
)  # fmt: skip
"""Up to which rank a level of ISCED goes, and what it is called."""


def words_of(label: str) -> str:
    """Return a label in small letters without accents, its words parted by single blanks."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label)
    plain = "".join(
        letter for letter in unicodedata.normalize("NFKD", parted.casefold()) if not unicodedata.combining(letter)
    )
    return " ".join(re.findall(r"[^\W_]+|[+<>≤≥=%-]+", plain))


def education_ranks(words: Sequence[str]) -> list[float] | None:
    """Return the rank of each level of education, as :func:`words_of` writes it; None where one is no such level."""
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


def levels_reached(labels: Sequence[str], *, numbered: bool = False) -> dict[str, dict[str, list[str]]] | None:
    """Group labels by the levels of ISCED that they reach: low, medium and high, and two steps in each.

    `numbered`: whether the labels are the numbers of the levels.
    """
    named = [f"isced {label}" for label in labels] if numbered else labels
    ranks = _ranks_of_isced(named) or education_ranks([words_of(label) for label in labels])
    if ranks is None:
        return None
    found: dict[str, dict[str, list[str]]] = {}
    for rank, label in sorted(zip(ranks, labels, strict=True)):
        _, broad, narrow = next(step for step in _REACHED if rank < step[0])
        # A group is not called as a label of another one is.
        broad, narrow = (f"{name}, all of it" if name in labels else name for name in (broad, narrow))
        found.setdefault(broad, {}).setdefault(narrow, []).append(label)
    return found


_ISCED = re.compile(r"isced[ \-_]*(?:20?11|97)?[ \-_:]*(?:level)?[ \-_]*([0-8])\b")
_RANK_OF_LEVEL = (1.0, 2.0, 4.0, 6.5, 7.5, 8.0, 9.0, 10.0, 12.0)


def _ranks_of_isced(labels: Sequence[str]) -> list[float] | None:
    """Return the ranks of labels that name a level of ISCED by its number."""
    found = [_ISCED.search(label.lower()) for label in labels]
    levels = [_RANK_OF_LEVEL[int(each[1])] for each in found if each is not None]
    return levels if len(levels) == len(labels) and len(levels) >= FEWEST else None

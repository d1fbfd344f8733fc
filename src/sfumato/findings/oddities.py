"""Values that are not what they seem: marks of a missing value, sentinels, spellings of one label, far outliers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.findings.words import values_that_mean

# Texts that stand for a missing value.


@dataclass(frozen=True)
class Mark:
    """A value that seems to stand for a missing one, and whether that is plain."""

    value: str
    records: int
    sure: bool


def missing_marks(texts: pl.Series, counts: NDArray[np.int64], *, numeric: bool) -> list[Mark]:
    """Find texts that stand for a missing value among distinct ones.

    `texts`: string (d,): distinct. `counts`: int64 (d,): records that have each. `numeric`: whether all texts but such
    marks are numbers or dates: then a word among them can be nothing else.
    """
    found, marks = [], values_that_mean("missing")
    for text, count in zip(texts.to_list(), counts.tolist(), strict=True):
        plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
        if plain == "" or plain in marks:
            sure = numeric or plain not in values_that_mean("maybe_missing")
            if sure or not _has_company(plain, texts):
                found.append(Mark(text, count, sure))
    return found


def _has_company(plain: str, texts: pl.Series) -> bool:
    """Tell whether other labels are as short as a mark, so that it may be one of them: X beside Y and Z."""
    return len(plain) <= 2 and bool((texts.str.len_chars() <= 2).sum() >= 3)


# Numbers that stand for a missing value.


_NEGATIVE = {-1, -2, -3, -4, -5, -6, -7, -8, -9, -66, -77, -88, -99, -666, -777, -888, -999, -9999, -99999, -1000}
_STEPS, _ALONE = 3, 5
"""Usual steps that lie between a sentinel and the other values, and ranges of theirs where they are few."""


def sentinels(numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> list[int]:
    """Return the places of numbers that seem to stand for a missing value, such as 999, 99 or -9.

    A negative one counts where all other values are zero or more; one of nines or eights where a gap parts it from all
    others. Rising numbers (d,); cost O(d).
    """
    if len(numbers) < 3:
        return []
    found = []
    rest = numbers >= 0
    if rest.sum() >= 2:
        negative = np.flatnonzero(~rest)
        # A -1 beside 0 and 1 may be a step of a scale.
        is_scale = len(numbers) <= 7 and numbers[~rest].min(initial=0) >= -3
        if 0 < len(negative) <= 4 and not is_scale and all(float(one) in _NEGATIVE for one in numbers[~rest]):
            found += negative.tolist()
    usual = np.flatnonzero(rest if found else np.ones(len(numbers), dtype=bool))
    while len(usual) >= 3 and _stands_alone(numbers, usual, counts):
        found.append(int(usual[-1]))
        usual = usual[:-1]
    return sorted(found)


def _stands_alone(numbers: NDArray[np.float64], usual: NDArray[np.int64], counts: NDArray[np.int64]) -> bool:
    """Tell whether the highest number is one of nines, eights or sevens, far above all others."""
    top, below = numbers[usual[-1]], numbers[usual[-2]]
    digits = f"{top:.0f}"
    if top != round(top) or len(digits) < 2 or not re.fullmatch(r"9+|8+|7+|9+[6-8]", digits):
        return False
    if len(digits) == 2 and below > 60:
        return False  # an age of 88 or 99
    body = numbers[usual[:-1]]
    spread = body[-1] - body[0]
    gap = top - below
    if len(body) == 1:
        return False
    steps = np.diff(body)
    usual_step = float(np.median(steps)) if len(steps) else 1.0
    return bool(gap >= max(_STEPS * usual_step, 2, spread) and (len(body) >= 5 or gap >= _ALONE * spread))


# Spellings of one label.


@dataclass(frozen=True)
class Variants:
    """Labels that differ from another one in capitals, blanks, invisible characters or forms of letters alone."""

    groups: tuple[tuple[str, ...], ...]
    records: int

    @property
    def labels(self) -> int:
        """Labels that are a spelling of another one."""
        return sum(map(len, self.groups))


def spelling_variants(texts: Sequence[str], counts: NDArray[np.int64]) -> Variants | None:
    """Find distinct labels that are spellings of one; None where there are none. Cost O(bytes)."""
    groups: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        groups.setdefault(folded_label(text), []).append(place)
    several = [places for places in groups.values() if len(places) > 1]
    if not several:
        return None
    records = sum(int(counts[places].sum() - counts[places].max()) for places in several)
    return Variants(tuple(tuple(texts[place] for place in places) for places in several), records)


def folded_label(text: str) -> str:
    """Return what all spellings of a label share."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    visible = "".join(letter for letter in plain if unicodedata.category(letter) not in ("Cf", "Mn"))
    # A sign or a point inside a number is no form of writing.
    return re.sub(r"(?<!^)[\s_\-.]+(?!\d)|[\s_]+", " ", visible).strip(" .,;:!")


# Numbers that decide a range alone.


FARTHEST = 0.001
"""Share of the records whose farthest values may not decide a range."""
DECIDES = 2.0
"""Times the range without them that the whole range is, from which on they decide it."""


def farthest_decide(numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> tuple[int, float] | None:
    """Count the records with the farthest values, and say how many times they widen the range; None if they do not.

    At most a thousandth of the records, at least one, from both ends. Rising numbers (d,); cost O(d).
    """
    total = int(counts.sum())
    most = max(1, int(FARTHEST * total))
    if total < 20 or len(numbers) < 5:
        return None
    low, high, left = 0, len(numbers) - 1, most
    while low < high:
        at_low, at_high = numbers[low + 1] - numbers[low], numbers[high] - numbers[high - 1]
        take_low = at_low > at_high
        count = int(counts[low if take_low else high])
        if count > left:
            break
        left -= count
        low, high = (low + 1, high) if take_low else (low, high - 1)
    inner = numbers[high] - numbers[low]
    whole = numbers[-1] - numbers[0]
    if left == most or inner <= 0 or whole < DECIDES * inner:
        return None
    return most - left, float(whole / inner)

"""Thresholds of risk, named after those who use them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.errors import PolicyError, raise_all
from sfumato.numbers import figure

TOLERANCE = 1e-12
"""A risk above its threshold by less than this is due to rounding: 1/11 is not above 1/11."""


@dataclass(frozen=True)
class Threshold:
    """A risk that no record should exceed.

    Attributes
    ----------
    name : str
        The name by which it is requested, or the number itself.
    value : float
        Above 0, at most 1.
    source : str
        Who uses it.
    """

    name: str
    value: float
    source: str = ""

    def __str__(self) -> str:
        """Write the value, and its name if it has one."""
        value = figure(self.value, 3)
        return f"{value} ({self.name})" if self.source else value


THRESHOLDS = {
    threshold.name: threshold
    for threshold in (
        Threshold("ema", 0.09, "European Medicines Agency, Policy 0070, external guidance EMA/90915/2016"),
        Threshold(
            "health-canada", 0.09, "Health Canada, Public Release of Clinical Information: guidance document, 2019"
        ),
        Threshold("cms", 1 / 11, "Centers for Medicare & Medicaid Services, cell size suppression policy: 11 or more"),
        Threshold("five", 0.2, "the rule of at least five records; El Emam and Malin, 2015"),
    )
}
"""The thresholds that have a name."""

DEFAULT = ("ema", "cms", "five")


def as_thresholds(asked: Sequence[str | float]) -> tuple[Threshold, ...]:
    """Return thresholds from names and numbers, lowest first.

    Raises
    ------
    PolicyError
        With every one that is neither a name nor a number above 0, at most 1.
    """
    found: dict[float, Threshold] = {}
    problems = []
    for place, word in enumerate(asked, 1):
        threshold = _threshold(word)
        if threshold is None:
            names = ", ".join(THRESHOLDS)
            problems.append(f"threshold number {place}: name one of {names}, or a number above 0, at most 1")
        else:
            found.setdefault(threshold.value, threshold)
    raise_all(PolicyError, problems)
    return tuple(found[value] for value in sorted(found))


def _threshold(word: str | float) -> Threshold | None:
    if isinstance(word, str) and word.strip().lower() in THRESHOLDS:
        return THRESHOLDS[word.strip().lower()]
    try:
        value = float(word)
    except (TypeError, ValueError):
        return None
    return Threshold(figure(value, grouped=False), value) if math.isfinite(value) and 0 < value <= 1 else None

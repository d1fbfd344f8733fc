"""The scoring attack on ratings, from its definition: every record, every known rating.

A record is a dictionary from issues to ratings. So is what an attacker knows of somebody.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

Known = dict[str, float]


def scores(records: list[Known], known: Known, error: float) -> list[float]:
    support = {issue: sum(issue in record for record in records) for issue in known}
    return [
        sum(
            1 / log(max(support[issue], 2))
            for issue, rating in known.items()
            if issue in record and abs(record[issue] - rating) <= error + 1e-9
        )
        for record in records
    ]


@dataclass
class Guess:
    """The records that score highest, and by how many standard deviations they stand out."""

    best: list[int]
    eccentricity: float


def guess(records: list[Known], known: Known, error: float) -> Guess:
    found = scores(records, known, error)
    highest, *others = sorted(found, reverse=True)
    mean = sum(found) / len(found)
    deviation = sqrt(sum((score - mean) ** 2 for score in found) / len(found))
    best = [place for place, score in enumerate(found) if abs(score - highest) < 1e-12]
    if not others or deviation < 1e-12:
        return Guess(best, 0)
    return Guess(best, (highest - others[0]) / deviation)


def outcome(
    records: list[Known], known: Known, error: float, threshold: float, own: int | None
) -> tuple[bool, bool, float]:
    """Found, taken for somebody else, and the chance to pick the right record of the best."""
    told = guess(records, known, error)
    accepted = told.eccentricity >= threshold
    right = own is not None and told.best == [own]
    chance = 1 / len(told.best) if own in told.best else 0
    return accepted and right, accepted and not right, chance


def named_without(records: list[Known], known: Known, error: float, threshold: float, own: int | None) -> bool:
    """Whether a record stands out once the own one is not there."""
    others = [record for place, record in enumerate(records) if place != own]
    return bool(others) and guess(others, known, error).eccentricity >= threshold


def inferred(records: list[Known], known: Known, error: float, hidden: Known) -> tuple[int, int]:
    """How many hidden ratings the record that alone scores highest tells, and how many the usual ratings do."""
    found = scores(records, known, error)
    alone = [place for place, score in enumerate(found) if abs(score - max(found, default=0)) < 1e-12]
    best = records[alone[0]] if len(alone) == 1 and found[alone[0]] > 0 else {}
    right = guessed = 0
    for issue, rating in hidden.items():
        given = [record[issue] for record in records if issue in record]
        usual = min(given, key=lambda one: (-given.count(one), one)) if given else None
        right += best.get(issue, usual) == rating
        guessed += usual == rating
    return right, guessed

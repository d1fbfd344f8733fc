"""Ratings of sensitive issues, told by the record that fits somebody best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.rates import Rate
from sfumato.table.ratings.ratings import Ratings


@dataclass(frozen=True, eq=False, repr=False)
class SensitiveRatings:
    """What people rated sensitive issues with, for scoring.

    Attributes
    ----------
    person, issue, code : numpy.ndarray
        int64, one for each rating.
    names : tuple of str
        Names of the issues.
    """

    person: NDArray[np.int64]
    issue: NDArray[np.int64]
    code: NDArray[np.int64]
    names: Sequence[str]


def sensitive_of(ratings: Ratings, people: NDArray[np.int64]) -> SensitiveRatings | None:
    """Return the ratings of sensitive issues by some records; None if there are none."""
    theirs = ratings.take(people)
    hidden = ratings.sensitive[theirs.issues]
    if not hidden.any():
        return None
    person = np.repeat(np.arange(theirs.height), np.diff(theirs.starts))
    issue, code = theirs.issues.astype(np.int64), theirs.codes.astype(np.int64)
    return SensitiveRatings(person[hidden], issue[hidden], code[hidden], ratings.names)


def told(published: Ratings, record: NDArray[np.int64], hidden: SensitiveRatings | None) -> Rate | None:
    """Score what published records tell of sensitive ratings.

    Parameters
    ----------
    published
        The ratings that the attacker sees.
    record
        int64: the record that fits each person best, −1 if none does alone.
    hidden
        What the people rated sensitive issues with.

    Returns
    -------
    Rate or None
        Of these ratings. One is named right if the record has it; where the record did not rate the issue, the most
        frequent published rating is named (the lowest of equals). That is also the guess. An issue that is not
        published is named wrong. None where nothing is hidden.

    Notes
    -----
    Cost O(z log z) for z published ratings.
    """
    if hidden is None:
        return None
    place_of = {name: place for place, name in enumerate(published.names)}
    issue = np.array([place_of.get(name, -1) for name in hidden.names], dtype=np.int64)[hidden.issue]
    width, sizes = len(published.names), published.scale.size
    owner = np.repeat(np.arange(published.height, dtype=np.int64), np.diff(published.starts))
    counts = np.bincount(published.issues.astype(np.int64) * sizes + published.codes, minlength=width * sizes)
    by_issue = counts.reshape(width, sizes)
    usual = np.where(by_issue.any(axis=1), by_issue.argmax(axis=1), -1)
    guess = np.where(issue >= 0, usual[issue], -1)
    keys = owner * width + published.issues
    order = np.argsort(keys)
    best = record[hidden.person]
    wanted = best * width + issue
    place = np.minimum(np.searchsorted(keys[order], wanted), max(0, len(keys) - 1))
    found = order[place] if len(keys) else np.zeros(len(wanted), dtype=np.int64)
    rated = (best >= 0) & (issue >= 0) & (keys[found] == wanted) if len(keys) else np.zeros(len(wanted), dtype=np.bool_)
    named = np.where(rated, published.codes[found].astype(np.int64), guess) if len(keys) else guess
    ratings = len(hidden.code)
    return Rate(int((named == hidden.code).sum()), ratings, float((guess == hidden.code).mean()))

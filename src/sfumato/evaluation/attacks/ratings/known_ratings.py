"""What an attacker knows of people: some of their ratings, roughly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.table.ratings.ratings import Ratings

IssueChoice = Literal["any", "popular", "rare"]


@dataclass(frozen=True)
class RatingKnowledge:
    """How much an attacker knows of everybody.

    Attributes
    ----------
    known : int
        Number of ratings; all, if somebody gave fewer.
    error : float
        By how much each may be off, in the units of the scale.
    issues : str
        The issues that they are about: ``"popular"``, the most rated of a person's; ``"rare"``, the least rated;
        ``"any"``.
    with_sensitive : bool
        Whether ratings of sensitive issues are among them.
    """

    known: int
    error: float
    issues: IssueChoice
    with_sensitive: bool


@dataclass(frozen=True, eq=False, repr=False)
class KnownOfPeople:
    """Known ratings, as compressed rows.

    Attributes
    ----------
    starts : numpy.ndarray
        int64 (people + 1,).
    issues, codes : numpy.ndarray
        int64 (entries,).
    names : tuple of str
        Names of the issues.
    """

    starts: NDArray[np.int64]
    issues: NDArray[np.int64]
    codes: NDArray[np.int64]
    names: tuple[str, ...]

    def among(self, names: Sequence[str]) -> KnownOfPeople:
        """Return the same with issues numbered as in other ratings, without those that they do not have."""
        place_of = {name: place for place, name in enumerate(names)}
        numbers = np.array([place_of.get(name, -1) for name in self.names], dtype=np.int64)[self.issues]
        people = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        kept = numbers >= 0
        counts = np.bincount(people[kept], minlength=len(self.starts) - 1)
        starts = np.append(0, np.cumsum(counts)).astype(np.int64)
        return KnownOfPeople(starts, numbers[kept], self.codes[kept], tuple(names))

    def of(self, first: int, last: int) -> KnownOfPeople:
        """Return what is known of the people from `first` up to, not including, `last`."""
        begin, end = self.starts[first], self.starts[last]
        starts = self.starts[first : last + 1] - begin
        return KnownOfPeople(starts, self.issues[begin:end], self.codes[begin:end], self.names)


def with_ratings(ratings: Ratings, knowledge: RatingKnowledge) -> NDArray[np.int64]:
    """Return the records with ratings that may be known; int64, rising."""
    counts = np.bincount(_records(ratings)[_open_ratings(ratings, knowledge)], minlength=ratings.height)
    return np.flatnonzero(counts).astype(np.int64)


def known_of(
    ratings: Ratings,
    people: NDArray[np.int64],
    raters: NDArray[np.int64],
    knowledge: RatingKnowledge,
    random: np.random.Generator,
) -> KnownOfPeople:
    """Draw what is known of some records; each rating is off by up to the error, evenly, but stays on the scale.

    Parameters
    ----------
    ratings
        The original ratings.
    people
        int64: their numbers.
    raters
        int64 (m,): how popular each issue is.
    """
    theirs = ratings.take(people)
    places = np.flatnonzero(_open_ratings(theirs, knowledge))
    person = _records(theirs)[places]
    popularity = {"any": 0, "popular": -1, "rare": 1}[knowledge.issues] * raters[theirs.issues[places]]
    order = np.lexsort((random.random(len(places)), popularity, person))
    counts = np.bincount(person, minlength=len(people))
    rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    chosen = places[order[rank < knowledge.known]]
    starts = np.append(0, np.cumsum(np.minimum(counts, knowledge.known))).astype(np.int64)
    steps = ratings.scale.steps_within(knowledge.error)
    off = random.integers(-steps, steps + 1, size=len(chosen))
    codes = np.clip(theirs.codes[chosen].astype(np.int64) + off, 0, ratings.scale.size - 1)
    return KnownOfPeople(starts, theirs.issues[chosen].astype(np.int64), codes, ratings.names)


def _open_ratings(ratings: Ratings, knowledge: RatingKnowledge) -> NDArray[np.bool_]:
    """Tell which ratings an attacker may know; bool (z,)."""
    if knowledge.with_sensitive:
        return np.ones(len(ratings.issues), dtype=np.bool_)
    shown: NDArray[np.bool_] = ~ratings.sensitive[ratings.issues]
    return shown


def _records(ratings: Ratings) -> NDArray[np.int64]:
    return np.repeat(np.arange(ratings.height), np.diff(ratings.starts))

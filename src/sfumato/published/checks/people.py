"""People in a published table: counted where it is known who is who inside a class, else attested."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import WishedDiversity
from sfumato.models.protocol import Check, Outcome, PrivacyModel, about_values, promise_words, says
from sfumato.numbers import counted, percent
from sfumato.table.person_keys import STEPS, STEPS_OF_L, steps_of

NO_STEP = 2**62
"""What a cell promises that is no step: more than can be."""
ATTESTED = "people: attested, not recountable from the release"
OF_VALUES = (
    "What classes tell of sensitive values is counted in people. Somebody who also knows how many records a person has "
    "may conclude more. Of six records four say flu, so who has three of them has flu."
)
"""What promises about the sensitive values of people do not bound."""


@dataclass(frozen=True)
class PeopleFound:
    """The people of a published table."""

    people: int  # in all classes; somebody who is in two of them counts twice
    smallest_class: int  # people in the class with the fewest
    # largest share of the records of a class that are one person's: the highest chance that a record of the class which
    # fits a person is that person's
    largest_share: float

    @classmethod
    def of(cls, statistics: ClassStatistics) -> PeopleFound | None:
        """Take it from class statistics; None where these count records."""
        if statistics.people is None:
            return None
        shares = statistics.people.most / statistics.people.records
        return cls(statistics.height, int(statistics.sizes.min()), float(shares.max()))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "count": self.people,
            "smallest_class": self.smallest_class,
            "largest_share": round(self.largest_share, 6),
        }

    def __str__(self) -> str:
        """Write it as one line."""
        return (
            f"{counted(self.people, 'person')}, counted class by class; fewest in a class {self.smallest_class:,}; "
            f"nobody has more than {percent(self.largest_share, 3)} of the records of a class"
        )


@dataclass(frozen=True)
class WishesFound:
    """What the classes of a published table promise to those who wish for a k, or an l, of their own."""

    letter: str
    promising: int  # classes that promise more than 1
    largest: int | None  # the largest k, or l, that a class promises; None where what some class says is no step
    classes: int
    kept: int | None  # classes that keep what they promise; None where the release does not tell
    shares: bool  # whether nobody may have a larger share of the rows of a class than its promise allows

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "of": self.letter,
            "classes_that_promise": self.promising,
            "largest": self.largest,
            "classes_that_keep_it": self.kept,
            "shares": self.shares,
        }

    @property
    def promise(self) -> str:
        """What it is about."""
        return f"wishes for {'an l' if self.letter == 'l' else 'a k'} of one's own"

    @property
    def outcome(self) -> Outcome:
        """Whether every class keeps what it promises."""
        if self.kept is None:
            return Outcome.UNDECIDABLE
        return Outcome.HOLDS if self.kept == self.classes else Outcome.BROKEN

    @property
    def detail(self) -> str:
        """What classes promise, and how many keep it."""
        largest = "no step" if self.largest is None else f"{self.letter}={self.largest:,}"
        sentence = f"{self.promising:,} of {counted(self.classes, 'class')} promise more than 1, at most {largest}; "
        if self.kept is None:
            return f"{sentence}attested, not recountable from the release"
        own = "people, and in shares of rows" if self.shares else "people"
        own = "values of people" if self.letter == "l" else own
        return f"{sentence}kept by {self.kept:,} of {self.classes:,}, counted in {own}"

    def __str__(self) -> str:
        """Write it as one line."""
        return f"{self.promise}: {self.detail}"


def wishes_found(
    models: Sequence[PrivacyModel], statistics: ClassStatistics, *, attested: bool = False
) -> tuple[WishesFound, ...]:
    """Recount what classes promise to those who wish for more than others; nothing where nobody does."""
    own = (("k", statistics.wished, KAnonymity), ("l", statistics.wished_l, WishedDiversity))
    return tuple(
        _wishes(letter, wished, [model for model in models if isinstance(model, kind)], statistics, attested)
        for letter, wished, kind in own
        if wished is not None
    )


def _wishes(
    letter: str, wished: NDArray[np.int64], keeping: Sequence[PrivacyModel], statistics: ClassStatistics, attested: bool
) -> WishesFound:
    # What everybody is promised has a line of its own.
    alone = [replace(model, **{letter: 1}) for model in keeping]  # type: ignore[type-var]
    holds = np.ones(statistics.count, dtype=np.bool_)
    for model in alone:
        holds &= model.holds(statistics)
    steps = STEPS if letter == "k" else STEPS_OF_L
    largest = int(wished.max(initial=1))
    return WishesFound(
        letter,
        int(np.count_nonzero(wished > 1)),
        largest if int(steps_of(np.array([largest]), steps)[0]) == largest and largest < NO_STEP else None,
        statistics.count,
        None if attested or not alone else int(np.count_nonzero(holds)),
        letter == "k" and any(getattr(model, "shares", None) is not False for model in keeping),
    )


def limits_of_people(models: Iterable[PrivacyModel], sensitive: Sequence[str]) -> tuple[str, ...]:
    """Return what promises to people who have several records leave open: something, where they are about values."""
    return (OF_VALUES,) if about_values(models, sensitive) else ()


def attested_checks(models: Iterable[PrivacyModel], records: ClassStatistics) -> tuple[Check, ...]:
    """Check what the records alone can decide about promises to people: too few records are too few people.

    Nothing else can be told from records, and nothing is said to hold.
    """
    fewest = int(records.sizes.min()) if records.count else 0

    def short(model: PrivacyModel) -> bool:
        own = records.wished_l if isinstance(model, WishedDiversity) else records.wished
        is_counted = isinstance(model, WishedDiversity | KAnonymity)
        return is_counted and own is not None and bool(np.any(records.sizes < own))

    return tuple(_attested(model, fewest, short(model)) for model in models)


def _attested(model: PrivacyModel, fewest: int, short: bool) -> Check:
    least = says(model).least_class_size() or 1
    if fewest < least:
        detail = f"a class has {counted(fewest, 'record')}, so it cannot have {least:,} people"
        return Check(promise_words(model), Outcome.BROKEN, detail=detail)
    if short:
        what = "people" if model.name == KAnonymity.name else "values"
        detail = f"a class has fewer records than it promises {what}"
        return Check(promise_words(model), Outcome.BROKEN, detail=detail)
    return Check(promise_words(model), Outcome.UNDECIDABLE, detail=ATTESTED, required=False)

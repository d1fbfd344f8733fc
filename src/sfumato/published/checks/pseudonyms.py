"""Published pseudonyms: people recounted from the table alone, and what their values give away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.statistics import MOST_SUBSETS, Fingerprints, fingerprints
from sfumato.models.protocol import Achieved, Check, Outcome, PrivacyModel
from sfumato.numbers import counted, percent
from sfumato.published.checks.generalized import RowsOfClasses, Verification, verify_table
from sfumato.published.protocol import Pseudonyms, PublishedTable
from sfumato.table.schema import Attribute

TOO_MANY = f"more than {MOST_SUBSETS:,} sets of values would have to be counted"


def recount_pseudonyms(
    published: PublishedTable,
    pseudonyms: Pseudonyms,
    models: Sequence[PrivacyModel],
    sensitive: Mapping[str, Attribute],
) -> Verification:
    """Recount every model over the people that a column numbers, and the limit of fingerprints.

    Where the column does not number the people of every class from 1 on without a gap, that is broken, and nothing is
    said of people: numbers that mean somebody in two classes would link them.
    """
    data, quasi = published.data, published.quasi_identifying
    rows = RowsOfClasses.of(data, quasi, sensitive)
    numbers = person_numbers(data[pseudonyms.column])
    wrong = _wrongly_numbered(rows, numbers)
    if numbers is None or wrong:
        found = verify_table(data, quasi, sensitive, models, "attested", published.promises)
        return replace(found, checks=(*found.checks, _damage(pseudonyms, wrong, rows.count)))
    found = verify_table(data, quasi, sensitive, models, numbers, published.promises)
    return replace(found, checks=(*found.checks, *_fingerprint_checks(rows, numbers, pseudonyms)))


def person_numbers(column: pl.Series) -> NDArray[np.int32] | None:
    """Return the numbers of a column of pseudonyms, int32 (n,); None where some are no whole numbers from 1 on."""
    texts = column.cast(pl.String)
    if not bool(texts.str.contains(r"^[1-9][0-9]{0,8}$").fill_null(False).all()):
        return None
    return texts.cast(pl.Int32).to_numpy()


def _wrongly_numbered(rows: RowsOfClasses, numbers: NDArray[np.int32] | None) -> int:
    """Count the classes whose people are not numbered from 1 on without a gap."""
    if numbers is None:
        return rows.count
    pairs = np.unique(rows.class_of.astype(np.int64) << 32 | numbers)
    people = np.bincount(pairs >> 32, minlength=rows.count)
    highest = np.zeros(rows.count, dtype=np.int64)
    np.maximum.at(highest, pairs >> 32, pairs & (2**32 - 1))
    return int(np.count_nonzero(highest != people))


def _damage(pseudonyms: Pseudonyms, wrong: int, classes: int) -> Check:
    return Check(
        f"{pseudonyms.column} numbers the people of every class from 1 on",
        Outcome.BROKEN,
        detail=f"{wrong:,} of {counted(classes, 'class')} have other numbers, or a gap in them: the column was changed",
    )


def _fingerprint_checks(rows: RowsOfClasses, numbers: NDArray[np.int32], promised: Pseudonyms) -> tuple[Check, ...]:
    """Recount how many people, at least, have any values of one attribute that somebody of their class has."""
    if promised.fingerprint_k is None:
        return ()
    words = f"fingerprints (fingerprint_k={promised.fingerprint_k}, known_values={promised.known_values})"
    achieved, people = [], 0
    for place, attribute in enumerate(rows.sensitive):
        found = fingerprints(rows.class_of, numbers, rows.codes[:, [place]], promised.known_values)
        if found is None:
            return (Check(words, Outcome.UNDECIDABLE, detail=TOO_MANY),)
        achieved.append(Achieved("fingerprint_k", int(found.fewest.min()), attribute.name))
        people += int(np.count_nonzero(found.fewest < promised.fingerprint_k))
    if not people:
        return (Check(words, Outcome.HOLDS, tuple(achieved)),)
    detail = f"{counted(people, 'person')} have values that fewer people of their class have"
    return (Check(words, Outcome.BROKEN, tuple(achieved), detail),)


@dataclass(frozen=True)
class FingerprintsFound:
    """What somebody finds who knows a person's class and some of the person's values."""

    attribute: str | None  # whose values are known; None: values of any sensitive attribute
    known: int  # how many values are known
    people: int  # looked for, in their classes; somebody who is in two classes counts twice
    alone: int  # those of them who have some such values that nobody else in their class has
    chance: float  # chance to pick the right person among those who fit, for any values of any person, on average
    guess: float  # the same where the class alone is known
    # `least`, `below`: what is promised to fit, and those who have some values that fewer people of their class have;
    # None where nothing is promised
    least: int | None = None
    below: int | None = None

    @classmethod
    def of(cls, attribute: str | None, known: int, found: Fingerprints, least: int | None) -> FingerprintsFound:
        """Sum up what was found of everybody."""
        people = len(found.fewest)
        below = None if least is None else int(np.count_nonzero(found.fewest < least))
        alone = int(np.count_nonzero(found.fewest < 2))
        chance, guess = float(found.chance.mean()), float((1.0 / found.company).mean())
        return cls(attribute, known, people, alone, chance, guess, least, below)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "attribute": self.attribute,
            "known_values": self.known,
            "people": self.people,
            "alone": self.alone,
            **({} if self.least is None else {"fingerprint_k": self.least, "below": self.below}),
            "chance": round(self.chance, 6),
            "guess": round(self.guess, 6),
        }

    def __str__(self) -> str:
        """Write it as one line."""
        whose = "any sensitive attribute" if self.attribute is None else self.attribute
        below = "" if self.least is None else f"; {self.below:,} have some that fewer than {self.least} people have"
        return (
            f"{counted(self.known, 'value')} of {whose}: {self.alone:,} of {counted(self.people, 'person')} "
            f"({percent(self.alone / self.people, 3)}) have some that nobody else in the class has{below}; picking one "
            f"who fits is right for {percent(self.chance, 3)} on average, {percent(self.guess, 3)} by the class alone"
        )


def fingerprints_of(
    published: PublishedTable, sensitive: Mapping[str, Attribute], known: int
) -> dict[str | None, Fingerprints | None]:
    """Look for everybody by values of each sensitive attribute and, under None, of several; None: too many sets."""
    numbers = None if published.pseudonyms is None else person_numbers(published.data[published.pseudonyms.column])
    if numbers is None:
        return {}
    rows = RowsOfClasses.of(published.data, published.quasi_identifying, sensitive)
    places: dict[str | None, list[int]] = {each.name: [place] for place, each in enumerate(rows.sensitive)}
    if len(places) > 1:
        places[None] = list(range(len(rows.sensitive)))
    return {name: fingerprints(rows.class_of, numbers, rows.codes[:, own], known) for name, own in places.items()}


@dataclass(frozen=True)
class NumbersOfRecordsFound:
    """What somebody finds who knows a person's class, and how many records the person has in it."""

    people: int  # looked for, in their classes; somebody who is in two classes counts twice
    alone: int  # those of them who have a number of records that nobody else in their class has
    chance: float  # chance to pick the right person among those who have as many, on average

    @classmethod
    def of(cls, published: PublishedTable) -> NumbersOfRecordsFound | None:
        """Count them; None where the people of classes are not numbered. Cost O(n log n) for n rows."""
        numbers = None if published.pseudonyms is None else person_numbers(published.data[published.pseudonyms.column])
        if numbers is None:
            return None
        class_of = RowsOfClasses.of(published.data, published.quasi_identifying, {}).class_of
        pairs, records = np.unique(np.column_stack([class_of, numbers]), axis=0, return_counts=True)
        groups = np.column_stack([pairs[:, 0], records])
        _, group, members = np.unique(groups, axis=0, return_inverse=True, return_counts=True)
        fitting = members[group.ravel()]
        return cls(len(fitting), int(np.count_nonzero(fitting < 2)), float((1.0 / fitting).mean()))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {"people": self.people, "alone": self.alone, "chance": round(self.chance, 6)}

    def __str__(self) -> str:
        """Write it as one line."""
        return (
            f"the number of records instead: {self.alone:,} of {counted(self.people, 'person')} "
            f"({percent(self.alone / self.people, 3)}) have one that nobody else in the class has; picking one who has "
            f"as many is right for {percent(self.chance, 3)} on average; no limit is set on it"
        )


def promised_least(published: PublishedTable, attribute: str | None, known: int) -> int | None:
    """Return how many people, at least, are promised to have such values; the promise is about one attribute."""
    promised = published.pseudonyms
    if promised is None or attribute is None or known > promised.known_values:
        return None
    return promised.fingerprint_k

"""People in a published table: counted where it is known who is who inside a class, else attested."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.classes.statistics import ClassStatistics
from sfumato.models.checks import Check, Outcome, promise_words
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.limits import about_values
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import says
from sfumato.models.wished_diversity import WishedDiversity
from sfumato.numbers import counted, percent

ATTESTED = "people: attested, not recountable from the release"
OF_VALUES = (
    "What classes tell of sensitive values is counted in people. Somebody who also knows how many records a person has "
    "may conclude more: of six records four say flu, and who has three of them has flu."
)
"""What promises about the sensitive values of people do not bound."""


@dataclass(frozen=True)
class PeopleFound:
    """The people of a published table.

    Attributes
    ----------
    people : int
        In all classes; somebody who is in two of them counts twice.
    smallest_class : int
        People in the class with the fewest.
    largest_share : float
        Largest share of the records of a class that are one person's: the highest chance that a record of the class
        which fits a person is that person's.
    """

    people: int
    smallest_class: int
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


def limits_of_people(models: Iterable[PrivacyModel], sensitive: Sequence[str]) -> tuple[str, ...]:
    """Return what promises to people who have several records leave open: something, where they are about values."""
    return (OF_VALUES,) if about_values(models, sensitive) else ()


def attested_checks(models: Iterable[PrivacyModel], records: ClassStatistics) -> tuple[Check, ...]:
    """Check what the records alone can decide about promises to people.

    A class has at least as many records as people, so that one with too few records breaks a promise. Nothing else can
    be told from records, and nothing is said to hold.

    Parameters
    ----------
    models
        What was promised.
    records
        Class statistics that count records.
    """
    fewest = int(records.sizes.min()) if records.count else 0

    def short(model: PrivacyModel) -> bool:
        own = records.wished_l if isinstance(model, WishedDiversity) else records.wished
        kept = isinstance(model, WishedDiversity | KAnonymity)
        return kept and own is not None and bool(np.any(records.sizes < own))

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

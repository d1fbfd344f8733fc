"""The risk of people who have several records: who they are is declared, or a column looks as if it said so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.people import counted_people
from sfumato.classes.statistics import ClassStatistics
from sfumato.evaluation.risk.keys import Keys
from sfumato.numbers import counted, percent
from sfumato.table.table import Table

DIGITS = 3
UNNUMBERED = (
    "The promises of this release are about people with several records. The risks above count records: the release "
    "does not say which are of one person. sfumato verify --audit counts people, and sfumato series verify --ledger "
    "those of a series."
)
"""What is said of a release whose people only the steward's audit file tells, or the ledger of its series."""


@dataclass(frozen=True)
class PeopleAtRisk:
    """How people are hidden among each other.

    Attributes
    ----------
    column : str
        The column that says who a record is about.
    declared : bool
        Whether the schema says so, or the column only looks like it.
    people : int
    fewest : int
        People in the class with the fewest.
    alone : int
        Classes of one person.
    highest, average : float
        Chance that a record which fits a person is that person's: the largest share of one person in a class, and the
        mean over all people of each class.
    without_key : int
        Records without a value in the column, each of which counts as a person of its own.
    """

    column: str
    declared: bool
    people: int
    fewest: int
    alone: int
    highest: float
    average: float
    without_key: int = 0

    @classmethod
    def of(cls, table: Table, keys: Keys) -> PeopleAtRisk | None:
        """Count the people of the classes; None where nothing says who a record is about. Cost O(n log n)."""
        repeated = table.repeated
        people = table.people if repeated is None else repeated.people
        column = table.schema.person if repeated is None else repeated.name
        if people is None or column is None:
            return None
        without_key = 0 if table.keyless is None else int(np.count_nonzero(table.keyless))
        return replace(cls.numbered(people, column, keys), declared=repeated is None, without_key=without_key)

    @classmethod
    def numbered(cls, people: NDArray[np.int32], column: str, keys: Keys) -> PeopleAtRisk:
        """Count the people of the classes, int32 (n,), whom a column names. Cost O(n log n)."""
        found = counted_people(keys.class_of, keys.count, people, np.empty((len(people), 0), dtype=np.uint8), ())
        return cls(
            column=column,
            declared=True,
            people=len(np.unique(people)),
            fewest=int(found.sizes.min()),
            alone=int(np.count_nonzero(found.sizes == 1)),
            highest=_highest(found),
            average=found.count / found.height,
        )

    def lines(self, classes: int) -> list[str]:
        """Return what a steward should know, as lines of text."""
        found = (
            f"{self.people:,} people by {self.column!r}: fewest in a class {self.fewest:,}; {self.alone:,} of "
            f"{counted(classes, 'class')} are of one person; a record that fits somebody is that person's with a "
            f"chance of {percent(self.highest, DIGITS)} at most, {percent(self.average, DIGITS)} on average"
        )
        if self.declared:
            return [found, *self._without_key()]
        advice = f"If {self.column!r} says who a record is about, declare it (--person {self.column})."
        return [found, f"The risks above count records, not people. {advice}"]

    def _without_key(self) -> list[str]:
        if not self.without_key:
            return []
        several = f"{counted(self.without_key, 'record')} without {self.column!r}"
        return [f"{several}, each counted as a person of its own: there are fewer people if some are of the same one"]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return dict(vars(self))


def _highest(found: ClassStatistics) -> float:
    assert found.people is not None
    return float((found.people.most / found.people.records).max())

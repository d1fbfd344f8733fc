"""The quasi-identifying values of a table as numbers: classes of indistinguishable records, and people in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import distinct_records
from sfumato.classes.people import counted_people
from sfumato.classes.statistics import ClassStatistics
from sfumato.kernels.grouping import first_records
from sfumato.numbers import counted, percent
from sfumato.parallel import each, worth_starting
from sfumato.table.distinct import distinct_of
from sfumato.table.table import Table

_STAR = "*"
"""A suppressed value, in the notation of published tables."""


@dataclass(frozen=True, eq=False, repr=False)
class Keys:
    """Classes of equal quasi-identifying values.

    A missing value is a value of its own, and so is ``*``.

    Letters: n records, q columns, c classes.

    `names`: Quasi-identifying columns, q. `values`: uint32 (c, q): number of each class's value in each column.
    `records`: int64 (c,): records in each class. `class_of`: int32 (n,): class of each record, numbered in order of
    first appearance. `stars`: Number of the value ``*`` in each column, −1 where it does not occur.
    """

    names: tuple[str, ...]
    values: NDArray[np.unsignedinteger]
    records: NDArray[np.int64]
    class_of: NDArray[np.int32]
    stars: tuple[int, ...]

    @property
    def height(self) -> int:
        """Number of records n."""
        return len(self.class_of)

    @property
    def count(self) -> int:
        """Number of classes c."""
        return len(self.records)

    @cached_property
    def columns(self) -> NDArray[np.unsignedinteger]:
        """Return the values of the classes, one row for each column: (q, c)."""
        return np.ascontiguousarray(self.values.T)

    @cached_property
    def first_rows(self) -> NDArray[np.int64]:
        """Return the row number (from 1) of the first record of each class, int64 (c,)."""
        return first_records(self.class_of, self.count) + 1

    @property
    def starred(self) -> NDArray[np.int32]:
        """Return the values of the classes with −1 for ``*``; int32 (c, q)."""
        values = self.values.astype(np.int32)
        return np.where(values == np.array(self.stars, dtype=np.int32), np.int32(-1), values)

    def sums(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up a number of each record over its class; float64 (c,)."""
        sums: NDArray[np.float64] = np.bincount(self.class_of, weights=weights, minlength=self.count)  # type: ignore[assignment]
        return sums


def keys_of(columns: Sequence[pl.Series], threads: int = 1) -> Keys:
    """Give numbers to the values of quasi-identifying columns and group equal records.

    `columns`: At least one, of any kind that a table may hold; NaN counts as missing. `threads`: Columns that are
    numbered at the same time.

    Cost O(n) for each column of categories, dates, booleans or whole numbers of a narrow range; O(n log d) otherwise.
    """
    coded = each(_numbered, columns, worth_starting(threads, len(columns[0])))
    codes = np.column_stack([codes for codes, _ in coded])
    values, records, class_of = distinct_records(codes)
    return Keys(tuple(column.name for column in columns), values, records, class_of, tuple(star for _, star in coded))


def counted_in(keys: Keys, height: int) -> tuple[Keys, NDArray[np.int64]]:
    """Separate a table from its population, which follows it.

    `keys`: Of the `height` records of the table, followed by those of the population. Result: Of the table alone; its
    classes keep their numbers. Result: int64 (c,): records of the population in each class of the table.
    """
    class_of = keys.class_of[:height]
    count = int(class_of.max(initial=-1)) + 1
    records = np.bincount(class_of, minlength=count).astype(np.int64, copy=False)
    population = keys.records[:count] - records
    return Keys(keys.names, keys.values[:count], records, class_of, keys.stars), population


def _numbered(column: pl.Series) -> tuple[NDArray[np.uint32], int]:
    distinct = distinct_of(column)
    star = -1
    if distinct.values.dtype == pl.String:
        found = np.flatnonzero((distinct.values == _STAR).to_numpy())
        star = int(found[0]) if len(found) else -1
    return distinct.rank_of.astype(np.uint32)[distinct.raw], star


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

    `column`: The column that says who a record is about. `declared`: Whether the schema says so, or the column only
    looks like it. `fewest`: People in the class with the fewest. `highest`, `average`: Chance that a record which fits
    a person is that person's: the largest share of one person in a class, and the mean over all people of each class.
    `without_key`: Records without a value in the column, each of which counts as a person of its own.
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
        column = ", ".join(table.schema.key_columns) if repeated is None else repeated.name
        if people is None:
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

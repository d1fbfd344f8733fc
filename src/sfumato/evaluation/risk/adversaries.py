"""Classes of records that nobody can tell apart, and what an attacker who knows the attributes can expect in them.

With thresholds of risk, named after those who use them, and individual and household risk from sampling weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import distinct_records
from sfumato.classes.statistics import ClassStatistics, counted_people
from sfumato.errors import PolicyError, raise_all
from sfumato.kernels.grouping import first_records
from sfumato.kernels.risk import expected_inverse
from sfumato.numbers import counted, figure, percent
from sfumato.parallel import each, worth_starting
from sfumato.policy.mistakes import suggestion
from sfumato.table.distinct import distinct_of
from sfumato.table.table import Table

_STAR = "*"
"""A suppressed value, in the notation of published tables."""


@dataclass(frozen=True, eq=False, repr=False)
class Keys:
    """Classes of equal quasi-identifying values, of which missing is one, and ``*``, by first appearance.

    `values`, uint32 (c, q): number of each class's value; `stars`: that of ``*`` in each column, −1 where it does not
    occur.
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
    """Give quasi-identifying values numbers, NaN as missing, and group equal records; O(n), or O(n log d)."""
    coded = each(_numbered, columns, worth_starting(threads, len(columns[0])))
    codes = np.column_stack([codes for codes, _ in coded])
    values, records, class_of = distinct_records(codes)
    return Keys(tuple(column.name for column in columns), values, records, class_of, tuple(star for _, star in coded))


def counted_in(keys: Keys, height: int) -> tuple[Keys, NDArray[np.int64]]:
    """Separate a table from its population, which follows it, and count that in each of its classes."""
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
    "does not say which are of one person. sfumato verify --audit counts people, and sfumato verify --ledger "
    "those of a series."
)
"""What is said of a release whose people only the steward's audit file tells, or the ledger of its series."""


@dataclass(frozen=True)
class PeopleAtRisk:
    """How people are hidden among each other, by a column that the schema declares, or that looks like it.

    `highest`, `average`: the largest share of one person in a class, and the mean over all people of each.
    `without_key`: records without a value, each a person of its own.
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


TOLERANCE = 1e-12
"""A risk above its threshold by less than this is due to rounding: 1/11 is not above 1/11."""


@dataclass(frozen=True)
class Threshold:
    """A risk that no record should exceed: `value`, above 0, at most 1; the `name` that asks for it, or the number."""

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
    """Return thresholds, lowest first; PolicyError with every one that is no name and no number above 0, at most 1."""
    found: dict[float, Threshold] = {}
    problems = []
    for place, word in enumerate(asked, 1):
        threshold = _threshold(word)
        if threshold is None:
            names = suggestion(word, tuple(THRESHOLDS))
            problems.append(f"threshold number {place}: {names}, or a number above 0, at most 1")
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


@dataclass(frozen=True)
class AboveThreshold:
    """The records and classes above a threshold. `records`, `classes`: Those whose risk is above it."""

    threshold: Threshold
    records: int
    classes: int
    share: float


@dataclass(frozen=True, eq=False, repr=False)
class Adversary:
    """The risk of each class under what one attacker knows, and the average as the model's sources define it."""

    name: str
    risks: NDArray[np.float64]
    records: NDArray[np.int64]
    average: float

    @property
    def highest(self) -> float:
        """Risk of the records that are easiest to find."""
        return float(self.risks.max(initial=0.0))

    def is_above(self, threshold: float) -> NDArray[np.bool_]:
        """Tell which classes have a risk above a threshold; bool (c,)."""
        return self.risks > threshold + TOLERANCE

    def above(self, threshold: Threshold) -> AboveThreshold:
        """Count the records and classes above a threshold."""
        chosen = self.is_above(threshold.value)
        records = int(self.records[chosen].sum())
        return AboveThreshold(threshold, records, int(chosen.sum()), records / max(1, int(self.records.sum())))


def prosecutor(records: NDArray[np.int64], alike: NDArray[np.float64]) -> Adversary:
    """Return the risk from an attacker who knows that the person is in the table: 1 / f.

    `records`: int64 (c,): records in each class. `alike`: float64 (c,): records that look like each class, its own
    included: `records`, unless stars count as any value. K. El Emam, "Guide to the De-Identification of Personal Health
    Information", 2013, chapter 16.
    """
    return _averaged("prosecutor", 1.0 / alike, records)


def journalist_of_population(records: NDArray[np.int64], population: NDArray[np.float64]) -> Adversary:
    """Return the risk from an attacker who does not know who is in the table, but has a register of the population.

    `records`: int64 (c,): records in each class, f. `population`: float64 (c,): records of the population in each
    class, F. Result: Its average is the larger of two: Σ f/F over n (from the table to the register) and c over Σ F
    (from the register to the table). K. El Emam, "Guide to the De-Identification of Personal Health Information", 2013,
    chapter 16.
    """
    risks = 1.0 / population
    from_register = len(population) / max(1.0, float(population.sum()))
    return Adversary("journalist", risks, records, max(_mean(risks, records), from_register))


def journalist_of_sample(records: NDArray[np.int64], alike: NDArray[np.float64], fraction: float) -> Adversary:
    """Return the journalist's risk if only the sampling fraction is known: E(1 / F) given f.

    Departure from El Emam, who offers no estimate of F for single classes: the negative binomial distribution of
    Benedetti and Franconi with equal weights 1 / π, see :func:`sfumato.evaluation.risk.adversaries.individual_risk`. It
    never lies below π / f, the inverse of the expected F.
    """
    return _averaged("journalist", expected_inverse(alike, np.full(len(alike), fraction)), records)


def individual(risks: NDArray[np.float64], records: NDArray[np.int64]) -> Adversary:
    """Return a risk that was computed for each class as an adversary."""
    return _averaged("individual", risks, records)


def _averaged(name: str, risks: NDArray[np.float64], records: NDArray[np.int64]) -> Adversary:
    return Adversary(name, risks, records, _mean(risks, records))


def _mean(risks: NDArray[np.float64], records: NDArray[np.int64]) -> float:
    return float((risks * records).sum() / max(1, int(records.sum())))


def individual_risk(alike: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Benedetti and Franconi's risk of each class: E(1 / F) given f.

    The records F of the population in a class of f sampled ones are modelled as negative binomial: the number of trials
    to sample f of them, each sampled with probability p = f / Σ w. `alike`: float64 (c,): records f of each class, ≥ 1.
    `weights`: float64 (c,): sum of the sampling weights of each class, above 0. Result: float64 (c,), between p / f and
    1 / f. If the weights of a class sum to no more than its records, the class is the whole population's and its risk
    is 1 / f.

    The closed forms of the paper for f = 1 and 2 are the first steps of the recurrence that is used here, which is
    exact for every f; the paper and programs after it switch to approximations from f = 3. O(c) for classes of usual
    size, O(f) for a class of f below 64 records. R. Benedetti, L. Franconi, "Statistical and technological solutions
    for controlled data dissemination", 1998; S. Polettini, "A note on the individual risk of disclosure", Istat, 2003.
    """
    return expected_inverse(alike, alike / weights)


def household_risk(risks: NDArray[np.float64], household_of: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the risk, float64 (n,), that somebody of a record's household is found, independently: 1 − Π (1 − r)."""
    # The sum of logarithms is minus infinity if somebody is found with certainty.
    with np.errstate(divide="ignore"):
        unfound = np.bincount(household_of, weights=np.log1p(-risks))
    found: NDArray[np.float64] = -np.expm1(unfound)[household_of]
    return found

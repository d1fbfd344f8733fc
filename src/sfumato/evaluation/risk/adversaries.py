"""Prosecutor, journalist and marketer: what an attacker who knows the quasi-identifying attributes can expect.

With thresholds of risk, named after those who use them, and individual and household risk from sampling weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError, raise_all
from sfumato.kernels.risk import expected_inverse
from sfumato.numbers import figure

TOLERANCE = 1e-12
"""A risk above its threshold by less than this is due to rounding: 1/11 is not above 1/11."""


@dataclass(frozen=True)
class Threshold:
    """A risk that no record should exceed.

    `name`: The name by which it is requested, or the number itself. `value`: Above 0, at most 1.
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

    Raises PolicyError with every one that is neither a name nor a number above 0, at most 1.
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


@dataclass(frozen=True)
class AboveThreshold:
    """The records and classes above a threshold.

    `records`, `classes`: Those whose risk is above it.
    """

    threshold: Threshold
    records: int
    classes: int
    share: float


@dataclass(frozen=True, eq=False, repr=False)
class Adversary:
    """The risk of each class under what one attacker knows.

    `name`: ``"prosecutor"``, ``"journalist"`` or ``"individual"``. `risks`: float64 (c,): probability that a record of
    the class is matched to the right person. `records`: int64 (c,): records in each class. `average`: As the sources of
    the attacker's model define it.
    """

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
    included: `records`, unless stars count as any value.

    References
    ----------
    K. El Emam, "Guide to the De-Identification of Personal Health Information", 2013, chapter 16.
    """
    return _averaged("prosecutor", 1.0 / alike, records)


def journalist_of_population(records: NDArray[np.int64], population: NDArray[np.float64]) -> Adversary:
    """Return the risk from an attacker who does not know who is in the table, but has a register of the population.

    `records`: int64 (c,): records in each class, f. `population`: float64 (c,): records of the population in each
    class, F. Result: Its average is the larger of two: Σ f/F over n (from the table to the register) and c over Σ F
    (from the register to the table).

    References
    ----------
    K. El Emam, "Guide to the De-Identification of Personal Health Information", 2013, chapter 16.
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
    to sample f of them, each sampled with probability p = f / Σ w.

    `alike`: float64 (c,): records f of each class, ≥ 1. `weights`: float64 (c,): sum of the sampling weights of each
    class, above 0. Result: float64 (c,), between p / f and 1 / f. If the weights of a class sum to no more than its
    records, the class is the whole population's and its risk is 1 / f.

    The closed forms of the paper for f = 1 and 2 are the first steps of the recurrence that is used here, which is
    exact for every f; the paper and programs after it switch to approximations from f = 3. O(c) for classes of usual
    size, O(f) for a class of f below 64 records.

    References
    ----------
    R. Benedetti, L. Franconi, "Statistical and technological solutions for controlled data dissemination", 1998;
    S. Polettini, "A note on the individual risk of disclosure", Istat, 2003.
    """
    return expected_inverse(alike, alike / weights)


def household_risk(risks: NDArray[np.float64], household_of: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the risk that at least one record of a record's household is found: 1 − Π (1 − r).

    `risks`: float64 (n,): individual risk of each record. `household_of`: Integers (n,): household of each record, from
    0. Result: float64 (n,): the same for every record of a household. Its records are assumed to be found
    independently.
    """
    # The sum of logarithms is minus infinity if somebody is found with certainty.
    with np.errstate(divide="ignore"):
        unfound = np.bincount(household_of, weights=np.log1p(-risks))
    found: NDArray[np.float64] = -np.expm1(unfound)[household_of]
    return found

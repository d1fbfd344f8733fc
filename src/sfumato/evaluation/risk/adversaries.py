"""Prosecutor, journalist and marketer: what an attacker who knows the quasi-identifying attributes can expect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.risk.thresholds import TOLERANCE, Threshold
from sfumato.kernels.mondrian.expected_inverse import expected_inverse


@dataclass(frozen=True)
class AboveThreshold:
    """The records and classes above a threshold.

    Attributes
    ----------
    threshold : Threshold
    records, classes : int
        Those whose risk is above it.
    share : float
        Of all records.
    """

    threshold: Threshold
    records: int
    classes: int
    share: float


@dataclass(frozen=True, eq=False, repr=False)
class Adversary:
    """The risk of each class under what one attacker knows.

    Attributes
    ----------
    name : str
        ``"prosecutor"``, ``"journalist"`` or ``"individual"``.
    risks : numpy.ndarray
        float64 (c,): probability that a record of the class is matched to the right person.
    records : numpy.ndarray
        int64 (c,): records in each class.
    average : float
        As the sources of the attacker's model define it.
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

    Parameters
    ----------
    records
        int64 (c,): records in each class.
    alike
        float64 (c,): records that look like each class, its own included: `records`, unless stars count as
        any value.

    References
    ----------
    K. El Emam, "Guide to the De-Identification of Personal Health Information", 2013, chapter 16.
    """
    return _averaged("prosecutor", 1.0 / alike, records)


def journalist_of_population(records: NDArray[np.int64], population: NDArray[np.float64]) -> Adversary:
    """Return the risk from an attacker who does not know who is in the table, but has a register of the population.

    Parameters
    ----------
    records
        int64 (c,): records in each class, f.
    population
        float64 (c,): records of the population in each class, F.

    Returns
    -------
    Adversary
        Its average is the larger of two: Σ f/F over n (from the table to the register) and c over Σ F (from the
        register to the table).

    References
    ----------
    K. El Emam, "Guide to the De-Identification of Personal Health Information", 2013, chapter 16.
    """
    risks = 1.0 / population
    from_register = len(population) / max(1.0, float(population.sum()))
    return Adversary("journalist", risks, records, max(_mean(risks, records), from_register))


def journalist_of_sample(records: NDArray[np.int64], alike: NDArray[np.float64], fraction: float) -> Adversary:
    """Return the journalist's risk if only the sampling fraction is known: E(1 / F) given f.

    Notes
    -----
    Departure from El Emam, who offers no estimate of F for single classes: the negative binomial distribution of
    Benedetti and Franconi with equal weights 1 / π, see :func:`sfumato.evaluation.risk.individual.individual_risk`. It
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

"""Individual and household risk from sampling weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.mondrian.expected_inverse import expected_inverse


def individual_risk(alike: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Benedetti and Franconi's risk of each class: E(1 / F) given f.

    The records F of the population in a class of f sampled ones are modelled as negative binomial: the number of trials
    to sample f of them, each sampled with probability p = f / Σ w.

    Parameters
    ----------
    alike
        float64 (c,): records f of each class, ≥ 1.
    weights
        float64 (c,): sum of the sampling weights of each class, above 0.

    Returns
    -------
    numpy.ndarray
        float64 (c,), between p / f and 1 / f. If the weights of a class sum to no more than its records, the class is
        the whole population's and its risk is 1 / f.

    Notes
    -----
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

    Parameters
    ----------
    risks
        float64 (n,): individual risk of each record.
    household_of
        Integers (n,): household of each record, from 0.

    Returns
    -------
    numpy.ndarray
        float64 (n,): the same for every record of a household. Its records are assumed to be found independently.
    """
    # The sum of logarithms is minus infinity if somebody is found with certainty.
    with np.errstate(divide="ignore"):
        unfound = np.bincount(household_of, weights=np.log1p(-risks))
    found: NDArray[np.float64] = -np.expm1(unfound)[household_of]
    return found

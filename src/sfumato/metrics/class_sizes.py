"""Metrics of class sizes alone."""

from __future__ import annotations

import math

import numpy as np

from sfumato.classes.generalized import GeneralizedTable


def discernibility(generalized: GeneralizedTable, k: int = 1) -> int:
    """Charge every record the number of records that look like it (DM); lower is better.

    Parameters
    ----------
    generalized
        n original records.
    k
        Classes below this size count as suppressed.

    Returns
    -------
    int
        The squared sizes of the classes, and n for every suppressed record.

    Notes
    -----
    Bayardo and Agrawal, "Data privacy through optimal k-anonymization", ICDE 2005. Cost O(c).
    """
    sizes = generalized.sizes
    kept = sizes[sizes >= k]
    return int(np.sum(kept * kept)) + generalized.height * (generalized.height - int(kept.sum()))


def average_class_size(generalized: GeneralizedTable, k: int = 1) -> float:
    """Divide the mean class size by k (C_avg); 1 is ideal.

    Suppressed records do not count. The result is infinite when no class is left.

    Notes
    -----
    LeFevre, DeWitt and Ramakrishnan, "Mondrian multidimensional k-anonymity", ICDE 2006. Cost O(c).
    """
    classes = len(generalized.sizes)
    return float(generalized.sizes.sum()) / classes / k if classes else math.inf

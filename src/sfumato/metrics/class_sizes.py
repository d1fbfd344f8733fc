"""What the sizes of classes say, and whether their records have one label: DM, C_avg, CM."""

from __future__ import annotations

import math

import numpy as np

from sfumato.classes.generalized import GeneralizedTable
from sfumato.classes.statistics import SensitiveCounts


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


def classification_metric(generalized: GeneralizedTable, labels: SensitiveCounts) -> float:
    """Return the share of records that are suppressed or lack their class's most frequent label (CM); lower is better.

    Parameters
    ----------
    generalized
        n original records.
    labels
        How often each label occurs in each of its classes; see :func:`~sfumato.classes.counting.class_statistics`.

    Notes
    -----
    Iyengar, "Transforming data to satisfy privacy constraints", KDD 2002. If several labels are equally frequent, the
    choice makes no difference. Cost O(class and label pairs).
    """
    if not len(generalized.sizes):
        return 1.0
    agreeing = int(np.maximum.reduceat(labels.counts, labels.starts[:-1]).sum())
    return (generalized.height - agreeing) / generalized.height

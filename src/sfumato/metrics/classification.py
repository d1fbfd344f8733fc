"""The classification metric: records that disagree with their class."""

from __future__ import annotations

import numpy as np

from sfumato.classes.generalized import GeneralizedTable
from sfumato.classes.statistics import SensitiveCounts


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

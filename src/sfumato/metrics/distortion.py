"""Metrics of how many cells were changed, and by how many levels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.generalized import GeneralizedColumn, GeneralizedTable
from sfumato.metrics.cells import column_sum


def changed_cells(generalized: GeneralizedTable) -> dict[str, int]:
    """Count the cells of each attribute that are not published exactly, suppressed ones included.

    A class mean counts as changed in every record of the class unless all its values are equal.
    """
    return {
        column.attribute.name: int(column_sum(generalized, column, (column.level > 0).astype(np.float64), 1.0))
        for column in generalized.columns
    }


def minimal_distortion(generalized: GeneralizedTable) -> int:
    """Count all changed cells (MD); lower is better."""
    return sum(changed_cells(generalized).values())


def precision(generalized: GeneralizedTable) -> float:
    """Return 1 minus the mean share of the hierarchy's levels that cells climbed (Prec); higher is better.

    Without a hierarchy the only step leads to `*`, and every changed cell has taken it. Suppressed cells have climbed
    to the top. Weights do not count.

    Notes
    -----
    Sweeney, "Achieving k-anonymity privacy protection using generalization and suppression", IJUFKS 2002.
    """
    climbed = sum(column_sum(generalized, column, climbed_cells(column), 1.0) for column in generalized.columns)
    return 1.0 - climbed / (generalized.height * len(generalized.columns))


def climbed_cells(column: GeneralizedColumn) -> NDArray[np.float64]:
    """Return the share of its hierarchy that each generalized value climbed, float64 (g,)."""
    return column.level / max(column.height, 1)

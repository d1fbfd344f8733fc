"""ILoss and the loss metric LM: how many values a cell may stand for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.generalized import GeneralizedColumn, GeneralizedTable
from sfumato.metrics.cells import CellLoss, column_sum, is_ranged, values_covered, width_shares
from sfumato.metrics.rules import Rule, under_rule


def iloss(generalized: GeneralizedTable, rule: Rule = "auto") -> float:
    """Sum (values covered − 1) / (values of the domain) over all cells, weighted; lower is better.

    Intervals and means cover the distinct values of the data between their ends. A suppressed cell loses
    (|D| − 1) / |D|, so that the sum stays below the number of cells by definition.

    Notes
    -----
    Xiao and Tao, "Personalized privacy preservation", SIGMOD 2006.
    """
    return _weighted_sum(under_rule(generalized, rule), iloss_cells, iloss_suppressed)


def loss_metric(generalized: GeneralizedTable, rule: Rule = "auto") -> float:
    """Sum (values covered − 1) / (values of the domain − 1), or the share of the range, over all cells (LM), weighted.

    Lower is better; a suppressed cell loses 1.

    Notes
    -----
    Iyengar, "Transforming data to satisfy privacy constraints", KDD 2002.
    """
    return _weighted_sum(under_rule(generalized, rule), lm_cells, lambda column: 1.0)


def _weighted_sum(
    generalized: GeneralizedTable, cells: CellLoss, suppressed: Callable[[GeneralizedColumn], float]
) -> float:
    return sum(
        column.attribute.weight * column_sum(generalized, column, cells(column), suppressed(column))
        for column in generalized.columns
    )


def iloss_cells(column: GeneralizedColumn) -> NDArray[np.float64]:
    """Return the ILoss of each generalized value, float64 (g,)."""
    return (values_covered(column) - 1) / column.attribute.domain_size


def iloss_suppressed(column: GeneralizedColumn) -> float:
    """Return the ILoss of a suppressed cell."""
    return (column.attribute.domain_size - 1) / column.attribute.domain_size


def lm_cells(column: GeneralizedColumn) -> NDArray[np.float64]:
    """Return the LM of each generalized value, float64 (g,)."""
    if is_ranged(column):
        return width_shares(column)
    shares = (values_covered(column) - 1) / max(column.attribute.domain_size - 1, 1)
    return np.where(column.unrestricted, 1.0, shares)

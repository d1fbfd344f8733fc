"""The normalized certainty penalty (NCP), and utility."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.generalized import GeneralizedColumn, GeneralizedTable
from sfumato.metrics.cells import column_sum, is_ranged, values_covered, width_shares
from sfumato.metrics.rules import Rule, under_rule


def cell_penalties(column: GeneralizedColumn) -> NDArray[np.float64]:
    """Return the penalty of each generalized value, float64 (g,) in [0, 1].

    A range: its width over that of the domain. A category: 0 for one value, else the values covered over those of the
    domain. ``*``: 1. A mean has no width, so it has the penalty of its class's range.
    """
    if is_ranged(column):
        return width_shares(column)
    covered = values_covered(column)
    penalties = np.where(covered > 1, covered / column.attribute.domain_size, 0.0)
    return np.where(column.unrestricted, 1.0, penalties)


def attribute_penalties(generalized: GeneralizedTable, rule: Rule = "auto") -> dict[str, float]:
    """Return the mean penalty of each attribute over all original records, in [0, 1]; a suppressed cell is 1.

    Parameters
    ----------
    generalized
        n original records.
    rule
        How categories are counted; see :func:`~sfumato.metrics.rules.under_rule`.
    """
    seen = under_rule(generalized, rule)
    return {
        column.attribute.name: column_sum(seen, column, cell_penalties(column), 1.0) / generalized.height
        for column in seen.columns
    }


def certainty_penalty(generalized: GeneralizedTable, rule: Rule = "auto") -> float:
    """Sum the weighted penalties of all cells (NCP of the table); lower is better.

    Notes
    -----
    Xu, Wang, Pei, Wang, Shi and Fu, "Utility-based anonymization using local recoding", KDD 2006.
    """
    penalties = attribute_penalties(generalized, rule)
    weighted = (column.attribute.weight * penalties[column.attribute.name] for column in generalized.columns)
    return generalized.height * sum(weighted)


def normalized_certainty_penalty(generalized: GeneralizedTable, rule: Rule = "auto") -> float:
    """Divide the NCP of the table by its largest possible value, n times the sum of the weights; in [0, 1].

    Notes
    -----
    Ghinita, Karras, Kalnis and Mamoulis (VLDB 2007) call it GCP. They divide by the number of attributes, with weights
    that already sum to 1, so their figure never reaches 1. Here the divisor is the sum of the weights.
    """
    weights = sum(column.attribute.weight for column in generalized.columns)
    return certainty_penalty(generalized, rule) / (generalized.height * weights)


def peoples_penalty(generalized: GeneralizedTable, people: NDArray[np.int32], rule: Rule = "auto") -> float:
    """Return the mean penalty of people: that of a person is the mean of its records; in [0, 1].

    Parameters
    ----------
    generalized
        n original records.
    people
        int32 (n,): the person of each.
    rule
        How categories are counted; see :func:`~sfumato.metrics.rules.under_rule`.

    Notes
    -----
    With one record each it is :func:`normalized_certainty_penalty`. Cost O(n q).
    """
    seen = under_rule(generalized, rule)
    weights = sum(column.attribute.weight for column in seen.columns)
    of_class = sum(column.attribute.weight * cell_penalties(column)[column.per_class] for column in seen.columns)
    # The last place is that of suppressed records. Whole numbers add up to the same in every order.
    units = np.rint(np.append(of_class / weights, 1.0) * 2**32)
    records = np.bincount(people)
    own = np.bincount(people, weights=units[generalized.class_of])[records > 0] / records[records > 0]
    return float(np.rint(own).sum() / (len(own) * 2**32))


def utility(generalized: GeneralizedTable, rule: Rule = "auto") -> float:
    """Return 1 minus the normalized NCP; higher is better, 0 for a suppressed table."""
    return 1.0 - normalized_certainty_penalty(generalized, rule)

"""The error of microaggregation: squared error within classes over that of the whole table."""

from __future__ import annotations

import numpy as np

from sfumato.classes.generalized import GeneralizedColumn, GeneralizedTable
from sfumato.errors import InputError
from sfumato.kernels.boxes import class_sums


def squared_error(generalized: GeneralizedTable) -> float:
    """Return 100 · SSE / SST over the numbers and dates without a hierarchy, each on the scale of z-scores.

    A suppressed record, and a class that mixes missing and present values, counts as if the mean of the whole column
    were published; missing values have no error. 0 when every column is constant.

    Raises
    ------
    InputError
        When no attribute is a number or date without a hierarchy, or when the table was read back from a published
        frame, whose rows are not aligned with the original.

    Notes
    -----
    Domingo-Ferrer and Mateo-Sanz, "Practical data-oriented microaggregation for statistical disclosure control", IEEE
    TKDE 2002. On z-scores every column that varies has the same SST, so that the ratio is the mean of the columns'
    own ratios, whatever the divisor of the variance. Cost O(n) per attribute.
    """
    if not generalized.aligned:
        raise InputError("the squared error cannot be computed from a published table, because its rows are shuffled")
    measured = [index for index, column in enumerate(generalized.columns) if column.attribute.is_numeric]
    if not measured:
        raise InputError("the squared error needs a number or date without a hierarchy; there is none")
    ratios = [ratio for index in measured if (ratio := _ratio(generalized, index)) is not None]
    return 100.0 * sum(ratios) / len(ratios) if ratios else 0.0


def _ratio(generalized: GeneralizedTable, index: int) -> float | None:
    """Return SSE / SST of one attribute; None when it does not vary."""
    column = generalized.columns[index]
    occurrences = generalized.frequencies[index][: column.attribute.size]
    centered = _centered(column, occurrences)
    total = float(occurrences @ centered**2)
    # Numbers may be so close that their squared distances, or they themselves as floats, are equal.
    if total == 0.0:
        return None
    sums = class_sums(
        generalized.class_of, generalized.original.codes[:, index], np.append(centered, 0.0), len(generalized.sizes)
    )
    told = ~column.unrestricted[column.per_class]
    return max(total - float(np.sum(sums[told] ** 2 / generalized.sizes[told])), 0.0) / total


def _centered(
    column: GeneralizedColumn, occurrences: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    numbers = column.attribute.numbers
    assert numbers is not None
    return numbers - float(occurrences @ numbers) / max(int(occurrences.sum()), 1)

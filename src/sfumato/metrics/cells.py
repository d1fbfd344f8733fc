"""Sum the losses of generalized values over records, as every metric of cells does.

Letters: n records, c classes, g distinct generalized values of an attribute.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.generalized import Form, GeneralizedColumn, GeneralizedTable

CellLoss = Callable[[GeneralizedColumn], NDArray[np.float64]]
"""Loss of each generalized value, float64 (g,)."""


UNIT = 2**62
"""What a loss of 1 counts: sums are of whole numbers, so that no order and no split of the records changes them."""


def records_with(column: GeneralizedColumn, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the records that publish each generalized value; int64 (g,). sizes : int64 (c,)."""
    # Sums of floats below 2**53 are exact, and cost half as much as adding integers in place.
    return np.bincount(column.per_class, weights=sizes, minlength=column.count).astype(np.int64)


def exact_sum(records: NDArray[np.int64], losses: NDArray[np.float64], suppressed: int = 0, charge: float = 0.0) -> int:
    """Sum the losses of one attribute over all records, in units.

    records : int64 (g,), losses : float64 (g,) in [0, 1]: how many records publish each generalized value, and what it
    loses; every suppressed record is charged `charge`. Exact below 2**31 records, but for losses below 2**-10, which
    are rounded to the unit.
    """
    units = np.rint(np.ldexp(losses, 62)).astype(np.int64)
    upper, lower = int(records @ (units >> 31)), int(records @ (units & (2**31 - 1)))
    return (upper << 31) + lower + suppressed * round(charge * UNIT)


def column_sum(
    generalized: GeneralizedTable, column: GeneralizedColumn, losses: NDArray[np.float64], suppressed: float
) -> float:
    """Sum the losses of one attribute over all records, and charge `suppressed` for each suppressed one."""
    return exact_sum(records_with(column, generalized.sizes), losses, generalized.suppressed, suppressed) / UNIT


def values_covered(column: GeneralizedColumn) -> NDArray[np.int64]:
    """Count the original values that each generalized value stands for, int64 (g,).

    Value sets of an attribute with a hierarchy count the leaves under their common ancestor: losses with a hierarchy
    follow its tree, however the attribute is published.
    """
    hierarchy = column.attribute.hierarchy
    if column.form is not Form.SET or hierarchy is None:
        return column.leaves.astype(np.int64)
    several = column.low < column.high
    mixed = several & (column.high == column.attribute.size)
    covered = np.ones(column.count, dtype=np.int64)
    inner = several & ~mixed
    covered[inner] = hierarchy.leaf_counts[column.level[inner], column.low[inner]]
    covered[mixed] = column.attribute.domain_size
    return covered


def width_shares(column: GeneralizedColumn) -> NDArray[np.float64]:
    """Divide the width of each range by that of the domain, float64 (g,); 0 in a constant domain, 1 for ``*``."""
    attribute = column.attribute
    assert attribute.numbers is not None
    # The missing value has no place on the line; alone it is as narrow as one value.
    numbers = np.append(attribute.numbers, 0.0)
    widths = numbers[column.high] - numbers[column.low]
    shares = widths / attribute.domain_width if attribute.domain_width else np.zeros(column.count)
    return np.where(column.unrestricted, 1.0, shares)


def is_ranged(column: GeneralizedColumn) -> bool:
    """Tell whether losses depend on the width of a range, as for intervals and means."""
    return column.form in (Form.INTERVAL, Form.MEAN)

"""Generalized columns: what each class publishes for one attribute, and how general that is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.table.encoding import EncodedAttribute, EncodedTable


class Form(StrEnum):
    """How an attribute is published."""

    INTERVAL = "interval"
    ANCESTOR = "ancestor"
    SET = "set"
    MEAN = "mean"


@dataclass(frozen=True, eq=False)
class GeneralizedColumn:
    """One quasi-identifying attribute after recoding, class by class.

    Letters: c classes, g distinct generalized values.

    Attributes
    ----------
    attribute : EncodedAttribute
    form : Form
    per_class : numpy.ndarray
        int32 (c,): the generalized value of each class, ``0 .. g-1``.
    labels : polars.Series of String
        Published text of each generalized value, length g; null is the missing value.
    low, high : numpy.ndarray
        int32 (g,): smallest and largest code covered. For a mean, those of the class. The missing value's code is
        ``attribute.size``.
    leaves : numpy.ndarray
        int32 (g,): original values covered. With a hierarchy: leaves under the node. A set: its members. An interval or
        mean: distinct values of the data between `low` and `high`. ``attribute.domain_size`` when the cell is ``*``.
    level : numpy.ndarray
        int32 (g,): hierarchy steps climbed. Without a hierarchy: 0 when one value is covered, else 1.
    """

    attribute: EncodedAttribute
    form: Form
    per_class: NDArray[np.int32]
    labels: pl.Series
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    leaves: NDArray[np.int32]
    level: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class GeneralizedTable:
    """A recoded table, still aligned with the original records; internal to the steward, never published.

    Attributes
    ----------
    original : EncodedTable
    columns : tuple of GeneralizedColumn
        One per quasi-identifying attribute, in declared order.
    class_of : numpy.ndarray
        int32 (n,): class of each record; −1 where the record is suppressed.
    sizes : numpy.ndarray
        int64 (c,): records in each class.
    """

    original: EncodedTable
    columns: tuple[GeneralizedColumn, ...]
    class_of: NDArray[np.int32]
    sizes: NDArray[np.int64]

    @property
    def suppressed(self) -> int:
        """Number of suppressed records."""
        return len(self.class_of) - int(self.sizes.sum())

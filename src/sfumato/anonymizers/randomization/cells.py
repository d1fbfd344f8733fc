"""Numbers out of a column and back into it; what is missing stays missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError


@dataclass(frozen=True, eq=False, repr=False)
class PresentCells:
    """The present cells of a column of numbers or dates.

    Attributes
    ----------
    column : polars.Series
        Not-a-number became missing.
    places : numpy.ndarray
        int64 (m,): records that have a value.
    numbers : numpy.ndarray
        int64 or float64 (m,); dates as days since 1970-01-01.
    """

    column: pl.Series
    places: NDArray[np.int64]
    numbers: NDArray[Any]

    @property
    def is_whole(self) -> bool:
        """Whether values are whole numbers or dates."""
        return not self.column.dtype.is_float()

    def with_numbers(self, numbers: NDArray[Any]) -> pl.Series:
        """Return the column with other `numbers`, (m,) and of the same type.

        Raises
        ------
        InputError
            When a number lies beyond what a date can be.
        """
        full = np.zeros(len(self.column), dtype=self.numbers.dtype)
        full[self.places] = numbers
        absent = np.ones(len(full), dtype=np.bool_)
        absent[self.places] = False
        series = pl.Series(self.column.name, full)
        if absent.any():
            series = series.scatter(np.flatnonzero(absent), None)
        try:
            return series.cast(self.column.dtype)
        except pl.exceptions.PolarsError:
            raise InputError(f"column {self.column.name!r}: a date would leave what dates can be") from None


def cells_of(column: pl.Series) -> PresentCells:
    """Take the present numbers out of a column of numbers or dates."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
    places = np.flatnonzero(column.is_not_null().to_numpy())
    wide = pl.Float64 if column.dtype.is_float() else pl.Int64
    return PresentCells(column, places, column.drop_nulls().to_physical().cast(wide).to_numpy())


def refuse_overflow(cells: PresentCells, largest_change: float) -> None:
    """Raise InputError where whole numbers are so large that a change would not fit them."""
    largest = float(np.abs(cells.numbers.astype(np.float64)).max(initial=0.0))
    if not np.isfinite(largest + largest_change) or (cells.is_whole and largest + largest_change >= 2.0**63):
        raise InputError(f"column {cells.column.name!r}: its numbers are too large for this change")

"""Columns about the person behind a record: who it is, which is forgotten but for who is the same, and wishes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.table.distinct import distinct_of

STEPS = (1, 2, 3, 5, 10, 20, 50, 100)
"""What classes promise to those who wish for a k of their own; above the last one, multiples of it."""
STEPS_OF_L = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20)
"""The same for an l, of which there are fewer: so as not to ask for more values than an attribute has."""
_NUMBERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.Float32, pl.Float64)
"""Types that are compared as numbers; everything else, longer numbers too, as text."""


def number_people(column: pl.Series) -> NDArray[np.int32]:
    """Give everybody a number, int32 (n,); who has no key is a person of its own. Cost O(n log n)."""
    distinct = distinct_of(compared(column))
    numbers = distinct.rank_of[distinct.raw]
    missing = numbers == len(distinct.values)
    # The missing value has the number after the last.
    people: NDArray[np.int32] = np.where(missing, numbers + np.cumsum(missing) - 1, numbers).astype(np.int32)
    return people


def compared(column: pl.Series) -> pl.Series:
    """Return keys as they are compared: numbers as numbers, 0.0 and -0.0 alike, everything else as text."""
    if not isinstance(column.dtype, _NUMBERS):
        return column.cast(pl.String)
    return column.fill_nan(None) + 0.0 if column.dtype.is_float() else column


def as_they_appear(people: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return numbers in the order in which people appear, which tell nothing of keys; int32 (n,). Cost O(n)."""
    rows = np.arange(len(people), dtype=np.int32)
    first = np.zeros(int(people.max(initial=-1)) + 1, dtype=np.int32)
    # Of several records of a person it is the last that is written which stays.
    first[people[::-1]] = rows[::-1]
    begins = first[people] == rows
    return (np.cumsum(begins, dtype=np.int32) - np.int32(1))[first[people]]


def read_wishes(column: pl.Series, what: str = "a k") -> NDArray[np.int64]:
    """Return the k, or l, that each record's person wishes for, int64 (n,); 1 where nothing is wished.

    Raises
    ------
    InputError
        Counting the values that are no whole numbers of 1 or more, with the row of the first.
    """
    numbers, strange = numbers_wished(column)
    if strange.any():
        raise strange_wishes(column.name, int(strange.sum()), int(strange.arg_max() or 0), what)
    return numbers.fill_null(1.0).cast(pl.Int64).to_numpy()


def numbers_wished(column: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return wishes as floats, null where there is none; and which of them are no whole numbers of 1 or more."""
    numbers = column.cast(pl.Float64, strict=False)
    whole = ((numbers >= 1) & (numbers == numbers.floor()) & (numbers < 2**31)).fill_null(False)
    return numbers, column.is_not_null() & ~whole


def strange_wishes(name: str, records: int, first: int, what: str) -> InputError:
    """Return what is said of wishes that are no whole numbers: how many records have them, and the first, from 0."""
    return InputError(
        f"column {name!r}: {records:,} record(s) wish for {what} that is no whole number of 1 or "
        f"more, first in row {first + 1}; correct them, or leave them empty"
    )


def steps_of(wishes: NDArray[np.int64], steps: Sequence[int] = STEPS) -> NDArray[np.int64]:
    """Round wishes up to a step of `steps`, so that what a class promises tells little of what was wished."""
    places = np.minimum(np.searchsorted(steps, wishes), len(steps) - 1)
    return np.where(wishes > steps[-1], -(-wishes // steps[-1]) * steps[-1], np.array(steps, dtype=np.int64)[places])

"""The quasi-identifying values of a table as numbers: classes of indistinguishable records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.grouping import distinct_records
from sfumato.kernels.grouping import first_records
from sfumato.parallel import each, worth_starting
from sfumato.table.distinct import distinct_of

STAR = "*"
"""A suppressed value, in the notation of published tables."""


@dataclass(frozen=True, eq=False, repr=False)
class Keys:
    """Classes of equal quasi-identifying values.

    A missing value is a value of its own, and so is ``*``.

    Letters: n records, q columns, c classes.

    Attributes
    ----------
    names : tuple of str
        Quasi-identifying columns, q.
    values : numpy.ndarray
        uint32 (c, q): number of each class's value in each column.
    records : numpy.ndarray
        int64 (c,): records in each class.
    class_of : numpy.ndarray
        int32 (n,): class of each record, numbered in order of first appearance.
    stars : tuple of int
        Number of the value ``*`` in each column, −1 where it does not occur.
    """

    names: tuple[str, ...]
    values: NDArray[np.unsignedinteger]
    records: NDArray[np.int64]
    class_of: NDArray[np.int32]
    stars: tuple[int, ...]

    @property
    def height(self) -> int:
        """Number of records n."""
        return len(self.class_of)

    @property
    def count(self) -> int:
        """Number of classes c."""
        return len(self.records)

    @cached_property
    def columns(self) -> NDArray[np.unsignedinteger]:
        """Return the values of the classes, one row for each column: (q, c)."""
        return np.ascontiguousarray(self.values.T)

    @cached_property
    def first_rows(self) -> NDArray[np.int64]:
        """Return the row number (from 1) of the first record of each class, int64 (c,)."""
        return first_records(self.class_of, self.count) + 1

    @property
    def starred(self) -> NDArray[np.int32]:
        """Return the values of the classes with −1 for ``*``; int32 (c, q)."""
        values = self.values.astype(np.int32)
        return np.where(values == np.array(self.stars, dtype=np.int32), np.int32(-1), values)

    def sums(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up a number of each record over its class; float64 (c,)."""
        sums: NDArray[np.float64] = np.bincount(self.class_of, weights=weights, minlength=self.count)  # type: ignore[assignment]
        return sums


def keys_of(columns: Sequence[pl.Series], threads: int = 1) -> Keys:
    """Give numbers to the values of quasi-identifying columns and group equal records.

    Parameters
    ----------
    columns
        At least one, of any kind that a table may hold; NaN counts as missing.
    threads
        Columns that are numbered at the same time.

    Notes
    -----
    Cost O(n) for each column of categories, dates, booleans or whole numbers of a narrow range; O(n log d) otherwise.
    """
    coded = each(_numbered, columns, worth_starting(threads, len(columns[0])))
    codes = np.column_stack([codes for codes, _ in coded])
    values, records, class_of = distinct_records(codes)
    return Keys(tuple(column.name for column in columns), values, records, class_of, tuple(star for _, star in coded))


def counted_in(keys: Keys, height: int) -> tuple[Keys, NDArray[np.int64]]:
    """Separate a table from its population, which follows it.

    Parameters
    ----------
    keys
        Of the `height` records of the table, followed by those of the population.

    Returns
    -------
    Keys
        Of the table alone; its classes keep their numbers.
    numpy.ndarray
        int64 (c,): records of the population in each class of the table.
    """
    class_of = keys.class_of[:height]
    count = int(class_of.max(initial=-1)) + 1
    records = np.bincount(class_of, minlength=count).astype(np.int64, copy=False)
    population = keys.records[:count] - records
    return Keys(keys.names, keys.values[:count], records, class_of, keys.stars), population


def _numbered(column: pl.Series) -> tuple[NDArray[np.uint32], int]:
    distinct = distinct_of(column)
    star = -1
    if distinct.values.dtype == pl.String:
        found = np.flatnonzero((distinct.values == STAR).to_numpy())
        star = int(found[0]) if len(found) else -1
    return distinct.rank_of.astype(np.uint32)[distinct.raw], star

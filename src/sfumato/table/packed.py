"""Columns held in little memory: text that repeats as numbers of its texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from sfumato.table.distinct import private_categorical, repeats


@dataclass(frozen=True, eq=False, repr=False)
class PackedColumn:
    """A column of text as its texts and, for each record, which of them it has.

    Attributes
    ----------
    texts : polars.Series
        Of the column's own type.
    number : polars.Series
        Unsigned (n,), as narrow as may be: the place in `texts`; null for a missing value.
    """

    texts: pl.Series
    number: pl.Series

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.number)

    def slice(self, start: int, count: int) -> pl.Series:
        """Return the values of some records. Cost O(count)."""
        return self.texts.gather(self.number.slice(start, count))

    def whole(self) -> pl.Series:
        """Return the column. Cost O(n)."""
        return self.texts.gather(self.number)


def packed(column: pl.Series) -> pl.Series | PackedColumn:
    """Return a column in less memory if it is text that repeats; any other as it is.

    Cost O(bytes of text).
    """
    if column.dtype == pl.String:
        if not repeats(column):
            return column
        numbered = column.cast(private_categorical())
    elif isinstance(column.dtype, (pl.Categorical, pl.Enum)):
        numbered = column
    else:
        return column
    physical = numbered.to_physical()
    highest = physical.max()
    if not isinstance(highest, int) or highest >= len(column) // 2:
        return column
    every = pl.Series(column.name, np.arange(highest + 1), dtype=physical.dtype)
    try:
        texts = every.cat.to(numbered.dtype).cast(column.dtype)
    except pl.exceptions.ComputeError:
        # Categories that other columns share: some numbers stand for nothing here.
        return column
    narrow = pl.UInt8 if highest < 1 << 8 else pl.UInt16 if highest < 1 << 16 else pl.UInt32
    return PackedColumn(texts, physical.cast(narrow))

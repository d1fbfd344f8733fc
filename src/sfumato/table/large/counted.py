"""A table of which each distinct row comes once, with how many records have it: somebody else has counted them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.table.large.batches import NO_TYPES, ROWS

Groups = Callable[[Sequence[str]], Iterator[pl.DataFrame]]
"""From names of columns to frames of distinct rows, with their counts as the last column."""


@dataclass(frozen=True, eq=False, repr=False)
class CountedRows:
    """Distinct rows as batches; see :class:`~sfumato.table.large.batches.BatchSource`.

    Attributes
    ----------
    names : tuple of str
    is_text : bool
    groups : callable
        Called once.
    """

    names: tuple[str, ...]
    is_text: bool
    groups: Groups
    _counts: list[NDArray[np.int64]] = field(default_factory=list)

    def batches(self, names: Sequence[str], texts: Mapping[str, pl.DataType] = NO_TYPES) -> Iterator[list[pl.Series]]:
        """Yield some columns of the rows, a batch at a time."""
        for group in self.groups(names):
            for frame in group.iter_slices(ROWS):
                *columns, counts = frame.get_columns()
                self._counts.append(counts.cast(pl.Int64).to_numpy())
                yield [_read(column.alias(name), texts) for column, name in zip(columns, names, strict=True)]

    @property
    def records(self) -> NDArray[np.int64]:
        """How many records each row stands for, once all batches were read; int64 (m,)."""
        return np.concatenate(self._counts)


def _read(column: pl.Series, texts: Mapping[str, pl.DataType]) -> pl.Series:
    return column.cast(texts[column.name]) if column.name in texts and column.dtype == pl.String else column

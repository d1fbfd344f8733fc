"""A table on Spark as batches of rows: counted there where that is all that a release needs of it.

Letters: n records, m distinct ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.table.large.batches import NO_TYPES, ROWS
from sfumato.table.sources.spark import COUNT, SparkSource


@dataclass(frozen=True, eq=False, repr=False)
class SparkBatches:
    """The records of a table on Spark; see :class:`~sfumato.table.large.batches.BatchSource`.

    Spark counts how many records are alike in all columns, the m counts come here, and each is given back as so many
    records. Records that are alike are interchangeable, and stand together. They come once, so that nothing can change
    between two passes; there must be as many as Spark has said before.

    Attributes
    ----------
    source : SparkSource
    repeats : bool
        Whether records are worth counting; else they are streamed as they are.
    sorted : bool
        Whether records stand in rising order of their values, column by column; else the order is any.
    """

    source: SparkSource
    repeats: bool = True
    sorted: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return self.source.names

    @property
    def is_text(self) -> bool:
        """Whether every value arrives as text."""
        return self.source.is_text

    def batches(self, names: Sequence[str], texts: Mapping[str, pl.DataType] = NO_TYPES) -> Iterator[list[pl.Series]]:
        """Read some columns, a batch of rows at a time.

        Raises
        ------
        InputError
            When Spark goes away or fails.
        """
        if not self.repeats and not self.sorted:
            for frame in self.source.streamed(names):
                if frame.height:
                    yield _named(frame, names, texts)
            return
        for counted in self.source.counted(names, sorted=self.sorted):
            counts = counted.drop_in_place(COUNT).to_numpy()
            columns = _named(counted, names, texts)
            for groups in spread_counts(counts, ROWS):
                yield [column.gather(groups) for column in columns]


def spread_counts(counts: NDArray[np.int64], most: int) -> Iterator[NDArray[np.int64]]:
    """Yield the number of each group as often as it counts, at most so many at a time; int64."""
    stops = np.cumsum(counts)
    for start in range(0, int(stops[-1]) if len(stops) else 0, most):
        stop = min(start + most, int(stops[-1]))
        first, last = np.searchsorted(stops, (start, stop - 1), side="right")
        within = np.clip(stops[first : last + 1], start, stop)
        yield np.repeat(np.arange(first, last + 1), np.diff(within, prepend=start))


def _named(frame: pl.DataFrame, names: Sequence[str], texts: Mapping[str, pl.DataType]) -> list[pl.Series]:
    columns = [column.alias(name) for column, name in zip(frame.get_columns(), names, strict=True)]
    return [
        column.cast(texts[column.name]) if column.name in texts and column.dtype == pl.String else column
        for column in columns
    ]

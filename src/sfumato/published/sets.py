"""A release of sets as its recipient holds it: who holds what, and perhaps what was published beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import VerificationError
from sfumato.kernels.ratings.rows import rows_of
from sfumato.kernels.sets.support import relabelled_rows
from sfumato.table.distinct import distinct_of
from sfumato.table.sets.sets import named_items

SETS, RECORDS, RECORD, ITEM = "sets", "records", "record", "item"
"""Names of the tables, and of the columns that are not the steward's."""


@dataclass(frozen=True, eq=False, repr=False)
class PublishedSets:
    """Published sets. Letters: n records, d published items, z items in all sets.

    Attributes
    ----------
    starts : numpy.ndarray
        int64 (n + 1,).
    items : numpy.ndarray
        int32 (z,): rising inside a record, below d.
    names : tuple of str
        Published items, sorted.
    beside : polars.DataFrame or None
        Labels of the quasi-identifying columns of each record, as text.
    broader : mapping of str to str
        For published items and what stands above them: the next coarser item.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    names: tuple[str, ...]
    beside: pl.DataFrame | None = None
    broader: Mapping[str, str] = field(default_factory=dict)

    @property
    def height(self) -> int:
        """Number of records."""
        return len(self.starts) - 1

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by name: a row for each item of a record, and one for each record if columns stand beside."""
        numbers = np.arange(1, self.height + 1)
        held = pl.Series(np.repeat(numbers, np.diff(self.starts)))
        tables = {SETS: pl.DataFrame({RECORD: held, ITEM: named_items(self.names, self.items)})}
        if self.beside is not None:
            tables[RECORDS] = pl.DataFrame({RECORD: numbers}).hstack(self.beside)
        return tables

    @property
    def structure(self) -> dict[str, Any]:
        """What a recipient needs beside the tables."""
        columns = [] if self.beside is None else self.beside.columns
        return {"records": self.height, "quasi_identifying": columns, "broader": dict(self.broader)}

    @cached_property
    def class_of(self) -> NDArray[np.int64]:
        """The class of each record, from 0: records that are published alike beside the sets; int64 (n,)."""
        if self.beside is None:
            return np.zeros(self.height, dtype=np.int64)
        return set_classes(self.beside)

    @classmethod
    def assemble(cls, tables: Mapping[str, pl.DataFrame], structure: Mapping[str, Any]) -> PublishedSets:
        """Put the tables of a release together.

        Raises
        ------
        VerificationError
            When they contradict each other or the structure.
        """
        count, beside = structure["records"], tables.get(RECORDS)
        if beside is not None:
            numbers = beside[RECORD].to_numpy()
            if not np.array_equal(np.sort(numbers), np.arange(1, count + 1)):
                raise VerificationError("release.json: counts other records than there are; it was changed")
            beside = beside[np.argsort(numbers)].select(structure["quasi_identifying"])
        held = tables[SETS]
        record_of = held[RECORD].to_numpy()
        if held.height and not (record_of.min() >= 1 and record_of.max() <= count):
            raise VerificationError("release.json: counts fewer records than there are; it was changed")
        found = distinct_of(held[ITEM])
        if found.missing:
            raise VerificationError("an item of the published sets is empty; the release was changed")
        names = tuple(found.values.cast(pl.String).to_list())
        items = found.rank_of.astype(np.int32)[found.raw]
        starts, order = rows_of((record_of - 1).astype(np.int32), items, count, len(names))
        itself = np.arange(len(names), dtype=np.int32)
        return cls(*relabelled_rows(starts, items[order], itself), names, beside, structure["broader"])


def set_classes(frame: pl.DataFrame) -> NDArray[np.int64]:
    """Return a number for each row from 0 on, equal rows alike; a missing value is one of its own. int64 (rows,)."""
    numbers = frame.with_columns(pl.all().to_physical()).with_row_index("\0row")
    first = pl.col("\0row").min().over(frame.columns)
    _, class_of = np.unique(numbers.select(first).to_series().to_numpy(), return_inverse=True)
    return class_of.astype(np.int64)

"""Bucketization and slicing of a table on disk: decided by its codes, written in parts in the order that was decided.

Letters: n records, p parts, z pairs of a bucket and a sensitive value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.dealt import CountedTable, DealtColumn, DealtTable
from sfumato.engines.disk import LabelTables, PublishedColumns, labels_of_classes, part_count, part_of, rows_of_parts
from sfumato.published.apart import BUCKET, COUNT
from sfumato.table.distinct import Distinct, distinct_of
from sfumato.table.encoding import EncodedTable
from sfumato.table.large.coding import CodedColumn, LargeTable
from sfumato.table.large.memory import PartFiles
from sfumato.table.row_order import canonical_order
from sfumato.table.schema import Kind, Schema


@dataclass(frozen=True, eq=False, repr=False)
class OrderedColumns:
    """A table on disk as an algorithm asks for it (:class:`~sfumato.anonymizers.dealt.ColumnSource`)."""

    large: LargeTable
    encoded: EncodedTable  # its codes in memory, in the order of the problem
    # int64 (n,): the record of `large` behind each of them; None where they stand as there
    order: NDArray[np.int64] | None

    @property
    def schema(self) -> Schema:
        """The roles."""
        return self.large.schema

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Kind of every quasi-identifying and sensitive column."""
        return self.large.kinds

    def distinct(self, name: str) -> Distinct:
        """Return what :func:`~sfumato.table.distinct.distinct_of` says of a column in memory."""
        encoded = self.encoded
        both = ((self.large.quasi_identifying, encoded.codes), (self.large.sensitive, encoded.sensitive_codes))
        for columns, codes in both:
            for place, column in enumerate(columns):
                if column.attribute.name == name:
                    return _distinct(column, codes[:, place])
        raise KeyError(name)


def ordered_columns(large: LargeTable, seed: int | None, *, by_sensitive_alone: bool) -> OrderedColumns:
    """Take the codes that an algorithm looks at into memory, in the canonical order where that matters.

    Without a seed it does not to who does nothing but draw. What ties leave of the input's order tells apart records
    alike in all codes.
    """
    order = None if by_sensitive_alone and seed is None else canonical_order(large.encoded)
    encoded = large.encoded
    if by_sensitive_alone:
        encoded = replace(encoded, attributes=(), codes=np.empty((large.height, 0), dtype=np.uint8))
    rows = slice(None) if order is None else order
    codes, sensitive = (np.array(each[rows]) for each in (encoded.codes, encoded.sensitive_codes))
    return OrderedColumns(large, replace(encoded, codes=codes, sensitive_codes=sensitive), order)


@dataclass(frozen=True, eq=False, repr=False)
class DealtParts:
    """The rows of a dealt table, part by part; they can be gone through once."""

    source: OrderedColumns  # of the records that were dealt
    dealt: DealtTable
    folder: Path  # a private one

    @property
    def height(self) -> int:
        """Number of rows."""
        return self.source.large.height

    @cached_property
    def columns(self) -> PublishedColumns:
        """What the numbers of parts stand for."""
        labels = [label for column in self.dealt.columns for label in column.labels]
        names = (BUCKET, *labels) if self.dealt.leading else (*labels, BUCKET)
        return PublishedColumns(names, {label: found.values for label, found in self._labels.items()})

    def numbers(self) -> Iterator[pl.DataFrame]:
        """Yield the numbers of each part, a pass over the codes a column; some forty bytes a record for a moment."""
        parts = []
        buckets: NDArray[np.integer] = np.empty(0, dtype=np.int32)
        for place, column in enumerate(self.dealt.columns):
            order = column.order()
            if not place:
                buckets = self.dealt.bucket_of[order]
            parts.append(self._dealt(column, order, PartFiles(self.folder, part_count(self.height), f"column-{place}")))
        for rows, *dealt in zip(rows_of_parts(self.height), *parts, strict=True):
            found = pl.Series(BUCKET, buckets[rows].astype(np.int64))
            together = [numbers for part in dealt for numbers in part]
            together = [found, *together] if self.dealt.leading else [*together, found]
            yield pl.DataFrame([column.alias(str(place)) for place, column in enumerate(together)])

    def _dealt(self, column: DealtColumn, order: NDArray[np.int64], files: PartFiles) -> Iterator[list[pl.Series]]:
        """Deal the values of a column to files; return what yields them again, part by part, in their order."""
        places = np.empty(self.height, dtype=np.uint32)
        places[order if self.source.order is None else self.source.order[order]] = np.arange(
            self.height, dtype=np.uint32
        )
        classes = None if column.generalized is None else self._of_records(column.generalized.class_of)
        for rows, carried in self.source.large.batches():
            own = places[rows]
            values = [*self._values(column, rows, carried, classes)]
            named = [each.alias(str(place)) for place, each in enumerate(values)]
            files.add(pl.DataFrame([*named, pl.Series("part", part_of(own)), pl.Series("place", own)]))
        files.flush()
        return (self._numbered(column, dealt) for dealt in files.parts())

    def _of_records(self, values: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return numbers of the records of a problem in the order of the source."""
        if self.source.order is None:
            return values
        found = np.empty_like(values)
        found[self.source.order] = values
        return found

    def _values(
        self, column: DealtColumn, rows: slice, carried: list[pl.Series], classes: NDArray[np.int32] | None
    ) -> Iterator[pl.Series]:
        """Yield code, class or value of each attribute of a column."""
        large, passed = self.source.large, {each.name: each for each in carried}
        quasi, sensitive = ({each.attribute.name: place for place, each in enumerate(own)} for own in self._both)
        for name in column.names:
            if name in passed:
                yield passed[name]
            elif name in sensitive:
                yield pl.Series(np.ascontiguousarray(large.sensitive_codes[rows, sensitive[name]]))
            elif classes is not None:
                yield pl.Series(classes[rows])
            else:
                yield pl.Series(np.ascontiguousarray(large.codes[rows, quasi[name]]))

    @property
    def _both(self) -> tuple[tuple[CodedColumn, ...], tuple[CodedColumn, ...]]:
        return self.source.large.quasi_identifying, self.source.large.sensitive

    def _numbered(self, column: DealtColumn, dealt: pl.DataFrame) -> list[pl.Series]:
        ordered = dealt.drop("place")[pl.Series(np.argsort(dealt["place"].to_numpy()))]
        found = zip(column.labels, ordered.get_columns(), strict=True)
        return [
            pl.Series(self._labels[label].numbers(each.to_numpy())) if label in self._labels else each
            for label, each in found
        ]

    @cached_property
    def _labels(self) -> dict[str, LabelTables]:
        """What every label publishes, but for insensitive attributes."""
        coded = {each.attribute.name: each for own in self._both for each in own}
        found = {}
        for column in self.dealt.columns:
            recoded = () if column.generalized is None else column.generalized.columns
            classes = {each.attribute.name: each for each in recoded}
            for name, label in zip(column.names, column.labels, strict=True):
                if name in classes:
                    found[label] = labels_of_classes(classes[name], coded[name])
                elif name in coded:
                    found[label] = LabelTables(coded[name].values)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class CountedParts:
    """The counts of the sensitive values of each bucket, part by part; they can be gone through once."""

    counted: CountedTable
    column: CodedColumn  # the sensitive attribute

    @property
    def height(self) -> int:
        """Number of rows z."""
        return self.counted.pairs

    @property
    def columns(self) -> PublishedColumns:
        """What the numbers of parts stand for."""
        name = self.counted.sensitive
        return PublishedColumns((BUCKET, name, COUNT), {name: self.column.values})

    def numbers(self) -> Iterator[pl.DataFrame]:
        """Yield the numbers of each part, as :meth:`PublishedColumns.frame` takes them."""
        found = self.counted.counted()
        for rows in rows_of_parts(self.height):
            columns = (found.buckets[rows], found.codes[rows], found.counts[rows])
            yield pl.DataFrame([pl.Series(str(place), column) for place, column in enumerate(columns)])


def _distinct(column: CodedColumn, codes: NDArray[np.unsignedinteger]) -> Distinct:
    size = column.attribute.size
    found = distinct_of(column.values.head(size))
    # Behind the codes of values comes that of the missing one.
    rank_of = np.append(found.rank_of[found.raw], len(found.values))
    counts = np.bincount(rank_of[:size], weights=column.occurrences[:size], minlength=len(found.values) + 1)
    missing = int(column.occurrences[size:].sum())
    return Distinct(found.values, counts[: len(found.values)].astype(np.int64), codes, rank_of, missing)

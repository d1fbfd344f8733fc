"""From classes on disk to published parts, in random order.

Letters: n records, c classes, p parts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.generalized import GeneralizedColumn, GeneralizedTable
from sfumato.randomness import permutation
from sfumato.recoding.notation import STAR
from sfumato.table.large.coding import CodedColumn, LargeTable
from sfumato.table.large.memory import PartFiles, mapped, write_out
from sfumato.table.schema import Kind, is_measured

# Records in random order without holding them: each is dealt to a part, and every part is shuffled by itself.
#
# Letters: n records, p parts.


PART = 500_000
"""Records of a part, about: how many parts there are follows from the number of records alone."""


def part_count(records: int) -> int:
    """Return the number of parts of a release."""
    return -(-records // PART)


def part_of(places: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the part of each place in the published order."""
    return places // np.uint32(PART)


def rows_of_parts(records: int) -> Iterator[slice]:
    """Yield the places of each part."""
    for start in range(0, records, PART):
        yield slice(start, start + PART)


class Dealer:
    """Says where each record stands in the published order; ask for every record once, from the first on.

    Without a seed each record is dealt to a part by 32 bits of the operating system, and each part is shuffled when it
    is written: that is a random order of all records, and no number of it is kept. With a seed the order is the one of
    :func:`sfumato.randomness.permutation`, as in memory; drawing it takes sixteen bytes a record for a moment, keeping
    it four.
    """

    def __init__(self, records: int, seed: int | None) -> None:
        self.parts = part_count(records)
        self._seed = seed
        self._places: NDArray[np.uint32] | None = None
        if seed is not None:
            self._places = np.empty(records, dtype=np.uint32)
            self._places[permutation(records, seed)] = np.arange(records, dtype=np.uint32)

    def deal(self, rows: slice) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Return part and place of each of the next records; places are only compared inside of a part."""
        if self._places is not None:
            places = self._places[rows]
            return part_of(places), places
        drawn = np.frombuffer(os.urandom(4 * (rows.stop - rows.start)), dtype=np.uint32).astype(np.uint64)
        return (drawn * np.uint64(self.parts) >> np.uint64(32)).astype(np.uint32), np.zeros(len(drawn), dtype=np.uint32)

    def order(self, places: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return the order in which the records of a part are written."""
        return permutation(len(places), None) if self._places is None else np.argsort(places)


AUDITED = "published-classes", "published-people"
"""Files of the class and the person of each record, in the order of publishing."""


@dataclass(frozen=True, eq=False, repr=False)
class LabelTables:
    """What a column publishes: ``values[number_of[key]]``, where the key is a class or a code."""

    values: pl.Series
    number_of: NDArray[np.int32] | None = None

    def numbers(self, keys: NDArray[np.integer]) -> NDArray[np.unsignedinteger]:
        """Return the places of what some classes or codes publish."""
        numbers = keys if self.number_of is None else self.number_of[keys]
        return numbers.astype(np.min_scalar_type(len(self.values)), copy=False)


@dataclass(frozen=True, eq=False, repr=False)
class PublishedColumns:
    """From numbers to what is published; small enough to be sent along."""

    names: tuple[str, ...]  # of all columns, in order
    values: Mapping[str, pl.Series]  # what the numbers of a column stand for; insensitive columns come as they are

    def frame(self, numbers: pl.DataFrame) -> pl.DataFrame:
        """Return the records of a part; texts stay texts, of which no part lists those that it has.

        `numbers` has the columns in order, called by their places.
        """
        columns = zip(self.names, numbers.get_columns(), strict=True)
        return pl.DataFrame([self._column(name, column).alias(name) for name, column in columns])

    def _column(self, name: str, column: pl.Series) -> pl.Series:
        return self.values[name][column] if name in self.values else column


@dataclass(frozen=True, eq=False, repr=False)
class PublishedParts:
    """The records of a release, part by part; they can be gone through once."""

    large: LargeTable
    generalized: GeneralizedTable
    starred: bool  # whether records that are left out are published as ``*``; else they are not published
    seed: int | None
    folder: Path  # a private one
    # columns behind those of the table: int64 (c + 1,), what each class promises, and last what the class -1 does
    promised: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)

    def audited(self) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
        """Return class and person of each record as they were published, int32, mapped; None where nobody counts.

        Records that are published as ``*`` have the class -1. To be asked for when all parts are written.
        """
        if self.large.people is None:
            return None
        classes, people = (mapped(self.folder / name, np.int32, (self.height,)) for name in AUDITED)
        return classes, people

    @property
    def height(self) -> int:
        """Number of records that are published."""
        return self.large.height - (0 if self.starred else self.generalized.suppressed)

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the frame of each part, as :func:`sfumato.recoding.publish` makes that of a whole table."""
        return map(self.columns.frame, self.numbers())

    @property
    def columns(self) -> PublishedColumns:
        """What the numbers of parts stand for."""
        labels = {**self._quasi, **self._hidden, **self._promises}
        return PublishedColumns(self._names, {name: each.values for name, each in labels.items()})

    @property
    def _names(self) -> tuple[str, ...]:
        return (*self.large.names, *self.promised)

    def numbers(self) -> Iterator[pl.DataFrame]:
        """Yield the numbers of each part, as :meth:`PublishedColumns.frame` takes them.

        One pass over codes and insensitive columns, and one over what was dealt.
        """
        dealer = Dealer(self.height, self.seed)
        files, before = PartFiles(self.folder, dealer.parts), 0
        for rows, carried in self.large.batches():
            batch = self._published(rows, carried)
            part, place = dealer.deal(slice(before, before + batch.height))
            files.add(batch.with_columns(pl.Series("part", part), pl.Series("place", place)))
            before += batch.height
        for dealt in files.parts():
            ordered = dealt[pl.Series(dealer.order(dealt["place"].to_numpy()))]
            for name, column in zip(AUDITED, ("class", "person"), strict=True):
                if column in dealt.columns and self.large.people is not None:
                    with (self.folder / name).open("ab") as file:
                        write_out(ordered[column].to_numpy(), file)
            yield self._numbered(ordered)

    def _published(self, rows: slice, carried: list[pl.Series]) -> pl.DataFrame:
        # Columns of the table are numbered here, so that their names are nobody's business.
        hidden = [
            pl.Series(f"sensitive {index}", np.ascontiguousarray(self.large.sensitive_codes[rows, index]))
            for index in range(len(self.large.sensitive))
        ]
        columns_beside = [column.alias(f"carried {index}") for index, column in enumerate(carried)]
        classes = pl.Series("class", np.array(self.generalized.class_of[rows]))
        if self.large.people is not None:
            columns_beside.append(pl.Series("person", np.array(self.large.people.numbers[rows])))
        batch = pl.DataFrame([classes, *hidden, *columns_beside])
        return batch.filter(classes >= 0) if self.height < self.large.height else batch

    def _numbered(self, dealt: pl.DataFrame) -> pl.DataFrame:
        classes = dealt["class"].to_numpy()
        insensitive = [name for name in self.large.names if name in self.large.schema.insensitive]
        by_class = {**self._quasi, **self._promises}
        columns = {name: pl.Series(labels.numbers(classes)) for name, labels in by_class.items()}
        for index, (name, labels) in enumerate(self._hidden.items()):
            columns[name] = pl.Series(labels.numbers(dealt[f"sensitive {index}"].to_numpy()))
        columns |= {name: dealt[f"carried {index}"] for index, name in enumerate(insensitive)}
        return pl.DataFrame([columns[name].alias(str(place)) for place, name in enumerate(self._names)])

    @cached_property
    def _promises(self) -> dict[str, LabelTables]:
        found = {name: np.unique(each, return_inverse=True) for name, each in self.promised.items()}
        return {
            name: LabelTables(pl.Series(name, steps), place.astype(np.int32)) for name, (steps, place) in found.items()
        }

    @cached_property
    def _quasi(self) -> dict[str, LabelTables]:
        pairs = zip(self.generalized.columns, self.large.quasi_identifying, strict=True)
        starred = self.starred and self.generalized.suppressed > 0
        return {column.attribute.name: labels_of_classes(column, coded, starred=starred) for column, coded in pairs}

    @cached_property
    def _hidden(self) -> dict[str, LabelTables]:
        return {column.attribute.name: LabelTables(column.values) for column in self.large.sensitive}


def labels_of_classes(column: GeneralizedColumn, coded: CodedColumn, *, starred: bool = False) -> LabelTables:
    """Return what the classes of a column publish; `starred`: with ``*`` for the class -1."""
    kind = column.attribute.kind
    if not starred and not column.level.any() and (is_measured(kind) or kind is Kind.BOOLEAN):
        # No cell was changed, so that the column keeps its type.
        return LabelTables(coded.values[pl.Series(column.low.astype(np.uint32))], column.per_class)
    if not starred:
        return LabelTables(column.labels, column.per_class)
    # One more label for the class -1, which indexing from the end finds.
    return LabelTables(column.labels.extend_constant(STAR, 1), np.append(column.per_class, np.int32(column.count)))

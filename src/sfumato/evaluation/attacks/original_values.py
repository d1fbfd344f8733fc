"""Original values in a release: exact ones in parts whose values share rows, or spread under labels.

A sliced table has one part for each of its columns, a bucketized one two, marginals one for each count table (all in
one bucket), a randomized table a single one. Attacks need to know nothing else about these kinds.

A label such as ``[20..29]`` of a generalized table says that a record has one of ten values, not which. The records are
spread over them in proportion to how frequent each value is in the whole table, which is found by a few rounds of
expectation maximization, for each attribute alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import group_records
from sfumato.errors import InputError, SfumatoError, raise_all
from sfumato.evaluation.attacks.placement import (
    PublishedClasses,
    RegisterAttribute,
    coverage_of,
    distinct_codes,
    entries_of,
    read_publication,
    read_register_column,
    sum_by_code,
)
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking import covering_classes, fitting_pairs, fitting_weight
from sfumato.published import BucketizedTables, MarginalTables, Published, PublishedTable, RandomizedTable, SlicedTable
from sfumato.published.apart import BUCKET, COUNT, labels_of
from sfumato.recoding.choice import Recoding
from sfumato.table.distinct import distinct_of
from sfumato.table.schema import text_of
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class ExactPart:
    """A table of values that share rows, with the bucket of each row, alike in all pieces, and its records."""

    frame: pl.DataFrame
    label_of: Mapping[str, str]
    bucket: NDArray[np.int64]
    records: NDArray[np.float64]


def exact_parts(published: Published) -> tuple[ExactPart, ...]:
    """Split a release of original values into its pieces. Raises InputError when it is of another kind."""
    if isinstance(published, BucketizedTables):
        (quasi, counted) = number_buckets(published.quasi[BUCKET], published.counts[BUCKET])
        records = published.counts[COUNT].cast(pl.Float64).to_numpy()
        return (
            ExactPart(published.quasi, _same(published.quasi_identifying), quasi, np.ones(len(quasi))),
            ExactPart(published.counts, _same((published.sensitive,)), counted, records),
        )
    if isinstance(published, SlicedTable):
        (bucket,) = number_buckets(published.data[BUCKET])
        columns = zip(published.columns, labels_of(published.columns), strict=True)
        return tuple(
            ExactPart(published.data, dict(zip(names, labels, strict=True)), bucket, np.ones(len(bucket)))
            for names, labels in columns
        )
    if isinstance(published, MarginalTables):
        return tuple(
            ExactPart(frame, _same(names), np.zeros(frame.height, np.int64), frame[COUNT].cast(pl.Float64).to_numpy())
            for frame, names in zip(published.marginals, published.columns, strict=True)
        )
    if isinstance(published, RandomizedTable):
        data = published.data
        names = (*published.quasi_identifying, *published.sensitive)
        return (ExactPart(data, _same(names), np.zeros(data.height, np.int64), np.ones(data.height)),)
    raise InputError(f"a {published.kind} does not publish original values; play another attack")


def _same(names: tuple[str, ...]) -> dict[str, str]:
    return {name: name for name in names}


def number_part_rows(
    piece: ExactPart, people: pl.DataFrame, names: tuple[str, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give equal vectors of a piece's rows and of people one number, from 0; without attributes all are equal."""
    return number_vectors_alike(piece.frame, [piece.label_of[name] for name in names], people, names)


def unread_notes(published: Published, people: pl.DataFrame) -> tuple[str, ...]:
    """Count published rows with values that no tried person has, in kinds of release that hold original values.

    These are generalized and changed values; attacks that compare original values cannot match them.
    """
    if isinstance(published, PublishedTable):
        return ()
    notes = []
    for place, piece in enumerate(exact_parts(published), start=1):
        names = tuple(name for name in piece.label_of if name in people.columns)
        rows, held = number_part_rows(piece, people, names)
        unread = int((~np.isin(rows, held)).sum()) if names else 0
        if unread:
            notes.append(
                f"{unread} of {len(rows)} rows of part {place} have values that nobody tried has, generalized or "
                "changed ones; this attack compares original values, so that its success may be too low"
            )
    return tuple(notes)


def known_names(names: Sequence[str], people: Table) -> list[str]:
    """Return those attributes whose values are known for the people."""
    return [name for name in names if name in people.schema.quasi_identifying and name in people.frame.columns]


def number_vectors_alike(
    frame: pl.DataFrame, labels: Sequence[str], people: pl.DataFrame, names: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give equal vectors of published rows and of people one number, from 0; without attributes all are equal."""
    if not names:
        return np.zeros(frame.height, dtype=np.int64), np.zeros(people.height, dtype=np.int64)
    columns = [number_alike(frame[label], people[name]) for label, name in zip(labels, names, strict=True)]
    vector_of, _ = group_records(np.column_stack([np.concatenate(column) for column in columns]).astype(np.uint32))
    vectors = vector_of.astype(np.int64)
    return vectors[: frame.height], vectors[frame.height :]


def number_alike(published: pl.Series, people: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give equal values of a published and an original column one number, rising from 1; missing values get 0."""
    both = pl.concat([column.alias("value") for column in comparable_columns(published, people)])
    codes = both.rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
    return codes[: len(published)], codes[len(published) :]


def comparable_columns(published: pl.Series, original: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return a published and an original column so that equal values are equal: numbers as numbers, others as text."""
    if not original.dtype.is_numeric():
        return text_of(published), text_of(original)
    texts = isinstance(published.dtype, (pl.Categorical, pl.Enum))
    numbers = (published.cast(pl.String) if texts else published).cast(pl.Float64, strict=False)
    return numbers, original.cast(pl.Float64)


def number_buckets(*columns: pl.Series) -> list[NDArray[np.int64]]:
    """Give the buckets of all columns numbers from 0."""
    numbers = [column.cast(pl.Int64).to_numpy() for column in columns]
    places = np.unique(np.concatenate(numbers), return_inverse=True)[1]
    return [part.astype(np.int64) for part in np.split(places, np.cumsum([len(part) for part in numbers])[:-1])]


def number_texts(column: pl.Series) -> tuple[tuple[str | None, ...], NDArray[np.int64]]:
    """Return the values of a published column in text order, the missing value last, and each cell's place in them."""
    texts = text_of(column)
    values: list[str | None] = list(texts.drop_nulls().unique().sort().to_list())
    if texts.null_count():
        values.append(None)
    place_of = {value: place for place, value in enumerate(values)}
    return tuple(values), np.array([place_of[text] for text in texts.to_list()], dtype=np.int64)


def distinct_people(people: Table) -> tuple[Table, NDArray[np.int32]]:
    """Return one of the people with each vector of quasi-identifying values, and the number of each person's vector."""
    known = [distinct_of(people.frame[name]) for name in people.schema.quasi_identifying]
    codes = np.column_stack([column.rank_of[column.raw] for column in known])
    who_of, count = group_records(codes.astype(np.uint32))
    return people.take(first_records(who_of, count)), who_of


_ROUNDS = 20


@dataclass(frozen=True, eq=False, repr=False)
class LabelSpread:
    """One attribute of a generalized table: shares of records at d codes, labels of classes, and what these cover.

    The last code stands for values that only ``*`` covers. `cover`: share of the records that may be under each label.
    `owner`, `low`, `high`: each run of codes that a label covers.
    """

    mass: NDArray[np.float64]
    label_of: NDArray[np.int64]
    cover: NDArray[np.float64]
    owner: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    def over_codes(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        """Spread records of each label, float64 (g,), over the codes that it covers: float64 (d,)."""
        per_mass = np.divide(records, self.cover, out=np.zeros(len(records)), where=self.cover > 0)[self.owner]
        size = len(self.mass) + 1
        begun = sum_by_code(self.low, per_mass, size) - sum_by_code(self.high + 1, per_mass, size)
        # Starts and ends of runs cancel up to rounding.
        return np.maximum(np.cumsum(begun)[:-1], 0.0) * self.mass


@dataclass(frozen=True, eq=False, repr=False)
class TableCells:
    """A generalized table, read against people with `known` codes, one entry for each attribute."""

    publication: PublishedClasses
    known: tuple[RegisterAttribute, ...]
    spreads: tuple[LabelSpread, ...]

    @property
    def class_weights(self) -> NDArray[np.float64]:
        """Divide the records of each class by those expected if the attributes were independent: float64 (c,)."""
        weights = self.publication.sizes / self.publication.records
        for spread in self.spreads:
            cover = spread.cover[spread.label_of]
            weights = np.divide(weights, cover, out=np.zeros(len(weights)), where=cover > 0)
        return weights

    def sum_fitting(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up the weights of the classes that cover each person's values: float64 (people,)."""
        vectors, vector_of = distinct_codes(self.known)
        coverage = coverage_of(self.publication, self.known)
        return fitting_weight(vectors, coverage, covering_classes(coverage), weights)[vector_of]

    def pairs_with(self, chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """List all pairs of a person and a chosen class that covers them, the class by its place."""
        some = replace(
            self.publication, label_of=self.publication.label_of[chosen], sizes=self.publication.sizes[chosen]
        )
        codes = np.ascontiguousarray(np.column_stack([each.codes for each in self.known]))
        coverage = coverage_of(some, self.known)
        return fitting_pairs(codes, coverage, covering_classes(coverage))


def table_cells(
    published: PublishedTable, people: Table, names: tuple[str, ...], recoding: Recoding, *, tallied: str | None = None
) -> TableCells:
    """Read some attributes of a generalized table that people have, too; `tallied`: whose values are counted."""
    known = _known(people, names)
    publication = read_publication(published.data, tallied or names[0], known, recoding)
    spreads = tuple(_spread(publication, place, each.attribute.size + 1) for place, each in enumerate(known))
    return TableCells(publication, known, spreads)


def shared_names(published: PublishedTable, people: Table, *, sensitive: bool) -> tuple[str, ...]:
    """Name the quasi-identifying attributes, and the sensitive ones if wanted, that the release and people share."""
    schema = people.schema
    names = (*schema.quasi_identifying, *(schema.sensitive if sensitive else ()))
    return tuple(name for name in names if name in published.data.columns and name in people.frame.columns)


def _known(people: Table, names: tuple[str, ...]) -> tuple[RegisterAttribute, ...]:
    settings = {**people.schema.quasi_identifying, **people.schema.sensitive}
    known: list[RegisterAttribute] = []
    problems: list[str] = []
    for name in names:
        try:
            known.append(read_register_column(people.frame[name], settings[name]))
        except SfumatoError as error:
            problems.extend(error.problems)
    raise_all(InputError, problems)
    return tuple(known)


def _spread(publication: PublishedClasses, place: int, size: int) -> LabelSpread:
    labels, label_of = np.unique(publication.label_of[:, place], return_inverse=True)
    owner, run = entries_of(publication.runs, labels)
    low, high = publication.low[run].astype(np.int64), publication.high[run].astype(np.int64)
    records = sum_by_code(label_of, publication.sizes, len(labels))
    mass = np.full(size, 1 / size)
    for _ in range(_ROUNDS):
        spread = LabelSpread(mass, label_of, _covered(mass, owner, low, high, len(labels)), owner, low, high)
        records_of_codes = spread.over_codes(records)
        if records_of_codes.sum() == 0:
            break
        mass = records_of_codes / records_of_codes.sum()
    return LabelSpread(mass, label_of, _covered(mass, owner, low, high, len(labels)), owner, low, high)


def _covered(
    mass: NDArray[np.float64], owner: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64], labels: int
) -> NDArray[np.float64]:
    up_to = np.concatenate([[0.0], np.cumsum(mass)])
    return sum_by_code(owner, up_to[high + 1] - up_to[low], labels)

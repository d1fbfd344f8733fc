"""The engine of one machine and its disk: classes of strict Mondrian, and parts that are written.

The distinct records of a table, laid out on disk in the order in which strict Mondrian takes them.

Records are dealt to files by the leading bits of the hash of their codes. Equal records have equal hashes, so that each
file by itself is collapsed and sorted; one behind the other the files are in the order of
:func:`sfumato.anonymizers.mondrian.lay_out_records`.

Letters: n records, m distinct ones, q quasi-identifying codes and s sensitive ones that a rule looks at.

Classes of a table whose codes lie on disk, the same as those that are found in memory.

Strict Mondrian is given the distinct records on disk. Every other algorithm is given the codes of all records in
memory, a few bytes each, while values stay on disk.

From classes on disk to published parts, in random order.

Letters: n records, c classes, p parts.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.layout import Records
from sfumato.anonymizers.mondrian import MOST_RETRIED, Mondrian
from sfumato.anonymizers.protocol import Anonymizer, Problem
from sfumato.classes.partition import (
    Form,
    GeneralizedColumn,
    GeneralizedTable,
    Partition,
    ValueSets,
    group_records,
    known,
)
from sfumato.errors import InputError, PolicyError
from sfumato.models.compiled import compile_counted
from sfumato.models.protocol import smallest_allowed
from sfumato.randomness import permutation
from sfumato.recoding import Recoding, recode_as_published
from sfumato.recoding.notation import STAR
from sfumato.table.encoding import EncodedTable
from sfumato.table.large.coding import CodedColumn, LargeTable
from sfumato.table.large.memory import PartFiles, gigabytes, let_go, mapped, stored_array, stored_texts, write_out
from sfumato.table.row_order import canonical_order, collapsed, content_hash
from sfumato.table.schema import Kind, is_measured

BLOCK = 1 << 18
"""Records that are dealt at a time."""
BUCKET = 1 << 20
"""Records that are collapsed and sorted at a time, about."""

RuleValues = Sequence[tuple[int, NDArray[np.int32]]]
"""Sensitive attributes that rules look at: the place of each, and the value behind each of its codes."""


@dataclass(frozen=True, eq=False, repr=False)
class LaidOut:
    """Distinct records on disk."""

    records: Records  # mapped from files that may be written over
    record_of: NDArray[np.int32]  # (n,), mapped: the distinct record of each record of the table


def lay_out(table: EncodedTable, values: RuleValues, folder: Path) -> LaidOut:
    """Collapse equal records and order them, on disk: two passes, in memory a block, then one bucket at a time."""
    bits = max(0, (table.height - 1) // BUCKET).bit_length()
    counts = _deal(table, values, folder, bits)
    for codes in (table.codes, table.sensitive_codes):
        let_go(codes)
    record_of = mapped(folder / "record-of", np.int32, (table.height,), new=True)
    height, padded = 0, _padded(_columns(table, values), _dtype(table, values))
    with (folder / "words").open("wb") as words, (folder / "weights").open("wb") as weights:
        for bucket, count in enumerate(counts):
            if not count:
                continue
            own, rows = _bucket(folder, bucket, count, table, values)
            distinct, sizes, place_of = collapsed(own)
            laid = np.zeros((len(distinct), padded), dtype=own.dtype)
            laid[:, : own.shape[1]] = distinct
            write_out(laid, words)
            write_out(sizes.astype(np.int32), weights)
            record_of[rows] = place_of + np.int32(height)
            height += len(distinct)
    return LaidOut(_records(folder, height, padded, _dtype(table, values)), record_of)


def _records(folder: Path, height: int, padded: int, dtype: np.dtype[np.unsignedinteger]) -> Records:
    per_word = 8 // dtype.itemsize
    words = mapped(folder / "words", np.uint64, (height, padded // per_word))
    weights = mapped(folder / "weights", np.int32, (height,))
    rows = mapped(folder / "rows", np.int32, (height,), new=True)
    for start in range(0, height, BLOCK):
        stop = min(height, start + BLOCK)
        rows[start:stop] = np.arange(start, stop, dtype=np.int32)
    return Records(words.view(dtype), words, weights, rows, None)


def _deal(table: EncodedTable, values: RuleValues, folder: Path, bits: int) -> list[int]:
    """Append every record to the file of its bucket, behind its number; return how many each got."""
    counts = np.zeros(1 << bits, dtype=np.int64)
    for start in range(0, table.height, BLOCK):
        codes = joined_codes(table, values, slice(start, start + BLOCK))
        hashes = content_hash(codes) >> np.uint64(64 - bits) if bits else np.zeros(len(codes), dtype=np.uint64)
        bucket = hashes.astype(np.uint16)  # which is sorted by counting
        order = np.argsort(bucket, kind="stable")
        found = np.bincount(bucket, minlength=len(counts))
        stops = np.cumsum(found)
        for place in np.flatnonzero(found):
            rows = order[stops[place] - found[place] : stops[place]]
            with (folder / f"bucket-{place}").open("ab") as file:
                write_out(codes.take(rows, axis=0), file)
            with (folder / f"bucket-rows-{place}").open("ab") as file:
                write_out((rows + start).astype(np.int32), file)
        counts += found
    return counts.tolist()


def _bucket(
    folder: Path, bucket: int, count: int, table: EncodedTable, values: RuleValues
) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int32]]:
    """Read the codes and numbers of the records of a bucket, and take its files away."""
    paths = folder / f"bucket-{bucket}", folder / f"bucket-rows-{bucket}"
    codes = np.fromfile(paths[0], dtype=_dtype(table, values)).reshape(count, _columns(table, values))
    rows = np.fromfile(paths[1], dtype=np.int32)
    for path in paths:
        path.unlink()
    return codes, rows


def joined_codes(table: EncodedTable, values: RuleValues, rows: slice = slice(None)) -> NDArray[np.unsignedinteger]:
    """Return quasi-identifying codes, and behind them the values that rules look at."""
    quasi = table.codes[rows]
    codes = np.empty((len(quasi), _columns(table, values)), dtype=_dtype(table, values))
    codes[:, : quasi.shape[1]] = quasi
    for column, (place, value_of) in enumerate(values):
        codes[:, quasi.shape[1] + column] = value_of[table.sensitive_codes[rows, place]]
    return codes


def _columns(table: EncodedTable, values: RuleValues) -> int:
    return int(table.codes.shape[1]) + len(values)


def _dtype(table: EncodedTable, values: RuleValues) -> np.dtype[Any]:
    largest = max((int(value_of.max(initial=0)) for _, value_of in values), default=0)
    return np.promote_types(table.codes.dtype, np.min_scalar_type(largest))


def _padded(columns: int, dtype: np.dtype[np.unsignedinteger]) -> int:
    per_word = 8 // int(dtype.itemsize)
    return -(-columns // per_word) * per_word


Solve = Callable[[Problem], Partition]

MOST_RECORDS = 2**31 - 1

BASE, WRITTEN = 192 << 20, 40
"""Bytes that libraries, compiled code and a batch take, about; and each cell of a part that is written."""
HELD, FOLDED = 90, 400
"""Bytes that a record takes whose codes are in memory, at most about; and where people are put together."""
CUT, CELL, TEXT = 16, 6, 64
"""Bytes that a distinct record takes that is cut on disk, about; what a class publishes in a column; and each text."""


def refuse_beyond(memory: int, need: int) -> None:
    """Refuse what takes more memory than may be used; raises ``InputError``."""
    if need > memory:
        raise InputError(
            f"on disk, too, this may take {gigabytes(need)} of memory, and {gigabytes(memory)} may be used; nothing "
            "was published. Give as much with --memory, or take a larger k or fewer columns"
        )


def _need(large: LargeTable) -> int:
    return BASE + large.size + WRITTEN * len(large.names) * min(large.height, PART)


def need_of_codes(large: LargeTable, record: int = HELD) -> int:
    """Return the bytes that it takes at most, about, where each record takes some in memory."""
    return _need(large) + record * large.height


def _need_of_cuts(large: LargeTable, smallest: int) -> int:
    distinct = min(large.height, math.prod(column.attribute.cardinality for column in large.columns))
    classes = min(distinct, large.height // smallest)
    return _need(large) + CUT * distinct + CELL * len(large.quasi_identifying) * classes


def _need_of_recount(large: LargeTable, columns: Sequence[GeneralizedColumn]) -> int:
    return _need(large) + sum(int(column.labels.estimated_size()) + TEXT * column.count for column in columns)


@dataclass(frozen=True, eq=False, repr=False)
class SolvedOnDisk:
    """What classes publish, and what the steward should know of how they came about."""

    generalized: GeneralizedTable  # its codes and class numbers may be mapped from disk
    notes: tuple[str, ...] = ()


def solve_on_disk(
    anonymizer: Anonymizer,
    problem: Problem,
    large: LargeTable,
    recoding: Recoding,
    folder: Path,
    solve: Solve,
    *,
    memory: int,
    elsewhere: bool = False,
    folds: bool = False,
) -> SolvedOnDisk:
    """Find the classes of a large table, and what they publish; `solve` does it for a problem in memory.

    `memory`: bytes that may be taken; ``InputError`` says what it would need, once values are counted or classes known.

    `elsewhere`: whether that is always wanted, as others do the work. `folds`: whether `solve` puts each person's
    records together.
    """
    if large.height > MOST_RECORDS:
        raise InputError(f"the table has more than {MOST_RECORDS:,} records, which is more than one release can have")
    if not (elsewhere or folds) and cuts_on_disk(anonymizer, problem, recoding):
        refuse_beyond(memory, _need_of_cuts(large, smallest_allowed(problem.models)))
        solved = _solved_by_cuts(anonymizer, problem, large, recoding, folder)
        if solved is not None:
            refuse_beyond(memory, _need_of_recount(large, solved.generalized.columns))
            return solved
    refuse_beyond(memory, need_of_codes(large, FOLDED if folds else HELD))
    partition = _solved_with_codes(anonymizer, problem, large, solve, folds=folds)
    generalized = recode_as_published(problem.table, partition, recoding, threads=problem.threads)
    return SolvedOnDisk(generalized, partition.notes)


def cuts_on_disk(anonymizer: Anonymizer, problem: Problem, recoding: Recoding) -> bool:
    """Tell whether strict Mondrian needs nothing in memory but single ranges of distinct records."""
    if not isinstance(anonymizer, Mondrian) or anonymizer.mode != "strict":
        return False
    if anonymizer.decides_regions or anonymizer.blind:
        return False
    # Means are those of all records of a class, and small tables are solved several times where rules refuse cuts.
    means = Form.MEAN in recoding.forms_of(problem.table.attributes)
    return not means and problem.table.height > MOST_RETRIED


def _solved_by_cuts(
    mondrian: Anonymizer, problem: Problem, large: LargeTable, recoding: Recoding, folder: Path
) -> SolvedOnDisk | None:
    """Solve; None where the whole table breaks a model, so that records would have to be left out."""
    assert isinstance(mondrian, Mondrian)
    occurrences = [column.occurrences for column in large.sensitive]
    rules, whole, values = compile_counted(problem.models, problem.table, occurrences)
    if not all(model.holds(whole).all() for model in problem.models):
        return None
    laid = lay_out(problem.table, values, folder)
    records = laid.records
    starts = mondrian.class_starts(records, rules, problem)
    partition = Partition(np.cumsum(starts, dtype=np.int32) - np.int32(1), int(np.count_nonzero(starts)))
    width = problem.table.codes.shape[1]
    distinct = replace(
        problem.table,
        codes=records.codes[:, :width],
        sensitive=(),
        sensitive_codes=np.empty((records.height, 0), dtype=np.uint8),
    )
    found = recode_as_published(distinct, partition, recoding, by_column=partial(_put_away, folder))
    for array in (records.words, records.weights):
        let_go(array)
    sizes = _records_of_classes(found.class_of, records.weights, len(found.sizes))
    class_of = _class_of_rows(records.spread(found.class_of), laid.record_of, folder)
    for array in (records.rows, records.weights, laid.record_of):
        let_go(array)
    return SolvedOnDisk(GeneralizedTable(problem.table, found.columns, class_of, sizes))


def _put_away(folder: Path, column: GeneralizedColumn) -> GeneralizedColumn:
    """Have files hold what a column publishes."""
    names = ("per_class", "low", "high", "leaves", "level")
    arrays: dict[str, Any] = {name: stored_array(getattr(column, name), folder) for name in names}
    if column.members is not None:
        sets = column.members
        arrays["members"] = ValueSets(stored_array(sets.starts, folder), stored_array(sets.codes, folder))
    return replace(column, written=known(stored_texts(column.labels, folder)), **arrays)


def _records_of_classes(class_of: NDArray[np.int32], weights: NDArray[np.int32], count: int) -> NDArray[np.int64]:
    """Add up the records of each class; int64 (count,)."""
    sizes = np.zeros(count, dtype=np.int64)
    for start in range(0, len(class_of), BLOCK):
        own = slice(start, start + BLOCK)
        sizes += np.bincount(class_of[own], weights=weights[own], minlength=count).astype(np.int64)
    return sizes


def _class_of_rows(class_of: NDArray[np.int32], record_of: NDArray[np.int32], folder: Path) -> NDArray[np.int32]:
    path = folder / "class-of"
    with path.open("wb") as file:
        for start in range(0, len(record_of), BLOCK):
            write_out(class_of[record_of[start : start + BLOCK]], file)
    return mapped(path, np.int32, (len(record_of),))


def _solved_with_codes(
    anonymizer: Anonymizer, problem: Problem, large: LargeTable, solve: Solve, *, folds: bool
) -> Partition:
    problem = replace(problem, table=_in_memory(problem.table))
    order_free = getattr(anonymizer, "order_free", False)
    if large.carried and not order_free:
        raise PolicyError(_told_apart(f"{anonymizer.name} tells", " or --anonymizer mondrian"))
    if folds or (order_free and not problem.suppression_limit):
        return solve(problem)
    order = canonical_order(problem.table)
    partition = solve(replace(problem, table=problem.table.take(order))).put_back(order)
    # Of records that are alike in all codes, it is insensitive columns that say which are left out.
    if large.carried and partition.suppressed and _splits_alike(partition, problem.table):
        raise PolicyError(_told_apart("leaving some records out would tell"))
    return partition


def _told_apart(what: str, other: str = "") -> str:
    return (
        f"engine: {what} records with equal values apart by the insensitive columns, which the disk engine does not "
        f"hold; leave those columns out, or use --engine memory{other}"
    )


def _splits_alike(partition: Partition, table: EncodedTable) -> bool:
    """Tell whether some records that are alike in all codes are in different classes, or only some are left out."""
    dtype = np.promote_types(table.codes.dtype, table.sensitive_codes.dtype)
    joined = [codes.astype(dtype, copy=False) for codes in (table.codes, table.sensitive_codes)]
    alike, count = group_records(np.concatenate(joined, axis=1))
    first = np.empty(count, dtype=np.int32)
    first[alike] = partition.class_of
    return bool((first[alike] != partition.class_of).any())


def _in_memory(table: EncodedTable) -> EncodedTable:
    return replace(table, codes=np.array(table.codes), sensitive_codes=np.array(table.sensitive_codes))


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
        """Yield the frame of each part, as :func:`sfumato.recoding.recode` makes that of a whole table."""
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

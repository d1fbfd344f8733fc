"""Recounting a generalized table that is never held whole.

What a model says of a class follows from the class and from the totals of the whole table. So totals are counted first;
then records are dealt to files by a hash of their published quasi-identifying values, which puts every class into one
file; and each file is counted by itself, with the totals of all.

Letters: n records, q quasi-identifying columns, c classes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import group_records
from sfumato.classes.statistics import (
    ClassStatistics,
    SensitiveCounts,
    class_statistics,
    counted_people,
    counted_statistics,
    counts_of,
    join_statistics,
    largest_of,
    number_values,
    occurrences_of,
    some_classes,
    with_totals_of_all,
)
from sfumato.errors import InputError, VerificationError
from sfumato.models.protocol import Check, Outcome, PrivacyModel, promise_words, says, speak_of, whole_table_models
from sfumato.numbers import counted
from sfumato.published.apart import BUCKET, COUNT, BucketizedTables, Columns
from sfumato.published.checks.generalized import (
    STEPS_OF,
    Attested,
    Verification,
    attested,
    broken_words,
    check,
    promised_steps,
    uncovered,
    uncovered_classes,
)
from sfumato.published.checks.people import PeopleFound, wishes_found
from sfumato.published.checks.slices import check_encoded_slices, schema_of_slices
from sfumato.table.columns import ValueReading
from sfumato.table.distinct import distinct_of
from sfumato.table.encoding import EncodedAttribute, encode
from sfumato.table.large.batches import BatchSource, CountedRows
from sfumato.table.large.coding import Coding, LargeTable, coded_table
from sfumato.table.large.memory import let_go, write_out
from sfumato.table.reading import read_written
from sfumato.table.row_order import content_hash
from sfumato.table.schema import Attribute, Kind, Schema

Records = NDArray[np.int64]
"""How many records each row stands for."""

SORTED_AT_ONCE = 1 << 21
"""Records that are counted at a time, at most about."""
BLOCK = 1 << 18
"""Records that are dealt at a time."""

MOST_VALUES = 1 << 30
"""Bytes that the distinct values of all columns may take."""


def countable_in_parts(models: Sequence[PrivacyModel]) -> bool:
    """Tell whether models judge classes alone: those of single published values compare classes with each other."""
    return not speak_of("values", models)


def verify_parts(
    source: BatchSource,
    quasi_identifying: Sequence[str],
    sensitive: Mapping[str, Attribute],
    models: Sequence[PrivacyModel],
    folder: Path,
    people: NDArray[np.int32] | Attested | None = None,
    promised: Mapping[str, str] = MappingProxyType({}),
) -> Verification:
    """Recount every model as :func:`verify_table` does, and with the same outcome, in bounded memory.

    `source`: every record once, or distinct rows that somebody else has counted, beside which nobody is numbered. Three
    passes. Memory: a batch, the distinct values, and one file of about a million records; where people or wishes are
    counted also the counts of all classes, some 20 bytes for each class and pair of class and sensitive value.
    """
    text = Attribute(kind=Kind.CATEGORICAL)
    hidden = {**sensitive, **dict.fromkeys(promised.values(), text)}
    schema = Schema(quasi_identifying=dict.fromkeys(quasi_identifying, text), sensitive=hidden, others="drop")
    names = tuple(name for name in source.names if name in schema.roles)
    reading = ValueReading(frozenset([""]), False, source.is_text)
    alike = frozenset(quasi_identifying)
    coding = Coding(schema, names, reading, folder, MOST_VALUES, "name", alike=alike)
    table = coded_table(source, coding)
    records = source.records if isinstance(source, CountedRows) else None
    if isinstance(people, np.ndarray):
        if len(people) != table.height:
            raise VerificationError("the published table has other rows than people were numbered for; it was changed")
        return _of_people(table, people, models, folder, tuple(promised))
    parts = statistics_in_parts(table, records, folder, tuple(promised))
    if people is None and not promised and not whole_table_models(models):
        return judged_in_parts(models, parts)
    statistics = join_statistics(list(parts))
    if people is not None:
        return attested(models, statistics)
    checks, wishes = tuple(check(model, statistics) for model in models), wishes_found(models, statistics)
    bare = tuple(uncovered_classes(models, statistics))
    return Verification(checks, statistics.height, statistics.count, wishes=wishes, uncovered=bare)


def judged_in_parts(models: Sequence[PrivacyModel], parts: Iterable[ClassStatistics]) -> Verification:
    """Judge classes part by part, counted with the totals of the whole; of each keep those that decide alone."""
    records = classes = 0
    failing = np.zeros((len(models), 2), dtype=np.int64)
    worst: list[list[ClassStatistics]] = [[] for _ in models]
    alike: dict[str, NDArray[np.int64]] = {}
    missing: dict[str, int] = {}
    for part in parts:
        records, classes = records + part.height, classes + part.count
        for place, model in enumerate(models):
            broken = ~model.holds(part)
            failing[place] += int(broken.sum()), int(part.sizes[broken].sum())
            worst[place].append(_deciding(model, part))
        for name, values in part.sensitive.items():
            shared = np.diff(values.starts) == 1
            found = np.array([shared.sum(), part.sizes[shared].sum()], dtype=np.int64)
            alike[name] = alike.get(name, np.zeros(2, dtype=np.int64)) + found
            missing[name] = missing.get(name, int(values.totals.sum())) - int(values.counts.sum())
    if any(missing.values()):
        raise ValueError("parts must be all of a table, and be counted with its totals")
    checks = []
    for model, (broken_classes, broken_records), kept in zip(models, failing.tolist(), worst, strict=True):
        judged = check(model, join_statistics(kept, all_of_them=False))
        if broken_classes:
            detail = broken_words(broken_classes, classes, counted(broken_records, "record"))
            judged = replace(judged, outcome=Outcome.BROKEN, detail=detail)
        checks.append(judged)
    bare = tuple(uncovered(models, alike, classes, records, "record"))
    return Verification(tuple(checks), records, classes, uncovered=bare)


def _deciding(model: PrivacyModel, part: ClassStatistics) -> ClassStatistics:
    """Return the classes of a part that reach what all of them achieve together, one for each figure; else all."""
    # Ends: the classes at hand become half as many.
    wanted, found = list(model.achieved(part)), list[ClassStatistics]()
    for place, figure in enumerate(wanted):
        own = part
        while own.count > 1:
            left, right = (some_classes(own, each) for each in (slice(own.count // 2), slice(own.count // 2, None)))
            own = left if list(model.achieved(left))[place] == figure else right
        found.append(own)
    if not found:
        return some_classes(part, slice(1))
    together = join_statistics(found, all_of_them=False)
    return together if list(model.achieved(together)) == wanted else part


def _of_people(
    table: LargeTable, people: NDArray[np.int32], models: Sequence[PrivacyModel], folder: Path, promised: Sequence[str]
) -> Verification:
    """Count people; those of a class are in one file, and no others."""
    table, promises = _without_promises(table, promised)
    sensitive, parts = table.encoded.sensitive, []
    for codes, hidden, numbers in _dealt((table.codes, table.sensitive_codes, people[:, None]), folder):
        class_of, count = group_records(codes)
        own = hidden[:, : len(sensitive)]
        found = counted_people(class_of, count, np.ascontiguousarray(numbers[:, 0]), own, sensitive)
        parts.append(promises.told(found, class_of, hidden[:, len(sensitive) :]))
    statistics = join_statistics(with_totals_of_all(parts, sensitive))
    assert statistics.people is not None
    checks = tuple(check(model, statistics) for model in models)
    records = int(statistics.people.records.sum())
    wishes, bare = wishes_found(models, statistics), tuple(uncovered_classes(models, statistics))
    counted = PeopleFound.of(statistics)
    return Verification(checks, records, statistics.count, people=counted, wishes=wishes, uncovered=bare)


@dataclass(frozen=True, eq=False, repr=False)
class _Promises:
    """What classes promise to who wishes for it: for each key of :data:`STEPS_OF` the number behind each code."""

    numbers: Mapping[str, NDArray[np.int64]]

    def told(
        self, statistics: ClassStatistics, class_of: NDArray[np.int32], codes: NDArray[np.unsignedinteger]
    ) -> ClassStatistics:
        """Return statistics with what each class promises; the columns of `codes` are those of the numbers."""
        largest = {
            key: largest_of(class_of, statistics.count, numbers[codes[:, place]])
            for place, (key, numbers) in enumerate(self.numbers.items())
        }
        return replace(statistics, wished=largest.get("promised"), wished_l=largest.get("promised_l"))


def _without_promises(table: LargeTable, promised: Sequence[str]) -> tuple[LargeTable, _Promises]:
    """Take what classes promise from behind the sensitive attributes; codes stay where they are."""
    own = len(table.sensitive) - len(promised)
    pairs = zip(promised, table.sensitive[own:], strict=True)
    promises = _Promises({key: promised_steps(column.values, STEPS_OF[key]) for key, column in pairs})
    return replace(table, sensitive=table.sensitive[:own]), promises


def statistics_in_parts(
    table: LargeTable, records: Records | None, folder: Path, promised: Sequence[str] = ()
) -> Iterator[ClassStatistics]:
    """Yield the statistics of classes, file by file, with the totals of the whole table; last what is promised."""
    table, promises = _without_promises(table, promised)
    sensitive, occurrences = table.encoded.sensitive, [column.occurrences for column in table.sensitive]
    if records is None:
        for codes, hidden in _dealt((table.codes, table.sensitive_codes), folder):
            class_of, count = group_records(codes)
            found = class_statistics(class_of, count, hidden[:, : len(sensitive)], sensitive, occurrences)
            yield promises.told(found, class_of, hidden[:, len(sensitive) :])
        return
    occurrences = occurrences_of(records, table.sensitive_codes[:, : len(sensitive)], sensitive)
    for codes, hidden, counts in _dealt((table.codes, table.sensitive_codes, records[:, None]), folder):
        class_of, count = group_records(codes)
        own = hidden[:, : len(sensitive)]
        found = counted_statistics(class_of, count, counts[:, 0], own, sensitive, occurrences)
        yield promises.told(found, class_of, hidden[:, len(sensitive) :])


def _dealt(tables: Sequence[NDArray[Any]], folder: Path) -> Iterator[list[NDArray[Any]]]:
    """Yield the rows of all tables that belong together: those whose hashes in the first one begin alike."""
    height = len(tables[0])
    bits = max(0, (height - 1) // SORTED_AT_ONCE).bit_length()
    if not bits:
        yield [*tables]
        return
    for start in range(0, height, BLOCK):
        blocks = [each[start : start + BLOCK] for each in tables]
        # Sixteen bits are sorted by counting.
        bucket = (content_hash(blocks[0]) >> np.uint64(64 - bits)).astype(np.uint16)
        order = np.argsort(bucket, kind="stable")
        places, firsts = np.unique(bucket[order], return_index=True)
        for place, rows in zip(places.tolist(), np.split(order, firsts[1:]), strict=True):
            for number, block in enumerate(blocks):
                with (folder / f"bucket-{place}-{number}").open("ab") as file:
                    write_out(block[rows], file)
    for each in tables:
        let_go(each)
    for path in sorted(folder.glob("bucket-*-0")):
        first = _taken(path, tables[0])
        others = (path.with_name(f"{path.name[:-1]}{number}") for number in range(1, len(tables)))
        yield [first, *(_taken(other, like, len(first)) for other, like in zip(others, tables[1:], strict=True))]


def _taken(path: Path, like: NDArray[Any], height: int = -1) -> NDArray[Any]:
    """Read the rows of a file, and take it away."""
    rows = np.fromfile(path, dtype=like.dtype).reshape(height, like.shape[1])
    path.unlink()
    return rows


# Recounting bucketized and sliced tables that are never held as records: their files are read a batch at a time.
#
# Letters: n rows, b buckets, z pairs of a bucket and a sensitive value.


NUMBER = Attribute(kind=Kind.NUMERIC)


def verify_bucket_parts(
    rows: BatchSource,
    counts: BatchSource,
    sensitive: Mapping[str, Attribute],
    models: Sequence[PrivacyModel],
    folder: Path,
) -> Verification:
    """Recount a bucketized table as :func:`check_buckets` does, in bounded memory.

    Of `rows` only the buckets are read. Memory: a batch, one file of about two million pairs, and the counts of all
    buckets, some 20 bytes for each bucket and pair. Both tables must count the same records in every bucket.
    """
    what, buckets = "bucketized tables", Schema(quasi_identifying={BUCKET: NUMBER}, others="drop")
    held = _sizes(_coded(rows, buckets, folder / "rows"), None, what)
    (name,) = sensitive
    schema = replace(buckets, sensitive={name: sensitive[name]})
    counted = CountedRows((BUCKET, name), counts.is_text, lambda names: _with_counts(counts, names, held.records))
    table = _coded(counted, schema, folder / "counts")
    sizes = _sizes(table, counted.records, what)
    if not (held.buckets.equals(sizes.buckets) and np.array_equal(held.sizes, sizes.sizes)):
        raise InputError(f"{what}: the two tables do not hold the same numbers of records in every bucket")
    statistics = join_statistics(list(statistics_in_parts(table, counted.records, folder)))
    checks = tuple(check_of_buckets(model, statistics) for model in models)
    return Verification(checks, held.records, len(held.sizes), "bucket")


def verify_slice_parts(
    source: BatchSource,
    columns: Columns,
    hidden: tuple[Collection[str], Collection[str]],
    sensitive: Mapping[str, Attribute],
    models: Sequence[PrivacyModel],
    folder: Path,
) -> Verification:
    """Recount a sliced table as :func:`sfumato.published.checks.slices.check_slices` does.

    Memory: the codes of all rows, and numbers of their combinations; no values.
    """
    schema = schema_of_slices(columns, *hidden, sensitive)
    schema = replace(schema, quasi_identifying={BUCKET: NUMBER, **schema.quasi_identifying})
    large = _coded(source, schema, folder / "rows")
    found = _sizes(large, None, "sliced table")
    table = large.encoded
    known = replace(
        table,
        attributes=table.attributes[1:],
        codes=np.array(table.codes[:, 1:]),
        sensitive_codes=np.array(table.sensitive_codes),
    )
    checks = check_encoded_slices(columns, known, large.codes[:, 0].astype(np.int64), models)
    return Verification(tuple(checks), found.records, len(found.sizes), "bucket")


@dataclass(frozen=True, eq=False, repr=False)
class _Sizes:
    """The numbers of buckets, rising, and how many records each has."""

    buckets: pl.Series
    sizes: NDArray[np.int64]

    @property
    def records(self) -> int:
        return int(self.sizes.sum())


def _coded(source: BatchSource, schema: Schema, folder: Path) -> LargeTable:
    folder.mkdir()
    names = tuple(name for name in source.names if name in schema.roles)
    reading = ValueReading(frozenset([""]), False, source.is_text)
    return coded_table(source, Coding(schema, names, reading, folder, MOST_VALUES, "name"))


def _sizes(table: LargeTable, records: NDArray[np.int64] | None, what: str) -> _Sizes:
    """Count the records of every bucket, the first column; `records` says how many each row stands for."""
    column = table.quasi_identifying[0]
    numbers = column.values.head(column.attribute.size)
    if column.attribute.has_missing or not numbers.dtype.is_integer():
        raise InputError(f"{what}: column {BUCKET!r} must hold a whole number in every row")
    sizes = column.occurrences
    if records is not None:
        # Sums of whole numbers below 2**53 are exact.
        sizes = np.bincount(table.codes[:, 0], weights=records, minlength=len(numbers)).astype(np.int64)
    return _Sizes(numbers.cast(pl.Int64), sizes)


def _with_counts(source: BatchSource, names: Sequence[str], records: int) -> Iterator[pl.DataFrame]:
    """Yield batches of some columns, and the counts behind them."""
    for batch in source.batches([*names, COUNT]):
        *columns, counts = (column.alias(str(place)) for place, column in enumerate(batch))
        whole = counts.cast(pl.Int64, strict=False) if _is_whole(counts) else counts.new_from_index(0, 0)
        if len(whole) < len(counts) or not whole.is_between(1, records).fill_null(False).all():
            raise InputError("sensitive table: counts must be whole, 1 or more, and at most the number of records")
        yield pl.DataFrame([*columns, whole])


def _is_whole(counts: pl.Series) -> bool:
    return counts.dtype.is_integer() or counts.dtype == pl.String


IntArray = NDArray[np.int64]


def check_buckets(
    published: BucketizedTables, models: Sequence[PrivacyModel], sensitive: Mapping[str, Attribute]
) -> list[Check]:
    """Recount every model, one check each; cost O(z log z) for z pairs of a bucket and a value.

    Models of equivalence classes are undecidable: quasi-identifying values are published unchanged, and nothing was
    promised about them.
    """
    statistics = bucket_statistics(published, sensitive[published.sensitive])
    return [check_of_buckets(model, statistics) for model in models]


def bucket_statistics(published: BucketizedTables, attribute: Attribute) -> ClassStatistics:
    """Return the sizes of the buckets and the counts of their sensitive values; a value named twice counts summed."""
    schema = Schema(quasi_identifying={published.sensitive: attribute}, others="drop")
    encoded = encode(read_written(published.counts, schema), order="name")
    numbers = distinct_of(published.counts[BUCKET])
    bucket_of, codes, counts = _pairs(
        numbers.rank_of[numbers.raw], encoded.codes[:, 0].astype(np.int64), published.counts[COUNT].to_numpy()
    )
    sizes = np.bincount(bucket_of, weights=counts).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(np.bincount(bucket_of))]).astype(np.int64)
    sensitive = _sensitive(encoded.attributes[0], starts, codes, counts)
    return ClassStatistics(sizes, {published.sensitive: sensitive})


def _pairs(buckets: IntArray, codes: IntArray, counts: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Sort pairs of a bucket and a value, and sum the counts of equal ones; most tables are sorted and summed."""
    counts = counts.astype(np.int64)
    keys = buckets * (codes.max(initial=0) + 1) + codes
    if bool((np.diff(keys) > 0).all()):
        return buckets, codes, counts
    order = np.argsort(keys, kind="stable")
    first = np.flatnonzero(np.append(True, np.diff(keys[order]) != 0))
    return buckets[order][first], codes[order][first], np.add.reduceat(counts[order], first)


def _sensitive(attribute: EncodedAttribute, starts: IntArray, codes: IntArray, counts: IntArray) -> SensitiveCounts:
    occurrences = np.bincount(codes, weights=counts, minlength=attribute.cardinality).astype(np.int64)
    value_of, code_of = number_values(attribute, occurrences)
    return counts_of(attribute, code_of, starts, value_of[codes], counts, occurrences[code_of])


def check_of_buckets(model: PrivacyModel, statistics: ClassStatistics) -> Check:
    """Judge a model by the counts of all buckets."""
    if "buckets" not in says(model).speaks_of:
        return Check(promise_words(model), Outcome.UNDECIDABLE, detail="buckets have no equivalence classes")
    holds = model.holds(statistics)
    achieved = tuple(model.achieved(statistics))
    failing = int((~holds).sum())
    if failing == 0:
        return Check(promise_words(model), Outcome.HOLDS, achieved)
    records = int(statistics.sizes[~holds].sum())
    detail = f"{failing:,} of {counted(statistics.count, 'bucket')} with {counted(records, 'record')} break it"
    return Check(promise_words(model), Outcome.BROKEN, achieved, detail)

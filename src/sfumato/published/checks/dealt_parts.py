"""Recounting bucketized and sliced tables that are never held as records: their files are read a batch at a time.

Letters: n rows, b buckets, z pairs of a bucket and a sensitive value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.statistics import joined
from sfumato.errors import InputError
from sfumato.models.protocol import PrivacyModel
from sfumato.published.bucketized import COUNT
from sfumato.published.checks.buckets import check_of_buckets
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.parts import MOST_VALUES, statistics_in_parts
from sfumato.published.checks.slices.slices import check_encoded_slices, schema_of_slices
from sfumato.published.sliced import BUCKET, Columns
from sfumato.table.columns import ValueReading
from sfumato.table.large.batches import BatchSource, CountedRows
from sfumato.table.large.coding import Coding, LargeTable, coded_table
from sfumato.table.schema import Attribute, Kind, Schema

NUMBER = Attribute(kind=Kind.NUMERIC)


def verify_bucket_parts(
    rows: BatchSource,
    counts: BatchSource,
    sensitive: Mapping[str, Attribute],
    models: Sequence[PrivacyModel],
    folder: Path,
) -> Verification:
    """Recount a bucketized table as :func:`~sfumato.published.checks.buckets.check_buckets` does.

    Parameters
    ----------
    rows, counts
        The quasi-identifying and the sensitive table.
    sensitive
        The sensitive attribute.
    models
        What was promised.
    folder
        An empty one, for files.

    Raises
    ------
    InputError
        When numbers are none, or the two tables do not count the same records in every bucket.

    Notes
    -----
    Of `rows` only the buckets are read. Memory: a batch, one file of about two million pairs, and the counts of all
    buckets, some 20 bytes for each bucket and pair.
    """
    what, buckets = "bucketized tables", Schema(quasi_identifying={BUCKET: NUMBER}, others="drop")
    held = _sizes(_coded(rows, buckets, folder / "rows"), None, what)
    (name,) = sensitive
    schema = replace(buckets, sensitive={name: sensitive[name]})
    counted = CountedRows((BUCKET, name), counts.is_text, lambda names: _with_counts(counts, names, held.records))
    table = _coded(counted, schema, folder / "counts")
    told = _sizes(table, counted.records, what)
    if not (held.buckets.equals(told.buckets) and np.array_equal(held.sizes, told.sizes)):
        raise InputError(f"{what}: the two tables do not hold the same numbers of records in every bucket")
    statistics = joined(list(statistics_in_parts(table, counted.records, folder)))
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
    """Recount a sliced table as :func:`~sfumato.published.checks.slices.slices.check_slices` does.

    Parameters
    ----------
    source
        The published table.
    columns
        Attributes of each column, every one of them in one column.
    hidden
        The sensitive and the insensitive among them.
    sensitive, models, folder
        As :func:`verify_bucket_parts` takes them.

    Raises
    ------
    InputError
        When buckets are no whole numbers.

    Notes
    -----
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

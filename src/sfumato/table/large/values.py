"""The values of columns that are never held whole: counted batch by batch, then numbered as if they had been.

Letters: n records, r raw values of a column, d values that they stand for, v codes.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.table.columns import (
    StrangeValues,
    TypedColumn,
    ValueReading,
    read_attribute,
    refuse_nested,
    strange_values,
)
from sfumato.table.distinct import Distinct, distinct_of, private_categorical
from sfumato.table.encoding import EncodedAttribute, Order, encoded_attribute
from sfumato.table.identification import Look, look_of
from sfumato.table.schema import Attribute, Kind

MERGED = 16
"""Batches whose values are counted before they are put together."""


@dataclass(frozen=True, eq=False, repr=False)
class RawValues:
    """What a column holds, as its source has it.

    Attributes
    ----------
    values : polars.Series
        Length r: each that occurs, in no particular order; no missing value.
    counts : numpy.ndarray
        int64 (r,): records that have each.
    first : numpy.ndarray
        int64 (r,): the first of them, from 0.
    missing : int
        Records without a value.
    numbered : bool
        Whether batches have the places of these values instead of the values.
    """

    values: pl.Series
    counts: NDArray[np.int64]
    first: NDArray[np.int64]
    missing: int
    numbered: bool = False


class ValueCounter(Protocol):
    """Counts the values of one column, batch by batch."""

    def add(self, column: pl.Series, before: int) -> pl.Series:
        """Count a batch that has so many rows before it; return it as :meth:`CodedColumn.codes` takes it.

        Raises
        ------
        InputError
            When the values cannot be published.
        """
        ...

    @property
    def size(self) -> int:
        """Bytes that the values take so far, about."""
        ...


class TextsApart:
    """Texts, each of which has a number from 0 on in all batches; they are told apart and not counted.

    See :class:`ValueCounter`.

    Attributes
    ----------
    dtype : polars.Categorical
        The type whose register has the numbers; a source that reads columns as this type saves a step.
    """

    def __init__(self) -> None:
        self.dtype = private_categorical()
        # A register that no series uses is forgotten, and would begin anew with the next batch.
        self._kept = pl.Series([], dtype=self.dtype)
        self._met = 0
        self._bytes = 0

    def add(self, column: pl.Series, before: int) -> pl.Series:
        """Take a batch; return the number of each text, null where there is none."""
        if isinstance(column.dtype, (pl.Categorical, pl.Enum)) and column.dtype != self.dtype:
            column = column.cast(pl.String)
        numbers = column.cast(self.dtype).to_physical().alias(column.name)
        highest: Any = numbers.max()
        if highest is not None and highest >= self._met:
            self._meet(numbers, int(highest) + 1, before)
        return numbers

    def _meet(self, numbers: pl.Series, met: int, before: int) -> None:
        """Take note of numbers that no batch had."""
        new = pl.Series("", np.arange(self._met, met), dtype=pl.UInt32)
        self._bytes += int(self._texts(new).str.len_bytes().sum())
        self._met = met

    def _texts(self, numbers: pl.Series) -> pl.Series:
        return numbers.cat.to(self.dtype).cast(pl.String)

    @property
    def size(self) -> int:
        """Bytes that texts and counts take so far, about."""
        return self._bytes + 64 * self._met

    def told_apart(self, name: str, missing: Collection[str]) -> CodedColumn:
        """Return a column whose codes are the numbers of the texts: they say which records are alike, and nothing else.

        Labels are null and occurrences 0, as nobody may read them; texts that stand for a missing value are one value,
        the missing one.
        """
        marks = pl.Series(sorted(missing), dtype=pl.String).cast(self.dtype).to_physical().to_numpy()
        code_of = np.arange(self._met, dtype=np.uint32)
        code_of[marks[marks < self._met]] = self._met
        unread = pl.Series(name, [None], dtype=pl.String).new_from_index(0, self._met + 1)
        attribute = EncodedAttribute(
            name, Kind.CATEGORICAL, unread.head(self._met), None, None, has_missing=True, domain_width=0.0,
            domain_size=self._met + 1,
        )  # fmt: skip
        return CodedColumn(attribute, unread, np.zeros(attribute.cardinality, dtype=np.int64), code_of, None)


class CountedTexts(TextsApart):
    """Texts that are counted as well; see :class:`ValueCounter`."""

    def __init__(self) -> None:
        super().__init__()
        self._counts = np.zeros(0, dtype=np.int64)
        self._first = np.zeros(0, dtype=np.int64)
        self._missing = 0

    def add(self, column: pl.Series, before: int) -> pl.Series:
        """Count a batch; return the number of each text, null where there is none."""
        numbers = super().add(column, before)
        known = numbers.drop_nulls().to_numpy()
        self._missing += len(numbers) - len(known)
        self._counts += np.bincount(known, minlength=self._met)
        return numbers

    def _meet(self, numbers: pl.Series, met: int, before: int) -> None:
        old, more = self._met, np.zeros(met - self._met, dtype=np.int64)
        super()._meet(numbers, met, before)
        self._counts, self._first = (np.append(each, more) for each in (self._counts, self._first))
        known = np.flatnonzero((numbers >= old).fill_null(False).to_numpy())
        found, places = np.unique(numbers.gather(known).to_numpy(), return_index=True)
        self._first[found] = known[places] + before

    def raw(self, name: str) -> RawValues:
        """Return what was counted; values stand in the order of their numbers."""
        known = np.flatnonzero(self._counts)
        texts = self._texts(pl.Series("", known, dtype=pl.UInt32)).alias(name)
        if len(texts) < self._met:
            # The register gave out numbers that no record has; nobody looks these up.
            texts = pl.Series(name, [""]).new_from_index(0, self._met).scatter(known, texts)
        return RawValues(texts, self._counts, self._first, self._missing, numbered=True)


class CountedValues:
    """Values of any other type; see :class:`ValueCounter`."""

    def __init__(self) -> None:
        self._parts: list[pl.DataFrame] = []

    def add(self, column: pl.Series, before: int) -> pl.Series:
        """Count a batch; return it with equal values alike."""
        refuse_nested(column)
        # Adding zero makes one value of 0.0 and -0.0.
        plain = column.fill_nan(None) + 0.0 if column.dtype.is_float() else column
        rows = pl.int_range(before, before + len(column), eager=True)
        counted = pl.DataFrame({"value": plain, "first": rows}).group_by("value")
        self._parts.append(counted.agg(pl.len().cast(pl.Int64).alias("count"), pl.col("first").min()))
        if len(self._parts) >= MERGED:
            self._parts = [self._merged()]
        return plain

    def _merged(self) -> pl.DataFrame:
        together = pl.concat(self._parts, how="vertical_relaxed").group_by("value")
        return together.agg(pl.col("count").sum(), pl.col("first").min())

    @property
    def size(self) -> int:
        """Bytes that values and counts take so far, about."""
        return int(sum(part.estimated_size() for part in self._parts))

    def raw(self, name: str) -> RawValues:
        """Return what was counted."""
        counted = self._merged().sort("first")
        self._parts = [counted]
        known = counted.filter(pl.col("value").is_not_null())
        missing = int(counted["count"].sum()) - int(known["count"].sum())
        return RawValues(known["value"].alias(name), known["count"].to_numpy(), known["first"].to_numpy(), missing)


@dataclass(frozen=True, eq=False, repr=False)
class _Counted(Distinct):
    """Distinct values of which each raw value knows its first record."""

    first: Any = None

    def first_record(self, chosen: NDArray[np.bool_]) -> int:
        """Return the row number (from 1) of the first record whose value is `chosen`."""
        return int(self.first[np.append(chosen, False)[self.rank_of][self.raw]].min()) + 1


@dataclass(frozen=True, eq=False, repr=False)
class CodedColumn:
    """A column whose values are numbered.

    Attributes
    ----------
    attribute : EncodedAttribute
    values : polars.Series
        Length v + 1: the typed value behind each code, and the missing one; null behind codes that do not occur.
    occurrences : numpy.ndarray
        int64 (cardinality,): how many records have each code.
    code_of : numpy.ndarray
        int64 or uint32 (r,): the code of each raw value.
    raws : polars.Series or None
        The raw values; None where batches have their places.
    remarks : tuple of str
        What a steward should hear of how it was read.
    """

    attribute: EncodedAttribute
    values: pl.Series
    occurrences: NDArray[np.int64]
    code_of: NDArray[np.integer]
    raws: pl.Series | None
    remarks: tuple[str, ...] = ()

    @cached_property
    def look(self) -> Look:
        """What the column looks like."""
        missing = int(self.occurrences[self.attribute.size :].sum())
        values = self.values.drop_nulls()
        return look_of(self.attribute.name, values, int(self.occurrences.sum()) - missing)

    def codes(self, column: pl.Series) -> NDArray[np.integer]:
        """Return the code of each value of a batch, as its counter returned it; (rows,)."""
        places = column if self.raws is None else self._places(column)
        if not places.has_nulls():
            codes: NDArray[np.integer] = self.code_of[places.to_numpy()]
            return codes
        codes = np.full(len(column), self.attribute.size, dtype=np.int64)
        known = places.is_not_null().to_numpy()
        codes[known] = self.code_of[places.drop_nulls().to_numpy()]
        return codes

    def _places(self, column: pl.Series) -> pl.Series:
        """Return where each value stands among the raw ones; null for missing ones."""
        raws = pl.DataFrame({"value": self.raws, "place": np.arange(len(self.code_of))})
        asked = pl.DataFrame({"value": column.cast(raws["value"].dtype)})
        return asked.join(raws, on="value", how="left", maintain_order="left")["place"]


def coded_column(raw: RawValues, declared: Attribute, reading: ValueReading, order: Order) -> CodedColumn:
    """Return a column with numbers for its values, those that :func:`sfumato.table.encoding.encode` gives a whole one.

    Raises
    ------
    SfumatoError
        As reading and encoding it whole.
    """
    typed_values = _typed(raw, declared, reading.of(raw.values.name))
    values, kind = typed_values.values, typed_values.kind
    distinct = _distinct(values, raw)
    attribute, code_of_number = encoded_attribute(raw.values.name, kind, declared, distinct, order)
    code_of = code_of_number[distinct.raw]
    occurrences = np.bincount(code_of, weights=raw.counts, minlength=attribute.size + 1).astype(np.int64)
    occurrences[attribute.size] += raw.missing
    typed = pl.Series([None], dtype=values.dtype).new_from_index(0, attribute.size + 1)
    present = np.flatnonzero(code_of < attribute.size)
    _, firsts = np.unique(code_of[present], return_index=True)
    one_each = present[firsts]
    typed = typed.scatter(code_of[one_each], values.gather(one_each)) if len(one_each) else typed
    values = typed.alias(raw.values.name)
    raws = None if raw.numbered else raw.values
    return CodedColumn(attribute, values, occurrences[: attribute.cardinality], code_of, raws, typed_values.remarks)


def _typed(raw: RawValues, declared: Attribute, reading: ValueReading) -> TypedColumn:
    try:
        typed = read_attribute(raw.values, declared, reading)
        is_text = isinstance(typed.values.dtype, pl.Categorical)
        return typed._replace(values=typed.values.cast(pl.String)) if is_text else typed
    except StrangeValues as error:
        strange = error.parsed.strangers.to_numpy()
        records, first = int(raw.counts[strange].sum()), int(raw.first[strange].min())
        raise strange_values(error.name, error.parsed, records, first + 1) from None


def _distinct(values: pl.Series, raw: RawValues) -> Distinct:
    found = distinct_of(values)
    ranks = found.rank_of[found.raw]
    counts = np.bincount(ranks, weights=raw.counts, minlength=len(found.values) + 1).astype(np.int64)
    return _Counted(
        found.values, counts[:-1], found.raw, found.rank_of, int(counts[-1]) + raw.missing, first=raw.first
    )  # fmt: skip

"""The values of columns that are never held whole: counted batch by batch, then numbered as if they had been.

Letters: n records, r raw values of a column, d values that they stand for, v codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.table.columns import StrangeValues, ValueReading, is_text, refuse_nested, strange_values, typed_column
from sfumato.table.distinct import Distinct, distinct_of
from sfumato.table.encoding import EncodedAttribute, encoded_attribute
from sfumato.table.numbering import Order
from sfumato.table.schema import Attribute, Kind

CHANGED = "the file changed while it was read; have it left alone, and run again"

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
    """

    values: pl.Series
    counts: NDArray[np.int64]
    first: NDArray[np.int64]
    missing: int


class ValueCounter:
    """Counts the values of one column, batch by batch."""

    def __init__(self) -> None:
        self._parts: list[pl.DataFrame] = []

    def add(self, column: pl.Series, before: int) -> None:
        """Count a batch that has so many rows before it.

        Raises
        ------
        InputError
            When the values cannot be published.
        """
        refuse_nested(column)
        rows = pl.int_range(before, before + len(column), eager=True)
        counted = pl.DataFrame({"value": plain_values(column), "first": rows}).group_by("value")
        self._parts.append(counted.agg(pl.len().cast(pl.Int64).alias("count"), pl.col("first").min()))
        if len(self._parts) >= MERGED:
            self._parts = [self._merged()]

    def _merged(self) -> pl.DataFrame:
        together = pl.concat(self._parts, how="vertical_relaxed").group_by("value")
        return together.agg(pl.col("count").sum(), pl.col("first").min())

    @property
    def size(self) -> int:
        """Bytes that the values take so far, about."""
        return int(sum(part.estimated_size() for part in self._parts))

    def raw(self, name: str) -> RawValues:
        """Return what was counted."""
        counted = self._merged().sort("first")
        self._parts = [counted]
        known = counted.filter(pl.col("value").is_not_null())
        missing = int(counted["count"].sum()) - int(known["count"].sum())
        return RawValues(
            known["value"].alias(name), known["count"].to_numpy(), known["first"].to_numpy(), missing
        )  # fmt: skip


def plain_values(column: pl.Series) -> pl.Series:
    """Return a column whose equal values are alike in every batch."""
    if is_text(column):
        return column.cast(pl.String)
    # Adding zero makes one value of 0.0 and -0.0.
    return column.fill_nan(None) + 0.0 if column.dtype.is_float() else column


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
    """

    attribute: EncodedAttribute
    values: pl.Series
    occurrences: NDArray[np.int64]
    raws: pl.Series
    code_of: NDArray[np.int64]

    def codes(self, column: pl.Series) -> NDArray[np.int64]:
        """Return the code of each value of a batch; int64 (rows,).

        Raises
        ------
        InputError
            When there is a value that was not there when values were counted.
        """
        plain = plain_values(column)
        places = self._places(plain)
        known = places.is_not_null()
        if bool((known != plain.is_not_null()).any()):
            raise InputError(CHANGED)
        codes = np.full(len(plain), self.attribute.size, dtype=np.int64)
        codes[known.to_numpy()] = self.code_of[places.drop_nulls().to_numpy()]
        return codes

    def _places(self, plain: pl.Series) -> pl.Series:
        """Return where each value stands among the raw ones; null for missing and for unknown ones."""
        if plain.dtype == pl.String:
            return plain.cast(pl.Enum(self.raws), strict=False).to_physical()
        raws = pl.DataFrame({"value": self.raws, "place": np.arange(len(self.raws))})
        asked = pl.DataFrame({"value": plain.cast(self.raws.dtype)})
        return asked.join(raws, on="value", how="left", maintain_order="left")["place"]


def coded_column(raw: RawValues, declared: Attribute, reading: ValueReading, order: Order) -> CodedColumn:
    """Return a column with numbers for its values, those that :func:`sfumato.table.encoding.encode` gives a whole one.

    Raises
    ------
    SfumatoError
        As reading and encoding it whole.
    """
    values, kind = _typed(raw, declared.kind, reading.of(raw.values.name))
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
    return CodedColumn(
        attribute, typed.alias(raw.values.name), occurrences[: attribute.cardinality], raw.values, code_of
    )  # fmt: skip


def _typed(raw: RawValues, kind: Kind | None, reading: ValueReading) -> tuple[pl.Series, Kind]:
    try:
        values, found = typed_column(raw.values, kind, reading)
        return (values.cast(pl.String) if isinstance(values.dtype, pl.Categorical) else values), found
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

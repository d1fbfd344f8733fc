"""Columns that repeat as keys of people do: promises to records are then too few. Letters: n records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.numbers import counted
from sfumato.table.columns import is_plain
from sfumato.table.distinct import private_categorical
from sfumato.table.header import Header
from sfumato.table.person_keys import number_people
from sfumato.table.schema import LARGEST_NUMBER, Schema

FEW = 10
"""So many columns without a role are looked at whatever their names are."""
EXPLAINED = 0.8
"""Share of the differences in an attribute that keys of people explain at least, if it belongs to the person."""
SMALLEST, LARGEST = 0.005, 0.98
"""Values per record of a column without a role that may be a key which repeats."""

_NUMBERED = r"(?<![a-z])(id|ident|nr|no|num|number|key|code|uid|ssn|pid)(?![a-z])"
_PEOPLE = r"patient|person|client|customer|user|member|case|subject|player|account|holder"
_KEY = re.compile(f"{_NUMBERED}|{_PEOPLE}", re.IGNORECASE)


@dataclass(frozen=True, eq=False, repr=False)
class RepeatedKey:
    """A column that seems to say who a record is about, though no column has that role."""

    name: str
    people: NDArray[np.int32]  # (n,): a number for each of its values

    def sentence(self) -> str:
        """Say what was found, and what to do."""
        people = np.count_nonzero(np.bincount(self.people))
        return (
            f"Column {self.name!r} repeats: {counted(len(self.people), 'record')} have {people:,} values. If it says "
            f"who a record is about, promises and risks count records here, not people; have people counted with "
            f"person={self.name!r} (on the command line --person {self.name})."
        )


def candidates(header: Header, schema: Schema) -> tuple[str, ...]:
    """Return the columns that may be keys: identifying ones, and those that are dropped and look like one by name."""
    if schema.person is not None:
        return ()
    dropped = [name for name in header.names if name not in schema.roles] if schema.others == "drop" else []
    chosen = dropped if len(dropped) <= FEW else [name for name in dropped if _KEY.search(name)][:FEW]
    known = {*schema.identifying, *chosen}
    return tuple(name for name in header.names if name in known)


def repeated_key(columns: Sequence[pl.Series], schema: Schema, frame: pl.DataFrame) -> RepeatedKey | None:
    """Find the column that repeats as a key of people does; of several, the one with the most values.

    An identifying column does when two records have the same value. Another of texts or whole numbers does when values
    repeat, not often, and their records are alike in quasi-identifying attributes. O(n) a column, O(n log n) where it
    repeats.
    """
    found = []
    for column in columns:
        if not is_plain(column.dtype):
            continue
        distinct = column.to_physical().n_unique() - bool(column.null_count())
        if not 1 < distinct < len(column) - column.null_count():
            continue
        key = RepeatedKey(column.name, _numbered(column))
        share = distinct / len(column)
        whole = not column.dtype.is_float() and SMALLEST <= share <= LARGEST
        if column.name in schema.identifying or (whole and _alike(key, schema, frame)):
            found.append((distinct, key))
    return max(found, key=lambda each: each[0])[1] if found else None


def _numbered(column: pl.Series) -> NDArray[np.int32]:
    """Give every value a number, int32 (n,), and every missing value one of its own.

    Texts without gaps get those of private categories: putting them in order would take longest.
    """
    if column.dtype != pl.String or column.null_count():
        return number_people(column)
    return column.cast(private_categorical()).to_physical().to_numpy().astype(np.int32)


def _alike(key: RepeatedKey, schema: Schema, frame: pl.DataFrame) -> bool:
    """Tell whether the key explains nearly all differences in two quasi-identifying attributes, or in the only one."""
    several = np.flatnonzero(np.bincount(key.people)[key.people] > 1)
    needed = min(2, len(schema.quasi_identifying))
    explained = (_explained(key.people[several], frame[name], several) for name in schema.quasi_identifying)
    found = 0
    for share in explained:
        found += share >= EXPLAINED
        if found == needed:
            return True
    return False


def _explained(people: NDArray[np.int32], column: pl.Series, several: NDArray[np.int64]) -> float:
    """Return the share of an attribute's squared differences, or unequal values, that lies between keys; 0 where none.

    people : int32, the key of each record whose key several have; several : int64, these records.
    """
    if column.dtype.is_numeric() or column.dtype == pl.Date:
        values = column.to_physical().cast(pl.Float64).fill_null(strategy="mean").fill_null(0.0).to_numpy()
        if not np.abs(values).max(initial=0.0) <= LARGEST_NUMBER:
            return 0.0  # refused where the column is encoded
        spread = float(values.var())
        return 0.0 if spread == 0 else 1.0 - _within(people, values[several]) / spread
    # Categories and truth values; the missing one is a value, too.
    codes = column.to_physical().cast(pl.Int64).fill_null(-1).to_numpy() + 1
    shares = np.bincount(codes) / len(codes)
    unlike = 1.0 - float((shares**2).sum())
    return 0.0 if unlike == 0 else 1.0 - (1.0 - _likeness(people, codes[several])) / unlike


def _likeness(people: NDArray[np.int32], codes: NDArray[np.int64]) -> float:
    """Return the share of the pairs of records of one key that have equal values."""
    pairs = np.sort(people * (int(codes.max()) + 1) + codes)
    first = np.flatnonzero(np.diff(pairs, prepend=-1))
    alike = np.diff(np.append(first, len(pairs)))
    sizes = np.bincount(people)
    return float((alike * (alike - 1)).sum() / (sizes * (sizes - 1)).sum())


def _within(people: NDArray[np.int32], values: NDArray[np.float64]) -> float:
    """Return the mean variance of the values of one key, as an unbiased estimate."""
    sizes = np.bincount(people)
    means = np.bincount(people, weights=values) / np.maximum(sizes, 1)
    squares = (values - means[people]) ** 2
    return float(squares.sum() / (len(values) - np.count_nonzero(sizes)))

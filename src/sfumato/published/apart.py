"""Tables that publish columns apart: buckets, slices, marginals.

Bucketized tables (Anatomy): quasi-identifying values unchanged, sensitive ones as counts for each bucket.

A sliced table: values of a column of attributes stay together, and are permuted inside each bucket.

Marginal tables: how many records have each combination of values, for some sets of attributes.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from sfumato.errors import InputError, raise_all
from sfumato.published.protocol import column_problems, structure_columns, structure_names, structure_text
from sfumato.table.distinct import distinct_of

COUNT = "count"
Columns = tuple[tuple[str, ...], ...]
"""The attributes of each column."""

BUCKET = "bucket"
"""Name of the column that says which bucket a row belongs to."""


@dataclass(frozen=True, eq=False)
class BucketizedTables:
    """Two tables that share nothing but the bucket."""

    kind: ClassVar[str] = "bucketized-tables"
    whole_numbers: ClassVar[tuple[str, ...]] = (BUCKET, COUNT)
    promising: ClassVar[bool] = True
    publishes_chosen: ClassVar[bool] = False
    limits: ClassVar[tuple[str, ...]] = (
        "Quasi-identifying values are published unchanged: somebody who knows them finds a person's row, and sees who "
        "is in the table. Only which sensitive value of its bucket a row has is hidden.",
        "It does not stand up to a second release of the same people.",
    )
    quasi: pl.DataFrame  # one row for each record, in random order: the quasi-identifying attributes and ``bucket``
    counts: pl.DataFrame  # ``bucket``, the sensitive attribute, ``count``; sorted by bucket and value
    quasi_identifying: tuple[str, ...]
    sensitive: str

    def __post_init__(self) -> None:
        """Check that both tables have their columns and no other, and count the same records in every bucket."""
        sentences = (
            ("quasi-identifying table", self.quasi, (*self.quasi_identifying, BUCKET)),
            ("sensitive table", self.counts, (BUCKET, self.sensitive, COUNT)),
        )
        problems = [problem for what, frame, names in sentences for problem in column_problems(what, frame, names)]
        raise_all(InputError, problems or self._count_problems())

    @property
    def records(self) -> int:
        """Number of published records."""
        return self.quasi.height

    @property
    def buckets(self) -> int:
        """Number of buckets."""
        return self.quasi[BUCKET].n_unique()

    def _count_problems(self) -> list[str]:
        whole = [self.quasi.schema[BUCKET], self.counts.schema[BUCKET], self.counts.schema[COUNT]]
        if not all(dtype.is_integer() for dtype in whole):
            return ["bucketized tables: buckets and counts must be whole numbers"]
        if any(column.has_nulls() for column in (self.quasi[BUCKET], self.counts[BUCKET], self.counts[COUNT])):
            return ["bucketized tables: every row needs its bucket, and its count in the sensitive table"]
        if not self.counts[COUNT].is_between(1, self.records).all():
            return ["sensitive table: counts must be 1 or more, and at most the number of records"]
        held, counted_buckets = distinct_of(self.quasi[BUCKET]), distinct_of(self.counts[BUCKET])
        sums = np.bincount(counted_buckets.rank_of[counted_buckets.raw], weights=self.counts[COUNT].to_numpy())
        if np.array_equal(held.values, counted_buckets.values) and np.array_equal(held.counts, sums):
            return []
        return ["bucketized tables: the two tables do not hold the same numbers of records in every bucket"]

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return both tables."""
        return {"quasi_identifying": self.quasi, "sensitive": self.counts}

    @property
    def structure(self) -> dict[str, Any]:
        """Return the attributes of both tables."""
        return {"quasi_identifying": list(self.quasi_identifying), "sensitive": self.sensitive}

    @classmethod
    def assemble(cls, tables: Mapping[str, pl.DataFrame], structure: Mapping[str, Any]) -> Self:
        """Rebuild the value from what was written."""
        try:
            quasi, sensitive = structure_names(structure, "quasi_identifying"), structure_text(structure, "sensitive")
        except ValueError as error:
            raise InputError(f"bucketized tables: {error}") from None
        return cls(tables["quasi_identifying"], tables["sensitive"], quasi, sensitive)


@dataclass(frozen=True, eq=False)
class SlicedTable:
    """A sliced table, overlapping or not; a row is *not* a record: columns are combined at random."""

    kind: ClassVar[str] = "sliced-table"
    whole_numbers: ClassVar[tuple[str, ...]] = (BUCKET,)
    promising: ClassVar[bool] = True
    publishes_chosen: ClassVar[bool] = False
    limits: ClassVar[tuple[str, ...]] = (
        "Values are published unchanged. Somebody who knows rare values of one column finds the buckets where a person "
        "may be. So it often shows that the person is in the table.",
        "Rows are not records: values of different columns are combined at random.",
        "It does not stand up to a second release of the same people.",
    )
    # ``bucket`` (whole numbers from 0), then the attributes of every column, one after the other, under the names that
    # :func:`labels_of` gives them. Rows are sorted by bucket.
    data: pl.DataFrame
    # Attributes of each column. Every attribute is in at least one column, and may be in several (overlapping slicing).
    columns: Columns
    sensitive: tuple[str, ...]  # sensitive attributes among them
    insensitive: tuple[str, ...] = ()  # attributes among them that an attacker is assumed not to know

    def __post_init__(self) -> None:
        """Check that the table has the named columns and no other, and each attribute in one role."""
        problems = []
        if not self.columns or not all(self.columns):
            problems.append("sliced table: every column needs at least one attribute")
        labels = [label for column in labels_of(self.columns) for label in column]
        # A column that no check covers could hold anything.
        problems += column_problems("sliced table", self.data, [BUCKET, *labels])
        if not problems and (not self.data.schema[BUCKET].is_integer() or self.data[BUCKET].null_count()):
            problems.append(f"sliced table: column {BUCKET!r} must hold whole numbers")
        raise_all(InputError, [*problems, *self._role_problems()])

    def _role_problems(self) -> list[str]:
        problems = []
        named = [*self.sensitive, *self.insensitive]
        if len(set(named)) < len(named):
            problems.append("sliced table: an attribute is named in two roles, or twice in one")
        if not set(named) <= {name for column in self.columns for name in column}:
            problems.append("sliced table: an attribute with a role is in no column")
        if any(len(set(column)) < len(column) for column in self.columns):
            problems.append("sliced table: an attribute is twice in one column")
        return problems

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the only table."""
        return {"data": self.data}

    @property
    def structure(self) -> dict[str, Any]:
        """Return the columns and sensitive attributes."""
        return {
            "columns": [list(column) for column in self.columns],
            "sensitive": list(self.sensitive),
            "insensitive": list(self.insensitive),
        }

    @classmethod
    def assemble(cls, tables: Mapping[str, pl.DataFrame], structure: Mapping[str, Any]) -> Self:
        """Rebuild the value from what was written."""
        try:
            columns = structure_columns(structure)
            sensitive = structure_names(structure, "sensitive")
            insensitive = structure_names({"insensitive": [], **structure}, "insensitive")
        except ValueError as error:
            raise InputError(f"sliced table: {error}") from None
        return cls(tables["data"], columns, sensitive, insensitive)


def labels_of(columns: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """Name the attributes of every column in the published table.

    The first copy of an attribute keeps its name; further ones are ``"age (2)"``, ``"age (3)"``, skipping names of
    other attributes.
    """
    taken = {name for column in columns for name in column}
    past: set[str] = set()
    named = []
    for column in columns:
        labels = [_next_label(name, taken) if name in past else name for name in column]
        past.update(column)
        taken.update(labels)
        named.append(tuple(labels))
    return tuple(named)


def _next_label(name: str, taken: Container[str]) -> str:
    return next(label for number in count(2) if (label := f"{name} ({number})") not in taken)


def column_of(columns: Columns, attribute: str) -> int:
    """Return the place of the (first) column that holds an attribute."""
    return next(place for place, column in enumerate(columns) if attribute in column)


@dataclass(frozen=True, eq=False)
class MarginalTables:
    """Count tables of sets of attributes, which may overlap."""

    kind: ClassVar[str] = "marginal-tables"
    whole_numbers: ClassVar[tuple[str, ...]] = (COUNT,)
    promising: ClassVar[bool] = True
    publishes_chosen: ClassVar[bool] = True
    limits: ClassVar[tuple[str, ...]] = (
        "What several tables say together is checked against the estimate of largest entropy. An attacker who knows "
        "more than the tables can do better.",
        "They do not stand up to a second release of the same people.",
    )
    marginals: tuple[pl.DataFrame, ...]  # one for each set: its attributes and ``count``, sorted by value
    columns: tuple[tuple[str, ...], ...]
    sensitive: tuple[str, ...]  # sensitive attributes among them

    def __post_init__(self) -> None:
        """Check that every table has its columns."""
        problems = []
        if not self.columns or len(self.columns) != len(self.marginals):
            problems.append("marginal tables: there must be one table for every set of attributes")
        for place, (frame, names) in enumerate(zip(self.marginals, self.columns, strict=False), start=1):
            missing = [name for name in (*names, COUNT) if name not in frame.columns]
            problems.extend(f"marginal table {place}: has no column {name!r}" for name in missing)
            if not missing and not frame.schema[COUNT].is_integer():
                problems.append(f"marginal table {place}: counts must be whole numbers")
        raise_all(InputError, problems)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return every count table."""
        return {f"marginal_{place}": frame for place, frame in enumerate(self.marginals, start=1)}

    @property
    def structure(self) -> dict[str, Any]:
        """Return the sets of attributes."""
        return {"columns": [list(column) for column in self.columns], "sensitive": list(self.sensitive)}

    @classmethod
    def assemble(cls, tables: Mapping[str, pl.DataFrame], structure: Mapping[str, Any]) -> Self:
        """Rebuild the value from what was written."""
        entries = structure.get("columns")
        try:
            if not isinstance(entries, list):
                raise ValueError("columns is not a list")
            columns = tuple(structure_names({"columns": entry}, "columns") for entry in entries)
            sensitive = structure_names(structure, "sensitive")
        except ValueError as error:
            raise InputError(f"marginal tables: {error}") from None
        names = [f"marginal_{place}" for place in range(1, len(columns) + 1)]
        if missing := [name for name in names if name not in tables]:
            raise InputError(f"marginal tables: {', '.join(missing)} missing")
        return cls(tuple(tables[name] for name in names), columns, sensitive)

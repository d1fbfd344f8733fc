"""A sliced table: values of a column of attributes stay together, and are permuted inside each bucket."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar, Self

import polars as pl

from sfumato.errors import InputError, raise_all
from sfumato.published.protocol import column_problems, structure_columns, structure_names

Columns = tuple[tuple[str, ...], ...]
"""The attributes of each column."""

BUCKET = "bucket"
"""Name of the column that says which bucket a row belongs to."""


@dataclass(frozen=True, eq=False)
class SlicedTable:
    """A sliced table, overlapping or not; a row is *not* a record: columns are combined at random."""

    kind: ClassVar[str] = "sliced-table"
    whole_numbers: ClassVar[tuple[str, ...]] = (BUCKET,)
    promising: ClassVar[bool] = True
    publishes_chosen: ClassVar[bool] = False
    limits: ClassVar[tuple[str, ...]] = (
        "Values are published unchanged: somebody who knows rare values of one column finds the buckets where a person "
        "may be, and often sees that the person is in the table.",
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

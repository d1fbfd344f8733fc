"""A table of people and its schema, checked against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, SchemaError, raise_all
from sfumato.numbers import counted
from sfumato.table.distinct import Distinct, distinct_of
from sfumato.table.identification import Look, look_at
from sfumato.table.person_keys import PersonKey, named_key
from sfumato.table.repeated_keys import RepeatedKey
from sfumato.table.schema import Kind, Schema, is_measured


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A frame whose columns all have a role and a kind; identifying columns are already gone.

    Build it with :func:`sfumato.read_table`.

    Attributes
    ----------
    frame : polars.DataFrame
        Quasi-identifying, sensitive and insensitive columns, in the order of the source. Numeric columns are Int64 or
        Float64, dates Date, booleans Boolean, categorical columns Categorical; nulls are missing values.
    schema : Schema
        The roles; ``others="keep"`` columns have become insensitive here.
    kinds : dict of str to Kind
        Kind of every quasi-identifying and sensitive column, as declared or as read off the column.
    source : str
        What messages call the table: the file's name, or ``"table"``.
    people : numpy.ndarray or None
        int32 (n,): a number for the person behind each record, where the schema names a person column. The numbers mean
        nothing else; the column itself is gone.
    repeated : RepeatedKey or None
        Where it names none: a column that seems to be one.
    wishes : numpy.ndarray or None
        int64 (n,): the k that each record's person wishes for, 1 for none, where the schema names such a column.
    wished_l : numpy.ndarray or None
        The same for the l.
    keyless : numpy.ndarray or None
        bool (n,): whether a record has no value in the person column, so that it counts as a person of its own.
    from_text : frozenset of str
        Quasi-identifying and sensitive columns that the source has as text, so that values decided their types.
    remarks : tuple of str
        What a steward should hear of how values were read, without any of them.
    passing : frozenset of str
        Insensitive columns to which nobody gave that role: those of ``others="keep"``.
    dropped : tuple of str
        Columns of the source that ``others="drop"`` left out.
    orders : mapping of str to tuple of str
        The order of the categories of those columns for which a frame declares one.
    codes : mapping of str to mapping of str to int
        The code of each label, of those columns whose labels a file of a statistical program has.

    Raises
    ------
    InputError
        When there are no records.
    SchemaError
        When a column has no role or a role has no column, or a kind does not suit the type of its column.
    """

    frame: pl.DataFrame
    schema: Schema
    kinds: dict[str, Kind]
    source: str = "table"
    people: NDArray[np.int32] | None = None
    repeated: RepeatedKey | None = None
    wishes: NDArray[np.int64] | None = None
    wished_l: NDArray[np.int64] | None = None
    from_text: frozenset[str] = frozenset()
    keyless: NDArray[np.bool_] | None = None
    remarks: tuple[str, ...] = ()
    passing: frozenset[str] = frozenset()
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    codes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check frame, roles and kinds against each other."""
        if self.frame.height == 0:
            raise InputError("the table has no records")
        names = {*self.schema.quasi_identifying, *self.schema.sensitive, *self.schema.insensitive}
        problems = [
            f"column {name!r} has a role but is not in the table" for name in sorted(names - {*self.frame.columns})
        ]
        problems.extend(
            f"column {name!r} has a type that does not suit the kind {kind}"
            for name, kind in self.kinds.items()
            if name in self.frame.columns and not _suits(self.frame.schema[name], kind)
        )
        if self.schema.person is not None and (self.people is None or len(self.people) != self.frame.height):
            problems.append(f"{named_key(self.schema.person)}: says who people are, but has not been read")
        raise_all(SchemaError, problems)

    def take(self, rows: NDArray[np.integer] | slice) -> Table:
        """Return the table of some records, in that order."""
        wishes, wished_l = (None if each is None else each[rows] for each in (self.wishes, self.wished_l))
        return replace(
            self,
            frame=self.frame[rows],
            people=None if self.people is None else self.people[rows],
            repeated=self.repeated and replace(self.repeated, people=self.repeated.people[rows]),
            wishes=wishes,
            wished_l=wished_l,
            keyless=None if self.keyless is None else self.keyless[rows],
        )

    def distinct(self, name: str) -> Distinct:
        """Return the values of a column, and which of them each record has."""
        return distinct_of(self.frame[name])

    def counted(self, name: str) -> tuple[pl.Series, NDArray[np.int64]]:
        """Return the values of a column, rising, and how many records have each. Cost O(n)."""
        distinct = self.distinct(name)
        return distinct.values, distinct.counts

    def unchanged(self, name: str) -> pl.Series:
        """Return an insensitive column."""
        return self.frame[name]

    def look(self, name: str) -> Look:
        """Return what a column looks like, by its name and its distinct values. Cost O(n) once, O(d) for categories."""
        if name not in self._looks:
            self._looks[name] = look_at(self.frame[name])
        return self._looks[name]

    @cached_property
    def _looks(self) -> dict[str, Look]:
        return {}

    @property
    def keyless_note(self) -> str | None:
        """Say how many records have no value in the person column, if any; no value is shown."""
        missing = 0 if self.keyless is None else int(np.count_nonzero(self.keyless))
        return keyless_note(self.schema.person, missing, self.height)

    @cached_property
    def person_of(self) -> NDArray[np.int64]:
        """Number the person of each record from 0, as they appear; int64 (n,); without a column each is another."""
        if self.people is None:
            return np.arange(self.height)
        _, first, place = np.unique(self.people, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        return rank[place]

    def __repr__(self) -> str:
        """Name the table and count its records and columns; no value is shown."""
        return f"Table({self.source!r}, {self.height} records, {self.frame.width} columns)"

    def _repr_html_(self) -> str:
        """Show notebooks the columns; no value is shown."""
        from sfumato.notebook import card
        from sfumato.table.schema import roles_table

        note = f"{self.source}: {counted(self.height, 'record')}, {counted(self.frame.width, 'column')}"
        return card("Table", note, roles_table(self.schema, self.kinds))

    @property
    def height(self) -> int:
        """Number of records."""
        return self.frame.height


def _suits(dtype: pl.DataType, kind: Kind) -> bool:
    if kind is Kind.CATEGORICAL:
        return dtype == pl.String or isinstance(dtype, (pl.Categorical, pl.Enum))
    if is_measured(kind):
        return dtype.is_numeric() if kind is Kind.NUMERIC else dtype == pl.Date
    return dtype == pl.Boolean


def keyless_note(person: PersonKey, missing: int, height: int) -> str | None:
    """Say how many of so many records have no value in the person column, or one of several; no value is shown."""
    if not missing:
        return None
    return (
        f"{counted(missing, 'record')} of {height:,} {'has' if missing == 1 else 'have'} no value in "
        f"{named_key(person)}; each counts as a person of its own. Where several are of one person, there are "
        "fewer people than counted: fill the keys in, or leave such records out."
    )

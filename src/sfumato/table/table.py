"""A table of people and its schema, checked against each other, and columns that repeat as keys of people do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, SchemaError, raise_all
from sfumato.numbers import counted
from sfumato.table.distinct import Distinct, distinct_of, is_plain, private_categorical
from sfumato.table.header import Header
from sfumato.table.identification import Look, look_at
from sfumato.table.person_keys import PersonKey, named_key, number_people
from sfumato.table.schema import LARGEST_NUMBER, Kind, Schema, is_measured

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
            f"who a record is about, promises and risks count records here, not people. Have people counted with "
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


def repeated_key(
    columns: Sequence[pl.Series], schema: Schema, frame: pl.DataFrame
) -> tuple[RepeatedKey | None, tuple[str, ...]]:
    """Find the column that repeats as a key of people does, of several the one with most values; and keys that do not.

    The latter are identifying columns, and others that are called as keys are, all of whose values differ.

    An identifying column does when two records have the same value. Another of texts or whole numbers does when values
    repeat, not often, and their records are alike in quasi-identifying attributes. O(n) a column, O(n log n) where it
    repeats.
    """
    found, unique = [], []
    for column in columns:
        if not is_plain(column.dtype):
            continue
        distinct = column.to_physical().n_unique() - bool(column.null_count())
        if distinct == len(column) and (column.name in schema.identifying or _KEY.search(column.name)):
            unique.append(column.name)
        if not 1 < distinct < len(column) - column.null_count():
            continue
        key = RepeatedKey(column.name, _numbered(column))
        share = distinct / len(column)
        whole = not column.dtype.is_float() and SMALLEST <= share <= LARGEST
        if column.name in schema.identifying or (whole and _alike(key, schema, frame)):
            found.append((distinct, key))
    return max(found, key=lambda each: each[0])[1] if found else None, tuple(unique)


def _numbered(column: pl.Series) -> NDArray[np.int32]:
    """Give every value a number, int32 (n,), and every missing value one of its own."""
    # Texts without gaps get those of private categories: putting them in order would take longest.
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
    unique_keys : tuple of str
        Columns that are not published, and that may say who people are: all of their values differ.
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
    unique_keys: tuple[str, ...] = ()

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
        "fewer people than counted. Fill the keys in, or leave such records out."
    )

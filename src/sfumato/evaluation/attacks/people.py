"""People on whom attacks are tried: whose records are known, who is in the data, and who is not.

Where people have several records, an attacker knows some of them (`KnownRecords`). Linking looks for `Victims`, whose
own records score it; other attacks are tried on a `Cohort`, people in the data and those who are not in one frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, raise_all
from sfumato.evaluation.attacks.protocol import RecordsKnown, Target
from sfumato.table.distinct import distinct_of
from sfumato.table.header import columns_of, exactly
from sfumato.table.person_keys import key_in, keys_of_tables, named_key
from sfumato.table.row_order import content_hash
from sfumato.table.schema import Schema, text_of
from sfumato.table.table import Table

_SALT = 0x9E


@dataclass(frozen=True, eq=False, repr=False)
class KnownRecords:
    """The records of m people, and which of them an attacker knows.

    `person_of`: int64 (n,): the person of each record, 0 .. m − 1. `places`: int64 (r,): places of the known records,
    rising; at least one of each person.
    """

    person_of: NDArray[np.int64]
    places: NDArray[np.int64]

    @cached_property
    def people(self) -> int:
        """Number of people m."""
        return int(self.person_of.max(initial=-1)) + 1

    @property
    def alone(self) -> bool:
        """Tell whether everybody has one record."""
        return self.people == len(self.person_of)

    @property
    def owners(self) -> NDArray[np.int64]:
        """Return the person of each known record, int64 (r,)."""
        return self.person_of[self.places]

    @cached_property
    def records(self) -> NDArray[np.int64]:
        """Return how many records each person has, int64 (m,)."""
        return np.bincount(self.person_of, minlength=self.people).astype(np.int64, copy=False)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Return how many records are known of each person, int64 (m,)."""
        return np.bincount(self.owners, minlength=self.people).astype(np.int64, copy=False)

    def of_people(self, people: slice) -> tuple[KnownRecords, NDArray[np.int64]]:
        """Return what is known of some people, numbered from 0 again, and the places of their records."""
        start, stop, _ = people.indices(self.people)
        chosen = (self.person_of >= start) & (self.person_of < stop)
        rows = np.flatnonzero(chosen)
        place_of = np.cumsum(chosen) - 1
        some = self.places[chosen[self.places]]
        return KnownRecords(self.person_of[rows] - start, place_of[some]), rows


def known_records(target: Target, table: Table) -> KnownRecords:
    """Choose the records of each person in a table that the target's attacker knows. Cost O(n log n).

    Which ones is drawn with the target's seed, and depends on what records hold, not on their order.
    """
    person_of = table.person_of
    everything = KnownRecords(person_of, np.arange(len(person_of)))
    if target.records_known == "all" or everything.alone:
        return everything
    most = 1 if target.records_known == "one" else int(target.records_known)
    key = np.random.default_rng(None if target.seed is None else [target.seed, _SALT]).integers(0, 1 << 63)
    columns = [distinct_of(table.frame[name]) for name in (*table.schema.quasi_identifying, *table.schema.sensitive)]
    codes = [column.rank_of[column.raw] for column in columns if len(column.raw)]
    drawn = content_hash(np.column_stack([np.full(len(person_of), key, dtype=np.int64), *codes]).astype(np.uint64))
    return KnownRecords(person_of, np.flatnonzero(rank_within(person_of, drawn) < most))


def rank_within(owner: NDArray[np.integer], values: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return each entry's rank by value among those of its owner, from 0; equal ones in order of place; int64 (n,)."""
    order = np.lexsort((values, owner))
    sorted_owner = owner[order]
    starts = np.flatnonzero(np.append(True, sorted_owner[1:] != sorted_owner[:-1])) if len(order) else order
    lengths = np.diff(np.append(starts, len(order)))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(starts, lengths)
    return rank


def by_person(values: NDArray[np.float64], owner: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of each owner's values, in order of owners; float64 (n,) to float64 (owners,)."""
    people, place = np.unique(owner, return_inverse=True)
    if len(people) == len(owner):
        return values
    means: NDArray[np.float64] = np.bincount(place, values) / np.bincount(place)
    return means


def is_number_known(value: object) -> bool:
    """Tell whether a value says how many records an attacker knows of each person."""
    if isinstance(value, str):
        return value in ("all", "one")
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def records_in_words(known: RecordsKnown) -> str:
    """Say how many records of somebody an attacker knows."""
    if isinstance(known, str):
        return "all records of theirs" if known == "all" else "one record of theirs"
    return f"up to {known} records of theirs"


KEY = "\x1e"
"""Column with a record's other values in one text; no attribute has such a name."""


_BETWEEN = "\x1f"


@dataclass(frozen=True, eq=False, repr=False)
class Victims:
    """People whose quasi-identifying values an attacker knows: r rows of m people, and their o records in the data."""

    frame: pl.DataFrame
    schema: Schema
    owner: NDArray[np.int64]
    own: OwnRecords

    @classmethod
    def outside(cls, frame: pl.DataFrame, schema: Schema, owner: NDArray[np.int64]) -> Victims:
        """Return people who are not in the data."""
        return cls(frame, schema, owner, OwnRecords(frame.clear(), owner[:0], pl.Series(KEY, [], dtype=pl.String)))

    @cached_property
    def people(self) -> int:
        """Number of people m."""
        return int(max(self.owner.max(initial=-1), self.own.person.max(initial=-1))) + 1

    @property
    def alone(self) -> bool:
        """Tell whether one record of each is known, and nobody has more."""
        return len(self.owner) == self.people and not (np.bincount(self.own.person) > 1).any()

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Tell who is in the data, bool (m,)."""
        known: NDArray[np.bool_] = np.bincount(self.own.person, minlength=self.people) > 0
        return known


@dataclass(frozen=True, eq=False, repr=False)
class OwnRecords:
    """The records of some people in the data: whose, values that linking does not use, and places (None: all)."""

    frame: pl.DataFrame
    person: NDArray[np.int64]
    keys: pl.Series
    rows: NDArray[np.int64] | None = None


def victims_of(target: Target, published: pl.DataFrame) -> Victims:
    """Return the people of the register with all that it says of them, or everybody in the data if there is none.

    Raises InputError when a register and the original cannot be compared, because they share no column that says who is
    who, or it does not.
    """
    original = target.original
    keys = key_of(original.frame, unchanged_columns(published, target))
    if target.register is None:
        known = known_records(target, original)
        own = OwnRecords(original.frame, known.person_of, keys)
        return Victims(original.frame[known.places], original.schema, known.owners, own)
    owner, person = _matched(target.register, original)
    rows = np.flatnonzero(person >= 0)
    own = OwnRecords(original.frame[rows], person[rows], keys.gather(rows), rows)
    return Victims(target.register, _with_kinds(original), owner, own)


def _with_kinds(original: Table) -> Schema:
    """Return the schema with every kind said: a register that was read as text has its own columns by it."""
    quasi = {
        name: attribute if attribute.kind is not None else replace(attribute, kind=original.kinds.get(name))
        for name, attribute in original.schema.quasi_identifying.items()
    }
    return replace(original.schema, quasi_identifying=quasi)


def _matched(register: pl.DataFrame, original: Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the person of each row of a register, and of each record of the original; −1 if the register lacks them.

    A register names a person once: its rows with one key, or with one name, are of one person.
    """
    frame, schema = original.frame, original.schema
    naming = [*([schema.key_columns] if schema.key_columns else []), *((name,) for name in schema.identifying)]
    shared = [names for names in naming if {*names} <= {*frame.columns} & {*register.columns}]
    if not shared:
        raise InputError(
            "register: shares no column of names with the original, so nobody knows who is in the data; give the "
            "original as a frame or file, with a schema that names the column as identifying"
        )
    asked, truth = keys_of_tables([key_in(table, shared[0]) for table in (register, frame)], schema.key_form)
    raise_all(InputError, _naming_problems(named_key(shared[0]), asked, truth, original))
    # Who has no name is a person of its own, and nobody knows which.
    numbers = asked.drop_nulls().unique(maintain_order=True)
    place_of = dict(zip(numbers.to_list(), range(len(numbers)), strict=True))
    owner = np.array([place_of.get(text, -1) for text in asked.to_list()], dtype=np.int64)
    unnamed = owner < 0
    owner[unnamed] = len(place_of) + np.arange(np.count_nonzero(unnamed))
    person = np.array([-1 if text is None else place_of.get(text, -1) for text in truth.to_list()], dtype=np.int64)
    if not (person >= 0).any():
        raise InputError(
            f"register: nobody in it is in the data by the names in {named_key(shared[0])}; correct the names"
        )
    return first_numbered(owner, person)


def first_numbered(owner: NDArray[np.int64], person: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give owners new numbers in the order in which they first appear, and `person` (−1: nobody) the same."""
    _, first, place = np.unique(owner, return_index=True, return_inverse=True)
    rank = np.empty(len(first) + 1, dtype=np.int64)
    rank[np.argsort(first)], rank[-1] = np.arange(len(first)), -1
    return rank[place], rank[person]


def _naming_problems(named: str, asked: pl.Series, truth: pl.Series, original: Table) -> list[str]:
    """Say where names do not tell people apart: repeated ones without a person column, or ones of several people."""
    if original.people is None:
        return [
            f"{what}: {repeated} name(s) in {named} repeat an earlier one; make them unique, or declare the "
            "column that says who a record is about (person)"
            for what, names in (("original", truth), ("register", asked))
            if (repeated := names.drop_nulls().len() - names.drop_nulls().n_unique())
        ]
    both = pl.DataFrame({"name": truth, "person": original.people}).drop_nulls()
    several = both.group_by("name").agg(pl.col("person").n_unique()).filter(pl.col("person") > 1).height
    return [f"original: {several} name(s) in {named} are of several people; correct them"] if several else []


def unchanged_columns(published: pl.DataFrame, target: Target) -> tuple[str, ...]:
    """Name the columns of a release that are published unchanged."""
    schema = target.original.schema
    others = (*schema.sensitive, *schema.insensitive)
    return tuple(name for name in others if name in published.columns and name in target.original.frame.columns)


def key_of(frame: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    """Put the values of some columns into one text for each row; an empty text if there are none."""
    texts = [text_of(frame[name]).fill_null(KEY) for name in names]
    if not texts:
        return pl.Series(KEY, [""] * frame.height, dtype=pl.String)
    return pl.DataFrame(texts).select(pl.concat_str(pl.all(), separator=_BETWEEN).alias(KEY)).to_series()


@dataclass(frozen=True, eq=False, repr=False)
class Cohort:
    """People in the data, first, then the control group; whose records they are, and which the attacker knows."""

    table: Table
    known: KnownRecords
    members: int
    insiders: int

    @property
    def frame(self) -> pl.DataFrame:
        """Return their values."""
        return self.table.frame

    @property
    def outsiders(self) -> int:
        """Return the number of people who are not in the data."""
        return self.known.people - self.insiders

    def both(self, scores: NDArray[np.generic]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Split what was found of each person: people in the data, and those who are not."""
        return scores[: self.insiders], scores[self.insiders :]


def cohort_of(target: Target) -> Cohort:
    """Stack the people in the data and the control group, if any; O(cells). InputError for columns of two kinds."""
    original, control = target.original, target.control
    names = [name for name in original.frame.columns if control is None or name in control.frame.columns]
    parts = [_plain(columns_of(table.frame, names)) for table in (original, control) if table is not None]
    unlike = [name for name in names if control is not None and _unlike(*(part.schema[name] for part in parts))]
    raise_all(
        InputError,
        [f"control, column {name!r}: is of another kind than in the data; read both by one schema" for name in unlike],
    )
    frame = pl.concat(parts, how="vertical_relaxed")
    kinds = {name: kind for name, kind in original.kinds.items() if name in names}
    schema = replace(original.schema, person=None, wished_k=None, wished_l=None)
    known = known_records(target, original)
    members, insiders = original.height, known.people
    if control is not None:
        others = known_records(target, control)
        places = np.concatenate([known.places, others.places + members])
        known = KnownRecords(np.concatenate([known.person_of, others.person_of + insiders]), places)
    return Cohort(Table(frame, schema, kinds, original.source), known, members, insiders)


def generator_of(target: Target, salt: int) -> np.random.Generator:
    """Return a generator with the target's seed, `salt` telling attacks apart, or one from the operating system."""
    return np.random.default_rng(None if target.seed is None else [target.seed, salt])


def nothing_shared() -> InputError:
    """Return the error for a release that has none of the attributes that the attacker knows."""
    return InputError(
        "the release and the people share no attribute that the attacker knows, so nothing links them; give the "
        "schema or policy that the release was made with"
    )


def _unlike(one: pl.DataType, other: pl.DataType) -> bool:
    return one != other and not (one.is_numeric() and other.is_numeric())


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    # Categories of two tables are numbered separately; as text they are comparable.
    names = [name for name, dtype in frame.schema.items() if isinstance(dtype, (pl.Categorical, pl.Enum))]
    return frame.with_columns(exactly(*names).cast(pl.String))

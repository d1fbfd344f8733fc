"""The people of a linking attack, and how scoring recognizes their records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, raise_all
from sfumato.evaluation.attacks.known_records import known_records
from sfumato.evaluation.attacks.protocol import Target
from sfumato.table.kinds import text_of
from sfumato.table.schema import Schema
from sfumato.table.table import Table

KEY = "\x1e"
"""Column with a record's other values in one text; no attribute has such a name."""

_BETWEEN = "\x1f"


@dataclass(frozen=True, eq=False, repr=False)
class Victims:
    """People whose quasi-identifying values an attacker knows.

    Letters: m people, r known records of theirs, o records of theirs in the data.

    Attributes
    ----------
    frame : polars.DataFrame
        What is known, r rows.
    schema : Schema
    owner : numpy.ndarray
        int64 (r,): the person of each row, 0 .. m − 1.
    own : OwnRecords
        For scoring alone.
    """

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
    """The records of some people in the data.

    Attributes
    ----------
    frame : polars.DataFrame
        o rows.
    person : numpy.ndarray
        int64 (o,): whose they are.
    keys : polars.Series
        String (o,): the values of each record that linking does not use.
    rows : numpy.ndarray or None
        int64 (o,): their places in the original; None where they are all of it, in its order.
    """

    frame: pl.DataFrame
    person: NDArray[np.int64]
    keys: pl.Series
    rows: NDArray[np.int64] | None = None


def victims_of(target: Target, published: pl.DataFrame) -> Victims:
    """Return the people of the register with all that it says of them, or everybody in the data if there is none.

    Raises
    ------
    InputError
        When a register and the original cannot be compared, because they share no column that says who is who, or it
        does not.
    """
    original = target.original
    keys = key_of(original.frame, key_columns(published, target))
    if target.register is None:
        known = known_records(target, original)
        own = OwnRecords(original.frame, known.person_of, keys)
        return Victims(original.frame[known.told], original.schema, known.owners, own)
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
    shared = [
        one
        for one in ((schema.person,) if schema.person is not None else ()) + schema.identifying
        if one in frame.columns and one in register.columns
    ]
    if not shared:
        raise InputError(
            "register: shares no column of names with the original, so nobody knows who is in the data; give the "
            "original as a frame or file, with a schema that names the column as identifying"
        )
    name = shared[0]
    asked, truth = text_of(register[name]), text_of(frame[name])
    raise_all(InputError, _naming_problems(name, asked, truth, original))
    # Who has no name is a person of its own, and nobody knows which.
    numbers = asked.drop_nulls().unique(maintain_order=True)
    place_of = dict(zip(numbers.to_list(), range(len(numbers)), strict=True))
    owner = np.array([place_of.get(text, -1) for text in asked.to_list()], dtype=np.int64)
    unnamed = owner < 0
    owner[unnamed] = len(place_of) + np.arange(np.count_nonzero(unnamed))
    person = np.array([-1 if text is None else place_of.get(text, -1) for text in truth.to_list()], dtype=np.int64)
    if not (person >= 0).any():
        raise InputError(f"register: nobody in it is in the data by the names in column {name!r}; correct the names")
    return first_numbered(owner, person)


def first_numbered(owner: NDArray[np.int64], person: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give owners new numbers in the order in which they first appear, and `person` (−1: nobody) the same."""
    _, first, place = np.unique(owner, return_index=True, return_inverse=True)
    rank = np.empty(len(first) + 1, dtype=np.int64)
    rank[np.argsort(first)], rank[-1] = np.arange(len(first)), -1
    return rank[place], rank[person]


def _naming_problems(name: str, asked: pl.Series, truth: pl.Series, original: Table) -> list[str]:
    """Say where names do not tell people apart: repeated ones without a person column, or ones of several people."""
    if original.people is None:
        return [
            f"{what}: {repeated} name(s) in column {name!r} repeat an earlier one; make them unique, or declare the "
            "column that says who a record is about (person)"
            for what, names in (("original", truth), ("register", asked))
            if (repeated := names.drop_nulls().len() - names.drop_nulls().n_unique())
        ]
    both = pl.DataFrame({"name": truth, "person": original.people}).drop_nulls()
    several = both.group_by("name").agg(pl.col("person").n_unique()).filter(pl.col("person") > 1).height
    return [f"original: {several} name(s) in column {name!r} are of several people; correct them"] if several else []


def key_columns(published: pl.DataFrame, target: Target) -> tuple[str, ...]:
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

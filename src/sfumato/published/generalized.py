"""A generalized table: one row for each record, quasi-identifying values made coarser."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, raise_all
from sfumato.published.protocol import column_problems, structure_names

# The column of a published table that says which rows of a class are of one person, and what is promised of it.


PERSON = "person_in_class"
"""The column that Sfumato writes."""
MOST_KNOWN = 3


@dataclass(frozen=True)
class Pseudonyms:
    """Numbers of people, each valid in one class."""

    column: str = PERSON  # holds them: whole numbers from 1 on, without gap in any class
    known_values: int = 1  # how many sensitive values of a person an attacker is thought to know, 1 to 3
    # How many people of a class must have, at least, any `known_values` values of one attribute that somebody in it
    # has. None: nothing is promised of that.
    fingerprint_k: int | None = None

    def sentence(self) -> str:
        """Say what is promised of values, if anything is."""
        if self.fingerprint_k is None:
            return ""
        values = "every value" if self.known_values == 1 else f"any {self.known_values} values"
        verb = "is" if self.known_values == 1 else "are"
        return f"{values} of one attribute that somebody has {verb} had by {self.fingerprint_k:,} people of the class"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for ``release.json``."""
        promise = {} if self.fingerprint_k is None else {"fingerprint_k": self.fingerprint_k}
        return {"column": self.column, "known_values": self.known_values, **promise}

    @classmethod
    def read(cls, given: object) -> Pseudonyms | None:
        """Read what a release says; None where it says nothing. Raises ``InputError`` when it is none of this."""
        if given is None:
            return None
        if not isinstance(given, Mapping) or not {"column", "known_values"} <= {*given} <= _KEYS:
            raise InputError("generalized table: pseudonyms must name a column and how many values are known")
        column, known, least = given["column"], given["known_values"], given.get("fingerprint_k")
        in_range = _is_between(known, MOST_KNOWN) and (least is None or _is_between(least))
        if not isinstance(column, str) or not in_range:
            raise InputError("generalized table: pseudonyms name no column, or numbers that are out of range")
        return cls(column, known, least)


_KEYS = {"column", "known_values", "fingerprint_k"}


def _is_between(given: object, most: int = 2**31) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= most


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """A generalized table, clustered ones included."""

    kind: ClassVar[str] = "generalized-table"
    whole_numbers: ClassVar[tuple[str, ...]] = ()
    promising: ClassVar[bool] = True
    publishes_chosen: ClassVar[bool] = False
    limits: ClassVar[tuple[str, ...]] = (
        "k-anonymity hides who a record belongs to, not what all records of a class share; l-diversity and t-closeness "
        "do.",
        "It does not hide whether somebody is in the table, and does not stand up to a second release of the same "
        "people.",
    )
    data: pl.DataFrame  # one row for each published record, in random order
    # `quasi_identifying`, `sensitive`: columns with these roles; every other column is insensitive
    quasi_identifying: tuple[str, ...]
    sensitive: tuple[str, ...]
    # the column that says how many each class promises at least, where people wished for a k of their own
    promised: str | None = None
    promised_l: str | None = None  # the same for the l
    # the column that says which rows of a class are of one person, where that is published
    pseudonyms: Pseudonyms | None = None
    # `class_number`, `counterfeits`: the columns that say to which class a row belongs, and how many rows of the class
    # are invented (m-invariance)
    class_number: str | None = None
    counterfeits: str | None = None
    # Int64 (m,), where `data` has each distinct row once, to be recounted: how many records each stands for. None:
    # every row is one.
    records: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        """Check that the table has the named columns, each in one role."""
        named = (*self.quasi_identifying, *self.sensitive, *self.added)
        problems = column_problems("generalized table", self.data, named, alone=False)
        if not self.quasi_identifying:
            problems.append("generalized table: names no quasi-identifying column")
        raise_all(InputError, problems)

    @property
    def added(self) -> tuple[str, ...]:
        """Return the columns that are none of the original's."""
        numbered = None if self.pseudonyms is None else self.pseudonyms.column
        return tuple(name for name in (*self.promises.values(), numbered, *self.invented.values()) if name is not None)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the only table."""
        return {"data": self.data}

    @property
    def structure(self) -> dict[str, Any]:
        """Return the roles of the columns."""
        roles = {"quasi_identifying": list(self.quasi_identifying), "sensitive": list(self.sensitive)}
        numbered = {} if self.pseudonyms is None else {"pseudonyms": self.pseudonyms.to_dict()}
        return {**roles, **self.promises, **numbered, **self.invented}

    @property
    def promises(self) -> dict[str, str]:
        """The columns that say what classes promise to those who wish for a k or an l of their own."""
        named = {"promised": self.promised, "promised_l": self.promised_l}
        return {key: name for key, name in named.items() if name is not None}

    @property
    def invented(self) -> dict[str, str]:
        """The columns that number classes and count the counterfeits in them."""
        named = {"class_number": self.class_number, "counterfeits": self.counterfeits}
        return {key: name for key, name in named.items() if name is not None}

    @classmethod
    def assemble(cls, tables: Mapping[str, pl.DataFrame], structure: Mapping[str, Any]) -> Self:
        """Rebuild the value from what was written."""
        try:
            names = structure_names(structure, "quasi_identifying"), structure_names(structure, "sensitive")
        except ValueError as error:
            raise InputError(f"generalized table: {error}") from None
        promised, promised_l, *invented = map(structure.get, ("promised", "promised_l", "class_number", "counterfeits"))
        if not all(name is None or isinstance(name, str) for name in (promised, promised_l, *invented)):
            raise InputError("generalized table: promised, class_number and counterfeits must name a column")
        numbered = Pseudonyms.read(structure.get("pseudonyms"))
        return cls(tables["data"], *names, promised, promised_l, numbered, *invented)


@dataclass(frozen=True, eq=False)
class RandomizedTable:
    """A table whose values were randomized; it promises no syntactic model."""

    kind: ClassVar[str] = "randomized-table"
    whole_numbers: ClassVar[tuple[str, ...]] = ()
    promising: ClassVar[bool] = False
    publishes_chosen: ClassVar[bool] = False
    limits: ClassVar[tuple[str, ...]] = (
        "No privacy model is promised: how well people are hidden depends on how much was changed, and has to be "
        "measured by attacks.",
    )
    data: pl.DataFrame  # one row for each published record, in random order
    quasi_identifying: tuple[str, ...]
    sensitive: tuple[str, ...]
    # records of the original that each row stands for, 1 or above; more than 1 where rows are a sample
    weight: float = 1.0

    def __post_init__(self) -> None:
        """Check that the table has the named columns, each in one role."""
        named = (*self.quasi_identifying, *self.sensitive)
        problems = column_problems("randomized table", self.data, named, alone=False)
        if not self.quasi_identifying:
            problems.append("randomized table: names no quasi-identifying column")
        if not _is_weight(self.weight):
            problems.append("randomized table: weight must be a number of 1 or above")
        raise_all(InputError, problems)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the only table."""
        return {"data": self.data}

    @property
    def structure(self) -> dict[str, Any]:
        """Return the roles of the columns, and what a row stands for."""
        roles = {"quasi_identifying": list(self.quasi_identifying), "sensitive": list(self.sensitive)}
        return {**roles, "weight": self.weight}

    @classmethod
    def assemble(cls, tables: Mapping[str, pl.DataFrame], structure: Mapping[str, Any]) -> Self:
        """Rebuild the value from what was written."""
        try:
            names = structure_names(structure, "quasi_identifying"), structure_names(structure, "sensitive")
        except ValueError as error:
            raise InputError(f"randomized table: {error}") from None
        return cls(tables["data"], *names, structure.get("weight", 1.0))


def _is_weight(weight: object) -> bool:
    return isinstance(weight, (int, float)) and not isinstance(weight, bool) and 1 <= weight < math.inf

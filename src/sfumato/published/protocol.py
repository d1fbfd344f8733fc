"""What every kind of published data has in common, and the generalized table, the first of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, raise_all
from sfumato.numbers import counted
from sfumato.table.row_order import settled_rows


@runtime_checkable
class Published(Protocol):
    """Tables that a recipient holds; frozen dataclasses that refuse contradictions when built: all may be changed."""

    kind: ClassVar[str]
    """The name in ``release.json``, e.g. ``"sliced-table"``."""
    whole_numbers: ClassVar[tuple[str, ...]]
    """Columns that the kind itself adds, which hold whole numbers; no attribute may have their names."""
    promising: ClassVar[bool]
    """Whether this kind can promise privacy models; if not, it is published without any."""
    publishes_chosen: ClassVar[bool]
    """Whether such a release may hold only some of the quasi-identifying and sensitive columns."""
    limits: ClassVar[tuple[str, ...]]
    """What this kind of data does not hide, in sentences for reports."""

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return every table under the name of its file, without ending."""
        ...

    @property
    def structure(self) -> dict[str, Any]:
        """Return what a reader must know besides the tables, as plain values for ``release.json``."""
        ...

    @classmethod
    def assemble(cls, tables: Mapping[str, pl.DataFrame], structure: Mapping[str, Any]) -> Self:
        """Rebuild the value from what was written; raise ``InputError`` when the parts do not fit each other."""
        ...


Some = TypeVar("Some", bound=Published)


def order_by_content(published: Some) -> Some:
    """Return a release whose rows, and what is drawn of them, stand in an order that depends on what they hold."""
    if isinstance(getattr(published, "records", None), np.ndarray):
        return published
    rows = {name: settled_rows(table) for name, table in published.tables.items()}
    return type(published).assemble(rows, published.structure)


def sensitive_names(published: Published) -> tuple[str, ...]:
    """Return the names of the sensitive attributes that are published."""
    named = published.structure["sensitive"]
    return (named,) if isinstance(named, str) else tuple(named)


def structure_text(structure: Mapping[str, Any], name: str) -> str:
    """Return one text of a structure, or raise ValueError."""
    value = structure.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} is not a text")
    return value


def structure_names(structure: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return one list of names of a structure, or raise ValueError."""
    value = structure.get(name)
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise ValueError(f"{name} is not a list of names")
    return tuple(value)


def structure_columns(structure: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Return the lists of names under ``columns`` of a structure, or raise ValueError."""
    entries = structure.get("columns")
    if not isinstance(entries, list):
        raise ValueError("columns is not a list")
    return tuple(structure_names({"columns": entry}, "columns") for entry in entries)


def column_problems(what: str, frame: pl.DataFrame, names: Sequence[str], *, alone: bool = True) -> list[str]:
    """Say which of `names` a table lacks or has twice, and, if they are `alone`, what else it has."""
    if len(set(names)) < len(names):
        return [f"{what}: a column is named twice"]
    missing = [f"{what}: has no column {name!r}" for name in names if name not in frame.columns]
    # Not by name: if a file lost its header, the names are values.
    more = len(set(frame.columns) - set(names)) if alone else 0
    return [*missing, *([f"{what}: has {counted(more, 'column')} too many"] if more else [])]


MOST_NAMES = 30
"""Most columns of one role that a line of text names; the others are counted."""


@dataclass(frozen=True)
class Roles:
    """The roles that a recount used.

    * `quasi_identifying`: what an attacker may know.
    * `sensitive`: what must stay hidden.
    * `unprotected`: insensitive columns, which are published unchanged: no model protects them.
    """

    quasi_identifying: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    unprotected: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, list[str]]:
        """Return plain values, for JSON."""
        return {name: list(getattr(self, name)) for name in ("quasi_identifying", "sensitive", "unprotected")}

    def lines(self) -> list[str]:
        """Return what a reader should know, as lines of text."""
        protected = [
            f"{role} {named(names)}"
            for role, names in (("quasi-identifying", self.quasi_identifying), ("sensitive", self.sensitive))
            if names
        ]
        lines = [f"roles: {'; '.join(protected)}"] if protected else []
        return [*lines, *([f"unprotected: {named(self.unprotected)}"] if self.unprotected else [])]


def roles_of(published: Published) -> Roles:
    """Return the roles of all attributes from published tables of any kind and their structure."""
    structure, sensitive = published.structure, sensitive_names(published)
    if "columns" in structure:
        attributes = list(dict.fromkeys(name for column in structure["columns"] for name in column))
        unprotected = tuple(structure.get("insensitive", ()))
        hidden = {*sensitive, *unprotected}
        return Roles(tuple(name for name in attributes if name not in hidden), sensitive, unprotected)
    quasi = tuple(structure["quasi_identifying"])
    own = {*quasi, *sensitive, *published.whole_numbers, *getattr(published, "added", ())}
    columns = dict.fromkeys(name for frame in published.tables.values() for name in frame.columns)
    return Roles(quasi, sensitive, tuple(name for name in columns if name not in own))


def named(names: Iterable[str]) -> str:
    """List names in a line of text; names that could be misread as several names or lines are quoted."""
    listed = [_plain(name) for name in names]
    more = len(listed) - MOST_NAMES
    return ", ".join(listed[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _plain(name: str) -> str:
    is_plain = name.isprintable() and name == name.strip() and name and not {",", ";", "'"} & {*name}
    return name if is_plain else repr(name)


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
        "It does not hide whether somebody is in the table.",
        "It does not stand up to a second release of the same people.",
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
        "No privacy model is promised. How well people are hidden depends on how much was changed. Attacks measure it.",
    )
    data: pl.DataFrame  # one row for each published record, in random order
    quasi_identifying: tuple[str, ...]
    sensitive: tuple[str, ...]
    # records of the original that each row stands for, 1 or above; more than 1 where rows are a sample
    weight: float = 1.0
    # models, by name and parameters, of the classes inside which values were drawn, where these are not published
    classes: tuple[Mapping[str, Any], ...] = ()

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
        classes = {"classes": [dict(entry) for entry in self.classes]} if self.classes else {}
        return {**roles, "weight": self.weight, **classes}

    @classmethod
    def assemble(cls, tables: Mapping[str, pl.DataFrame], structure: Mapping[str, Any]) -> Self:
        """Rebuild the value from what was written."""
        try:
            names = structure_names(structure, "quasi_identifying"), structure_names(structure, "sensitive")
            classes = _models_of(structure.get("classes", []))
        except ValueError as error:
            raise InputError(f"randomized table: {error}") from None
        return cls(tables["data"], *names, structure.get("weight", 1.0), classes)


def _models_of(entries: object) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and entry.get("name") for entry in entries):
        raise ValueError("classes is not a list of models")
    for entry in entries:
        structure_text(entry, "name")
    return tuple(entries)


def _is_weight(weight: object) -> bool:
    return isinstance(weight, (int, float)) and not isinstance(weight, bool) and 1 <= weight < math.inf

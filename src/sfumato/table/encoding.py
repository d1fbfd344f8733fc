"""Encoding: every quasi-identifying and sensitive column becomes integer codes, measured against its domain.

Numbers and dates: rank among the sorted distinct values. Ordered texts: rank in their declared order. Categories with a
hierarchy: leaf number in depth-first order, so that every node is a range of codes. Categories without one: rank by
frequency (see decision record 2). A missing value is a value of its own and has the largest code of its attribute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import HierarchyError, InputError, SchemaError, SfumatoError, raise_together, said_of
from sfumato.hierarchy.tree import Hierarchy, HierarchySpecification
from sfumato.table.distinct import Distinct, distinct_of
from sfumato.table.schema import LARGEST_NUMBER, Attribute, Kind, is_measured, text_of
from sfumato.table.table import Table

_EPOCH = date(1970, 1, 1)

NARROWEST = 1e-70
"""Smallest range of numbers that are not all equal: its fourth power is above 0, and one over that is finite."""


def domain_extent(name: str, kind: Kind, attribute: Attribute, distinct: Distinct) -> tuple[float, float, int]:
    """Return low end and width of the domain (0 for categories) and its number of values, a missing one included.

    Raises ``InputError`` when a value is infinite or outside the declared domain, or the range is too small to measure
    distances by. Raises ``SchemaError`` when the declared domain does not suit the kind.
    """
    occurring = len(distinct.values) + (distinct.missing > 0)
    if not is_measured(kind):
        if attribute.domain is None:
            return 0.0, 0.0, occurring
        declared = [str(value) for value in attribute.domain]
        _refuse(name, ~text_of(distinct.values).is_in(declared).to_numpy(), distinct)
        return 0.0, 0.0, len(declared) + (distinct.missing > 0)
    numbers = distinct.values.to_physical().cast(pl.Float64).to_numpy()
    _refuse_infinite(name, numbers, distinct)
    if len(numbers) and 0 < numbers[-1] - numbers[0] < NARROWEST:
        raise InputError(
            f"column {name!r}: its numbers differ, but by less than {NARROWEST:g}, too little to measure distances by; "
            "count them in a smaller unit, or declare the column categorical"
        )
    if attribute.domain is None:
        if not len(numbers):
            return 0.0, 0.0, occurring
        return float(numbers[0]), float(numbers[-1] - numbers[0]), occurring
    low, high = domain_borders(name, kind, attribute.domain)
    _refuse(name, (numbers < low) | (numbers > high), distinct)
    return low, high - low, occurring


def _refuse(name: str, outside: NDArray[np.bool_], distinct: Distinct) -> None:
    if outside.any():
        raise InputError(
            f"column {name!r}: {distinct.counts[outside].sum()} record(s) have a value outside the declared domain, "
            f"first in row {distinct.first_record(outside)}; widen the domain or correct the records"
        )


def _refuse_infinite(name: str, numbers: NDArray[np.float64], distinct: Distinct) -> None:
    infinite = np.abs(numbers) > LARGEST_NUMBER
    if infinite.any():
        raise InputError(
            f"column {name!r}: {distinct.counts[infinite].sum()} record(s) have an infinite number, first in row "
            f"{distinct.first_record(infinite)}, or one beyond {LARGEST_NUMBER:g}; make them missing or correct them"
        )


def domain_borders(name: str, kind: Kind, domain: tuple[object, ...]) -> tuple[float, float]:
    """Return both ends of a declared domain of numbers or dates, or raise SchemaError when it is not one."""
    needed = "two dates in ISO form" if kind is Kind.DATE else "two numbers"
    try:
        low, high = (_border(kind, value) for value in domain)
    except (TypeError, ValueError):
        low, high = 0.0, 0.0
    if not low < high:
        raise SchemaError(f"column {name!r}: the domain of a {kind} column is {needed}, the lowest and the highest")
    if max(-low, high) > LARGEST_NUMBER or high - low < NARROWEST:
        raise SchemaError(
            f"column {name!r}: the domain must lie between {-LARGEST_NUMBER:g} and {LARGEST_NUMBER:g} and be at least "
            f"{NARROWEST:g} wide"
        )
    return low, high


def _border(kind: Kind, value: object) -> float:
    if kind is Kind.DATE:
        return float((date.fromisoformat(str(value)) - _EPOCH).days)
    return float(str(value))


# On which grid the intervals of an attribute end, where that was settled before its values were seen.


@dataclass(frozen=True)
class IntervalGrid:
    """The grid of an attribute of numbers or dates; a series of releases keeps that of its first one."""

    # what the attribute is counted in: of numbers 1, 2 or 5 and a power of ten, of dates ``"D"``, ``"M"`` or ``"Y"``
    unit: str | tuple[int, int]
    whole: bool  # whether all values are whole numbers, whose intervals are written closed
    # `low`, `high`: ends of a declared domain beyond which no interval reaches; None where none is to be shown
    low: float | None = None
    high: float | None = None
    bins: int = 4  # most bins of an interval; how a release is published decides it, so that no ledger keeps it

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {name: value for name, value in asdict(self).items() if name != "bins"}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Build it from plain values, or raise KeyError or TypeError."""
        unit = values["unit"]
        grid_unit = unit if isinstance(unit, str) else (unit[0], unit[1])
        return cls(grid_unit, values["whole"], values["low"], values["high"])


# The order in which the values of one attribute are numbered.


Order = Literal["frequency", "name"]


@dataclass(frozen=True, eq=False, repr=False)
class Numbering:
    """Codes of the distinct values of an attribute. Letters: d distinct values, v codes (≥ d with unused leaves)."""

    labels: pl.Series  # text behind each code, length v
    codes: NDArray[np.int64]  # (d,): code of each distinct value
    # float64 (v,): number behind each code, rising; of ordered values their place in the order. None for categories,
    # booleans and under a hierarchy
    numbers: NDArray[np.float64] | None = None
    hierarchy: Hierarchy | None = None


def encode_values(
    name: str, kind: Kind, specification: HierarchySpecification | None, distinct: Distinct, order: Order
) -> Numbering:
    """Assign codes to the values of an attribute: by leaf, by size, or as categories by `order`.

    Raises ``HierarchyError`` when the hierarchy does not cover every value.
    """
    values = distinct.values
    # A column of nothing but missing values has nothing to build a hierarchy from.
    if specification is not None and len(values):
        return _by_leaf(name, specification, distinct)
    if is_measured(kind):
        numbers = values.to_physical().cast(pl.Float64).to_numpy()
        return Numbering(text_of(values), np.arange(len(values)), numbers)
    if kind is Kind.CATEGORICAL and order == "frequency":
        return _by_frequency(distinct)
    return Numbering(text_of(values), np.arange(len(values)))


def _by_frequency(distinct: Distinct) -> Numbering:
    # A stable sort keeps the text order among equally frequent values.
    ranking = np.argsort(-distinct.counts, kind="stable")
    codes = np.empty(len(ranking), dtype=np.int64)
    codes[ranking] = np.arange(len(ranking))
    return Numbering(distinct.values[ranking], codes)


def _by_order(distinct: Distinct, declared: Sequence[str]) -> Numbering:
    """Give values the numbers of their places in a declared order, which has them all."""
    place_of = {label: place for place, label in enumerate(declared)}
    places = np.array([place_of[text] for text in text_of(distinct.values)], dtype=np.int64)
    ranking = np.argsort(places)
    codes = np.empty(len(places), dtype=np.int64)
    codes[ranking] = np.arange(len(places))
    return Numbering(text_of(distinct.values[ranking]), codes, places[ranking].astype(np.float64))


def _by_leaf(name: str, specification: HierarchySpecification, distinct: Distinct) -> Numbering:
    hierarchy = specification.build(distinct.values, name=name)
    leaf_of = {label: leaf for leaf, label in enumerate(hierarchy.leaves)}
    codes = np.array([leaf_of.get(text, -1) for text in text_of(distinct.values)], dtype=np.int64)
    strangers = codes < 0
    if strangers.any():
        raise HierarchyError(
            f"{name}: {np.count_nonzero(strangers)} original value(s) are not in the hierarchy, first in row "
            f"{distinct.first_record(strangers)}; add them to its level 0"
        )
    labels = pl.Series(name, hierarchy.leaves, dtype=pl.String)
    return Numbering(labels, codes, hierarchy=hierarchy)


_BLOCK = 1 << 15
"""Records whose codes are written at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class EncodedAttribute:
    """What the codes of one attribute mean: `labels`, the text of each original value, without the missing one.

    `numbers`, float64 (size,): the values of numbers and dates (days since 1970-01-01), rising; None for others, and
    where a hierarchy, whose leaves are `labels`, orders the codes. `has_missing`: whether code `size` occurs.
    `domain_low`, `domain_width`: of numbers, declared or of the data; 0 for categories, and when constant.
    `domain_size`: leaves or distinct values, one for missing ones that occur. `rounding`: the grid on which intervals
    end; None: these values decide. `order`: all values that there may be, declared.
    """

    name: str
    kind: Kind
    labels: pl.Series
    numbers: NDArray[np.float64] | None
    hierarchy: Hierarchy | None
    has_missing: bool
    domain_width: float
    domain_size: int
    weight: float = 1.0
    domain_low: float = 0.0
    rounding: IntervalGrid | None = None
    order: tuple[str, ...] | None = None

    @cached_property
    def size(self) -> int:
        """Number of codes of original values; the missing value's code is `size`."""
        return len(self.labels)

    @cached_property
    def texts(self) -> tuple[str | None, ...]:
        """The labels, and None for the missing value: faster than a series where they are few."""
        return (*self.labels.to_list(), None)

    @property
    def cardinality(self) -> int:
        """Number of codes, the missing value included when it occurs."""
        return self.size + self.has_missing

    @property
    def is_numeric(self) -> bool:
        """Whether classes are described by a range of `numbers`."""
        return self.numbers is not None and self.hierarchy is None

    @property
    def is_measured(self) -> bool:
        """Whether the distances of `numbers` say something: those of places in an order do not."""
        return self.is_numeric and self.order is None


@dataclass(frozen=True, eq=False, repr=False)
class EncodedSets:
    """Sets of codes of one attribute."""

    starts: NDArray[np.int64]  # (b + 1,): set ``i`` owns entries ``starts[i] .. starts[i+1]-1`` of `codes`.
    codes: NDArray[np.int64]  # rising inside each set

    def codes_of(self, sets: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the codes of all given sets, one after the other, and the place of the set behind each; int64."""
        lengths = np.diff(self.starts)[sets]
        owner = np.repeat(np.arange(len(sets)), lengths)
        first = np.append(0, np.cumsum(lengths)[:-1])
        return self.codes[np.arange(len(owner)) + (self.starts[:-1][sets] - first)[owner]], owner


@dataclass(frozen=True, eq=False, repr=False)
class PeopleOfTable:
    """What a table says of people when each of its records stands for all records of one person."""

    records: NDArray[np.int64]  # (n,): how many records each person has
    sets: tuple[EncodedSets, ...]  # for each sensitive attribute: the codes that each of its set numbers stands for
    # Int64 (n,): the k that each person wishes for, 1 for who wishes nothing. None: nobody wishes.
    wishes: NDArray[np.int64] | None = None
    wished_l: NDArray[np.int64] | None = None  # the same for the l

    def take(self, rows: NDArray[np.integer]) -> PeopleOfTable:
        """Return some of the people, in that order."""
        wishes, wished_l = (None if each is None else each[rows] for each in (self.wishes, self.wished_l))
        return replace(self, records=self.records[rows], wishes=wishes, wished_l=wished_l)


@dataclass(frozen=True, eq=False, repr=False)
class PeopleApart:
    """Who the records of a table are about, where those of a person may lie in different classes."""

    numbers: NDArray[np.int32]  # (n,), from 0: the person of each record
    # Int64 (n,): the k that each record's person wishes for, the same for all of a person's. None: nobody wishes.
    wishes: NDArray[np.int64] | None = None

    def take(self, rows: NDArray[np.integer]) -> PeopleApart:
        """Return who some of the records are about, in that order."""
        return PeopleApart(self.numbers[rows], None if self.wishes is None else self.wishes[rows])


@dataclass(frozen=True, eq=False, repr=False)
class PeopleOfPopulation:
    """Everybody whom an attacker may have in mind. Letters: n records, m distinct people, q attributes."""

    # (n,): people that each record stands for. Those of the records with the same quasi-identifying values sum to the
    # people of the population who have these values.
    shares: NDArray[np.int64]
    codes: NDArray[np.unsignedinteger]  # unsigned (m, q): distinct people, as places in `nodes`
    weights: NDArray[np.int64]  # (m,): people with these values
    encoded: tuple[EncodedAttribute, ...]  # what `codes` mean, length q
    # Where whole regions are published, for each attribute int32 (h + 1, values of the population): the table's node
    # that each value belongs to on each level; −1 where the table has no such node. None: classes count shares.
    nodes: tuple[NDArray[np.int32], ...] | None = None

    @property
    def height(self) -> int:
        """Number of people."""
        return int(self.weights.sum())

    def take(self, rows: NDArray[np.integer]) -> PeopleOfPopulation:
        """Return it for some of the records, in that order; the population stays the same."""
        return replace(self, shares=self.shares[rows])


@dataclass(frozen=True, eq=False, repr=False)
class EncodedTable:
    """Integer view of a table: all that anonymizers see; n records, q quasi-identifying, s sensitive attributes.

    `codes`: the smallest of uint8, uint16 or uint32 that fits all (n, q), row-major; `sensitive_codes` likewise (n, s).
    `people`: where records are people, sensitive codes are numbers of sets. `apart`: where classes are judged by people
    who may be in several. `population`: everybody who might be in the table.
    """

    attributes: tuple[EncodedAttribute, ...]
    codes: NDArray[np.unsignedinteger]
    sensitive: tuple[EncodedAttribute, ...]
    sensitive_codes: NDArray[np.unsignedinteger]
    people: PeopleOfTable | None = None
    apart: PeopleApart | None = None
    population: PeopleOfPopulation | None = None

    @property
    def height(self) -> int:
        """Number of records n."""
        return len(self.codes)

    @property
    def unit(self) -> str:
        """What a message calls the records."""
        return "records" if self.people is None else "people"

    def take(self, rows: NDArray[np.integer]) -> EncodedTable:
        """Return the table of some records, in that order."""
        people = self.people and self.people.take(rows)
        apart = self.apart and self.apart.take(rows)
        codes, sensitive_codes = self.codes[rows], self.sensitive_codes[rows]
        population = self.population and self.population.take(rows)
        return replace(
            self, codes=codes, sensitive_codes=sensitive_codes, people=people, apart=apart, population=population
        )


def encode(table: Table, *, order: Order = "frequency") -> EncodedTable:
    """Turn the quasi-identifying and sensitive columns of a table into integer codes, aligned with its records.

    `order`: how categories without a hierarchy are numbered: by falling ``"frequency"`` (ties in text order), or by
    ``"name"``; sensitive ones always by name. Refused with the problems of all columns; only names, counts and row
    numbers are shown. O(n) for each column of categories, dates, booleans or narrow whole numbers; O(n log d) for
    others.
    """
    errors: list[SfumatoError] = []
    quasi = _coded(table, table.schema.quasi_identifying, order, errors)
    sensitive = _coded(table, table.schema.sensitive, "name", errors)
    raise_together([said_of(table.source, error) for error in errors])
    return EncodedTable(
        tuple(column.attribute for column in quasi),
        _gather(quasi, table.height),
        tuple(column.attribute for column in sensitive),
        _gather(sensitive, table.height),
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Column:
    """One encoded column before its codes are written out: ``code_of[raw]`` is the code of each record."""

    attribute: EncodedAttribute
    raw: NDArray[np.integer]
    code_of: NDArray[np.int64]


def _coded(
    table: Table, attributes: Mapping[str, Attribute], order: Order, errors: list[SfumatoError]
) -> list[_Column]:
    columns = []
    for name, attribute in attributes.items():
        try:
            distinct = distinct_of(table.frame[name])
            encoded, code_of = encoded_attribute(name, table.kinds[name], attribute, distinct, order)
            columns.append(_Column(encoded, distinct.raw, code_of))
        except SfumatoError as error:
            errors.append(error)
    return columns


def encoded_attribute(
    name: str, kind: Kind, attribute: Attribute, distinct: Distinct, order: Order
) -> tuple[EncodedAttribute, NDArray[np.int64]]:
    """Return what the codes of an attribute mean, and the code of each raw number; by values and counts alone."""
    low, width, size = domain_extent(name, kind, attribute, distinct)
    declared = tuple(map(str, attribute.domain or ())) if attribute.kind is Kind.ORDERED else None
    if declared is not None:
        numbering, width = _by_order(distinct, declared), len(declared) - 1.0
    else:
        numbering = encode_values(name, kind, attribute.hierarchy, distinct, order)
    encoded = EncodedAttribute(
        name=name,
        kind=kind,
        labels=numbering.labels,
        numbers=numbering.numbers,
        hierarchy=numbering.hierarchy,
        has_missing=distinct.missing > 0,
        domain_low=low,
        domain_width=width,
        domain_size=numbering.hierarchy.size if numbering.hierarchy else size,
        weight=attribute.weight,
        order=declared,
    )
    return encoded, np.append(numbering.codes, encoded.size)[distinct.rank_of]


def _gather(columns: Sequence[_Column], height: int) -> NDArray[np.unsignedinteger]:
    # One number past the last code must fit too: kernels count up to it.
    largest = max((column.attribute.cardinality for column in columns), default=0)
    codes = np.empty((height, len(columns)), dtype=np.min_scalar_type(largest))
    tables = [column.code_of.astype(codes.dtype) for column in columns]
    for start in range(0, height, _BLOCK):
        # Block by block the row-major target stays in the cache while its columns are filled one after the other.
        stop = start + _BLOCK
        for index, (column, code_of) in enumerate(zip(columns, tables, strict=True)):
            codes[start:stop, index] = code_of[column.raw[start:stop]]
    return codes

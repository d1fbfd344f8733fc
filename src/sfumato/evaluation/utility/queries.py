"""Aggregate queries as values, and the domains over which they are asked: codes, predicates and bins."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.hierarchy.tree import number_of
from sfumato.numbers import counted
from sfumato.table.encoding import EncodedAttribute, EncodedTable
from sfumato.table.schema import Kind, is_measured

Aggregate = Literal["count", "sum", "average"]
AGGREGATES: tuple[Aggregate, ...] = get_args(Aggregate)


@dataclass(frozen=True, repr=False)
class Range:
    """Records whose number or date lies between two ends, both included; a missing value never does.

    Parameters
    ----------
    attribute
        Name of a column of numbers or dates.
    low, high
        Numbers or dates; minus and plus infinity leave an end open.

    Raises
    ------
    PolicyError
        When an end is not a number or date, or the ends do not rise.
    """

    attribute: str
    low: float | date
    high: float | date

    def __post_init__(self) -> None:
        """Check the ends."""
        where = f"query, column {self.attribute!r}: "
        if not (_is_end(self.low) and _is_end(self.high)):
            raise PolicyError(f"{where}both ends of a range must be numbers, or dates")
        if _number_or_day(self.low) > _number_or_day(self.high):
            raise PolicyError(f"{where}a range must rise: give its lower end first")

    def __repr__(self) -> str:
        """Name the column; the ends are values of the table."""
        return f"Range({self.attribute!r})"

    @property
    def bounds(self) -> tuple[float, float]:
        """Both ends as numbers; dates as days since 1970-01-01."""
        return _number_or_day(self.low), _number_or_day(self.high)


@dataclass(frozen=True, repr=False)
class Among:
    """Records that have one of some values; one value makes it an equality. A missing value is none of them.

    Parameters
    ----------
    attribute
        Name of a column of categories or booleans.
    values
        Texts as the table has them; booleans are ``"true"`` and ``"false"``.

    Raises
    ------
    PolicyError
        When there is no value, or one is not a text.
    """

    attribute: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check the values."""
        where = f"query, column {self.attribute!r}: "
        if isinstance(self.values, str) or not isinstance(self.values, Sequence):
            raise PolicyError(f"{where}values must be a list of texts")
        if not self.values or not all(isinstance(value, str) for value in self.values):
            raise PolicyError(f"{where}values must be texts, at least one")
        object.__setattr__(self, "values", tuple(self.values))

    def __repr__(self) -> str:
        """Name the column and count the values."""
        return f"Among({self.attribute!r}, {len(self.values)} values)"


Predicate = Range | Among


@dataclass(frozen=True)
class Query:
    """One aggregate over the records that satisfy every predicate.

    Parameters
    ----------
    where
        Predicates on different columns; none means all records.
    aggregate
        ``"count"``, ``"sum"`` or ``"average"``.
    of
        Column of numbers that is added or averaged; missing values are left out. None for ``"count"``.

    Raises
    ------
    PolicyError
        With everything that contradicts itself.
    """

    where: tuple[Predicate, ...]
    aggregate: Aggregate = "count"
    of: str | None = None

    def __post_init__(self) -> None:
        """Check the parts against each other."""
        problems = []
        object.__setattr__(self, "where", tuple(self.where))
        if not all(isinstance(predicate, (Range, Among)) for predicate in self.where):
            raise PolicyError("query: predicates must be Range or Among")
        names = [predicate.attribute for predicate in self.where]
        if len(set(names)) < len(names):
            problems.append("query: two predicates are about the same column; combine them into one")
        if self.aggregate not in AGGREGATES:
            problems.append(f"query: the aggregate must be one of {', '.join(AGGREGATES)}")
        elif (self.aggregate == "count") is not (self.of is None):
            problems.append("query: a sum or average needs the column of it, a count has none")
        raise_all(PolicyError, problems)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """Columns that the query is about, the one of its aggregate last."""
        names = dict.fromkeys(predicate.attribute for predicate in self.where)
        return tuple(names if self.of is None else names | {self.of: None})


@dataclass(frozen=True, repr=False)
class Workload:
    """Queries that are asked together. They hold values of the table they were drawn from: keep them with it.

    Parameters
    ----------
    queries
        At least one.

    Raises
    ------
    PolicyError
        When there is none, or one is not a query.
    """

    queries: tuple[Query, ...]

    def __post_init__(self) -> None:
        """Check that there are queries."""
        object.__setattr__(self, "queries", tuple(self.queries))
        if not self.queries or not all(isinstance(query, Query) for query in self.queries):
            raise PolicyError("workload: needs queries, at least one")

    def __repr__(self) -> str:
        """Count the queries."""
        return f"Workload({len(self.queries)} queries)"

    def __len__(self) -> int:
        """Count the queries."""
        return len(self.queries)

    def __iter__(self) -> Iterator[Query]:
        """Iterate over the queries."""
        return iter(self.queries)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """Columns that the queries are about."""
        return tuple(dict.fromkeys(name for query in self.queries for name in query.attributes))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; :meth:`from_dict` reads them back."""
        return {"queries": [_plain_query(query) for query in self.queries]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Workload:
        """Build a workload from plain values.

        Raises
        ------
        PolicyError
            When they are not those of a workload.
        """
        try:
            return cls(tuple(_query_of(entry) for entry in values["queries"]))
        except (KeyError, TypeError, ValueError):
            raise PolicyError("workload: is damaged; write it again with to_dict") from None


def _plain_query(query: Query) -> dict[str, Any]:
    where = [
        {"attribute": each.attribute, "low": _plain_end(each.low), "high": _plain_end(each.high)}
        if isinstance(each, Range)
        else {"attribute": each.attribute, "values": list(each.values)}
        for each in query.where
    ]
    return {"where": where, "aggregate": query.aggregate, "of": query.of}


def _query_of(entry: Mapping[str, Any]) -> Query:
    where: list[Predicate] = [
        Among(each["attribute"], tuple(each["values"]))
        if "values" in each
        else Range(each["attribute"], _end_of(each["low"]), _end_of(each["high"]))
        for each in entry["where"]
    ]
    return Query(tuple(where), entry["aggregate"], entry["of"])


def _plain_end(end: float | date) -> float | str:
    if isinstance(end, date):
        return end.isoformat()
    # JSON has no infinity.
    return end if math.isfinite(end) else str(end)


def _end_of(value: float | str) -> float | date:
    if isinstance(value, str) and value not in ("inf", "-inf"):
        return date.fromisoformat(value)
    return float(value) if isinstance(value, str) else value


def _is_end(end: object) -> bool:
    if isinstance(end, date):
        return True
    return isinstance(end, (int, float)) and not isinstance(end, bool) and not math.isnan(end)


def _number_or_day(end: float | date) -> float:
    """Return a number unchanged, a date as days since 1970-01-01."""
    return float((end - date(1970, 1, 1)).days) if isinstance(end, date) else float(end)


Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class AttributeDomain:
    """An original attribute as queries use it.

    `numbers`: float64 (size,): the number behind each code, also under a hierarchy; None for categories. `codes`:
    Integers (n,): the original records' codes.
    """

    attribute: EncodedAttribute
    numbers: Floats | None
    codes: NDArray[np.integer]

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.attribute.name

    @cached_property
    def is_whole(self) -> bool:
        """Tell whether all original numbers are whole, dates included: ranges then hold numbers instead of a length."""
        return self.numbers is not None and bool(np.all(self.numbers == np.round(self.numbers)))

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Label of each code."""
        return tuple(self.attribute.labels.to_list())

    @cached_property
    def code_of(self) -> Mapping[str, int]:
        """Code of each label."""
        return {label: code for code, label in enumerate(self.texts)}

    @cached_property
    def rising(self) -> Floats:
        """Return the original records' numbers in rising order, without missing ones."""
        assert self.numbers is not None
        rising: Floats = np.sort(self.numbers[self.codes[self.codes < self.attribute.size]])
        return rising

    def matching(self, predicate: Predicate | None) -> Floats:
        """Return 1 for codes that satisfy a predicate that suits the column, (size + 1,); None: all but missing."""
        found = np.zeros(self.attribute.size + 1)
        if predicate is None:
            found[:-1] = 1.0
        elif isinstance(predicate, Among):
            found[[self.code_of[value] for value in predicate.values if value in self.code_of]] = 1.0
        elif self.numbers is not None:
            low, high = predicate.bounds
            found[:-1] = (self.numbers >= low) & (self.numbers <= high)
        return found


def domains_of(encoded: EncodedTable) -> dict[str, AttributeDomain]:
    """Return every quasi-identifying and sensitive attribute of an original table by its name."""
    pairs = [
        *zip(encoded.attributes, encoded.codes.T, strict=True),
        *zip(encoded.sensitive, encoded.sensitive_codes.T, strict=True),
    ]
    return {attribute.name: AttributeDomain(attribute, _numbers(attribute), codes) for attribute, codes in pairs}


def query_problems(query: Query, domains: Mapping[str, AttributeDomain]) -> list[str]:
    """Find the columns of a query that do not exist, and predicates that do not suit their column."""
    problems = [_unknown(name) for name in query.attributes if name not in domains]
    for predicate in query.where:
        domain = domains.get(predicate.attribute)
        if domain is not None and isinstance(predicate, Among) is (domain.numbers is not None):
            sentence = "holds no numbers or dates: ask for values (Among)"
            fitting = "holds numbers or dates: ask for a Range" if isinstance(predicate, Among) else sentence
            problems.append(f"query: column {predicate.attribute!r} {fitting}")
    if query.of is not None and query.of in domains and domains[query.of].numbers is None:
        problems.append(f"query: column {query.of!r} has no numbers to add or average")
    return problems


def _unknown(name: str) -> str:
    return f"query: column {name!r} is neither quasi-identifying nor sensitive in the original table"


def _numbers(attribute: EncodedAttribute) -> Floats | None:
    """Return the numbers of a measured attribute; those under a hierarchy are read from its leaves."""
    if attribute.order is not None:
        return None
    if not is_measured(attribute.kind) or attribute.numbers is not None:
        return attribute.numbers
    if attribute.kind is Kind.DATE:
        days = attribute.labels.str.to_date("%Y-%m-%d", strict=False).to_physical().cast(pl.Float64)
        return None if days.null_count() else days.to_numpy()
    read = [number_of(label) for label in attribute.labels.to_list()]
    known = [float(number) for number in read if number is not None]
    return np.array(known) if len(known) == len(read) else None


@dataclass(frozen=True, eq=False, repr=False)
class Bins:
    """An attribute's values, divided into b bins; missing values are bin b.

    `bin_of`: int64 (size + 1,): bin of each code. `uppers`: float64 (b,): highest number of each bin, rising; None for
    categories. A number between two original ones belongs to the bin of the upper one; a number beyond the last belongs
    to the last bin.
    """

    bin_of: NDArray[np.int64]
    uppers: Floats | None

    @property
    def count(self) -> int:
        """Number of bins b, without the one of missing values."""
        return int(self.bin_of[-1])


def single_values(domain: AttributeDomain) -> Bins:
    """Return a bin for each original value; numbers rise."""
    if domain.numbers is None:
        return Bins(np.arange(domain.attribute.size + 1), None)
    uppers = np.unique(domain.numbers)
    return Bins(_bin_of(domain.numbers, uppers), uppers)


def coarse(domain: AttributeDomain, numbers: int, categories: int) -> Bins:
    """Put numbers into bins with about equally many original records; join rare categories into one bin.

    Numbers that are equal stay together. Of more than `categories` categories the most frequent keep a bin of their
    own, ties in code order; all others share the last one.
    """
    bins = single_values(domain)
    if bins.uppers is None:
        return _frequent(domain, bins, categories)
    if bins.count <= numbers:
        return bins
    counts = np.bincount(bins.bin_of[domain.codes], minlength=bins.count + 1)[:-1]
    # The bin of a value is where its first record lies among all, as in the correlation of an original table.
    place = (np.cumsum(counts) - counts) * numbers // max(counts.sum(), 1)
    last = np.flatnonzero(np.append(np.diff(place) > 0, True))
    assert domain.numbers is not None
    return Bins(_bin_of(domain.numbers, bins.uppers[last]), bins.uppers[last])


def _frequent(domain: AttributeDomain, bins: Bins, most: int) -> Bins:
    if bins.count <= most:
        return bins
    counts = np.bincount(domain.codes, minlength=bins.count + 1)[:-1]
    bin_of = np.full(bins.count + 1, most - 1)
    bin_of[np.argsort(-counts, kind="stable")[: most - 1]] = np.arange(most - 1)
    bin_of[-1] = most
    return Bins(bin_of, None)


def _bin_of(numbers: Floats, uppers: Floats) -> NDArray[np.int64]:
    return np.append(np.searchsorted(uppers, numbers), len(uppers)).astype(np.int64)


def positive_weights(column: pl.Series) -> NDArray[np.float64]:
    """Read a column of sampling weights, float64 (n,); InputError unless each is a finite number above 0."""
    values = column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    numbers = values.fill_null(math.nan).to_numpy()
    problems = []
    for wrong, what, advice in (
        (np.isnan(numbers), "no number", "give every record its weight"),
        (np.isfinite(numbers) & (numbers <= 0), "a weight that is not above 0", "weights count people"),
        (np.isinf(numbers), "an infinite weight", "weights count people"),
    ):
        if wrong.any():
            count, first = counted(int(wrong.sum()), "record"), int(wrong.argmax()) + 1
            problems.append(f"weights: column {column.name!r} has {count} with {what}, first in row {first}; {advice}")
    raise_all(InputError, problems)
    return numbers


def weights_in(frame: pl.DataFrame, name: str, where: str) -> NDArray[np.float64]:
    """Read the weights of a frame's records; InputError without the column, or a weight above 0 for every record."""
    if name not in frame.columns:
        raise InputError(f"weights: column {name!r} is not in {where}; give it a role, such as insensitive")
    return positive_weights(frame[name])

"""Aggregate queries as values: what is counted, added or averaged, and over which records."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, Literal, get_args

from sfumato.errors import PolicyError, raise_all

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

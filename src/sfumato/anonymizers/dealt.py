"""What bucketization and slicing decide: in which order original values are published, and which bucket a row is of.

Both look at codes alone. So whoever holds the values, in memory or on disk, can look them up afterwards.

Letters: n records, b buckets, z pairs of a bucket and a sensitive value that occurs in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem, Publisher
from sfumato.classes.partition import GeneralizedTable
from sfumato.table.distinct import Distinct
from sfumato.table.schema import Kind, Schema


class ColumnSource(Protocol):
    """What an algorithm may ask of a table whose values it is not handed."""

    @property
    def schema(self) -> Schema:
        """The roles."""
        ...

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Kind of every quasi-identifying and sensitive column."""
        ...

    def distinct(self, name: str) -> Distinct:
        """Return the values of such a column; records stand in the order of the problem."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class DealtColumn:
    """Attributes whose values stay together."""

    names: tuple[str, ...]  # of the table
    labels: tuple[str, ...]  # under which they are published
    # Returns int64 (n,), the record in each row: a random order. It is the same whenever it is asked for only under a
    # seed, so it is asked for once.
    order: Callable[[], NDArray[np.int64]]
    # of the same records, what those attributes publish that it has; None where all are published as they are
    generalized: GeneralizedTable | None = None


@dataclass(frozen=True, eq=False, repr=False)
class DealtTable:
    """A table with a row for each record, whose columns may have orders of their own inside a published bucket."""

    columns: tuple[DealtColumn, ...]
    bucket_of: NDArray[np.integer]
    leading: bool


@dataclass(frozen=True, eq=False, repr=False)
class BucketCounts:
    """How often each sensitive value occurs in each bucket, by published number and code, sorted."""

    buckets: NDArray[np.int64]
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class CountedTable:
    """The counts of one sensitive attribute, `pairs` rows, which are counted when they are asked for."""

    sensitive: str
    pairs: int
    counted: Callable[[], BucketCounts]


@dataclass(frozen=True, eq=False, repr=False)
class Dealing:
    """The solution of an algorithm that :class:`Deals`; `counts`: None where sensitive values stand in `rows`."""

    rows: DealtTable
    structure: Mapping[str, Any]
    counts: CountedTable | None = None
    notes: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)


@runtime_checkable
class Deals(Publisher, Protocol):
    """A publisher of original values that decides by codes alone where they go."""

    @property
    def by_sensitive_alone(self) -> bool:
        """Whether it looks at sensitive codes alone, and draws the rest: without a seed any order will do."""
        ...

    def deal(self, problem: Problem, table: ColumnSource) -> Dealing:
        """Decide as :meth:`~sfumato.anonymizers.protocol.Publisher.publish` does; errors likewise."""
        ...

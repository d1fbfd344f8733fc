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
from sfumato.classes.generalized import GeneralizedTable
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
    """A table with a row for each record, whose columns may have orders of their own.

    `bucket_of`, integers (n,): published number of the bucket of each record. In each row all columns name records of
    one. `leading`: whether the column of buckets is the first one, or the last.
    """

    columns: tuple[DealtColumn, ...]
    bucket_of: NDArray[np.integer]
    leading: bool


@dataclass(frozen=True, eq=False, repr=False)
class BucketCounts:
    """How often each sensitive value occurs in each bucket, sorted by bucket and value.

    `buckets`, int64 (z,): published number. `codes`, int64 (z,): code of the value. `counts`, int64 (z,).
    """

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
    """The solution of an algorithm that :class:`Deals`.

    `structure`: as the published kind says it. `counts`: None where sensitive values stand in `rows`. `notes`,
    `figures`: see :class:`~sfumato.anonymizers.protocol.Publication`.
    """

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
        """Whether it looks at nothing but sensitive codes, and draws everything else.

        Then the table of a problem needs no quasi-identifying columns, and without a seed no canonical order.
        """
        ...

    def deal(self, problem: Problem, table: ColumnSource) -> Dealing:
        """Decide as :meth:`~sfumato.anonymizers.protocol.Publisher.publish` does; errors likewise."""
        ...

"""Bucketized tables (Anatomy): quasi-identifying values unchanged, sensitive ones as counts for each bucket."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from sfumato.errors import InputError, raise_all
from sfumato.published.protocol import column_problems, structure_names, structure_text
from sfumato.published.sliced import BUCKET
from sfumato.table.distinct import distinct_of

COUNT = "count"


@dataclass(frozen=True, eq=False)
class BucketizedTables:
    """Two tables that share nothing but the bucket."""

    kind: ClassVar[str] = "bucketized-tables"
    whole_numbers: ClassVar[tuple[str, ...]] = (BUCKET, COUNT)
    promising: ClassVar[bool] = True
    publishes_chosen: ClassVar[bool] = False
    limits: ClassVar[tuple[str, ...]] = (
        "Quasi-identifying values are published unchanged: somebody who knows them finds a person's row, and sees who "
        "is in the table. Only which sensitive value of its bucket a row has is hidden.",
        "It does not stand up to a second release of the same people.",
    )
    quasi: pl.DataFrame  # one row for each record, in random order: the quasi-identifying attributes and ``bucket``
    counts: pl.DataFrame  # ``bucket``, the sensitive attribute, ``count``; sorted by bucket and value
    quasi_identifying: tuple[str, ...]
    sensitive: str

    def __post_init__(self) -> None:
        """Check that both tables have their columns and no other, and count the same records in every bucket."""
        sentences = (
            ("quasi-identifying table", self.quasi, (*self.quasi_identifying, BUCKET)),
            ("sensitive table", self.counts, (BUCKET, self.sensitive, COUNT)),
        )
        problems = [problem for what, frame, names in sentences for problem in column_problems(what, frame, names)]
        raise_all(InputError, problems or self._count_problems())

    @property
    def records(self) -> int:
        """Number of published records."""
        return self.quasi.height

    @property
    def buckets(self) -> int:
        """Number of buckets."""
        return self.quasi[BUCKET].n_unique()

    def _count_problems(self) -> list[str]:
        whole = [self.quasi.schema[BUCKET], self.counts.schema[BUCKET], self.counts.schema[COUNT]]
        if not all(dtype.is_integer() for dtype in whole):
            return ["bucketized tables: buckets and counts must be whole numbers"]
        if any(column.has_nulls() for column in (self.quasi[BUCKET], self.counts[BUCKET], self.counts[COUNT])):
            return ["bucketized tables: every row needs its bucket, and its count in the sensitive table"]
        if not self.counts[COUNT].is_between(1, self.records).all():
            return ["sensitive table: counts must be 1 or more, and at most the number of records"]
        held, counted_buckets = distinct_of(self.quasi[BUCKET]), distinct_of(self.counts[BUCKET])
        sums = np.bincount(counted_buckets.rank_of[counted_buckets.raw], weights=self.counts[COUNT].to_numpy())
        if np.array_equal(held.values, counted_buckets.values) and np.array_equal(held.counts, sums):
            return []
        return ["bucketized tables: the two tables do not hold the same numbers of records in every bucket"]

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return both tables."""
        return {"quasi_identifying": self.quasi, "sensitive": self.counts}

    @property
    def structure(self) -> dict[str, Any]:
        """Return the attributes of both tables."""
        return {"quasi_identifying": list(self.quasi_identifying), "sensitive": self.sensitive}

    @classmethod
    def assemble(cls, tables: Mapping[str, pl.DataFrame], structure: Mapping[str, Any]) -> Self:
        """Rebuild the value from what was written."""
        try:
            quasi, sensitive = structure_names(structure, "quasi_identifying"), structure_text(structure, "sensitive")
        except ValueError as error:
            raise InputError(f"bucketized tables: {error}") from None
        return cls(tables["quasi_identifying"], tables["sensitive"], quasi, sensitive)

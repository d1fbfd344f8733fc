"""The different rows of a published table, and how often each stands in it: all that a recount of classes asks for.

Sums over two tables are those of both together, so that what was counted once is not counted again.

Letters: n rows of the table, d different ones.
"""

from __future__ import annotations

import io
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.published import PublishedTable
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.recount import recount
from sfumato.published.checks.rows import group_rows
from sfumato.published.roles import roles_of
from sfumato.release.description import Description, known_models
from sfumato.series.appended import labels_of
from sfumato.table.distinct import as_categories

FORMAT = "1"
_TIMES = " times"
"""No column of a table has such a name."""


@dataclass(frozen=True, eq=False, repr=False)
class CountedRows:
    """Rows of a published table without its insensitive columns, each once.

    Attributes
    ----------
    rows : polars.DataFrame
        (d, columns); labels as text.
    times : numpy.ndarray
        int64 (d,): how often each stands in the table.
    """

    rows: pl.DataFrame
    times: NDArray[np.int64]

    @classmethod
    def of(cls, published: PublishedTable) -> CountedRows:
        """Count the rows of a table whose labels are text. Cost O(n)."""
        rows = published.data.select(*published.quasi_identifying, *published.sensitive, *published.promises.values())
        return cls._summed(rows.with_columns(pl.lit(1, dtype=pl.Int64).alias(_TIMES)))

    @classmethod
    def _summed(cls, rows: pl.DataFrame) -> CountedRows:
        found = rows.group_by(pl.exclude(_TIMES)).agg(pl.col(_TIMES).sum())
        return cls(found.drop(_TIMES), found[_TIMES].to_numpy())

    def __add__(self, other: CountedRows) -> CountedRows:
        """Return the counts of two tables together. Cost O(d)."""
        columns = self.rows.columns
        frames = [each._frame().select(*columns, _TIMES) for each in (self, other)]
        return self._summed(pl.concat(frames, how="vertical_relaxed"))

    @cached_property
    def _coded(self) -> pl.DataFrame:
        """The rows with texts as categories, which every count begins with."""
        texts = [column for column in self.rows if column.dtype == pl.String]
        return self.rows.with_columns(as_categories(texts))

    def _frame(self) -> pl.DataFrame:
        return self.rows.with_columns(pl.Series(_TIMES, self.times, dtype=pl.Int64))

    def content(self, sha256: str) -> bytes:
        """Return the content of a file of the ledger; `sha256` is that of the table that was counted."""
        buffer = io.BytesIO()
        self._frame().write_parquet(buffer, metadata=_said(sha256))
        return buffer.getvalue()

    @classmethod
    def read(cls, content: bytes, sha256: str) -> CountedRows | None:
        """Read the content of a file; None where it is another one, tells of another table, or is of another version.

        The ledger knows the hash of the file, so that damage is found before.
        """
        with suppress(OSError, pl.exceptions.PolarsError):
            said = pl.read_parquet_metadata(io.BytesIO(content))
            if all(said.get(name) == value for name, value in _said(sha256).items()):
                found = pl.read_parquet(io.BytesIO(content))
                return cls(found.drop(_TIMES), found[_TIMES].to_numpy())
        return None

    def recounted(self, published: PublishedTable, description: Description) -> Verification:
        """Recount what a release promises; `published` says the roles of its columns. Cost O(n), nothing is parsed."""
        models, attributes = known_models(description), description.attributes()
        distinct = replace(published, data=self._coded, records=self.times)
        found = recount(distinct, models, attributes, description.attested)
        return replace(found, roles=roles_of(published))

    def class_sizes(self, published: PublishedTable) -> NDArray[np.int64]:
        """Count the rows of each class; int64 (c,)."""
        class_of, count = group_rows(labels_of(replace(published, data=self._coded)))
        return np.bincount(class_of, weights=self.times, minlength=count).astype(np.int64)


def _said(sha256: str) -> dict[str, str]:
    return {"counted rows": FORMAT, "sha256": sha256}

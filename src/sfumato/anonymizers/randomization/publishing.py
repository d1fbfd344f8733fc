"""From changed columns to a randomized table: rows in random order, and how much was changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Publication
from sfumato.anonymizers.randomization.masking_figures import masking_figures
from sfumato.published import RandomizedTable
from sfumato.randomness import another, permutation
from sfumato.table.exact_names import columns_of
from sfumato.table.table import Table

NO_MODEL = (
    "No privacy model is enforced or could be recounted; attack the release before it is given away, and see what a "
    "person risks."
)
_LAST = 1 << 20
"""Numbers of the choices that come after all choices of a method."""


def publish_changed(
    table: Table, changed: Mapping[str, pl.Series], seed: int | None, notes: Sequence[str] = ()
) -> Publication:
    """Publish every record with the `changed` columns instead of its own."""
    share = _changed_share(table.frame, changed)
    published = _randomized(table, table.frame.with_columns(*changed.values()), seed)
    names = f"Randomized columns: {', '.join(changed)}."
    figures = {"changed_cells": share, **masking_figures(table.frame, changed)}
    return Publication(published, (NO_MODEL, names, *notes), figures)


def publish_rows(table: Table, rows: NDArray[np.int64], seed: int | None) -> Publication:
    """Publish some records as they are; each stands for as many as were not drawn."""
    weight = table.height / len(rows)
    published = _randomized(table, table.frame[rows], seed, weight)
    note = f"{len(rows):,} of {table.height:,} records were drawn, and published with all their values."
    return Publication(published, (NO_MODEL, note), {"drawn": len(rows)})


def _randomized(table: Table, frame: pl.DataFrame, seed: int | None, weight: float = 1.0) -> RandomizedTable:
    quasi, sensitive = tuple(table.schema.quasi_identifying), tuple(table.schema.sensitive)
    columns = (*quasi, *sensitive, *table.schema.insensitive)
    order = permutation(frame.height, another(seed, _LAST))
    return RandomizedTable(columns_of(frame, columns)[order], quasi, sensitive, weight)


def _changed_share(frame: pl.DataFrame, changed: Mapping[str, pl.Series]) -> float:
    if not changed:
        return 0.0
    shares = []
    for name, column in changed.items():
        before = frame[name].fill_nan(None) if frame[name].dtype.is_float() else frame[name]
        shares.append(1.0 - float(before.eq_missing(column).mean()))  # type: ignore[arg-type]
    return float(np.mean(shares))

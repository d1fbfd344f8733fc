"""What a steward must know where a column tells, or seems to tell, which records are of one person."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import Partition
from sfumato.classes.people import counted_people
from sfumato.numbers import counted
from sfumato.table.table import Table

MOST = 0.9
"""Share of the repeating values of a column that are one person's, from which on it links people's records."""


def repeated_notes(table: Table, partition: Partition | None, k: int) -> tuple[str, ...]:
    """Say that a column repeats as the key of people does, and how few of them a class may hold.

    Parameters
    ----------
    table
        The table that was read.
    partition
        Its solution; None where a release has no classes.
    k
        The class size that was promised.
    """
    if table.repeated is None:
        return _notes_on_keys(table)
    note = table.repeated.sentence()
    if partition is None:
        return (note,)
    nothing = np.empty((table.height, 0), dtype=np.uint8)
    sizes = counted_people(partition.class_of, partition.count, table.repeated.people, nothing, ()).sizes
    few = int(np.count_nonzero(sizes < k))
    return (
        f"{note} By that column the smallest class has {counted(int(sizes.min()), 'person')}, and {few:,} of "
        f"{counted(partition.count, 'class')} have fewer than {k:,}.",
    )


def _notes_on_keys(table: Table) -> tuple[str, ...]:
    """Tell of records without a key, and of insensitive columns whose values link a person's records as a key does."""
    if table.people is None:
        return ()
    without_key = () if table.keyless_note is None else (table.keyless_note,)
    return without_key + tuple(
        f"Column {name!r} is published unchanged, and nearly every value of it that repeats is one person's: it links "
        "the records of a person to each other. Leave it out unless the study needs that."
        for name in table.schema.insensitive
        if _links(table.frame[name], table.people)
    )


def _links(column: pl.Series, people: NDArray[np.int32]) -> bool:
    """Tell whether of the values that several records have most are one person's alone."""
    values = pl.DataFrame({"value": column, "person": people}).drop_nulls().group_by("value")
    several = values.agg(records=pl.len(), people=pl.col("person").n_unique()).filter(pl.col("records") > 1)
    return several.height > 0 and float((several["people"] == 1).mean() or 0.0) >= MOST  # type: ignore[arg-type]

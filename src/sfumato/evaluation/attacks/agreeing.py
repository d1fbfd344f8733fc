"""Number equal vectors and buckets of published rows and of people alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.evaluation.attacks.tallies import comparable
from sfumato.kernels.grouping import first_records
from sfumato.table.distinct import distinct_of
from sfumato.table.table import Table


def known_of(names: Sequence[str], people: Table) -> list[str]:
    """Return those attributes whose values are known for the people."""
    return [name for name in names if name in people.schema.quasi_identifying and name in people.frame.columns]


def numbered_alike(
    frame: pl.DataFrame, labels: Sequence[str], people: Table, names: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give equal vectors of published rows and of people one number; without attributes all are equal.

    Parameters
    ----------
    frame
        n published rows.
    labels
        Its columns.
    people
        m people.
    names
        Their columns, one for each of `labels`.

    Returns
    -------
    tuple of numpy.ndarray
        int64 (n,) and int64 (m,), from 0 on.
    """
    if not names:
        return np.zeros(frame.height, dtype=np.int64), np.zeros(people.height, dtype=np.int64)
    stacked = []
    for label, name in zip(labels, names, strict=True):
        published, original = comparable(frame[label], people.frame[name])
        both = pl.concat([published.alias(name), original.alias(name)])
        stacked.append(both.rank("dense").fill_null(0).cast(pl.UInt32).to_numpy())
    vector_of, _count = group_records(np.column_stack(stacked))
    return vector_of[: frame.height].astype(np.int64), vector_of[frame.height :].astype(np.int64)


def numbered_buckets(*columns: pl.Series) -> list[NDArray[np.int64]]:
    """Give the buckets of all columns numbers from 0."""
    numbers = [column.cast(pl.Int64).to_numpy() for column in columns]
    places = np.unique(np.concatenate(numbers), return_inverse=True)[1]
    return [part.astype(np.int64) for part in np.split(places, np.cumsum([len(part) for part in numbers])[:-1])]


def distinct_people(people: Table) -> tuple[Table, NDArray[np.int32]]:
    """Return one of the people with each vector of quasi-identifying values, and the number of each person's vector."""
    known = [distinct_of(people.frame[name]) for name in people.schema.quasi_identifying]
    codes = np.column_stack([column.rank_of[column.raw] for column in known])
    who_of, count = group_records(codes.astype(np.uint32))
    return people.take(first_records(who_of, count)), who_of

"""Releases that publish original values: sets of attributes whose values share rows, inside buckets or not.

A sliced table has one piece for each of its columns, a bucketized one two, marginals one for each count table (all in
one bucket), a randomized table a single one. Attacks need to know nothing else about these kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.errors import InputError
from sfumato.evaluation.attacks.tallies import comparable
from sfumato.published import (
    BucketizedTables,
    MarginalTables,
    Published,
    PublishedTable,
    RandomizedTable,
    SlicedTable,
)
from sfumato.published.bucketized import COUNT
from sfumato.published.sliced import BUCKET, labels_of


@dataclass(frozen=True, eq=False, repr=False)
class Piece:
    """A table of values that share rows.

    Attributes
    ----------
    frame : polars.DataFrame
        r rows.
    label_of : mapping of str to str
        Attribute → its column in `frame`.
    bucket : numpy.ndarray
        int64 (r,): bucket of each row, with the same numbers, from 0, in all pieces.
    records : numpy.ndarray
        float64 (r,): records that each row stands for.
    """

    frame: pl.DataFrame
    label_of: Mapping[str, str]
    bucket: NDArray[np.int64]
    records: NDArray[np.float64]


def pieces_of(published: Published) -> tuple[Piece, ...]:
    """Split a release of original values into its pieces.

    Raises
    ------
    InputError
        When it is of another kind.
    """
    if isinstance(published, BucketizedTables):
        (quasi, counted) = _numbered(published.quasi[BUCKET], published.counts[BUCKET])
        records = published.counts[COUNT].cast(pl.Float64).to_numpy()
        return (
            Piece(published.quasi, _same(published.quasi_identifying), quasi, np.ones(len(quasi))),
            Piece(published.counts, _same((published.sensitive,)), counted, records),
        )
    if isinstance(published, SlicedTable):
        (bucket,) = _numbered(published.data[BUCKET])
        columns = zip(published.columns, labels_of(published.columns), strict=True)
        return tuple(
            Piece(published.data, dict(zip(names, labels, strict=True)), bucket, np.ones(len(bucket)))
            for names, labels in columns
        )
    if isinstance(published, MarginalTables):
        return tuple(
            Piece(frame, _same(names), np.zeros(frame.height, np.int64), frame[COUNT].cast(pl.Float64).to_numpy())
            for frame, names in zip(published.marginals, published.columns, strict=True)
        )
    if isinstance(published, RandomizedTable):
        data = published.data
        names = (*published.quasi_identifying, *published.sensitive)
        return (Piece(data, _same(names), np.zeros(data.height, np.int64), np.ones(data.height)),)
    raise InputError(f"a {published.kind} does not publish original values; play another attack")


def alike(piece: Piece, people: pl.DataFrame, names: tuple[str, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give equal vectors of a piece's rows and of people one number, from 0; without attributes all are equal."""
    if not names:
        return np.zeros(piece.frame.height, dtype=np.int64), np.zeros(people.height, dtype=np.int64)
    columns = [together(piece.frame[piece.label_of[name]], people[name]) for name in names]
    vector_of, _ = group_records(np.column_stack([np.concatenate(column) for column in columns]).astype(np.uint32))
    told = vector_of.astype(np.int64)
    return told[: piece.frame.height], told[piece.frame.height :]


def unread_notes(published: Published, people: pl.DataFrame) -> tuple[str, ...]:
    """Count published rows with values that no tried person has, in kinds of release that hold original values.

    These are generalized and changed values; attacks that compare original values cannot match them.
    """
    if isinstance(published, PublishedTable):
        return ()
    notes = []
    for place, piece in enumerate(pieces_of(published), start=1):
        names = tuple(name for name in piece.label_of if name in people.columns)
        rows, held = alike(piece, people, names)
        unread = int((~np.isin(rows, held)).sum()) if names else 0
        if unread:
            notes.append(
                f"{unread} of {len(rows)} rows of part {place} have values that nobody tried has, generalized or "
                "changed ones; this attack compares original values, so that its success may be too low"
            )
    return tuple(notes)


def together(published: pl.Series, people: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give equal values of a published and an original column one number, rising from 1; missing values get 0."""
    both = pl.concat([column.alias("value") for column in comparable(published, people)])
    codes = both.rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
    return codes[: len(published)], codes[len(published) :]


def _same(names: tuple[str, ...]) -> dict[str, str]:
    return {name: name for name in names}


def _numbered(*columns: pl.Series) -> list[NDArray[np.int64]]:
    numbers = [column.cast(pl.Int64).to_numpy() for column in columns]
    places = np.unique(np.concatenate(numbers), return_inverse=True)[1].astype(np.int64)
    return np.split(places, np.cumsum([len(part) for part in numbers])[:-1])

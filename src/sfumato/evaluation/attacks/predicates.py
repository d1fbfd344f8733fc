"""Predicates that an attacker builds from a release to isolate one record, and whom they hold for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.evaluation.attacks.adding import added
from sfumato.evaluation.attacks.cohort import nothing_shared
from sfumato.evaluation.attacks.pieces import Piece, alike, pieces_of
from sfumato.evaluation.attacks.spread import read_cells, shared_names
from sfumato.hashing import hashed
from sfumato.published import Published, PublishedTable
from sfumato.recoding.choice import Recoding
from sfumato.table.distinct import distinct_of
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Predicates:
    """Conditions on records, before they are narrowed at random.

    Attributes
    ----------
    records : numpy.ndarray
        float64 (p,): published records for which each holds, at least one.
    person, predicate : numpy.ndarray
        int64: all pairs of one of the people and a predicate that holds for them.
    """

    records: NDArray[np.float64]
    person: NDArray[np.int64]
    predicate: NDArray[np.int64]


def predicates_of(
    published: Published, people: Table, *, count: int, recoding: Recoding, generator: np.random.Generator
) -> Predicates:
    """Build the predicates that hold for the fewest published records.

    Parameters
    ----------
    published
        A release of any kind.
    people
        Those for whom the predicates are evaluated.
    count
        Most predicates to build.
    recoding
        How a generalized table was published.
    generator
        Chooses among predicates with equally many records.

    Raises
    ------
    InputError
        When release and people share no attribute.

    Notes
    -----
    *Generalized*: the region of a class and one of its sensitive values. *Others*: a vector of values that share a row
    (a row of a column of a slice, a row of the quasi-identifying table of buckets, a cell of a marginal); of vectors
    with equally many records, those of more attributes come first.
    """
    if isinstance(published, PublishedTable):
        names = shared_names(published, people, sensitive=True)
        if not names:
            raise nothing_shared()
        cells = read_cells(published, people, names, recoding)
        sizes = cells.publication.sizes.astype(np.float64)
        chosen = _fewest(sizes, np.zeros(len(sizes)), count, generator)
        return Predicates(sizes[chosen], *cells.pairs_with(chosen))
    return _of_vectors(pieces_of(published), people, count, generator)


def _fewest(
    records: NDArray[np.float64], after: NDArray[np.float64], count: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return the places with the fewest records, then the lowest `after`, then at random."""
    return np.lexsort((generator.random(len(records)), after, records))[:count]


def _of_vectors(pieces: Sequence[Piece], people: Table, count: int, generator: np.random.Generator) -> Predicates:
    told = [_vectors(piece, people) for piece in pieces]
    records = np.concatenate([numbers for numbers, _, _ in told])
    if not len(records):
        raise nothing_shared()
    width = np.concatenate([np.full(len(numbers), -attributes) for numbers, _, attributes in told])
    chosen = _fewest(records, width, count, generator)
    place_of = np.full(len(records), -1, dtype=np.int64)
    place_of[chosen] = np.arange(len(chosen))
    starts = np.cumsum([0, *(len(numbers) for numbers, _, _ in told)])
    found = [
        _holding(held, place_of[start:stop])
        for (_, held, _), start, stop in zip(told, starts, starts[1:], strict=False)
    ]
    return Predicates(records[chosen], *(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _vectors(piece: Piece, people: Table) -> tuple[NDArray[np.float64], NDArray[np.int64], int]:
    """Return the records of each vector of a piece, the vector of each person (−1: not published), and its width."""
    schema = people.schema
    names = tuple(
        name
        for name in (*schema.quasi_identifying, *schema.sensitive, *schema.insensitive)
        if name in piece.label_of and name in people.frame.columns
    )
    if not names:
        return np.zeros(0), np.full(people.height, -1, dtype=np.int64), 0
    rows, held = alike(piece, people.frame, names)
    size = int(max(rows.max(initial=-1), held.max(initial=-1))) + 1
    records = added(rows, piece.records, size)
    place_of = np.where(records > 0, np.cumsum(records > 0) - 1, -1)
    return records[records > 0], place_of[held], len(names)


def _holding(held: NDArray[np.int64], place_of: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    place = np.append(place_of, -1)[held]
    person = np.flatnonzero(place >= 0)
    return person, place[person]


def record_numbers(frame: pl.DataFrame) -> NDArray[np.uint64]:
    """Give equal records the same number: uint64 (n,)."""
    # Decimals have as many bits as no array has.
    columns = [distinct_of(each) for each in frame.with_columns(cs.decimal().cast(pl.String)).iter_columns()]
    codes = np.column_stack([column.rank_of[column.raw] for column in columns])
    return group_records(codes.astype(np.uint32))[0].astype(np.uint64)


def mixed(numbers: NDArray[np.uint64], salts: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Turn pairs of numbers into numbers from 0 to 1 that look random for each pair."""
    return (hashed(numbers ^ salts) >> np.uint64(11)) / float(1 << 53)

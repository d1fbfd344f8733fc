"""Groups of published records with their sensitive values, and which groups may hold a person: classes or buckets.

Letters: m people, g groups, v sensitive values, s sorts of people who fit the same, p pairs of a sort and a group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.attacks.adding import added
from sfumato.evaluation.attacks.agreeing import known_of, numbered_alike, numbered_buckets
from sfumato.evaluation.attacks.publication import read_publication
from sfumato.evaluation.attacks.register import read_register, shared_attributes
from sfumato.evaluation.attacks.tallies import numbered
from sfumato.evaluation.attacks.whereabouts import pairs_of
from sfumato.published import BucketizedTables, PublishedTable
from sfumato.published.bucketized import COUNT
from sfumato.published.sliced import BUCKET
from sfumato.recoding.choice import Recoding
from sfumato.table.table import Table

MOST_CELLS = 1 << 25
"""Most cells of groups by values that are held."""


@dataclass(frozen=True, eq=False, repr=False)
class GroupsOfPeople:
    """The groups of a release, and who may be in them.

    Attributes
    ----------
    values : tuple of str or None
        The published sensitive values; their places are codes.
    held : numpy.ndarray
        float64 (g, v): records of each group with each value.
    sort_of : numpy.ndarray
        int64 (m,): the sort of each person.
    sort, group : numpy.ndarray
        int64 (p,), sorted: all pairs of a sort and a group that may hold it.
    room : numpy.ndarray
        float64 (p,): records of the group that may be of the sort.
    shared : bool
        Whether all who fit a group share its room, as in a class; in a bucket a sort has rows of its own.
    """

    values: tuple[str | None, ...]
    held: NDArray[np.float64]
    sort_of: NDArray[np.int64]
    sort: NDArray[np.int64]
    group: NDArray[np.int64]
    room: NDArray[np.float64]
    shared: bool


def groups_of(
    published: PublishedTable | BucketizedTables, people: Table, sensitive: str, recoding: Recoding
) -> GroupsOfPeople | None:
    """Read the groups of a release, and find those of people; None if they are too many.

    Raises
    ------
    InputError
        When a register's cells are not of the declared kind.
    """
    found = _classes(published, people, sensitive, recoding) if isinstance(published, PublishedTable) else None
    return _buckets(published, people, sensitive) if isinstance(published, BucketizedTables) else found


def _classes(published: PublishedTable, people: Table, sensitive: str, recoding: Recoding) -> GroupsOfPeople | None:
    names = shared_attributes(published.data, people.frame, people.schema)
    known = read_register(people.frame, people.schema, names)
    publication = read_publication(published.data, sensitive, known, recoding)
    count, width = len(publication.sizes), len(publication.values)
    pairs = pairs_of(publication, known) if count * width <= MOST_CELLS else None
    if pairs is None:
        return None
    class_of = np.repeat(np.arange(count), np.diff(publication.starts))
    held = added(class_of * width + publication.value_of, publication.counts, count * width).reshape(count, width)
    room = publication.sizes[pairs.owner].astype(np.float64)
    sorts = pairs.vector_of.astype(np.int64)
    return GroupsOfPeople(publication.values, held, sorts, pairs.vector, pairs.owner, room, True)


def _buckets(published: BucketizedTables, people: Table, sensitive: str) -> GroupsOfPeople | None:
    names = known_of(published.quasi_identifying, people)
    rows, asked = numbered_alike(published.quasi, names, people, names)
    bucket, counted = numbered_buckets(published.quasi[BUCKET], published.counts[BUCKET])
    values, value_of = numbered(published.counts[sensitive])
    count, width = int(max(bucket.max(), counted.max())) + 1, len(values)
    if count * width > MOST_CELLS:
        return None
    records = published.counts[COUNT].cast(pl.Float64).to_numpy()
    held = added(counted * width + value_of, records, count * width).reshape(count, width)
    cells, times = np.unique(rows * count + bucket, return_counts=True)
    return GroupsOfPeople(values, held, asked, cells // count, cells % count, times.astype(np.float64), False)

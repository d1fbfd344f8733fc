"""Which rows of an older release can be which rows of a newer one: places, edges between them, and what hangs together.

A place is a class and a value that it has. An edge joins a place of the older release with one of the newer when the
value is the same and the classes meet. A group holds all places that edges connect.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.series.recount.released import Places, runs

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Edges:
    """The edges between the places of two releases.

    Letters: z, y places of the older and the newer release, e edges, g groups.

    Attributes
    ----------
    older, newer : numpy.ndarray
        int64 (e,): the places that each edge joins.
    pair : numpy.ndarray
        int64 (e,): the pair of classes that each edge is of.
    older_places, newer_places : Places
    """

    older: Numbers
    newer: Numbers
    pair: Numbers
    older_places: Places
    newer_places: Places

    @cached_property
    def groups(self) -> tuple[Numbers, Numbers, int]:
        """The group of each older place and of each newer one, and how many groups there are; int64 (z,), (y,)."""
        reach = len(self.older_places.rows)
        group = np.arange(reach + len(self.newer_places.rows))
        while True:
            before = group.copy()
            np.minimum.at(group, self.newer + reach, group[self.older])
            np.minimum.at(group, self.older, group[self.newer + reach])
            group = group[group]
            if np.array_equal(before, group):
                break
        heads = np.zeros(len(group), dtype=np.int64)
        heads[group] = 1
        number = np.cumsum(heads) - 1
        return number[group[:reach]], number[group[reach:]], int(heads.sum())

    @cached_property
    def whole(self) -> NDArray[np.bool_]:
        """Which groups have an edge from each older place to each newer one; bool (g,)."""
        older, newer, count = self.groups
        edges = np.bincount(older[self.older], minlength=count)
        return np.asarray(edges == np.bincount(older, minlength=count) * np.bincount(newer, minlength=count))


def edges_between(older: Places, newer: Places, pairs: tuple[Numbers, Numbers]) -> Edges:
    """Return all edges, pair after pair. Cost O(values of the older class, for each pair of classes that meet)."""
    first, second = pairs
    pair, place = runs(older.starts[first], np.diff(older.starts)[first])
    other = newer.find(second[pair], older.value_of[place])
    shared = other >= 0
    return Edges(place[shared], other[shared], pair[shared], older, newer)

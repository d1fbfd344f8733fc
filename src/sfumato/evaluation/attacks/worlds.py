"""Worlds that a published table leaves open: who of a class has which of its sensitive values.

Letters: n people, c classes, g groups of indistinguishable people (same class, same quasi-identifying values),
w places for the different values of a class. Each record is taken for a person; where people have several, see
:mod:`sfumato.evaluation.attacks.peoples_worlds`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import comb

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.classes.partition import Partition
from sfumato.kernels.grouping import first_records


@dataclass(frozen=True, eq=False, repr=False)
class WorldCells:
    """Groups of people by the values of their class, so that beliefs fit into one small table.

    Attributes
    ----------
    group_of : numpy.ndarray
        int32 (n,): group of each person.
    class_of_group : numpy.ndarray
        int32 (g,): class of each group.
    members : numpy.ndarray
        int64 (g,): people in each group.
    place : numpy.ndarray
        int64 (c · v,): place of each sensitive value (row-major by class) among those of the class, −1 for others.
    width : int
        Number of places w: the most different values that a class has.
    counts : numpy.ndarray
        int64 (c, w): how often each value occurs in its class.
    """

    group_of: NDArray[np.int32]
    class_of_group: NDArray[np.int32]
    members: NDArray[np.int64]
    place: NDArray[np.int64]
    width: int
    counts: NDArray[np.int64]

    @property
    def shares(self) -> NDArray[np.float64]:
        """Return the share of each value in the class of each group, float64 (g, w): the belief by random worlds."""
        of_class = self.counts / self.counts.sum(axis=1, keepdims=True)
        chosen: NDArray[np.float64] = of_class[self.class_of_group]
        return chosen

    def there(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the share of the members of each group who have the value of each place, float64 (g, w)."""
        size = len(self.members) * self.width
        sums = np.bincount(self.group_of.astype(np.int64) * self.width + self._places(values), minlength=size)
        return sums.reshape(len(self.members), self.width) / self.members[:, None]

    def accepted(self, back: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell of which groups the class came back, bool (g,)."""
        return back[self.class_of_group]

    def claimable(self, belief: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which values may be claimed, bool (g, w): the likeliest one, as everybody has one."""
        likeliest: NDArray[np.bool_] = np.arange(self.width) == belief.argmax(axis=1)[:, None]
        return likeliest

    def right(self, named: NDArray[np.int64], truth: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell who has the value that is named of their group, bool (n,).

        named : int64 (g,), a place for each group. truth : int64 (n,), everybody's value.
        """
        right: NDArray[np.bool_] = named[self.group_of] == self._places(truth)
        return right

    def certainty(self, belief: NDArray[np.float64], truth: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the belief in everybody's own value, float64 (n,)."""
        return belief[self.group_of, self._places(truth)]

    def _places(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the place of the value of each person in their class, int64 (n,)."""
        classes = self.class_of_group[self.group_of].astype(np.int64)
        places: NDArray[np.int64] = self.place[classes * (len(self.place) // len(self.counts)) + values]
        return places


def cells_of(
    classes: NDArray[np.int32], codes: NDArray[np.integer], values: NDArray[np.int64], value_count: int
) -> WorldCells:
    """Set up the table of groups and values.

    Parameters
    ----------
    classes
        int32 (n,): class of each person, ``0 .. c-1``.
    codes
        Integers (n, q): quasi-identifying values.
    values
        int64 (n,): sensitive values that the published table shows in each person's class, in any order inside a class.
    value_count
        Number of sensitive values v.
    """
    group_of, groups = group_records(np.column_stack([classes, codes.astype(np.int64)]))
    count = int(classes.max()) + 1
    per_class = np.bincount(classes * value_count + values, minlength=count * value_count)
    rank = np.cumsum((per_class > 0).reshape(count, value_count), axis=1) - 1
    place = np.where(per_class > 0, rank.ravel(), -1)
    width = int(place.max()) + 1
    counts = np.zeros((count, width), dtype=np.int64)
    present = np.flatnonzero(per_class)
    counts[present // value_count, place[present]] = per_class[present]
    members = np.bincount(group_of, minlength=groups)
    return WorldCells(group_of, classes[first_records(group_of, groups)], members, place, width, counts)


def world_count(cells: WorldCells, most: int) -> int:
    """Count the different worlds, or return ``most + 1`` if there are more."""
    worlds = 1
    for counts in cells.counts:
        placed = 0
        for count in counts.tolist():
            placed += count
            worlds *= comb(placed, count)
            if worlds > most:
                return most + 1
    return worlds


def every_world(classes: NDArray[np.int32], kinds: NDArray[np.integer]) -> Iterator[NDArray[np.int64]]:
    """Yield every world once: for each person, the place of a person of the same class whose values they take.

    Parameters
    ----------
    classes
        int32 (n,).
    kinds
        Integers (n,): equal for people with the same sensitive values, whose exchange makes no difference.
    """
    members = [np.flatnonzero(classes == each) for each in range(int(classes.max()) + 1)]
    choices = [list(arrangements(kinds[people].tolist(), people.tolist())) for people in members]
    for chosen in product(*choices):
        world = np.empty(len(classes), dtype=np.int64)
        for people, sources in zip(members, chosen, strict=True):
            world[people] = sources
        yield world


def random_worlds(
    classes: NDArray[np.int32], worlds: int, generator: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Yield worlds drawn at random, as :func:`every_world` does; cost O(n log n) each."""
    by_class = np.argsort(classes, kind="stable")
    for _ in range(worlds):
        world = np.empty(len(classes), dtype=np.int64)
        world[by_class] = np.lexsort((generator.random(len(classes)), classes))
        yield world


def survivors(classes: NDArray[np.int32], count: int, again: Partition) -> NDArray[np.bool_]:
    """Tell which classes a solution reproduces, with the same people; bool (c,)."""
    of_class = np.zeros(count, dtype=np.int64)
    of_class[classes] = again.class_of
    together = np.ones(count, dtype=np.bool_)
    together[classes[again.class_of != of_class[classes]]] = False
    kept = of_class >= 0
    sizes = np.bincount(classes, minlength=count)
    back: NDArray[np.bool_] = together & kept & (again.sizes[np.where(kept, of_class, 0)] == sizes)
    return back


def arrangements(kinds: Sequence[Hashable], sources: list[int]) -> Iterator[list[int]]:
    """Yield the different orders of `sources`; those of one kind are interchangeable."""
    if not sources:
        yield []
        return
    seen = set()
    for place, kind in enumerate(kinds):
        if kind in seen:
            continue
        seen.add(kind)
        rest_kinds, rest = [*kinds[:place], *kinds[place + 1 :]], sources[:place] + sources[place + 1 :]
        for tail in arrangements(rest_kinds, rest):
            yield [sources[place], *tail]

"""One release as its recipient holds it: which class each row shows, what else the row says, and the classes' boxes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.kernels.series.meeting import Shapes, meet


@dataclass(frozen=True, eq=False, repr=False)
class Boxes:
    """What classes publish, in codes that mean the same in all releases of the series.

    Letters: c classes, q attributes, v values of an attribute.

    Attributes
    ----------
    low, high : numpy.ndarray
        Numbers (c, q), closed: an interval's ends; for a hierarchy with leaves numbered in depth-first order, the first
        and the last leaf of the node; both the same number for labels that only meet when they are equal.
    sets : mapping of int to numpy.ndarray
        bool (c, v) for each attribute that is published as value sets; `low` and `high` are not read there.

    Notes
    -----
    Where a release says in which months the people of a class came, that is one more attribute.
    """

    low: NDArray[np.number]
    high: NDArray[np.number]
    sets: Mapping[int, NDArray[np.bool_]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the shapes and that no box is empty.

        Raises
        ------
        InputError
            When they do not fit.
        """
        shapes = {self.low.shape, self.high.shape, *((len(each), self.low.shape[-1]) for each in self.sets.values())}
        if self.low.ndim != 2 or len(shapes) != 1:
            raise InputError("the boxes of a release need one row for each class and one column for each attribute")
        ranged = [index for index in range(self.width) if index not in self.sets]
        if (self.low[:, ranged] > self.high[:, ranged]).any() or not all(
            each.any(axis=1).all() for each in self.sets.values()
        ):
            raise InputError("a class of a release has a box that covers nothing: the release was changed, or misread")

    def take(self, classes: NDArray[np.integer]) -> Boxes:
        """Return the boxes of some classes, in that order."""
        sets = {index: members[classes] for index, members in self.sets.items()}
        return Boxes(self.low[classes], self.high[classes], sets)

    def covers(self, other: Boxes, attribute: int) -> NDArray[np.bool_]:
        """Tell which of some boxes each box meets in one attribute; bool (c, other classes)."""
        if attribute in self.sets:
            shared = self.sets[attribute].astype(np.float32) @ other.sets[attribute].astype(np.float32).T
            return np.asarray(shared > 0)
        low, high = self.low[:, attribute, None], self.high[:, attribute, None]
        return np.asarray((low <= other.high[:, attribute]) & (other.low[:, attribute] <= high))

    @property
    def count(self) -> int:
        """Number of classes c."""
        return len(self.low)

    @property
    def width(self) -> int:
        """Number of attributes q."""
        return int(self.low.shape[1])

    @cached_property
    def hulls(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Smallest ranges around the boxes, value sets by their first and last member; float64 (c, q) twice."""
        low, high = self.low.astype(np.float64), self.high.astype(np.float64)
        for index, members in self.sets.items():
            low[:, index] = members.argmax(axis=1)
            high[:, index] = members.shape[1] - 1 - members[:, ::-1].argmax(axis=1)
        return low, high

    @cached_property
    def shapes(self) -> Shapes:
        """The boxes as kernels compare them."""
        bits = [_as_words(self.sets.get(index, self.low[:, :0] > 0)) for index in range(self.width)]
        words = np.cumsum([0, *(each.shape[1] for each in bits)], dtype=np.int64)
        bits.append(np.zeros((self.count, 0), dtype=np.uint64))
        return Shapes(*self.hulls, np.ascontiguousarray(np.concatenate(bits, axis=1)), words)


def _as_words(members: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return sets as bits of whole words; uint64 (c, words)."""
    padded = np.zeros((len(members), -(-members.shape[1] // 64) * 64), dtype=np.bool_)
    padded[:, : members.shape[1]] = members
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64, copy=False)


def dated(boxes: Boxes, months: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Boxes:
    """Add with which releases people came, the first and the last one of each class, as a last attribute."""
    return Boxes(np.column_stack([boxes.low, months[0]]), np.column_stack([boxes.high, months[1]]), boxes.sets)


def any_month(number: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return months that tell nothing: from the first release to the one of a number, for all of some classes."""
    return np.zeros(count, dtype=np.int64), np.full(count, number, dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Released:
    """The rows of one release.

    Attributes
    ----------
    class_of : numpy.ndarray
        Integers (n,): the class that each row shows, ``0 .. c-1``.
    value_of : numpy.ndarray
        Integers (n,), from 0: a number for **all** that the row publishes beside its class, the same in all releases:
        sensitive values and every other column that is not generalized. Whatever is left out of it is
        something by which an attacker recognises rows and the recount does not.
    boxes : Boxes
    """

    class_of: NDArray[np.integer]
    value_of: NDArray[np.integer]
    boxes: Boxes

    def __post_init__(self) -> None:
        """Check that rows and classes fit.

        Raises
        ------
        InputError
            When they do not.
        """
        if self.class_of.ndim != 1 or self.class_of.shape != self.value_of.shape:
            raise InputError("a release needs a class and a value for each row")
        if len(self.class_of) and (
            self.class_of.min() < 0 or self.class_of.max() >= self.boxes.count or self.value_of.min() < 0
        ):
            raise InputError("a row of a release has a class that has no box, or a value below 0")

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of each class, int64 (c,)."""
        return np.bincount(self.class_of, minlength=self.boxes.count).astype(np.int64)

    @cached_property
    def places(self) -> Places:
        """How often each class has each of its values."""
        width = int(self.value_of.max(initial=0)) + 1
        keys = self.class_of.astype(np.int64) * width + self.value_of
        if self.boxes.count * width <= 8 * len(keys) + 1024:
            counts = np.bincount(keys, minlength=self.boxes.count * width)
            found = np.flatnonzero(counts)
            counts = counts[found]
        else:
            found, counts = np.unique(keys, return_counts=True)
        return Places(found // width, found % width, counts.astype(np.int64), self.boxes.count)


@dataclass(frozen=True, eq=False, repr=False)
class Places:
    """The values of classes: a place is a class and a value that it has.

    Letters: z places.

    Attributes
    ----------
    class_of, value_of, rows : numpy.ndarray
        int64 (z,): sorted by class, then value; `rows` ≥ 1.
    count : int
        Number of classes c.
    """

    class_of: NDArray[np.int64]
    value_of: NDArray[np.int64]
    rows: NDArray[np.int64]
    count: int

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the places of each class start; int64 (c + 1,)."""
        return np.searchsorted(self.class_of, np.arange(self.count + 1)).astype(np.int64)

    def find(self, classes: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places of classes and values, −1 where a class does not have the value; int64."""
        if not len(self.class_of):
            return np.full(len(classes), -1, dtype=np.int64)
        width = int(max(self.value_of.max(), values.max(initial=0))) + 1
        keys, wanted = self.class_of * width + self.value_of, classes * width + values
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[at] == wanted, at, -1)


def row_runs(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Write runs of numbers out, one after the other: which run each number is of, and the number; int64 twice."""
    owner = np.repeat(np.arange(len(starts)), lengths)
    return owner, (starts - np.cumsum(lengths) + lengths)[owner] + np.arange(len(owner))


# Which rows of an older release can be which rows of a newer one: places, edges between them, and what hangs together.
#
# A place is a class and a value that it has. An edge joins a place of the older release with one of the newer when the
# value is the same and the classes meet. A group holds all places that edges connect.


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
    pair, place = row_runs(older.starts[first], np.diff(older.starts)[first])
    other = newer.find(second[pair], older.value_of[place])
    shared = other >= 0
    return Edges(place[shared], other[shared], pair[shared], older, newer)


# Which classes of two releases meet: somebody's original values may be covered by both.


def meeting(older: Boxes, newer: Boxes) -> tuple[Numbers, Numbers]:
    """Return the pairs of classes that meet, in every attribute; int64 (p,) twice, sorted by newer, then older class.

    Raises
    ------
    InputError
        When the releases differ in their attributes.

    Notes
    -----
    Space is halved where that leaves fewest pairs, until few are left to be compared. Cost O(q c log c) where classes
    of a release hardly overlap, O(q c²) at worst.
    """
    if older.width != newer.width or {index: sets.shape[1] for index, sets in older.sets.items()} != {
        index: sets.shape[1] for index, sets in newer.sets.items()
    }:
        raise InputError("two releases publish different attributes: they are not of one series")
    second, first = np.divmod(meet(older.shapes, newer.shapes), max(1, older.count))
    return first, second

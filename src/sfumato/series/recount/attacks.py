"""The plain attacks on a series: intersection, difference, record tracing.

They ask less than the recount, and anybody can play them. What they find, the recount excludes as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.series.recount.at_once import at_once
from sfumato.series.recount.edges import edges_between
from sfumato.series.recount.meeting import meeting
from sfumato.series.recount.released import Released

Numbers = NDArray[np.int64]


class Narrowed(NamedTuple):
    """To what somebody is narrowed down.

    Attributes
    ----------
    rows, values : numpy.ndarray
        int64: how many rows, and how many different values, are left.
    """

    rows: Numbers
    values: Numbers


def intersect(releases: Sequence[Released], classes: NDArray[np.integer]) -> Narrowed:
    """Intersect the classes that a person is known to be in: the values that all of them have.

    Parameters
    ----------
    releases
        Any number, of one table or of several that share people; no order is assumed.
    classes
        Integers (p, releases): the class of each person in each release, −1 where the person is not in it.

    Returns
    -------
    Narrowed
        For each person, (p,): of each value as many rows as the class that has fewest of it. 0 for who is nowhere.

    Notes
    -----
    Cost O(releases · distinct histories · values of a class).
    """
    histories, history_of = np.unique(classes, axis=0, return_inverse=True)
    owner = value = rows = np.zeros(0, dtype=np.int64)
    begun = np.zeros(len(histories), dtype=np.bool_)
    for column, release in enumerate(releases):
        label, places = histories[:, column].astype(np.int64), release.places
        inside = label >= 0
        going = ~inside[owner]
        at = places.find(label[owner], value)
        stays = going | (at >= 0)
        rows = np.where(going, rows, np.minimum(rows, places.rows[at] if len(places.rows) else rows))[stays]
        owner, value = owner[stays], value[stays]
        fresh = np.flatnonzero(inside & ~begun)
        lengths = np.diff(places.starts)[label[fresh]]
        place = np.repeat(places.starts[label[fresh]] - np.cumsum(lengths) + lengths, lengths) + np.arange(
            lengths.sum()
        )
        owner, value = np.append(owner, np.repeat(fresh, lengths)), np.append(value, places.value_of[place])
        rows, begun = np.append(rows, places.rows[place]), begun | inside
    left = np.bincount(owner, weights=rows, minlength=len(histories)).astype(np.int64)
    return Narrowed(left[history_of.ravel()], np.bincount(owner, minlength=len(histories))[history_of.ravel()])


class Differences(NamedTuple):
    """What a newer release has more than an older one, in each group of classes that meet.

    Attributes
    ----------
    group_of : numpy.ndarray
        int64 (c,): the group of each newer class.
    narrowed : Narrowed
        (g,): the rows that are new in each group, and their different values. Whoever came with the newer release and
        belongs there has one of them.
    """

    group_of: Numbers
    narrowed: Narrowed


def subtract(older: Released, newer: Released) -> Differences:
    """Subtract an older release from a newer one that holds all its people.

    Notes
    -----
    Classes are put together until nobody can have moved from one group to another.
    """
    first, second = meeting(older.boxes, newer.boxes)
    group = _groups(first, second, older.boxes.count, newer.boxes.count)
    old_group, new_group = group[: older.boxes.count], group[older.boxes.count :]
    width = 1 + int(max(older.value_of.max(initial=0), newer.value_of.max(initial=0)))
    keys = np.concatenate(
        [new_group[newer.class_of] * width + newer.value_of, old_group[older.class_of] * width + older.value_of]
    )
    found, place = np.unique(keys, return_inverse=True)
    signs = np.repeat([1, -1], [len(newer.class_of), len(older.class_of)])
    rows = np.maximum(0, np.bincount(place, weights=signs, minlength=len(found)).astype(np.int64))
    count = int(group.max(initial=-1)) + 1
    narrowed = Narrowed(
        np.bincount(found // width, weights=rows, minlength=count).astype(np.int64),
        np.bincount(found[rows > 0] // width, minlength=count),
    )
    return Differences(new_group, narrowed)


def _groups(first: Numbers, second: Numbers, older: int, newer: int) -> Numbers:
    group = np.arange(older + newer)
    while True:
        before = group.copy()
        np.minimum.at(group, second + older, group[first])
        np.minimum.at(group, first, group[second + older])
        group = group[group]
        if np.array_equal(before, group):
            return np.unique(group, return_inverse=True)[1]


class Traced(NamedTuple):
    """To how many classes rows can be traced.

    Attributes
    ----------
    onward : numpy.ndarray
        int64 (n,): classes of the newer release in which each row of the older one can be.
    back : numpy.ndarray
        int64 (m,): classes of the older release in which each row of the newer one can have been; 0: it is new.
    """

    onward: Numbers
    back: Numbers


def trace(older: Released, newer: Released) -> Traced:
    """Trace rows from release to release by their values: a row that can go to one class alone shows both its boxes.

    Raises
    ------
    InputError
        When the releases do not belong together.
    """
    edges = edges_between(older.places, newer.places, meeting(older.boxes, newer.boxes))
    open_edges = at_once(edges).together > 0
    onward = np.bincount(edges.older[open_edges], minlength=len(older.places.rows))
    back = np.bincount(edges.newer[open_edges], minlength=len(newer.places.rows))
    return Traced(onward[_places_of(older)], back[_places_of(newer)])


def _places_of(release: Released) -> Numbers:
    return release.places.find(release.class_of.astype(np.int64), release.value_of.astype(np.int64))

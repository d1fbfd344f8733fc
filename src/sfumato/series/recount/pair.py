"""The BCF recount of two releases: forward, cross and backward attack.

Somebody knows a person's quasi-identifying values, and with which release the person came. For every class E of the
older release and F of the newer that meet:

* *Forward*: a person who is in both looks for the own row in E. Of the rows of E only those that can stand in F can be
  it. *Cross*: the same for the row in F. Value for value both leave the same number of rows, the most that can be in
  both at once; so one number serves both.
* *Backward*: a person who came with the newer release looks for the own row in F. Rows that are old in every world are
  not it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.kernels.series.flows import Network, rows_at_once
from sfumato.series.recount.released import Edges, Places, Released, edges_between, meeting

# How many rows an edge can carry, and how many rows of a place are old in every world.
#
# A *world* says which row of the newer release each row of the older one became: another value never, and only where
# the classes meet. Every older row is in the newer release.


STRANGERS = (
    "{count:,} rows of the older release have no row in the newer one that they can have become: the two releases do "
    "not belong together, or rows were taken out; recount releases of one series, in their order"
)


class AtOnce(NamedTuple):
    """What all worlds have in common.

    Attributes
    ----------
    together : numpy.ndarray
        int64 (e,): most rows of an edge in one world.
    fixed : numpy.ndarray
        int64 (y,): rows of a newer place that are old in every world.
    flows : int
        Groups that were counted by flows.
    """

    together: Numbers
    fixed: Numbers
    flows: int


def at_once(edges: Edges) -> AtOnce:
    """Count over all worlds.

    Raises
    ------
    InputError
        When there is no world: the releases do not belong together.

    Notes
    -----
    *Closed form.* In a group with an edge between any two places of different releases, older rows may stand anywhere.
    So an edge can carry ``min(e, f)`` rows: the others fit, as the group has at least as many newer rows as older ones.
    And of the f rows of a newer place, all are old but those that the group's ``G_2 − f`` other rows leave over:
    ``max(0, G_1 − (G_2 − f))``. These are the formulas of Fung, Wang, Fu and Pei (EDBT 2008). Nested releases have such
    groups alone: one older place, and the newer ones inside it.

    *Flows.* In any other group the formulas count too few excluded rows. There the largest flows are searched for, one
    for each place and edge; exact, as flows of whole numbers are.
    """
    older, newer, count = edges.groups
    supply, room = edges.older_places.rows, edges.newer_places.rows
    supplies = np.bincount(older, weights=supply, minlength=count).astype(np.int64)
    rooms = np.bincount(newer, weights=room, minlength=count).astype(np.int64)
    missing = int(np.maximum(0, supplies - rooms).sum())
    if missing:
        raise InputError(STRANGERS.format(count=missing))
    together = np.minimum(supply[edges.older], room[edges.newer])
    fixed = np.maximum(0, supplies[newer] - (rooms[newer] - room))
    odd = ~edges.whole
    if odd.any():
        _count_by_flows(edges, odd, together, fixed)
    return AtOnce(together, fixed, int(odd.sum()))


def _count_by_flows(edges: Edges, odd: NDArray[np.bool_], together: Numbers, fixed: Numbers) -> None:
    """Write the counts of some groups."""
    older, newer, _ = edges.groups
    places = [_by_group(group, odd) for group in (older, newer)]
    new_number = [_numbers(chosen, len(group)) for chosen, group in zip(places, (older, newer), strict=True)]
    chosen = np.flatnonzero(odd[older[edges.older]])
    chosen = chosen[np.argsort(new_number[0][edges.older[chosen]], kind="stable")]
    first, second = new_number[0][edges.older[chosen]], new_number[1][edges.newer[chosen]]
    network = Network(
        edges.older_places.rows[places[0]], edges.newer_places.rows[places[1]], first, second,
        _starts(first, len(places[0])), np.argsort(second, kind="stable"), _starts(second, len(places[1])),
    )  # fmt: skip
    groups = np.flatnonzero(odd)
    bounds = np.stack(
        [np.searchsorted(group[some], groups) for group, some in zip((older, newer), places, strict=True)]
    )
    bounds = np.append(bounds.T, [[len(places[0]), len(places[1])]], axis=0).astype(np.int64)
    on_edges, in_places = np.zeros(len(chosen), dtype=np.int64), np.zeros(len(places[1]), dtype=np.int64)
    homeless = rows_at_once(network, bounds, on_edges, in_places)
    if homeless:
        raise InputError(STRANGERS.format(count=homeless))
    together[chosen], fixed[places[1]] = on_edges, in_places


def _by_group(group: Numbers, odd: NDArray[np.bool_]) -> Numbers:
    chosen = np.flatnonzero(odd[group])
    return chosen[np.argsort(group[chosen], kind="stable")]


def _numbers(chosen: Numbers, count: int) -> Numbers:
    number = np.full(count, -1, dtype=np.int64)
    number[chosen] = np.arange(len(chosen))
    return number


def _starts(sorted_or_not: Numbers, count: int) -> Numbers:
    return np.append(0, np.cumsum(np.bincount(sorted_or_not, minlength=count))).astype(np.int64)


# The plain attacks on a series: intersection, difference, record tracing.
#
# They ask less than the recount, and anybody can play them. What they find, the recount excludes as well.


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


Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class PairRecount:
    """What two releases together leave of each other's classes.

    Letters: p pairs of classes that meet, c classes of the newer release.

    Attributes
    ----------
    older, newer : numpy.ndarray
        int64 (p,): the classes of each pair, sorted by newer, then older class.
    both : Places
        Of each pair, the rows that remain to a person who is in both, by value; its classes are the p pairs.
    new : Places
        Of each newer class, the rows that remain to a person who came with it, by value.
    nested : bool
        Whether every newer class meets at most one older class.
    flows : int
        Groups of classes and values that no closed form decides; they were counted by flows.
    """

    older: Numbers
    newer: Numbers
    both: Places
    new: Places
    nested: bool
    flows: int

    @property
    def both_rows(self) -> Numbers:
        """Rows that remain of each pair to who is in both; int64 (p,). 0: nobody is, as no value is in both."""
        return _summed(self.both)

    @property
    def new_rows(self) -> Numbers:
        """Rows that remain of each newer class to who came with it; int64 (c,). 0: nobody did, as all rows are old."""
        return _summed(self.new)

    @property
    def least(self) -> int | None:
        """The fewest rows that remain to anybody: the k for which the pair is BCF-anonymous; None: to nobody any."""
        found = np.concatenate([self.both_rows, self.new_rows])
        return int(found[found > 0].min()) if (found > 0).any() else None


def recount_pair(older: Released, newer: Released, pairs: tuple[Numbers, Numbers] | None = None) -> PairRecount:
    """Count what two releases together leave, exactly: by closed forms, and by flows where these are not exact.

    Parameters
    ----------
    older, newer
    pairs
        The pairs of classes between which rows may go, sorted by newer, then older class; None: all that meet.

    Raises
    ------
    InputError
        When not every row of the older release can be in the newer one: the releases do not belong together.

    Notes
    -----
    *Guarantee.* The counts are those of all worlds (see :mod:`sfumato.series.recount.pair`), for every person that
    the releases do not exclude: pairs of classes in which nobody really is only make the least number smaller. What is
    counted are rows that remain, against an attacker who knows one person. Values that remain in different numbers are
    no chances. Who knows the quasi-identifying values of everybody in the table may exclude more
    (explanation *What two releases tell*).

    *Complexity.* O((n + e) log n) time for n rows and e pairs of a value and two classes that meet and have it, where
    closed forms do; beyond, one flow for each of them.

    *Source.* B. C. M. Fung, K. Wang, A. W.-C. Fu, J. Pei, "Anonymity for continuous data publishing", EDBT 2008.
    Departures: flows; one number for forward and cross; pairs of which nothing remains are of nobody.
    """
    pairs = meeting(older.boxes, newer.boxes) if pairs is None else pairs
    edges = edges_between(older.places, newer.places, pairs)
    counted = at_once(edges)
    order = np.lexsort((newer.places.value_of[edges.newer], edges.pair))
    values = newer.places.value_of[edges.newer]
    kept = order[counted.together[order] > 0]
    both = Places(edges.pair[kept], values[kept], counted.together[kept], len(pairs[0]))
    left = newer.places.rows - counted.fixed
    some = left > 0
    new = Places(newer.places.class_of[some], newer.places.value_of[some], left[some], newer.boxes.count)
    nested = bool((np.bincount(pairs[1], minlength=1) <= 1).all())
    return PairRecount(*pairs, both, new, nested, counted.flows)


def _summed(places: Places) -> Numbers:
    return np.bincount(places.class_of, weights=places.rows, minlength=places.count).astype(np.int64)

"""What several releases of one table tell together: the BCF attacks on two of them, and what all leave to anybody.

Somebody knows a person's quasi-identifying values, and with which release the person came. For every class E of the
older release and F of the newer that meet:

* *Forward*: a person who is in both looks for the own row in E. Of the rows of E only those that can stand in F can be
  it. *Cross*: the same for the row in F. Value for value both leave the same number of rows, the most that can be in
  both at once; so one number serves both.
* *Backward*: a person who came with the newer release looks for the own row in F. Rows that are old in every world are
  not it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts, counts_of, number_values
from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.kernels.series.flows import Network, rows_at_once
from sfumato.kernels.series.meeting import Shapes, meet
from sfumato.models.protocol import TRAITS, PrivacyModel
from sfumato.table.encoding import EncodedAttribute


@dataclass(frozen=True, eq=False, repr=False)
class Boxes:
    """What classes publish, in codes that mean the same in all releases of the series.

    Letters: c classes, q attributes, v values of an attribute.

    Where a release says in which months the people of a class came, that is one more attribute.
    """

    # `low`, `high`: numbers (c, q), closed: an interval's ends; for a hierarchy with leaves numbered in depth-first
    # order, the first and the last leaf of the node; both the same number for labels that only meet when they are equal
    low: NDArray[np.number]
    high: NDArray[np.number]
    # bool (c, v) for each attribute that is published as value sets; `low` and `high` are not read there
    sets: Mapping[int, NDArray[np.bool_]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the shapes and that no box is empty. Raises ``InputError`` when they do not fit."""
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
    """The rows of one release."""

    class_of: NDArray[np.integer]  # Integers (n,): the class that each row shows, ``0 .. c-1``.
    # Integers (n,), from 0: a number for **all** that the row publishes beside its class, the same in all releases:
    # sensitive values and every other column that is not generalized. Whatever is left out of it is something by which
    # an attacker recognises rows and the recount does not.
    value_of: NDArray[np.integer]
    boxes: Boxes

    def __post_init__(self) -> None:
        """Check that rows and classes fit. Raises ``InputError`` when they do not."""
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
    """The values of classes: a place is a class and a value that it has. Letters: z places."""

    # `class_of`, `value_of`, `rows`: (z,): sorted by class, then value; `rows` ≥ 1
    class_of: NDArray[np.int64]
    value_of: NDArray[np.int64]
    rows: NDArray[np.int64]
    count: int  # number of classes c

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the places of each class start; int64 (c + 1,)."""
        return np.searchsorted(self.class_of, np.arange(self.count + 1)).astype(np.int64)

    def find(self, classes: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places of classes and values, −1 where a class does not have the value; int64."""
        if not len(self.class_of):
            return np.full(len(classes), -1, dtype=np.int64)
        width = int(max(self.value_of.max(), values.max(initial=0))) + 1
        keys, targets = self.class_of * width + self.value_of, classes * width + values
        at = np.minimum(np.searchsorted(keys, targets), len(keys) - 1)
        return np.where(keys[at] == targets, at, -1)


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
    """The e edges between the places of two releases, z of the older and y of the newer, in g groups."""

    # `older`, `newer`: int64 (e,): the places that each edge joins
    older: Numbers
    newer: Numbers
    pair: Numbers  # int64 (e,): the pair of classes that each edge is of
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

    Raises ``InputError`` when the releases differ in their attributes. Space is halved where that leaves fewest pairs,
    until few are left to be compared. Cost O(q c log c) where classes of a release hardly overlap, O(q c²) at worst.
    """
    if older.width != newer.width or {index: sets.shape[1] for index, sets in older.sets.items()} != {
        index: sets.shape[1] for index, sets in newer.sets.items()
    }:
        raise InputError("two releases publish different attributes: they are not of one series")
    second, first = np.divmod(meet(older.shapes, newer.shapes), max(1, older.count))
    return first, second


# How many rows an edge can carry, and how many rows of a place are old in every world.
#
# A *world* says which row of the newer release each row of the older one became: another value never, and only where
# the classes meet. Every older row is in the newer release.


STRANGERS = (
    "{count:,} rows of the older release have no row in the newer one that they can have become: the two releases do "
    "not belong together, or rows were taken out; recount releases of one series, in their order"
)


class AtOnce(NamedTuple):
    """What all worlds have in common."""

    together: Numbers  # int64 (e,): most rows of an edge in one world
    fixed: Numbers  # int64 (y,): rows of a newer place that are old in every world
    flows: int  # groups that were counted by flows


def at_once(edges: Edges) -> AtOnce:
    """Count over all worlds.

    Raises ``InputError`` when there is no world: the releases do not belong together.

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
    """To what somebody is narrowed down."""

    # `rows`, `values`: int64: how many rows, and how many different values, are left
    rows: Numbers
    values: Numbers


def intersect(releases: Sequence[Released], classes: NDArray[np.integer]) -> Narrowed:
    """Intersect the classes that a person is known to be in: the values that all of them have.

    `releases`: any number, of one table or of several that share people; no order is assumed. `classes`: integers (p,
    releases): the class of each person in each release, −1 where the person is not in it. Returns: for each person,
    (p,): of each value as many rows as the class that has fewest of it. 0 for who is nowhere. Cost O(releases ·
    distinct histories · values of a class).
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
    """What a newer release has more than an older one, in each group of classes that meet."""

    group_of: Numbers  # int64 (c,): the group of each newer class
    # (g,): the rows that are new in each group, and their different values. Whoever came with the newer release and
    # belongs there has one of them.
    narrowed: Narrowed


def subtract(older: Released, newer: Released) -> Differences:
    """Subtract an older release from a newer one that holds its people; classes that people moved between are one."""
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
    """To how many classes rows can be traced."""

    onward: Numbers  # int64 (n,): classes of the newer release in which each row of the older one can be
    # int64 (m,): classes of the older release in which each row of the newer one can have been; 0: it is new
    back: Numbers


def trace(older: Released, newer: Released) -> Traced:
    """Trace rows from release to release by their values: a row that can go to one class alone shows both its boxes.

    Raises ``InputError`` when the releases do not belong together.
    """
    edges = edges_between(older.places, newer.places, meeting(older.boxes, newer.boxes))
    open_edges = at_once(edges).together > 0
    onward = np.bincount(edges.older[open_edges], minlength=len(older.places.rows))
    back = np.bincount(edges.newer[open_edges], minlength=len(newer.places.rows))
    return Traced(onward[_places_of(older)], back[_places_of(newer)])


def _places_of(release: Released) -> Numbers:
    return release.places.find(release.class_of.astype(np.int64), release.value_of.astype(np.int64))


@dataclass(frozen=True, eq=False, repr=False)
class PairRecount:
    """What two releases together leave of each other's classes: p pairs that meet, c classes of the newer."""

    # `older`, `newer`: int64 (p,): the classes of each pair, sorted by newer, then older class
    older: Numbers
    newer: Numbers
    both: Places  # of each pair, the rows that remain to a person who is in both, by value; its classes are the p pairs
    new: Places  # of each newer class, the rows that remain to a person who came with it, by value
    nested: bool  # whether every newer class meets at most one older class
    flows: int  # groups of classes and values that no closed form decides; they were counted by flows

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

    `pairs`: the pairs of classes between which rows may go, sorted by newer, then older class; None: all that meet.
    Raises ``InputError`` when not every row of the older release can be in the newer one: the releases do not belong
    together.

    *Guarantee.* The counts are those of all worlds (see :mod:`sfumato.series.recount`), for every person that the
    releases do not exclude: pairs of classes in which nobody really is only make the least number smaller. What is
    counted are rows that remain, against an attacker who knows one person. Values that remain in different numbers are
    no chances. Who knows the quasi-identifying values of everybody in the table may exclude more (explanation *What two
    releases tell*).

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


# What all releases tell together, where worlds of every step can follow each other.
#
# Worlds of each two releases need not fit each other: a row that went from class E to F, and on from F to G, needs
# values that all three labels cover. Here a step may take rows only from class to class as somebody really went, which
# is known to the steward. If then every *chain* of such steps has values in common, a world of one step can follow any
# world of the step before, and what is left by all releases together is what the steps leave. Whoever does not know who
# went where has more worlds, and is left no less.


Classes = NDArray[np.int32]
ClassPairs = tuple[Numbers, Numbers]


def history_steps(before: Classes, now: Classes) -> ClassPairs:
    """Return the pairs of classes in which somebody is; int64 (p,) twice, sorted by newer, then older class.

    before, now : int32 (n,), the class of each person in two releases, −1 for who is in none.
    """
    stays = (before >= 0) & (now >= 0)
    width = int(before.max(initial=0)) + 1
    newer, older = np.divmod(np.unique(now[stays].astype(np.int64) * width + before[stays]), width)
    return older, newer


@dataclass(frozen=True, eq=False, repr=False)
class Chains:
    """What the labels of all h chains of steps to the classes of a release cover together; those alike are one."""

    class_of: Numbers  # int64 (h,): the class in which each ends
    boxes: Boxes  # what its labels have in common; not empty

    @classmethod
    def first(cls, release: Released) -> Chains:
        """Return the chains of a first release: its classes."""
        return cls(np.arange(release.boxes.count), release.boxes)

    def onward(self, steps: ClassPairs, newer: Boxes, newcomers: Numbers) -> tuple[Chains, NDArray[np.bool_]]:
        """Follow the chains into one more release; also tell of which steps some chain has nothing in common.

        `steps`: see :func:`history_steps`. `newer`: the labels of the newer release. `newcomers`: the classes of it in
        which somebody is who was in no release before. Returns: the chains that have something in common, and bool
        (p,).
        """
        older, into = steps
        order = np.argsort(self.class_of, kind="stable")
        starts = np.searchsorted(self.class_of[order], older)
        ends = np.searchsorted(self.class_of[order], older, side="right")
        step, at = row_runs(starts, ends - starts)
        boxes, some = _in_common(self.boxes.take(order[at]), newer.take(into[step]))
        empty = np.zeros(len(older), dtype=np.bool_)
        empty[step[~some]] = True
        followed = into[step][some]
        # A class that is reached by a chain needs none of newcomers: theirs covers all of it.
        begun = np.setdiff1d(newcomers, followed)
        together = _together(boxes.take(np.flatnonzero(some)), newer.take(begun))
        return _different(np.append(followed, begun), together), empty


def chains_to(releases: Sequence[Released], classes: Classes) -> Chains:
    """Follow all chains to the last of some releases; those that break are dropped. classes : int32 (n, releases)."""
    return follow_chains(releases, classes)[0]


def follow_chains(releases: Sequence[Released], classes: Classes) -> tuple[Chains, NDArray[np.bool_]]:
    """Follow all chains to the last of some releases; also tell which of its steps have a chain that breaks."""
    now, empty = Chains.first(releases[0]), np.zeros(0, dtype=np.bool_)
    for number in range(1, len(releases)):
        steps = history_steps(classes[:, number - 1], classes[:, number])
        came = np.unique(classes[classes[:, number - 1] < 0, number])
        now, empty = now.onward(steps, releases[number].boxes, came[came >= 0].astype(np.int64))
    return now, empty


def join_releases(releases: Iterable[Released]) -> bool:
    """Tell whether the months of arrival tell nothing in any of some releases: all worlds of steps are counted then."""
    return all(
        not release.boxes.low[:, -1].any() and bool((release.boxes.high[:, -1] == number).all())
        for number, release in enumerate(releases)
    )


def _in_common(one: Boxes, other: Boxes) -> tuple[Boxes, NDArray[np.bool_]]:
    """Return what boxes have in common, one by one, and where that is anything; elsewhere the box is one of the two."""
    low, high = np.maximum(one.low, other.low), np.minimum(one.high, other.high)
    sets = {index: members & other.sets[index] for index, members in one.sets.items()}
    ranged = [index for index in range(one.width) if index not in sets]
    some = (low[:, ranged] <= high[:, ranged]).all(axis=1)
    for members in sets.values():
        some &= members.any(axis=1)
    kept = some[:, None]
    shown = {index: np.where(kept, members, one.sets[index]) for index, members in sets.items()}
    return Boxes(np.where(kept, low, one.low), np.where(kept, high, one.high), shown), some


def _together(one: Boxes, other: Boxes) -> Boxes:
    sets = {index: np.concatenate([members, other.sets[index]]) for index, members in one.sets.items()}
    return Boxes(np.concatenate([one.low, other.low]), np.concatenate([one.high, other.high]), sets)


def _different(class_of: Numbers, boxes: Boxes) -> Chains:
    """Keep one of the chains that end in one class and cover the same."""
    low, high = boxes.low.astype(np.float64), boxes.high.astype(np.float64)
    low[:, list(boxes.sets)] = high[:, list(boxes.sets)] = 0
    everything = np.column_stack([class_of, low, high, *boxes.sets.values()]).astype(np.float64)
    kept = np.sort(np.unique(everything, axis=0, return_index=True)[1])
    return Chains(class_of[kept].astype(np.int64), boxes.take(kept))


# Privacy models on the rows that several releases together leave.
#
# What remains of a class to an attacker is a list of rows, so many of each value: the most that can be the person's at
# once. It is no sample of anything, and values that remain more often are not for that more likely the person's. So
# only such models make sense on it as count the rows of one class among themselves:
#
# * k rows; l different values among them;
# * bounds on shares *of the rows that remain*: probabilistic, entropy and recursive l-diversity, (α, k)-anonymity,
#   guarded values. Whoever picks one of the rows that remain, blindly, is right no more often than they allow.
#
# Models that compare a class with the whole table (t-closeness, β-likeness, δ-disclosure) are refused: they speak of
# the distribution of a class, and what remains is none. So are models of people with several records: rows are counted
# here, and which of them are one person's is not known.


@dataclass(frozen=True, eq=False, repr=False)
class SensitiveValues:
    """What numbers say of each sensitive attribute. Letters: v values (combinations beside the class), s attributes."""

    attributes: Sequence[EncodedAttribute]
    codes: NDArray[np.integer]


def check_models(models: Sequence[PrivacyModel], attributes: Sequence[str]) -> None:
    """Refuse, with ``PolicyError`` and the reason, every model that means nothing for rows that releases leave."""
    problems = []
    for model in models:
        try:
            traits = [TRAITS[rule.code] for rule in model.rules(attributes)]
        except NotImplementedError:
            traits = []
        if any(each.relative for each in traits):
            problems.append(
                f"{model.name}: what two releases leave of a class is no distribution that could be compared with the "
                "whole table; in a series use a model of single classes, such as distinct or probabilistic l-diversity"
            )
        elif not traits:
            problems.append(f"{model.name}: no model of single classes; a series cannot be recounted for it")
    raise_all(PolicyError, problems)


def holds_on(places: Places, models: Sequence[PrivacyModel], values: SensitiveValues) -> NDArray[np.bool_]:
    """Tell of which lists of rows every model holds; of empty ones it does, as they are nobody's.

    `places`: rows that remain: :attr:`~sfumato.series.recount.PairRecount.both`, `new`, or those that several releases
    leave. `models`, `values`: what was promised of every class, and what the numbers of values mean. Returns: bool
    (c,). Raises ``PolicyError``: see :func:`check_models`.
    """
    check_models(models, [attribute.name for attribute in values.attributes])
    verdict = np.ones(places.count, dtype=np.bool_)
    lists, list_of = np.unique(places.class_of, return_inverse=True)
    if not len(lists):
        return verdict
    sizes = np.bincount(list_of, weights=places.rows).astype(np.int64)
    counted = {
        attribute.name: _counted(attribute, values.codes[places.value_of, index], list_of, places.rows, len(lists))
        for index, attribute in enumerate(values.attributes)
    }
    statistics = ClassStatistics(sizes, counted)
    for model in models:
        verdict[lists] &= model.holds(statistics)
    return verdict


def _counted(
    attribute: EncodedAttribute,
    codes: NDArray[np.integer],
    list_of: NDArray[np.int64],
    rows: NDArray[np.int64],
    count: int,
) -> SensitiveCounts:
    occurrences = np.bincount(codes, weights=rows, minlength=attribute.cardinality).astype(np.int64)
    value_of, code_of = number_values(attribute, occurrences)
    keys, place = np.unique(list_of * len(code_of) + value_of[codes], return_inverse=True)
    counts = np.bincount(place, weights=rows).astype(np.int64)
    starts = np.searchsorted(keys, np.arange(count + 1) * len(code_of)).astype(np.int64)
    return counts_of(attribute, code_of, starts, (keys % len(code_of)).astype(np.int32), counts, occurrences[code_of])


class Followed(NamedTuple):
    """Where everybody is, and what was left to them on the way."""

    # `history_of`, `class_of`: integers (n,): people with one history, and their class; −1 for who is not published
    history_of: Numbers
    class_of: NDArray[np.int32]
    left: Places  # rows that remain to each history


def follow_all(
    releases: Sequence[Released],
    classes: NDArray[np.int32],
    newest: PairRecount | None = None,
    *,
    as_they_went: bool = False,
) -> Followed:
    """Follow everybody from the first release to the last one.

    `releases`: at least one. `classes`: int32 (n, releases): the class of everybody in each, −1 for who was not
    published. `newest`: the recount of the last two releases, where it is at hand. `as_they_went`: rows go only where
    somebody really went; see :mod:`sfumato.series.recount`.
    """
    now = Followed(classes[:, 0].astype(np.int64), classes[:, 0], releases[0].places)
    for number in range(1, len(releases)):
        known = newest if number == len(releases) - 1 else None
        steps = history_steps(classes[:, number - 1], classes[:, number]) if as_they_went else None
        now = follow(now, known or recount_pair(releases[number - 1], releases[number], steps), classes[:, number])
    return now


def follow(before: Followed, step: PairRecount, class_of: NDArray[np.int32]) -> Followed:
    """Follow everybody from the last release into the candidate; of a history, no more rows remain than of any step."""
    old = before.history_of >= 0
    width = int(class_of.max(initial=0)) + 1
    keys = np.where(old, before.history_of + 1, 0) * width + class_of
    keys = np.where(class_of >= 0, keys, -1)
    ways, first, history_of = np.unique(keys, return_index=True, return_inverse=True)
    missing = int(len(ways) > 0 and ways[0] < 0)
    first = first[missing:]
    pair_keys = step.newer * (int(step.older.max(initial=0)) + 1) + step.older
    wanted = class_of[first].astype(np.int64) * (int(step.older.max(initial=0)) + 1) + before.class_of[first]
    pair = np.searchsorted(pair_keys, wanted)
    came = np.flatnonzero(~old[first])
    stayed = np.flatnonzero(old[first])
    history = before.history_of[first[stayed]]
    owner, place = row_runs(before.left.starts[history], np.diff(before.left.starts)[history])
    at = step.both.find(pair[stayed][owner], before.left.value_of[place])
    rows = np.minimum(before.left.rows[place], step.both.rows[at]) * (at >= 0)
    new_owner, new_place = _of_classes(step.new, class_of[first[came]].astype(np.int64))
    left = _sorted_places(
        np.append(stayed[owner], came[new_owner]), np.append(before.left.value_of[place], step.new.value_of[new_place]),
        np.append(rows, step.new.rows[new_place]), len(first),
    )  # fmt: skip
    return Followed(history_of - missing, class_of, left)


def _of_classes(places: Places, classes: Numbers) -> tuple[Numbers, Numbers]:
    return row_runs(places.starts[classes], np.diff(places.starts)[classes])


def _sorted_places(owner: Numbers, value: Numbers, rows: Numbers, count: int) -> Places:
    order = np.lexsort((value, owner))
    order = order[rows[order] > 0]
    return Places(owner[order], value[order], rows[order], count)

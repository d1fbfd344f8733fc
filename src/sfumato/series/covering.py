"""Which classes cover which people: a short list for each, and no table of everybody and every class.

Letters: n people, c classes of a release, p pairs of somebody and a class, z places (classes and their values), v
values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.recoding.notation import STAR
from sfumato.recoding.parsing import split_set, written_ends
from sfumato.series.description import Covers
from sfumato.series.labels import HIGHEST, MISSING, values_of
from sfumato.series.recount.histories import Pairs
from sfumato.series.recount.released import Boxes, Places, meeting, row_runs
from sfumato.table.schema import Kind

Left = NDArray[np.float64]
Marks = NDArray[np.bool_]
Numbers = NDArray[np.int64]
Came = tuple[Numbers, tuple[Numbers, Numbers]]


@dataclass(frozen=True, eq=False, repr=False)
class Covering:
    """The classes of a release that cover each person.

    Attributes
    ----------
    person, class_of : numpy.ndarray
        int64 (p,): sorted by person, then class.
    count : int
        People n.
    """

    person: Numbers
    class_of: Numbers
    count: int

    @classmethod
    def of(cls, marks: Marks) -> Covering:
        """Take them from a table of all people and classes; bool (n, c)."""
        person, class_of = np.nonzero(marks)
        return cls(person.astype(np.int64), class_of.astype(np.int64), len(marks))

    @cached_property
    def starts(self) -> Numbers:
        """Where the classes of each person start; int64 (n + 1,)."""
        return np.searchsorted(self.person, np.arange(self.count + 1)).astype(np.int64)

    def take(self, people: Numbers) -> Covering:
        """Return those of some people, who are numbered anew; also more than once."""
        owner, at = row_runs(self.starts[people], np.diff(self.starts)[people])
        return Covering(owner, self.class_of[at], len(people))

    def of_all_records(self, owner_of: Numbers) -> Covering:
        """Return the classes that cover all records of an owner, where people are records; owners from 0, each there.

        owner_of : int64 (n,)
        """
        records = np.bincount(owner_of)
        width = int(self.class_of.max(initial=0)) + 1
        keys, times = np.unique(owner_of[self.person] * width + self.class_of, return_counts=True)
        owner, class_of = np.divmod(keys, width)
        kept = times == records[owner]
        return Covering(owner[kept], class_of[kept], len(records))

    def rows(self, places: Places, width: int) -> Left:
        """Return how many rows of each value the classes of each person have; float64 (n, width)."""
        return covers_by_value(self.person, self.class_of, places, (self.count, width))

    def values(self, own: Marks) -> Marks:
        """Return which values the classes of each person have; bool (n, v) from those of each class, bool (c, v)."""
        class_of, value_of = np.nonzero(own)
        places = Places(class_of, value_of, np.ones(len(class_of), dtype=np.int64), len(own))
        return np.asarray(self.rows(places, own.shape[1]) > 0)


def covers_by_value(person: Numbers, list_of: Numbers, places: Places, shape: tuple[int, int]) -> Left:
    """Sum the rows of each value in lists that people have; `shape` is the number of people and of values."""
    owner, place = row_runs(places.starts[list_of], np.diff(places.starts)[list_of])
    keys = person[owner] * shape[1] + places.value_of[place]
    rows = np.bincount(keys, weights=places.rows[place], minlength=shape[0] * shape[1])
    return rows.astype(np.float64).reshape(shape)


def covering(
    labels: pl.DataFrame,
    people: pl.DataFrame,
    kinds: Mapping[str, Kind],
    trees: Covers | None = None,
    came: Came | None = None,
) -> Covering:
    """Find the classes that cover each person, whose values are text in columns named like labels.

    Parameters
    ----------
    labels
        What each class publishes.
    people
        A row for each.
    kinds
        How to read the columns.
    trees
        The values under each node of hierarchies.
    came
        With which release each person came, int64 (n,), and the first and the last one that each class names; None
        where that is not said.

    Notes
    -----
    Space is halved as for classes that meet (:func:`~sfumato.series.recount.released.meeting`): a person is a class of
    one value. People with equal values are looked up once. Cost O(q c log c) for c classes and different people, where
    few classes cover a person.
    """
    table = people.select(list(kinds))
    if came is not None:
        table = table.with_columns(pl.Series(_CAME, came[0]).cast(pl.String))
    number = values_of([table])[0]
    firsts = np.unique(number, return_index=True)[1]
    months = None if came is None else (came[0][firsts], *came[1])
    class_of, person = _found(labels, table[firsts], kinds, trees or {}, months)
    return Covering(person, class_of, len(firsts)).take(number)


_CAME = " came"
"""No column of a table has such a name."""


def _found(
    labels: pl.DataFrame,
    people: pl.DataFrame,
    kinds: Mapping[str, Kind],
    trees: Covers,
    months: tuple[Numbers, Numbers, Numbers] | None,
) -> Pairs:
    """Return pairs of a class and a person whom it covers, sorted by person, then class."""
    width = len(kinds) + (months is not None)
    shown, own = (np.zeros((2, frame.height, width)) for frame in (labels, people))
    shown_sets, own_sets = dict[int, Marks](), dict[int, Marks]()
    for index, (name, kind) in enumerate(kinds.items()):
        if kind is Kind.CATEGORICAL or name in trees:
            shown_sets[index], own_sets[index] = _members(labels[name], people[name], trees.get(name, {}))
        else:
            shown[:, :, index], own[:, :, index] = _ranges(labels[name], kind), _numbers(people[name], kind)
    if months is not None:
        own[:, :, -1], shown[:, :, -1] = months[0], months[1:]
    classes, places = _boxes(shown, shown_sets), _boxes(own, own_sets)
    first, second = meeting(classes[1], places[1])
    return classes[0][first], places[0][second]


def _boxes(ends: Left, sets: Mapping[int, Marks]) -> tuple[Numbers, Boxes]:
    """Return the boxes that cover anything, and their numbers; what cannot be read covers nothing."""
    some = (ends[0] <= ends[1]).all(axis=1)
    for members in sets.values():
        some &= members.any(axis=1)
    kept = np.flatnonzero(some)
    return kept, Boxes(ends[0, kept], ends[1, kept], {index: members[kept] for index, members in sets.items()})


def _members(labels: pl.Series, values: pl.Series, tree: Mapping[str, Sequence[str]]) -> tuple[Marks, Marks]:
    """Return which values each label covers, and which one each person has: sets of the values of people."""
    known, value_of = _distinct(values)
    shown, label_of = _distinct(labels)
    place = {text: number for number, text in enumerate(known)}
    fits = np.zeros((len(shown), len(known)), dtype=np.bool_)
    for number, label in enumerate(shown):
        if label == STAR:
            fits[number] = True
        else:
            members = tree[label] if label is not None and label in tree else split_set(label)
            fits[number, [place[member] for member in members if member in place]] = True
    own = np.zeros((len(value_of), len(known)), dtype=np.bool_)
    own[np.arange(len(value_of)), value_of] = True
    return fits[label_of], own


def _distinct(column: pl.Series) -> tuple[list[str | None], Numbers]:
    distinct = column.unique(maintain_order=True).to_list()
    place = {text: number for number, text in enumerate(distinct)}
    return distinct, np.array([place[text] for text in column.to_list()], dtype=np.int64)


def _numbers(values: pl.Series, kind: Kind) -> Left:
    own, _, _ = written_ends(values, kind)
    return np.where(values.is_null().to_numpy(), MISSING, own)


def _ranges(labels: pl.Series, kind: Kind) -> tuple[Left, Left]:
    low, high, half_open = written_ends(labels, kind)
    missing, star = labels.is_null().to_numpy(), labels.eq_missing(STAR).to_numpy()
    low = np.where(missing, MISSING, np.where(star, -HIGHEST, low))
    return low, np.where(missing | star, MISSING, np.where(half_open, np.nextafter(high, -np.inf), high))

"""Which records fit what an attacker knows of people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.sets.rows import postings
from sfumato.kernels.sets.support import support_of_known
from sfumato.published.sets import classes_of
from sfumato.release.sets.release import SetRelease
from sfumato.table.sets.sets import Sets


@dataclass(frozen=True, eq=False, repr=False)
class KnownItems:
    """Items that are known of people, as compressed rows; those that are known first come first.

    Attributes
    ----------
    starts : numpy.ndarray
        int64 (people + 1,).
    items : numpy.ndarray
        int64 (entries,): items of the original.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int64]

    def at_most(self, count: int) -> KnownItems:
        """Return the first `count` items of everybody."""
        sizes = np.minimum(np.diff(self.starts), count)
        starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
        places = np.arange(starts[-1]) + np.repeat(self.starts[:-1] - starts[:-1], sizes)
        return KnownItems(starts, self.items[places])


@dataclass(frozen=True, eq=False, repr=False)
class SetView:
    """Sets as an attacker sees them. Letters: n records, c classes, d original items, z published items in all sets.

    Attributes
    ----------
    starts, items : numpy.ndarray
        int64 (n + 1,) and int32 (z,): what is published of each record.
    class_of : numpy.ndarray
        int64 (n,): the class of each record.
    own : numpy.ndarray
        int64 (people of the original,): the published record of each.
    paths : numpy.ndarray
        int64 (h + 1, d): for each original item what it may be published as, the item itself first; −1 for what is
        published nowhere.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    class_of: NDArray[np.int64]
    own: NDArray[np.int64]
    paths: NDArray[np.int64]

    @property
    def height(self) -> int:
        """N."""
        return len(self.starts) - 1


def original_view(sets: Sets) -> SetView:
    """Return sets as they are."""
    class_of = np.zeros(sets.height, dtype=np.int64)
    if sets.beside is not None:
        class_of = classes_of(sets.beside.frame.select(list(sets.beside.schema.quasi_identifying)))
    paths = np.arange(len(sets.names))[None, :]
    return SetView(sets.starts, sets.items, class_of, np.arange(sets.height), paths)


def released_view(release: SetRelease, original: Sets, number_of: NDArray[np.int64]) -> SetView:
    """Return a release of sets; who attacks it knows the hierarchy of the items.

    number_of : int64 (n,), the number that each record of `original` has for the release.
    """
    published = release.published
    place_of = {name: place for place, name in enumerate(published.names)}
    paths = [(name,) for name in original.names] if original.hierarchy is None else original.hierarchy.paths
    nodes = np.array([[place_of.get(name, -1) for name in path] for path in paths], dtype=np.int64).T
    own = np.empty(original.height, dtype=np.int64)
    own[release.origin] = np.arange(len(release.origin))
    return SetView(published.starts, published.items, published.class_of, own[number_of], nodes)


def fitting_records(view: SetView, known: KnownItems, people: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the records that fit what is known of each person; int64 (people,).

    An item that is published in no record of the class of a person tells nothing. Cost O(z log z), and for each person
    that of intersecting lists of records.
    """
    count = int(view.items.max()) + 1 if len(view.items) else 1
    held = np.repeat(view.class_of * count, np.diff(view.starts)) + view.items
    there, numbers = np.unique(held, return_inverse=True)
    bounds, records = postings(view.starts, numbers.astype(np.int32), len(there))
    classes = view.class_of[view.own[people]]
    sizes = np.diff(known.starts)
    nodes = _published(view, known.items, np.repeat(classes, sizes) * count, there)
    person = np.repeat(np.arange(len(people)), sizes)
    starts, nodes = _each_once(person[nodes >= 0], nodes[nodes >= 0], len(people))
    found = support_of_known(starts, nodes, bounds, records)
    everybody = np.bincount(view.class_of)[classes]
    return np.where(found < 0, everybody, found)


def _published(
    view: SetView, items: NDArray[np.int64], offsets: NDArray[np.int64], there: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return what each item is published as in a class, as a place in `there`; −1 for nothing."""
    nodes = np.full(len(items), -1, dtype=np.int64)
    if not len(there):
        return nodes
    for level in view.paths:
        keys = offsets + level[items]
        places = np.minimum(np.searchsorted(there, keys), len(there) - 1)
        is_there = (nodes < 0) & (level[items] >= 0) & (there[places] == keys)
        nodes = np.where(is_there, places, nodes)
    return nodes


def _each_once(
    person: NDArray[np.int64], nodes: NDArray[np.int64], people: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows of nodes, each once in a row."""
    pairs = np.unique(np.stack([person, nodes]), axis=1)
    starts = np.append(0, np.cumsum(np.bincount(pairs[0], minlength=people))).astype(np.int64)
    return starts, np.ascontiguousarray(pairs[1])

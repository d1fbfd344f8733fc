"""Worlds in which people have several records: which of the values of their classes they may have.

The published rows of a class do not say which are of one person. So the worlds are all ways to deal the rows of a class
out to the records of its people; where pseudonyms are published, whole bundles of rows go to people who have as many.

Letters: n records, p people, c classes, g groups of people who are alike to the attacker (whose records have the same
quasi-identifying values in the same classes), w sensitive values, u bundles (the records of a person in a class).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.evaluation.attacks.worlds import arrangements
from sfumato.kernels.grouping import first_records
from sfumato.table.folding import distinct_numbers
from sfumato.table.row_order import content_hash


@dataclass(frozen=True, eq=False, repr=False)
class Bundles:
    """The records of each person in each class.

    Attributes
    ----------
    of_record : numpy.ndarray
        int32 (n,): the bundle of each record.
    class_of, owner, sizes : numpy.ndarray
        int64 (u,): the class, the person, and the number of records of each bundle.
    published : bool
        Whether a reader sees which rows are a bundle.
    """

    of_record: NDArray[np.int32]
    class_of: NDArray[np.int64]
    owner: NDArray[np.int64]
    sizes: NDArray[np.int64]
    published: bool

    @classmethod
    def of(cls, classes: NDArray[np.int32], owner: NDArray[np.int64], published: bool) -> Bundles:
        """Bundle records.

        classes : int32 (n,). owner : int64 (n,), the person of each, from 0. published : whether a reader sees bundles.
        """
        of_record, count = group_records(np.column_stack([classes.astype(np.int64), owner]))
        first = first_records(of_record, count)
        sizes = np.bincount(of_record, minlength=count)
        return cls(of_record, classes[first].astype(np.int64), owner[first], sizes, published)

    @property
    def block_of(self) -> NDArray[np.int64]:
        """Return numbers that are equal for bundles which worlds exchange, int64 (u,): as many records of one class."""
        return np.unique(np.column_stack([self.class_of, self.sizes]), axis=0, return_inverse=True)[1].ravel()

    def shares(self, values: NDArray[np.int64], width: int) -> NDArray[np.float64]:
        """Return the chance of each bundle to have each value in a random world, float64 (u, w).

        values : int64 (n,), below `width`. Cost O(u · w) for each record of the largest bundle.
        """
        if self.published:
            has = np.unique(self.of_record * np.int64(width) + values)
            block = self.block_of
            having = np.bincount(block[has // width] * width + has % width, minlength=(int(block.max()) + 1) * width)
            found: NDArray[np.float64] = having.reshape(-1, width)[block] / np.bincount(block)[block, None]
            return found
        counts = np.bincount(
            self.class_of[self.of_record] * width + values, minlength=(self.class_of.max() + 1) * width
        )
        rows = np.bincount(self.class_of, self.sizes)[self.class_of]
        others = rows[:, None] - counts.reshape(-1, width)[self.class_of]
        without = np.ones(others.shape)
        for drawn in range(int(self.sizes.max())):
            some = self.sizes > drawn
            without[some] *= np.maximum(others[some] - drawn, 0) / (rows[some] - drawn)[:, None]
        return 1.0 - without


@dataclass(frozen=True, eq=False, repr=False)
class PeopleCells:
    """Groups of people by sensitive values: what :class:`~sfumato.evaluation.attacks.worlds.WorldCells` is for records.

    Attributes
    ----------
    group_of : numpy.ndarray
        int32 (p,): group of each person.
    members : numpy.ndarray
        int64 (g,): people in each group.
    width : int
        Number of sensitive values w.
    shares : numpy.ndarray
        float64 (g, w): the chance to have each value in a random world.
    owner : numpy.ndarray
        int64 (n,): the person of each record.
    starts, classes : numpy.ndarray
        int64: where the classes of each group begin, and the classes, each once.
    """

    group_of: NDArray[np.int32]
    members: NDArray[np.int64]
    width: int
    shares: NDArray[np.float64]
    owner: NDArray[np.int64]
    starts: NDArray[np.int64]
    classes: NDArray[np.int64]

    def there(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the share of the members of each group who have each value, float64 (g, w)."""
        has = distinct_numbers(self.owner * self.width + values)
        size = len(self.members) * self.width
        sums = np.bincount(
            self.group_of[has // self.width].astype(np.int64) * self.width + has % self.width, minlength=size
        )
        return sums.reshape(len(self.members), self.width) / self.members[:, None]

    def accepted(self, back: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell of which groups all classes came back, bool (g,)."""
        return np.logical_and.reduceat(back[self.classes], self.starts)

    def claimable(self, belief: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which values may be claimed, bool (g, w): all, as somebody may have several."""
        return np.ones(belief.shape, dtype=np.bool_)

    def right(self, named: NDArray[np.int64], truth: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell who has, in some record, the value that is named of their group, bool (p,)."""
        return np.bincount(self.owner, named[self.group_of[self.owner]] == truth) > 0

    def certainty(self, belief: NDArray[np.float64], truth: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the belief in everybody's own values, the mean of their different ones, float64 (p,)."""
        has = distinct_numbers(self.owner * self.width + truth)
        person = has // self.width
        found: NDArray[np.float64] = np.bincount(person, belief[self.group_of[person], has % self.width]) / np.bincount(
            person
        )
        return found


def people_cells(bundles: Bundles, codes: NDArray[np.integer], values: NDArray[np.int64]) -> PeopleCells:
    """Set up the table of groups and values.

    Parameters
    ----------
    bundles
        The records of each person in each class.
    codes
        Integers (n, q): quasi-identifying values.
    values
        int64 (n,): sensitive values.
    """
    width = int(values.max()) + 1
    owner = bundles.owner[bundles.of_record]
    group_of = _alike(owner, np.column_stack([bundles.class_of[bundles.of_record], codes.astype(np.int64)]))
    first = np.unique(group_of, return_index=True)[1]
    # Of each group, the bundles of one person.
    chosen = np.flatnonzero(first[group_of[bundles.owner]] == bundles.owner)
    chosen = chosen[np.argsort(group_of[bundles.owner[chosen]], kind="stable")]
    starts = np.flatnonzero(np.diff(group_of[bundles.owner[chosen]], prepend=-1))
    without = 1.0 - bundles.shares(values, width)[chosen]
    shares = 1.0 - np.multiply.reduceat(without, starts)
    return PeopleCells(group_of, np.bincount(group_of), width, shares, owner, starts, bundles.class_of[chosen])


def _alike(owner: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.int32]:
    """Give people whose records are alike, in whatever order, one number; int32 (p,)."""
    order = np.argsort(owner, kind="stable")
    starts = np.flatnonzero(np.diff(owner[order], prepend=-1))
    # Sums of 64 bits run over, which makes them no worse.
    content = np.add.reduceat(content_hash(columns.astype(np.uint64))[order], starts)
    return np.unique(content, return_inverse=True)[1].astype(np.int32)


def bundled_count(bundles: Bundles, kinds: NDArray[np.int64], most: int) -> int:
    """Count the different worlds that exchange bundles, or return ``most + 1`` if there are more.

    kinds : int64 (n,), equal for records whose exchange makes no difference.
    """
    worlds = 1
    for units in _blocks(bundles, kinds):
        worlds *= _orders([sort for _, sort in units]) * prod(_orders(sort) for _, sort in units)
        if worlds > most:
            return most + 1
    return worlds


def every_bundled_world(bundles: Bundles, kinds: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield every world once that exchanges bundles: for each record, the place of the record whose values it takes."""
    blocks = list(_blocks(bundles, kinds))
    for chosen in product(*(list(_dealt(units, kinds)) for units in blocks)):
        world = np.empty(len(kinds), dtype=np.int64)
        for units, sources in zip(blocks, chosen, strict=True):
            world[np.concatenate([rows for rows, _ in units])] = sources
        yield world


def random_bundled_worlds(bundles: Bundles, worlds: int, generator: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Yield worlds drawn at random, as :func:`every_bundled_world` does; cost O(n log n) each."""
    block = bundles.block_of[bundles.of_record]
    slots = np.lexsort((bundles.of_record, block))
    for _ in range(worlds):
        turn = generator.random(len(bundles.sizes))[bundles.of_record]
        world = np.empty(len(block), dtype=np.int64)
        world[slots] = np.lexsort((generator.random(len(block)), turn, block))
        yield world


Unit = tuple[list[int], tuple[int, ...]]
"""The records of a bundle, and of which kinds they are."""


def _blocks(bundles: Bundles, kinds: NDArray[np.int64]) -> Iterator[list[Unit]]:
    """Yield the bundles that worlds exchange with each other."""
    rows: list[list[int]] = [[] for _ in bundles.sizes]
    for record in np.lexsort((kinds, bundles.of_record)).tolist():
        rows[bundles.of_record[record]].append(record)
    block_of = bundles.block_of
    for block in range(int(block_of.max()) + 1):
        yield [(rows[unit], tuple(kinds[rows[unit]].tolist())) for unit in np.flatnonzero(block_of == block)]


def _dealt(units: Sequence[Unit], kinds: NDArray[np.int64]) -> Iterator[list[int]]:
    """Yield all ways to give the records of bundles to each other's places, as one list of records."""
    sorts = [sort for _, sort in units]
    for order in arrangements(sorts, list(range(len(units)))):
        inside = (list(arrangements(list(units[unit][1]), units[unit][0])) for unit in order)
        for rows in product(*inside):
            yield [record for part in rows for record in part]


def _orders(kinds: Sequence[object]) -> int:
    """Count the different orders of things, some of which are alike."""
    return factorial(len(kinds)) // prod(factorial(count) for count in Counter(kinds).values())

"""What the orders of a sliced table's columns disclose to somebody who has guessed their seed.

Letters: n people and rows, k rows of a bucket.

People are *sure* if their known values of a column are unlike everybody else's: the release shows their row of that
column, and so their bucket. In another column their row is hidden among those of the bucket; but the rows of a bucket
are in the order in which the column's permutation has its people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.attacks.tallies import comparable, numbered
from sfumato.published.sliced import BUCKET, SlicedTable, labels_of
from sfumato.randomness import another, permutation
from sfumato.table.encoding import encode
from sfumato.table.row_order import hash_order
from sfumato.table.table import Table

FEWEST_PAIRS = 20
"""Neighbouring sure people whose order a seed must explain: a wrong seed does so once in a million times."""


@dataclass(frozen=True, eq=False, repr=False)
class Slices:
    """A sliced table with the people whose records it holds.

    Attributes
    ----------
    columns : int
        Number of columns.
    starts : numpy.ndarray
        int64 (n,): first row of the bucket of each row.
    sizes : numpy.ndarray
        int64 (n,): rows of the bucket of each row.
    sure : tuple of (numpy.ndarray, numpy.ndarray)
        For each column, people whose row in it is known, int64, and their rows, rising.
    """

    columns: int
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    sure: tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]

    @property
    def pairs(self) -> int:
        """Return neighbouring rows of a bucket, in all columns, whose people are sure."""
        return sum(len(former) for _, former, _ in self._neighbours)

    def agree(self, rank_of: Callable[[int], NDArray[np.int64]]) -> bool:
        """Tell whether all sure people of each bucket are in the order of their ranks.

        rank_of : gives the ranks in a column; called only while all columns before have agreed.
        """
        for column, former, latter in self._neighbours:
            rank = rank_of(column)
            if not (rank[former] < rank[latter]).all():
                return False
        return True

    def found(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return everybody who is sure in some column, and the first row of their bucket."""
        people = np.concatenate([each[0] for each in self.sure])
        rows = np.concatenate([each[1] for each in self.sure])
        different, first = np.unique(people, return_index=True)
        return different, self.starts[rows[first]]

    @cached_property
    def _neighbours(self) -> list[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        """Return the columns with pairs, those with most first, and the people of the pairs."""
        pairs = []
        for column, (people, rows) in enumerate(self.sure):
            same = np.flatnonzero(np.diff(self.starts[rows]) == 0)
            pairs.append((column, people[same], people[same + 1]))
        return sorted((each for each in pairs if len(each[1])), key=lambda each: -len(each[1]))


def read_slices(published: SlicedTable, original: Table) -> Slices:
    """Find the buckets, and the people whose row in a column is known. Cost O(n) for each column."""
    buckets = published.data[BUCKET].to_numpy()
    first = np.flatnonzero(np.append(True, np.diff(buckets) != 0))
    sizes = np.diff(np.append(first, len(buckets)))
    sure = []
    for column, labels in zip(published.columns, labels_of(published.columns), strict=True):
        told = original.schema.quasi_identifying
        known = {label: name for name, label in zip(column, labels, strict=True) if name in told}
        sure.append(_sure(published.data, original.frame, known))
    return Slices(len(sure), np.repeat(first, sizes), np.repeat(sizes, sizes), tuple(sure))


def order_of(people: Table) -> NDArray[np.int64]:
    """Return people in the order in which slicing has them, int64 (n,), as far as known values tell it.

    Sure people have known values like nobody else's, so sensitive values do not move them.
    """
    return hash_order(encode(people).codes)


def ranks_of(order: NDArray[np.int64], seed: int, column: int) -> NDArray[np.int64]:
    """Return the place of each person in the permutation of a column, as slicing draws it from a seed.

    order : int64 (n,), people in the order in which slicing has them.
    """
    rank = np.empty(len(order), dtype=np.int64)
    rank[order[permutation(len(order), another(another(seed, 1), column + 1))]] = np.arange(len(order))
    return rank


def guessed_rightly(
    published: SlicedTable, original: Table, slices: Slices, name: str, ranks: Sequence[NDArray[np.int64]] | None
) -> NDArray[np.bool_]:
    """Guess the sensitive value of everybody who is sure in some column; tell which are right, bool (sure,).

    With ranks, a person comes behind as many of the bucket as have lower ranks: those who are sure are counted, and
    each of the others does with the chance that the person's rank gives. Without ranks, every row of the bucket is
    equally likely. Rows whose known values are not the person's are excluded.
    """
    people, start = slices.found()
    column = next(place for place, names in enumerate(published.columns) if name in names)
    size = slices.sizes[start]
    person = np.repeat(np.arange(len(people)), size)
    position = np.arange(len(person)) - np.repeat(np.cumsum(size) - size, size)
    row = start[person] + position
    weight = np.ones(len(person))
    if ranks is not None:
        ahead, others = _known_order(start, ranks[column][people])
        chance = (ranks[column][people] + 0.5) / original.height
        weight = _binomial(position - ahead[person], (size - 1 - others)[person], chance[person])
    labels = labels_of(published.columns)[column]
    for known, label in zip(published.columns[column], labels, strict=True):
        if known in original.schema.quasi_identifying:
            shown, own = comparable(published.data[label], original.frame[known])
            weight = weight * shown[row].eq_missing(own[people[person]]).to_numpy()
    values, value_of = numbered(published.data[labels[published.columns[column].index(name)]])
    sums = np.bincount(person * len(values) + value_of[row], weight, minlength=len(people) * len(values))
    likeliest = sums.reshape(len(people), len(values)).argmax(axis=1)
    place_of = {value: place for place, value in enumerate(values)}
    truth = _numbered_as(original.frame[name][people], place_of)
    right: NDArray[np.bool_] = likeliest == truth
    return right


def _numbered_as(column: pl.Series, place_of: dict[str | None, int]) -> NDArray[np.int64]:
    """Return the number of each value, −1 for those that have none."""
    own, codes = numbered(column)
    places = np.array([place_of.get(value, -1) for value in own], dtype=np.int64)
    chosen: NDArray[np.int64] = places[codes]
    return chosen


def _binomial(
    successes: NDArray[np.int64], trials: NDArray[np.int64], chance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the chance of each number of successes, 0 for impossible ones."""
    logarithms = np.cumsum(np.log(np.maximum(np.arange(int(trials.max(initial=0)) + 1), 1)))
    possible = (successes >= 0) & (successes <= trials)
    hits = np.where(possible, successes, 0)
    ways = logarithms[trials] - logarithms[hits] - logarithms[trials - hits]
    found: NDArray[np.float64] = np.exp(ways + hits * np.log(chance) + (trials - hits) * np.log1p(-chance)) * possible
    return found


def _known_order(start: NDArray[np.int64], rank: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many sure people of the same bucket are ahead of each, and how many others of them there are."""
    order = np.lexsort((rank, start))
    first = np.append(True, np.diff(start[order]) != 0)
    sizes = np.diff(np.append(np.flatnonzero(first), len(order)))
    ahead, others = np.empty_like(order), np.empty_like(order)
    ahead[order] = np.arange(len(order)) - np.repeat(np.flatnonzero(first), sizes)
    others[order] = np.repeat(sizes, sizes) - 1
    return ahead, others


def _sure(
    published: pl.DataFrame, original: pl.DataFrame, known: dict[str, str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return people whose values of some attributes are unlike all others, and the rows with these values."""
    none = np.zeros(0, dtype=np.int64)
    if not known:
        return none, none
    both = [comparable(published[label], original[name]) for label, name in known.items()]
    keys = [str(place) for place in range(len(both))]
    rows, people = (
        pl.DataFrame([pair[side].alias(key) for key, pair in zip(keys, both, strict=True)])
        .with_row_index(what)
        .filter(pl.struct(keys).is_unique())
        for side, what in enumerate(("row", "person"))
    )
    found = rows.join(people, on=keys, nulls_equal=True).sort("row")
    return found["person"].cast(pl.Int64).to_numpy(), found["row"].cast(pl.Int64).to_numpy()

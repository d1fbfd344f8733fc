"""Guess the seed of a shuffle: a random order protects nobody if its seed can be found by trying.

People are *sure* if their known values of a column are unlike everybody else's: the release shows their row of that
column, and so their bucket. In another column their row is hidden among those of the bucket; but the rows of a bucket
are in the order in which the column's permutation has its people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.evaluation.attacks.original_values import comparable_columns, number_texts
from sfumato.evaluation.attacks.people import by_person
from sfumato.evaluation.attacks.placement import Placement, are_covered, place_people, require_generalized
from sfumato.evaluation.attacks.posterior import posteriors_of_target
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.numbers import counted
from sfumato.options import Checked, Limit
from sfumato.published.apart import BUCKET, SlicedTable, labels_of
from sfumato.randomness import another, permutation
from sfumato.rates import Rate
from sfumato.table.encoding import encode
from sfumato.table.row_order import hash_order
from sfumato.table.schema import text_of
from sfumato.table.table import Table

_GLANCE = 64
"""Published records that are checked first: most wrong orders fail on the first few."""


@dataclass(frozen=True)
class SeedGuessing(Checked):
    """The seed-guessing attack.

    The attacker knows the people in the order in which the steward's table lists them, say by name, and the program
    that shuffles. Every seed below `seeds` is tried, and no shuffle at all. If exactly one order puts every published
    record beside a person whom it covers, each person's record is known.

    Parameters
    ----------
    seeds
        Number of seeds that are tried, from 0 on.

    Raises
    ------
    PolicyError
        When `seeds` is not a whole number of at least 1.

    Notes
    -----
    In a sliced table the permutations of the columns are tried. For them, people are in an order that follows from
    their known values, not in that of the steward's table. They leave traces if somebody's known values of a column are
    unlike all others: such people of one bucket are in the order of the permutation. With the seed, their ranks show
    roughly where in the bucket they are in every other column, the sensitive one included.

    Equal records that two orders exchange do not distinguish the orders, so many orders fit a release of few classes.
    The attacker then falls back on what classes disclose.

    Of people with several records, the share of them whose value is told counts.

    *Cost.* O(n) for each seed.
    """

    name: ClassVar[str] = "seed-guessing"
    kinds: ClassVar[frozenset[str]] = frozenset({"generalized-table", "sliced-table"})
    needs: ClassVar[tuple[str, ...]] = ("sensitive",)
    reads_order: ClassVar[bool] = True

    seeds: Annotated[int, Limit(1)] = 1000

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute.

        Raises
        ------
        InputError
            When the release is neither a generalized nor a sliced table, holds more records than there are people, or
            shares no quasi-identifying attribute with them.
        """
        if isinstance(target.published, SlicedTable):
            return self._against_slices(target, target.published)
        published = require_generalized(target.published, self.name)
        placement = place_people(published, target.original.frame, target.original.schema, target.recoding)
        if placement.publication.records > target.original.height:
            raise InputError(
                "seed-guessing: the release has more records than the original; give the original it was made from"
            )
        found = [
            people for order in self._orders(target, placement) if (people := _aligned(placement, order)) is not None
        ]
        people = found[0] if len(found) == 1 else None
        return tuple(self._result(target, name, people, len(found)) for name in target.original.schema.sensitive)

    def _against_slices(self, target: Target, published: SlicedTable) -> tuple[AttackResult, ...]:
        original, order = target.original, slicing_order(target.original)
        slices = read_slice_rows(published, original)
        found: list[int] = []
        enough = published.data.height == len(order) and slices.pairs >= _FEWEST_PAIRS
        for seed in range(self.seeds if enough else 0):
            target.progress("seed-guessing: trying seeds", seed + 1, self.seeds)
            found += [seed] if slices.agree(partial(slicing_ranks, order, seed)) else []
        ranks = (
            [slicing_ranks(order, found[0], column) for column in range(slices.columns)] if len(found) == 1 else None
        )
        sure = slices.found()[0]
        notes = (
            f"played on {counted(len(sure), 'record')} whose known values of a column are unlike all others, so that "
            "their bucket is known",
            *(() if enough else ("too few of them, or of the records, are in the release to tell seeds apart",)),
        )
        owner = target.original.person_of[sure]
        results = []
        for name in published.sensitive:
            usual = right_guesses(published, original, slices, name, None)
            right = usual & False if ranks is None else right_guesses(published, original, slices, name, ranks)
            found_right, found_usual = (by_person(each.astype(np.float64), owner) for each in (right, usual))
            baseline = float(found_usual.mean()) if len(sure) else 0.0
            rate = Rate(float(found_right.sum()), len(found_right), baseline)
            figures = {"orders_tried": float(self.seeds if enough else 0), "orders_that_fit": float(len(found))}
            told = self._told(name, rate, figures, notes)
            results.append(told if enough else replace(told, unplayed=notes[-1]))
        return tuple(results)

    def _orders(self, target: Target, placement: Placement) -> Iterator[NDArray[np.int64]]:
        """Yield orders: for each published row, the place of its record in the steward's table."""
        records = placement.publication.records
        yield np.arange(records)
        for seed in range(self.seeds):
            target.progress("seed-guessing: trying seeds", seed + 1, self.seeds)
            yield permutation(records, seed)

    def _result(self, target: Target, name: str, people: NDArray[np.int64] | None, fitting: int) -> AttackResult:
        frame = target.original.frame
        right = np.zeros(frame.height)
        if people is not None:
            published = text_of(target.published.tables["data"][name])
            right[people] = published.eq_missing(text_of(frame[name])[people]).to_numpy()
        owned = by_person(right, target.original.person_of)
        rate = Rate(float(owned.sum()), len(owned), _order_by_classes(target, name))
        return self._told(name, rate, {"orders_tried": float(self.seeds + 1), "orders_that_fit": float(fitting)}, ())

    def _told(self, name: str, rate: Rate, figures: dict[str, float], notes: tuple[str, ...]) -> AttackResult:
        return AttackResult(
            self.name,
            "everybody's quasi-identifying values in the order of the steward's table, and the program that shuffles",
            f"whose {name} was told by the order of the release",
            rate,
            None,
            figures,
            notes,
            "no seed: then the order is drawn from the operating system, and no number of tries finds it",
        )


def _order_by_classes(target: Target, name: str) -> float:
    """Return the share of people whose value is the most frequent one of the records that fit them."""
    original = target.original
    right = np.zeros(original.height)
    for rows, known in posteriors_of_target(target, original, name):
        right[rows] = known.shares.argmax(axis=1) == known.codes_of(original.frame[name][rows])
    owned = by_person(right, original.person_of)
    return float(owned.sum()) / len(owned)


def _aligned(placement: Placement, order: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Pair each published row with its person under an order, int64 (m,); None if a row does not cover its person.

    If records were left out, people whom the next record does not cover are skipped, as many as are missing: an
    order in which all records find a place exists exactly if this finds one.

    order : int64 (m,), which of the published records, in the order of the steward's table, each row would be.
    """
    publication, told = placement.publication, placement.codes
    classes = np.empty(len(order), dtype=np.int32)
    classes[order] = publication.class_of
    person_of = np.empty(len(order), dtype=np.int64)
    spare, skipped, row, block = len(told) - len(order), 0, 0, _GLANCE
    while row < len(order):
        people = np.arange(row, min(row + block, len(order))) + skipped
        fitting = are_covered(publication, told[people], classes[row : row + len(people)])
        run = len(people) if fitting.all() else int(fitting.argmin())
        person_of[row : row + run] = people[:run]
        row, block = row + run, 2 * block
        if run < len(people):
            if skipped == spare:
                return None
            others = np.arange(row + skipped + 1, row + spare + 1)
            next_ones = np.flatnonzero(are_covered(publication, told[others], np.full(len(others), classes[row])))
            if not len(next_ones):
                return None
            skipped, block = skipped + 1 + int(next_ones[0]), _GLANCE
    return person_of[order]


_FEWEST_PAIRS = 20
"""Neighbouring sure people whose order a seed must explain: a wrong seed does so once in a million times."""


@dataclass(frozen=True, eq=False, repr=False)
class SliceRows:
    """A sliced table with the people whose records it holds.

    `starts`: int64 (n,): first row of the bucket of each row. `sizes`: int64 (n,): rows of the bucket of each row.
    `sure`: For each column, people whose row in it is known, int64, and their rows, rising.
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


def read_slice_rows(published: SlicedTable, original: Table) -> SliceRows:
    """Find the buckets, and the people whose row in a column is known. Cost O(n) for each column."""
    buckets = published.data[BUCKET].to_numpy()
    first = np.flatnonzero(np.append(True, np.diff(buckets) != 0))
    sizes = np.diff(np.append(first, len(buckets)))
    sure = []
    for column, labels in zip(published.columns, labels_of(published.columns), strict=True):
        told = original.schema.quasi_identifying
        known = {label: name for name, label in zip(column, labels, strict=True) if name in told}
        sure.append(_sure(published.data, original.frame, known))
    return SliceRows(len(sure), np.repeat(first, sizes), np.repeat(sizes, sizes), tuple(sure))


def slicing_order(people: Table) -> NDArray[np.int64]:
    """Return people in the order in which slicing has them, int64 (n,), as far as known values tell it.

    Sure people have known values like nobody else's, so sensitive values do not move them.
    """
    return hash_order(encode(people).codes)


def slicing_ranks(order: NDArray[np.int64], seed: int, column: int) -> NDArray[np.int64]:
    """Return the place of each person in the permutation of a column, as slicing draws it from a seed.

    order : int64 (n,), people in the order in which slicing has them.
    """
    rank = np.empty(len(order), dtype=np.int64)
    rank[order[permutation(len(order), another(another(seed, 1), column + 1))]] = np.arange(len(order))
    return rank


def right_guesses(
    published: SlicedTable, original: Table, slices: SliceRows, name: str, ranks: Sequence[NDArray[np.int64]] | None
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
            shown, own = comparable_columns(published.data[label], original.frame[known])
            weight = weight * shown[row].eq_missing(own[people[person]]).to_numpy()
    values, value_of = number_texts(published.data[labels[published.columns[column].index(name)]])
    sums = np.bincount(person * len(values) + value_of[row], weight, minlength=len(people) * len(values))
    likeliest = sums.reshape(len(people), len(values)).argmax(axis=1)
    place_of = {value: place for place, value in enumerate(values)}
    truth = _numbered_as(original.frame[name][people], place_of)
    right: NDArray[np.bool_] = likeliest == truth
    return right


def _numbered_as(column: pl.Series, place_of: dict[str | None, int]) -> NDArray[np.int64]:
    """Return the number of each value, −1 for those that have none."""
    own, codes = number_texts(column)
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
    both = [comparable_columns(published[label], original[name]) for label, name in known.items()]
    keys = [str(place) for place in range(len(both))]
    rows, people = (
        pl.DataFrame([pair[side].alias(key) for key, pair in zip(keys, both, strict=True)])
        .with_row_index(what)
        .filter(pl.struct(keys).is_unique())
        for side, what in enumerate(("row", "person"))
    )
    found = rows.join(people, on=keys, nulls_equal=True).sort("row")
    return found["person"].cast(pl.Int64).to_numpy(), found["row"].cast(pl.Int64).to_numpy()

"""Tuple partitioning: buckets of records that are cut in two while the check of slicing holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.buckets.search import largest_l, telling_little
from sfumato.anonymizers.protocol import Problem
from sfumato.anonymizers.space import space_of
from sfumato.classes.generalized import GeneralizedTable
from sfumato.kernels.predicates import SLACK
from sfumato.kernels.slices.cuts import CutSpace
from sfumato.kernels.slices.search import VectorSums, cut_level, cut_level_globally, starting_mass
from sfumato.published.checks.slices.layout import SliceLayout, models_of_rules, number_rows
from sfumato.published.checks.slices.slices import judge
from sfumato.published.sliced import Columns
from sfumato.randomness import permutation
from sfumato.table.encoding import EncodedTable
from sfumato.table.kinds import is_measured

BucketCheck = Literal["buckets", "matching"]
BucketSize = Literal["guarded", "smallest"]
Split = Literal["balanced", "median"]

MOST_MATCHES = 1 << 25
"""Pairs of a bucket and a vector that matches it, which are kept at a time at most."""
MOST_MASS = 1 << 25
"""Numbers that are kept of all vectors at most."""


@dataclass(frozen=True, eq=False, repr=False)
class BucketPartition:
    """Which bucket each record is in.

    Attributes
    ----------
    bucket_of : numpy.ndarray
        int64 (n,), ``0 .. count-1``.
    count : int
    check : str
        The check that every cut has passed.
    undone : int
        Buckets that were joined again because the models did not hold for everybody who may be in them.
    notes : tuple of str
    order : numpy.ndarray or None
        int64 (n,): records, those of a bucket one after the other; None where they were cut in another way.
    cuts : numpy.ndarray or None
        int64 (c, 3), earlier ones first: places of `order` where the first half of a cut starts, where the second one
        starts, and where it ends.
    """

    bucket_of: NDArray[np.int64]
    count: int
    check: BucketCheck
    undone: int = 0
    notes: tuple[str, ...] = ()
    order: NDArray[np.int64] | None = None
    cuts: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class CutTable:
    """What decides a sliced table, but for the order of its rows.

    Attributes
    ----------
    columns : tuple of tuple of str
        Without insensitive attributes.
    layout : SliceLayout
    buckets : BucketPartition
    recoded : mapping of int to GeneralizedTable
        Published values of columns that are generalized, by place.
    """

    columns: Columns
    layout: SliceLayout
    buckets: BucketPartition
    recoded: Mapping[int, GeneralizedTable] = field(default_factory=dict)


def partition_records(
    problem: Problem,
    layout: SliceLayout,
    columns: Columns,
    split: Split = "balanced",
    check: BucketCheck = "buckets",
    least: int = 1,
) -> BucketPartition:
    """Cut all records, as one bucket that keeps the models, into buckets as small as the check allows.

    Parameters
    ----------
    problem
        Table, models, seed and progress.
    layout
        The same table's columns as arrays.
    columns
        Attributes of each column.
    split
        ``"median"``: values up to the median of an attribute go to one half. ``"balanced"``: inside each sensitive
        value, the lower half of the records goes to one half; a bucket's sensitive values are then spread evenly, and
        buckets become far smaller. Attributes beside a sensitive one are cut at their median in any case.
    check
        ``"buckets"``: the models hold in every bucket by itself. ``"matching"``: they hold for every record over all
        buckets that match it, and in the end for everybody who may be in a bucket.
    least
        Only buckets of twice as many records or more are cut.

    Notes
    -----
    The widest attribute is tried first, then the next. For ``"buckets"`` cost O(q n log n) for each level of cuts. For
    ``"matching"`` every attempt costs the vectors that match the bucket times the sensitive values; what is kept of
    them is bounded, and beyond that the buckets are cut by the other check, which needs nothing kept.
    """
    search = _BucketCutting(problem, layout, cut_space(problem.table, layout, columns, split), least)
    if check == "buckets":
        return search.by_bucket()
    found = search.by_matches()
    if found is not None:
        return found
    note = (
        "More buckets and values match each other than is kept in memory; every bucket keeps the models by itself "
        'instead, as with protection="buckets", which is more than was asked for.'
    )
    return replace(search.by_bucket(), notes=(note,))


def guarded_size(problem: Problem) -> int:
    """Return how many records a bucket has for each half that it is cut into, so that comparing buckets teaches little.

    As for dealt buckets, see :func:`sfumato.anonymizers.buckets.search.telling_little`; of several attributes the
    largest.
    """
    asked, table = largest_l(problem.models), problem.table
    shares = [np.bincount(codes).max() / table.height for codes in table.sensitive_codes.T]
    return max(telling_little(float(share), asked) for share in shares)


@dataclass(frozen=True, eq=False, repr=False)
class _BucketCutting:
    problem: Problem
    layout: SliceLayout
    space: CutSpace
    least: int

    @property
    def numbers(self) -> int:
        """A number above every code, stratum and part."""
        largest = (
            self.space.codes.max(initial=0),
            self.space.strata.max(initial=0),
            self.layout.vectors.max(initial=0),
        )
        return int(max(largest)) + 1

    def canonical_order(self) -> NDArray[np.int64]:
        """Order records by their values; equal ones randomly, so that nothing depends on the order of the input."""
        table = self.problem.table
        shuffled = permutation(table.height, self.problem.seed)
        keys = np.column_stack([table.codes[shuffled], table.sensitive_codes[shuffled]])
        return shuffled[np.lexsort(keys.T[::-1])]

    def by_bucket(self) -> BucketPartition:
        """Cut by a check that looks at one bucket at a time."""
        order, starts = self._one_bucket()
        level = self._large(np.array([[0, len(order)]]))
        halves = [level[:0]]
        while len(level):
            self._report(level)
            made = cut_level(
                order, level[:, 0].copy(), level[:, 1].copy(), self.space, self.layout.arrays, self.numbers, starts
            )
            halves.append(made)
            level = self._large(made)
        self._report(level)
        return BucketPartition(
            _bucket_of(order, starts), int(starts.sum()), "buckets", order=order, cuts=_cuts(halves, starts)
        )

    def by_matches(self) -> BucketPartition | None:
        """Cut with the global check; None when its bookkeeping does not fit into memory."""
        standing = self._standing()
        if standing is None:
            return None
        order, starts = self._one_bucket()
        level = self._large(np.array([[0, len(order)]]))
        members = np.arange(len(standing.vectors), dtype=np.int32)
        member_starts = np.array([0, len(members)])
        halves = [level[:0]]
        while len(level):
            if len(members) > MOST_MATCHES:
                return None
            self._report(level)
            level, members, member_starts = cut_level_globally(
                order, level[:, 0].copy(), level[:, 1].copy(), members, member_starts, self.space, self.layout.arrays,
                standing, self.numbers, SLACK, starts,
            )  # fmt: skip
            halves.append(level)
            large = self._is_large(level)
            if not large.all():
                members = members[np.repeat(large, np.diff(member_starts))]
                member_starts = np.concatenate([[0], np.cumsum(np.diff(member_starts)[large])])
                level = level[large]
        self._report(level)
        cut = int(starts.sum())
        self._join_unsettled(order, starts, np.concatenate(halves))
        count = int(starts.sum())
        return BucketPartition(
            _bucket_of(order, starts), count, "matching", undone=cut - count, order=order, cuts=_cuts(halves, starts)
        )

    def _join_unsettled(self, order: NDArray[np.int64], starts: NDArray[np.bool_], halves: NDArray[np.int64]) -> None:
        """Undo cuts until every model holds for everybody who may be in a bucket, counted afresh.

        halves : int64 (2 · cuts, 2), both halves of a cut one after the other. It ends: one bucket keeps the models.
        """
        first, second = halves[::2], halves[1::2]
        cut_of = {(low, high): place // 2 for place, (low, high) in enumerate(halves.tolist())}
        while len(unsettled := self._unsettled(_bucket_of(order, starts), int(starts.sum()))):
            lows = np.flatnonzero(starts)
            highs = np.append(lows[1:], len(order))
            for bucket in unsettled.tolist():
                cut = cut_of.get((int(lows[bucket]), int(highs[bucket])))
                if cut is not None:
                    starts[first[cut, 0] + 1 : second[cut, 1]] = False

    def _unsettled(self, bucket_of: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        names = [attribute.name for attribute in self.problem.table.sensitive]
        model_of = models_of_rules(self.problem.models, names)
        found = [
            judge(self.layout, rule, model, self.problem.table, bucket_of, count).unsettled
            for rule, model in enumerate(model_of)
        ]
        return np.unique(np.concatenate(found))

    def _large(self, level: NDArray[np.int64]) -> NDArray[np.int64]:
        return level[self._is_large(level)]

    def _is_large(self, level: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which buckets may still be cut."""
        large: NDArray[np.bool_] = level[:, 1] - level[:, 0] >= 2 * self.least
        return large

    def _report(self, level: NDArray[np.int64]) -> None:
        height = self.problem.table.height
        self.problem.progress("cutting buckets", height - int((level[:, 1] - level[:, 0]).sum()), height)

    def _one_bucket(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        starts = np.zeros(self.problem.table.height, dtype=np.bool_)
        starts[0] = True
        return self.canonical_order(), starts

    def _standing(self) -> VectorSums | None:
        layout = self.layout
        if len(layout.vectors) * int(layout.arrays.rules.offsets[-1]) > MOST_MASS:
            return None
        part_starts = np.concatenate([[0], np.cumsum(layout.part_sizes)]).astype(np.int64)
        parts = layout.arrays.parts
        counts = [np.bincount(parts[:, place], minlength=size) for place, size in enumerate(layout.part_sizes)]
        everyone = np.arange(len(parts))
        mass = starting_mass(
            layout.vectors, np.concatenate(counts).astype(np.float64), part_starts, layout.arrays, everyone
        )
        return VectorSums(layout.vectors, layout.vector_of, mass, part_starts)


def cut_space(table: EncodedTable, layout: SliceLayout, columns: Columns, split: str) -> CutSpace:
    """Lay out what cuts look at; only ``"balanced"`` ones look at sensitive values."""
    space = space_of(table.attributes)
    private = {attribute.name for attribute in table.sensitive}
    beside = {name for column in columns if private & set(column) for name in column}
    balanced = [split == "balanced" and attribute.name not in beside for attribute in table.attributes]
    return CutSpace(
        np.ascontiguousarray(table.codes),
        space.positions,
        space.offsets,
        space.scales / space.weights,
        _strata(table, layout),
        np.array(balanced, dtype=np.bool_),
    )


def _strata(table: EncodedTable, layout: SliceLayout) -> NDArray[np.int32]:
    """Give records strata by all that must be spread evenly, then by ever less; the last level is one stratum.

    Most values of a number may be rare: neighbouring ones are then taken together, twice as many on each level.
    """
    arrays = layout.arrays
    homes = sorted({int(home) for home in arrays.homes if home >= 0})
    keys = [*arrays.values.T, *(arrays.parts[:, home] for home in homes)]
    finer = [number_rows(np.column_stack(keys[:count])) for count in range(len(keys), 0, -1)]
    kinds = {attribute.name: attribute.kind for attribute in table.sensitive}
    doublings = int(arrays.values[:, 0].max()).bit_length() if is_measured(kinds[layout.attributes[0]]) else 0
    coarser = [arrays.values[:, 0] >> doubling for doubling in range(1, doublings)]
    return np.stack([*finer, *coarser, np.zeros(len(arrays.parts), dtype=np.int32)])


def _cuts(halves: Sequence[NDArray[np.int64]], starts: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the cuts that stand; `halves` has both halves of every cut one after the other."""
    both = np.concatenate(halves)
    cuts = np.column_stack([both[::2], both[1::2, 1]])
    standing: NDArray[np.int64] = cuts[starts[cuts[:, 1]]]
    return standing


def _bucket_of(order: NDArray[np.int64], starts: NDArray[np.bool_]) -> NDArray[np.int64]:
    bucket_of = np.empty(len(order), dtype=np.int64)
    bucket_of[order] = np.cumsum(starts) - 1
    return bucket_of

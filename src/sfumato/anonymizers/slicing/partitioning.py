"""Tuple partitioning: buckets of records that are cut in two while the check of slicing holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.anonymizers.space import space_of
from sfumato.kernels.predicates import SLACK
from sfumato.kernels.slice_cuts import CutSpace
from sfumato.kernels.slice_search import Standing, cut_level, cut_level_globally, starting_mass
from sfumato.shuffle import permutation
from sfumato.slices.columns import Columns
from sfumato.slices.layout import Layout, number_rows
from sfumato.slices.matching import measure_vectors, slice_index
from sfumato.table.encoding import EncodedTable

Promise = Literal["everybody", "records"]
Split = Literal["balanced", "median"]

MOST_MATCHES = 1 << 25
"""Pairs of a bucket and a vector that matches it, which are kept at a time at most."""
MOST_MASS = 1 << 25
"""Numbers that are kept of all vectors at most."""

_SEARCH_SLACKS = (SLACK, -1e-9)
"""Bounds of the search: as they are, and well inside, should the sums have drifted over them."""


@dataclass(frozen=True, eq=False, repr=False)
class Buckets:
    """Which bucket each record is in.

    Attributes
    ----------
    bucket_of : numpy.ndarray
        int64 (n,), ``0 .. count-1``.
    count : int
    promise : str
        For whom the models hold: ``"everybody"`` whose values are in a bucket, or the ``"records"``.
    notes : tuple of str
    """

    bucket_of: NDArray[np.int64]
    count: int
    promise: Promise
    notes: tuple[str, ...] = ()


def partition_records(
    problem: Problem, layout: Layout, columns: Columns, split: Split = "balanced", promise: Promise = "everybody"
) -> Buckets:
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
    promise
        Which check a cut must pass.

    Notes
    -----
    The widest attribute is tried first, then the next. For ``"everybody"`` cost O(q n log n) for each level of cuts.
    For ``"records"`` every attempt costs the vectors that match the bucket times the sensitive values; what is kept of
    them is bounded, and beyond that the buckets are cut for everybody, which needs nothing kept.
    """
    search = _Search(problem, layout, _cut_space(problem.table, layout, columns, split))
    if promise == "everybody":
        return search.buckets(*search.for_everybody(), "everybody")
    for slack in _SEARCH_SLACKS:
        found = search.for_records(slack)
        if found is None:
            note = (
                "slicing: more records and buckets match each other than can be kept in memory; buckets were made "
                "such that the models hold for everybody whose values are in them, which is more than was asked for"
            )
            return replace(search.buckets(*search.for_everybody(), "everybody"), notes=(note,))
        buckets = search.buckets(*found, "records")
        if _whole_check(layout, buckets, problem):
            break
    return buckets


@dataclass(frozen=True, eq=False, repr=False)
class _Search:
    problem: Problem
    layout: Layout
    space: CutSpace

    @property
    def numbers(self) -> int:
        """A number above every code, stratum and part."""
        largest = (self.space.codes.max(initial=0), self.space.strata.max(initial=0), self.layout.vectors.max(initial=0))
        return int(max(largest)) + 1

    def canonical_order(self) -> NDArray[np.int64]:
        """Order records by their values; equal ones randomly, so that nothing depends on the order of the input."""
        table = self.problem.table
        shuffled = permutation(table.height, self.problem.seed)
        keys = np.column_stack([table.codes[shuffled], table.sensitive_codes[shuffled]])
        return shuffled[np.lexsort(keys.T[::-1])]

    def for_everybody(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        order, starts = self._one_bucket()
        level = np.array([[0, len(order)]])
        while len(level):
            self.problem.progress("cutting buckets", int(len(order) - (level[:, 1] - level[:, 0]).sum()), len(order))
            level = cut_level(
                order, level[:, 0].copy(), level[:, 1].copy(), self.space, self.layout.arrays, self.numbers, starts
            )
        return order, starts

    def for_records(self, slack: float) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
        """Cut with the global check; None when its bookkeeping does not fit into memory."""
        standing = self._standing()
        if standing is None:
            return None
        order, starts = self._one_bucket()
        level = np.array([[0, len(order)]])
        members = np.arange(len(standing.vectors), dtype=np.int32)
        member_starts = np.array([0, len(members)])
        while len(level):
            if len(members) > MOST_MATCHES:
                return None
            self.problem.progress("cutting buckets", int(len(order) - (level[:, 1] - level[:, 0]).sum()), len(order))
            level, members, member_starts = cut_level_globally(
                order, level[:, 0].copy(), level[:, 1].copy(), members, member_starts, self.space, self.layout.arrays,
                standing, self.numbers, slack, starts,
            )  # fmt: skip
        return order, starts

    def buckets(self, order: NDArray[np.int64], starts: NDArray[np.bool_], promise: Promise) -> Buckets:
        numbers = np.cumsum(starts) - 1
        bucket_of = np.empty(len(order), dtype=np.int64)
        bucket_of[order] = numbers
        self.problem.progress("cutting buckets", len(order), len(order))
        return Buckets(bucket_of, int(numbers[-1]) + 1, promise)

    def _one_bucket(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        starts = np.zeros(self.problem.table.height, dtype=np.bool_)
        starts[0] = True
        return self.canonical_order(), starts

    def _standing(self) -> Standing | None:
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
        return Standing(layout.vectors, layout.vector_of, mass, part_starts)


def _cut_space(table: EncodedTable, layout: Layout, columns: Columns, split: Split) -> CutSpace:
    space = space_of(table.attributes)
    private = {attribute.name for attribute in table.sensitive}
    beside = {name for column in columns if private & set(column) for name in column}
    balanced = [split == "balanced" and attribute.name not in beside for attribute in table.attributes]
    return CutSpace(
        np.ascontiguousarray(table.codes),
        space.positions,
        space.offsets,
        space.scales / space.weights,
        _strata(layout),
        np.array(balanced, dtype=np.bool_),
    )


def _strata(layout: Layout) -> NDArray[np.int32]:
    """Number the records by all that must be spread evenly, then by ever less of it; the last level is one stratum."""
    arrays = layout.arrays
    homes = sorted({int(home) for home in arrays.homes if home >= 0})
    keys = [*arrays.values.T, *(arrays.parts[:, home] for home in homes)]
    finer = [number_rows(np.column_stack(keys[:count])) for count in range(len(keys), 0, -1)]
    return np.stack([*finer, np.zeros(len(arrays.parts), dtype=np.int32)])


def _whole_check(layout: Layout, buckets: Buckets, problem: Problem) -> bool:
    """Recount every record over all buckets, as nothing was added up and taken away again."""
    index = slice_index(layout.arrays, buckets.bucket_of, buckets.count, layout.part_sizes)
    measured = measure_vectors(index, layout.vectors, problem.progress)
    return bool(np.all(measured.values <= layout.arrays.bounds + SLACK))

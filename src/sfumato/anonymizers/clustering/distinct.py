"""Distinct records as clustering sees them: few codes, a tree to search in, who stands behind each, its neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.distances import Distance, class_loss
from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.classes.partition import Partition, distinct_records
from sfumato.kernels.clustering.class_members import ClassLoss, complete, nearest_member_classes
from sfumato.kernels.clustering.record_tree import RecordTree, near_records, plant
from sfumato.parallel import each
from sfumato.randomness import permutation
from sfumato.table.encoding import EncodedTable

_LONGEST = 64
"""Neighbours that are looked for at most."""

_BLOCK = 1024


@dataclass(frozen=True, eq=False, repr=False)
class DistinctRecords:
    """The records of a problem, equal ones collapsed, in an order that owes nothing to the order of the input.

    Records are equal when their quasi-identifying codes and all sensitive codes that a rule looks at are. Letters: n
    records, m distinct ones, q and s codes each.

    * `start`: what has to be solved.
    * `loss`: the distance, over the codes here.
    * `tree`: for searching; distinct records stand in its order.
    * `codes`, unsigned (m, q): codes that occur, numbered from 0 in each attribute.
    * `values`, unsigned (m, s): sensitive values that a rule looks at.
    * `weights`, int64 (m,): records that each stands for.
    * `rows`, int64 (n,): row of each record in the table, equal ones together, in the order of the distinct ones; which
      of the equal ones comes first is random. Rows that are left out are not among them.
    * `occurring`: int64: for each attribute the code in the table of each code here.
    """

    start: FeasibleProblem
    loss: ClassLoss
    tree: RecordTree
    codes: NDArray[np.unsignedinteger]
    values: NDArray[np.unsignedinteger]
    weights: NDArray[np.int64]
    rows: NDArray[np.int64]
    occurring: tuple[NDArray[np.int64], ...]

    @property
    def height(self) -> int:
        """Number of records n that are not left out."""
        return len(self.rows)

    @property
    def record_of(self) -> NDArray[np.int32]:
        """Distinct record of each of the `rows`, int32 (n,)."""
        return np.repeat(np.arange(len(self.weights), dtype=np.int32), self.weights)

    def completed(self, class_of: NDArray[np.int32], count: int) -> tuple[NDArray[np.int32], int]:
        """Return a partition that satisfies every model; see :func:`sfumato.kernels.clustering.class_members.complete`.

        `class_of`, int32 (n,): class of each of the `rows`, −1 for none. `count`: how many classes there are.
        """
        class_of = class_of.copy()
        rules = self.start.rules.arrays
        count = complete(
            self.codes, self.values, self.record_of, class_of, count, self.start.ruled, self.loss, rules
        )  # fmt: skip
        return class_of, int(count)

    def partition(self, class_of: NDArray[np.int32], count: int, notes: tuple[str, ...] = ()) -> Partition:
        """Return the solution for the whole table; records that are left out are covered by the nearest class.

        `class_of`, int32 (n,): class of each of the `rows`. `count`: how many classes there are. `notes`: for the
        steward's report.
        """
        table = self.start.problem.table
        cover = np.full(table.height, -1, dtype=np.int32)
        cover[self.rows] = class_of
        kept = self.start.kept
        if kept is None:
            return Partition(cover, count, notes=notes)
        cover[~kept] = self._nearest(_recoded(table.codes[~kept], self.occurring), class_of, count)
        return Partition(np.where(kept, cover, np.int32(-1)), count, cover, notes=notes)

    def _nearest(
        self, codes: NDArray[np.unsignedinteger], class_of: NDArray[np.int32], count: int
    ) -> NDArray[np.int32]:
        own = self.codes[self.record_of]
        low = np.full((count, own.shape[1]), np.iinfo(np.int64).max)
        high = np.zeros((count, own.shape[1]), dtype=np.int64)
        np.minimum.at(low, class_of, own)
        np.maximum.at(high, class_of, own)
        sets = np.zeros((count, int(self.loss.offsets[-1])), dtype=np.bool_)
        sets[class_of[:, None], own + self.loss.offsets[:-1]] = True
        found: NDArray[np.int32] = nearest_member_classes(codes, low, high, sets, self.loss)
        return found


def collapse_records(start: FeasibleProblem, distance: Distance) -> DistinctRecords:
    """Collapse the records of a problem and plant the tree. Cost O(q n log n)."""
    table = start.problem.table
    order = permutation(table.height, start.problem.seed)
    if start.kept is not None:
        order = order[start.kept[order]]
    occurring = _occurring(table)
    codes = _recoded(table.codes, occurring)[order]
    values = start.rules.codes[order]
    dtype = np.promote_types(codes.dtype, values.dtype)
    distinct, weights, record_of = distinct_records(np.concatenate([codes, values], axis=1, dtype=dtype))
    loss = class_loss(table.attributes, distance, occurring)
    # Distinct records in the order of their codes, then in that of the tree: neither is the order of the input.
    place = np.lexsort(distinct.T[::-1])
    wide = codes.shape[1]
    tree = plant(np.ascontiguousarray(distinct[place, :wide], dtype=codes.dtype), loss)
    place = place[tree.order]
    rank = np.empty(len(place), dtype=np.int64)
    rank[place] = np.arange(len(place))
    rows = order[np.argsort(rank[record_of], kind="stable")]
    return DistinctRecords(
        start=start,
        loss=loss,
        tree=tree,
        codes=np.ascontiguousarray(distinct[place, :wide], dtype=codes.dtype),
        values=np.ascontiguousarray(distinct[place, wide:], dtype=values.dtype),
        weights=weights[place],
        rows=rows,
        occurring=occurring,
    )


def _recoded(
    codes: NDArray[np.unsignedinteger], occurring: tuple[NDArray[np.int64], ...]
) -> NDArray[np.unsignedinteger]:
    """Give the codes of each attribute new numbers, their places in `occurring`; unsigned (n, q)."""
    largest = max((len(known) for known in occurring), default=0)
    columns = [np.searchsorted(known, codes[:, place]) for place, known in enumerate(occurring)]
    return np.column_stack(columns).astype(np.min_scalar_type(largest))


def _occurring(table: EncodedTable) -> tuple[NDArray[np.int64], ...]:
    return tuple(
        np.flatnonzero(np.bincount(table.codes[:, place], minlength=attribute.cardinality))
        for place, attribute in enumerate(table.attributes)
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Neighbours:
    """The nearest distinct records of every distinct record.

    Letters: m distinct records, g neighbours. `near`, int32 (m, g): nearest first, equally near ones in tree order;
    filled up with −1. `reach`, float64 (m,): distance within which k records lie, the record itself among them; the
    furthest neighbour's where all neighbours together are fewer.
    """

    near: NDArray[np.int32]
    reach: NDArray[np.float64]


def neighbours_of(records: DistinctRecords, size: int, k: int) -> _Neighbours:
    """Find the `size` nearest records of each, 64 at most. Blocks of records are searched on several threads."""
    size = max(1, min(size, _LONGEST, len(records.weights) - 1))
    total = len(records.weights)

    def search(low: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        high = min(total, low + _BLOCK)
        near, distances, reach = near_records(
            records.codes, records.weights, records.tree, records.loss, low, high, size, k
        )
        furthest = np.where(np.isfinite(distances), distances, 0.0).max(axis=1)
        return near, np.where(np.isfinite(reach), reach, furthest)

    parts = each(search, range(0, total, _BLOCK), records.start.problem.threads)
    return _Neighbours(np.concatenate([near for near, _ in parts]), np.concatenate([reach for _, reach in parts]))

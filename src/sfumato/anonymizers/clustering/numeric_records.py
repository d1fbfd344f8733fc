"""The records of a problem as weighted points, and the way back to a partition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.numeric_space import NumericSpace
from sfumato.anonymizers.clustering.sizes import least_size
from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.classes.grouping import distinct_records
from sfumato.classes.partition import Partition
from sfumato.kernels.points.class_merging import merge_classes
from sfumato.kernels.points.point_tree import nearest_items, plant_points
from sfumato.randomness import permutation


@dataclass(frozen=True, eq=False, repr=False)
class NumericRecords:
    """Distinct records as points, in the order of their values, and the records behind them.

    The order owes nothing to that of the input: points stand in the order of their codes, and which of several equal
    records comes first is random. Letters: n records that are not left out, m distinct points, d coordinates.

    Attributes
    ----------
    start : Feasible
    space : NumericSpace
    points : numpy.ndarray
        float64 (m, d)
    starts : numpy.ndarray
        int64 (m + 1,): point ``i`` stands for the records ``starts[i] .. starts[i+1]-1``.
    rows : numpy.ndarray
        int64 (n,): row of each record in the table.
    """

    start: FeasibleProblem
    space: NumericSpace
    points: NDArray[np.float64]
    starts: NDArray[np.int64]
    rows: NDArray[np.int64]

    @property
    def weights(self) -> NDArray[np.int64]:
        """Records of each point, int64 (m,)."""
        return np.diff(self.starts)

    @property
    def owners(self) -> NDArray[np.int64]:
        """Point of each record, int64 (n,)."""
        return np.repeat(np.arange(len(self.points)), self.weights)

    @property
    def class_size(self) -> int:
        """Records that every class needs at least, as far as the rules say it by themselves; at most n."""
        return min(len(self.rows), least_size(self.start))

    def merged(self, class_of: NDArray[np.int32], count: int) -> tuple[NDArray[np.int32], int]:
        """Merge classes until every one satisfies the rules.

        Parameters
        ----------
        class_of
            int32 (n,): class of each record.
        count
            Number of classes, none of them empty.
        """
        class_of = class_of.copy()
        start = self.start
        left = merge_classes(
            self.points, self.owners, start.rules.codes[self.rows], class_of, count, start.ruled, start.smallest,
            start.rules.arrays,
        )  # fmt: skip
        return class_of, int(left)

    def squared_error(self, class_of: NDArray[np.int32], count: int) -> float:
        """Sum of squared distances of all records to the mean of their class."""
        owned = self.points[self.owners]
        sizes = np.bincount(class_of, minlength=count)
        error = 0.0
        for axis in range(owned.shape[1]):
            sums = np.bincount(class_of, weights=owned[:, axis], minlength=count)
            error += float(np.sum((owned[:, axis] - (sums / sizes)[class_of]) ** 2))
        return error

    def partition(self, class_of: NDArray[np.int32], count: int, notes: tuple[str, ...] = ()) -> Partition:
        """Return the solution for the whole table; records that are left out are covered by the nearest class."""
        table, kept = self.start.problem.table, self.start.kept
        cover = np.full(table.height, -1, dtype=np.int32)
        cover[self.rows] = class_of
        if kept is None:
            return Partition(cover, count, notes=notes)
        cover[~kept] = self._nearest(self.space.points(table.codes[~kept]), class_of, count)
        return Partition(np.where(kept, cover, np.int32(-1)), count, cover, notes=notes)

    def _nearest(self, points: NDArray[np.float64], class_of: NDArray[np.int32], count: int) -> NDArray[np.int32]:
        owned = self.points[self.owners]
        sizes = np.bincount(class_of, minlength=count)
        sums = [np.bincount(class_of, weights=owned[:, axis], minlength=count) for axis in range(owned.shape[1])]
        means = np.ascontiguousarray(np.column_stack(sums) / sizes[:, None])
        found: NDArray[np.int32] = nearest_items(points, plant_points(means, np.ones(count, dtype=np.int64)))
        return found


def numeric_records(start: FeasibleProblem, space: NumericSpace) -> NumericRecords:
    """Place the kept records of a problem in a space, equal ones together. Cost O(q n log n)."""
    table = start.problem.table
    order = permutation(table.height, start.problem.seed)
    if start.kept is not None:
        order = order[start.kept[order]]
    distinct, weights, record_of = distinct_records(table.codes[order])
    by_value = np.lexsort(distinct.T[::-1])
    rank = np.empty(len(by_value), dtype=np.int64)
    rank[by_value] = np.arange(len(by_value))
    return NumericRecords(
        start=start,
        space=space,
        points=np.ascontiguousarray(space.points(distinct[by_value])),
        starts=np.concatenate([[0], np.cumsum(weights[by_value])]).astype(np.int64),
        rows=order[np.argsort(rank[record_of], kind="stable")],
    )

"""k-means anonymity: cluster, merge, replace by the mean (the soccer paper's Algorithms 2 and 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.numeric import (
    Categories,
    NumericPartwise,
    NumericRecords,
    NumericSpace,
    Scale,
    numeric_space,
)
from sfumato.anonymizers.parts import BlockSize
from sfumato.kernels.point_clusters import assign_points, move_centres, spread_start
from sfumato.kernels.point_tree import PointTree, plant_points
from sfumato.options import Limit, Names
from sfumato.parallel import each
from sfumato.randomness import permutation
from sfumato.table.encoding import EncodedTable

_Start = Literal["random", "k-means++"]

_CHUNK = 4096
"""Points that one thread assigns at a time."""


@dataclass(frozen=True)
class KMeans(NumericPartwise):
    """Cluster into n / k clusters around moving means, then merge clusters that are too small into the nearest.

    A method for numbers and dates; other columns are encoded as numbers, or refused.

    Parameters
    ----------
    start
        Where the centres begin. ``"random"``: any records (the paper's rule). ``"k-means++"``: records drawn one after
        the other, with a chance that grows with the squared distance to those before; outsiders then start more
        clusters, which are too small more often, so that with many small clusters it often loses more.
    starts
        How many beginnings are tried; the result with the least squared error after merging is taken.
    scale
        ``"minmax"``: every attribute has range 1, so that mixed units count alike, as they do in the losses.
        ``"zscore"``: standard deviation 1. ``"none"``: as they are (the paper's); only for columns of one unit.
    categories
        What becomes of columns that hold no numbers. ``"ranks"``: places on a line, in the order of the hierarchy's
        leaves, else of falling frequency. ``"one-hot"``: a coordinate for each category, 64 at most. ``"refuse"``: an
        error that names them.
    max_iterations
        Rounds of assigning and moving at most.
    tolerance
        The rounds end when no centre moves further than that, on the scale chosen.
    block_size
        Records that are clustered at once at most; larger tables are cut into blocks. 0: never.
    strata
        Quasi-identifying columns in whose values all records of a class agree; None: classes may mix any.

    Raises
    ------
    PolicyError
        With every option that is unknown; from :meth:`solve` when categories are refused.

    Notes
    -----
    *Guarantee.* Every class satisfies every model: the smallest class that does not is merged into the one with the
    nearest centre, until all do. Classes have no upper size. Equal records are published equally.

    *Complexity.* Each round finds the nearest of n / k centres in a tree, and only looks at centres that moved where
    that suffices; the result is that of looking at all. Merging c clusters takes O(c log c) steps. O(d n) memory.

    *Sources.* The soccer paper's Algorithms 2 and 3, with the merging order that it leaves open: smallest cluster first
    (ties: lowest number), nearest centre, which then moves to the mean. Departures: ``"k-means++"`` (Arthur and
    Vassilvitskii 2007), several starts and scales are added; missing values lie apart from all numbers; where models
    ask for more records than k, their number takes its place. Published means are a matter of the recoding:
    ``Recoding(numeric="mean")``.
    """

    name: ClassVar[str] = "k-means"

    start: _Start = "random"
    starts: Annotated[int, Limit(1)] = 1
    scale: Scale = "minmax"
    categories: Categories = "ranks"
    max_iterations: Annotated[int, Limit(1)] = 300
    tolerance: Annotated[float, Limit(0)] = 1e-9
    block_size: BlockSize = 50_000
    strata: Names | None = None

    def classes(self, records: NumericRecords) -> tuple[NDArray[np.int32], int]:
        """Return the class of each record, int32 (n,), and how many there are, from the best beginning."""
        results = [
            classes_from(records, beginning, max_iterations=self.max_iterations, tolerance=self.tolerance)
            for beginning in self._beginnings(records)
        ]
        return results[0] if len(results) == 1 else min(results, key=lambda result: records.squared_error(*result))

    def space(self, table: EncodedTable) -> NumericSpace:
        """Return the coordinates of every value of a table."""
        return numeric_space(table, self.scale, self.categories, name=self.name)

    def _beginnings(self, records: NumericRecords) -> Iterator[NDArray[np.int64]]:
        count = len(records.rows) // records.class_size
        generator = np.random.default_rng(records.start.problem.seed)
        for _ in range(self.starts):
            if self.start == "k-means++":
                yield spread_start(records.points, records.weights, generator.random(count))
            else:
                seed = None if records.start.problem.seed is None else int(generator.integers(2**32))
                yield records.owners[permutation(len(records.rows), seed)[:count]]


def classes_from(
    records: NumericRecords, beginning: NDArray[np.int64], *, max_iterations: int = 300, tolerance: float = 1e-9
) -> tuple[NDArray[np.int32], int]:
    """Cluster from given records, then merge.

    `records`: whom to cluster. `beginning`, int64 (c,): points that are the first centres. `max_iterations`,
    `tolerance`: as in :class:`KMeans`. Returns `class_of`, int32 (n,): class of each record; classes are numbered in
    the order of their first centres.
    """
    home = _clustered(records, records.points[beginning], max_iterations, tolerance)
    used = np.bincount(home, minlength=len(beginning)) > 0
    number = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return records.merged(np.repeat(number[home], records.weights).astype(np.int32), int(used.sum()))


def _clustered(
    records: NumericRecords, centres: NDArray[np.float64], max_iterations: int, tolerance: float
) -> NDArray[np.int32]:
    """Return the centre of each point when the rounds end, int32 (m,)."""
    points, weights = records.points, records.weights
    home = np.full(len(points), -1, dtype=np.int32)
    apart = np.empty(len(points))
    moves = np.ones(len(centres))
    for done in range(max_iterations):
        records.start.problem.progress("clustering", done, max_iterations)
        every = plant_points(centres, np.ones(len(centres), dtype=np.int64))
        moved = plant_points(centres, (moves > 0).astype(np.int64))

        def assign(low: int, every: PointTree = every, moved: PointTree = moved) -> None:
            assign_points(points, low, min(low + _CHUNK, len(points)), every, moved, home, apart)

        each(assign, range(0, len(points), _CHUNK), records.start.problem.threads)
        moves = move_centres(points, weights, home, centres)
        if np.sqrt(moves.max()) <= tolerance:
            break
    records.start.problem.progress("clustering", max_iterations, max_iterations)
    return home

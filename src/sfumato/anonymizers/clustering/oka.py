"""One-pass k-means (OKA): every record joins the nearest of n / k clusters (Lin and Wei, PAIS 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.distances import HeightDistance
from sfumato.anonymizers.clustering.distinct import DistinctRecords, collapse_records
from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.anonymizers.parts import BlockSize, Partwise
from sfumato.classes.partition import Partition
from sfumato.kernels.clustering.greedy import Centroids, centroids_of, join_nearest_class, linked, own_distances
from sfumato.options import Names
from sfumato.randomness import permutation

_Centroid = Literal["ancestor", "mode"]

_UNLIMITED = 2**62
_STEP = 2048


@dataclass(frozen=True)
class OKA(Partwise):
    """Draw n / k records as seeds, let every record join the nearest centroid, then even the sizes out.

    Parameters
    ----------
    centroid
        What stands for a cluster under a hierarchy. ``"ancestor"``: the common ancestor of its values. ``"mode"``: the
        most frequent one. Numbers have their mean, categories without a hierarchy the most frequent one.
    block_size
        Tables of more records are cut into blocks of at most so many, which are solved by themselves; 0 for no
        blocks.
    strata
        Quasi-identifying columns in whose values all records of a class agree; None: classes may mix any.

    Raises
    ------
    PolicyError
        With every bad option.

    Notes
    -----
    *Guarantee.* Every class satisfies every model of the problem. With k-anonymity alone there are floor(n / k)
    classes, in each block. Other models come last: a class that breaks one is merged with the class that makes the loss
    grow least, the smallest first.

    *Distance.* Numbers: to the mean, over the width of the domain. Hierarchies: the height of the common ancestor with
    the centroid, over that of the hierarchy. Categories without a hierarchy: 1 if they differ. A missing value is one
    value under a hierarchy and among categories; a missing number is at distance 1 from every mean.

    *Stages.* Records join in the order of their codes, and each centroid moves at once. Clusters above k then give up
    the records furthest from the centroid that they had. These join, in random order, the nearest cluster below k, or
    the nearest of all once there is none.

    *Complexity.* O(q n² / k) distances in the worst case, most of them cut short; O(q n) memory. Equal records are
    looked at once.

    *Sources.* Lin and Wei 2008. Departures: distances closer to each other than a thousand millionth of the domain
    count as equal, and of equally near clusters the first is taken, of equally far records the first in an order of
    values; the order of the input decides nothing. Models beyond k-anonymity, missing values and blocks are ours.
    """

    name: ClassVar[str] = "oka"

    centroid: _Centroid = "ancestor"
    block_size: BlockSize = 40_000
    strata: Names | None = None

    def solve_part(self, start: FeasibleProblem) -> Partition:
        """Partition all records of a problem, in one piece."""
        records = collapse_records(start, HeightDistance())
        size = min(start.least_size, records.height)
        seeds, pool_order = _drawn(records.height, start.problem.seed)
        class_of = one_pass_classes(records, size, seeds[: records.height // size], pool_order, self.centroid)
        return records.partition(*records.completed(class_of, records.height // size))


def one_pass_classes(
    records: DistinctRecords,
    k: int,
    seeds: NDArray[np.int64],
    pool_order: NDArray[np.int64],
    centroid: _Centroid = "ancestor",
) -> NDArray[np.int32]:
    """Return the class of each of the records' rows, int32 (n,): the number of its seed.

    * `records`: with :class:`~sfumato.anonymizers.clustering.distances.HeightDistance`.
    * `k`: records of a class at least.
    * `seeds`: int64: floor(n / k) different rows.
    * `pool_order`, int64 (n,): all rows, in the order in which those that are given up look for another cluster.
    * `centroid`: see :class:`OKA`.
    """
    class_of = np.full(records.height, -1, dtype=np.int32)
    class_of[seeds] = np.arange(len(seeds))
    centroids = _centroids(records, class_of, len(seeds), centroid)
    _join(records, _by_codes(records), class_of, _UNLIMITED, centroids)
    class_of[_given_up(records, class_of, k, centroids)] = -1
    centroids = _centroids(records, class_of, len(seeds), centroid)
    _join(records, pool_order[class_of[pool_order] < 0], class_of, k, centroids)
    return class_of


def _drawn(height: int, seed: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return two random orders that have nothing to do with each other."""
    both = permutation(2 * height, seed)
    return both[both < height], both[both >= height] - height


def _centroids(records: DistinctRecords, class_of: NDArray[np.int32], count: int, centroid: _Centroid) -> Centroids:
    return centroids_of(records.codes, records.record_of, class_of, count, centroid == "mode", records.loss)


def _by_codes(records: DistinctRecords) -> NDArray[np.int64]:
    """Return all rows in the order of their codes, attribute by attribute; int64 (n,)."""
    keys = [*records.values.T[::-1], *records.codes.T[::-1]]
    rank = np.empty(len(records.weights), dtype=np.int64)
    rank[np.lexsort(keys)] = np.arange(len(rank))
    return np.argsort(rank[records.record_of], kind="stable")


def _join(
    records: DistinctRecords, rows: NDArray[np.int64], class_of: NDArray[np.int32], k: int, centroids: Centroids
) -> None:
    record_of = records.record_of
    after, before = linked(centroids.sizes, k)
    for start in range(0, len(rows), _STEP):
        some = rows[start : start + _STEP]
        full = k if centroids.sizes.min() < k else _UNLIMITED
        join_nearest_class(records.codes, record_of, some, class_of, full, after, before, records.loss, centroids)
        records.start.problem.progress("clustering", int(np.count_nonzero(class_of >= 0)), records.height)


def _given_up(records: DistinctRecords, class_of: NDArray[np.int32], k: int, centroids: Centroids) -> NDArray[np.int64]:
    """Return the rows that clusters above k give up, the furthest from the centroid, the first among equals."""
    far = own_distances(records.codes, records.record_of, class_of, records.loss, centroids)
    order = np.lexsort((-far, class_of))
    ends = np.cumsum(centroids.sizes)
    rank = np.arange(len(order)) - np.repeat(ends - centroids.sizes, centroids.sizes)
    return order[rank < centroids.sizes[class_of[order]] - k]

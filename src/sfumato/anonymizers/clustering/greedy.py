"""Greedy clusterings of distinct records: k-member, one-pass k-means, CAAT, utility-based recoding.

k-member clustering: greedy classes of the records that cost least (Byun, Kamra, Bertino, Li, DASFAA 2007).

One-pass k-means (OKA): every record joins the nearest of n / k clusters (Lin and Wei, PAIS 2008).

CAAT: classes of nearest records, each started far away from the one before (Jiang 2014).

Utility-based local recoding, bottom-up and top-down (Xu, Wang, Pei, Wang, Shi and Fu, KDD 2006).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.distinct import (
    DISTANCES,
    DistinctRecords,
    HeightDistance,
    Loss,
    PenaltyDistance,
    collapse_records,
    neighbours_of,
)
from sfumato.anonymizers.clustering.refinement import ROUNDS, Classes, RefinementLimit, refine_classes
from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.anonymizers.parts import BlockSize, Partwise
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.kernels.clustering.caat import (
    CLASSES,
    ENDED,
    LEFT,
    LOOKED,
    MEAN,
    MIDPOINT,
    NEAREST,
    WIDEN,
    begin_caat,
    grow_from_far,
    join_nearest,
)
from sfumato.kernels.clustering.greedy import (
    Centroids,
    centroids_of,
    grow_classes,
    join_nearest_class,
    linked,
    own_distances,
)
from sfumato.kernels.clustering.utility_recoding import (
    boxes_of,
    halved,
    help_undersized,
    join_undersized,
    listed,
    single_rows,
)
from sfumato.options import Limit, Names
from sfumato.randomness import permutation

_Seeds = Literal["densest", "furthest"]


@dataclass(frozen=True)
class KMember(Partwise):
    """Grow one class after the other: a seed, then always the record that costs the class least, until it has k.

    Parameters
    ----------
    seeds
        Which record starts the next class. ``"densest"``: the one whose (k − 1)th nearest neighbour in the whole table
        is nearest, so that dense places are used up first and the loss is lower. ``"furthest"``: the one furthest from
        the record taken last (the paper's rule).
    loss
        What is kept low. ``"ncp"``: the normalized certainty penalty. ``"loss"``: the loss metric LM. ``"height"``: the
        height of the common ancestor over that of the hierarchy (the paper's measure).
    ranks
        Share of a number's place that is its rank among all records, from 0 to 1; the rest is its value over the
        domain's width, as the loss has it. Ranges are then narrow where records are dense, and counts are off less.
    refine
        How many small changes are proposed for each record once the classes are complete: records move to or change
        places with near ones, classes are dissolved and founded
        (:mod:`~sfumato.anonymizers.clustering.refinement`). 0 leaves the classes as they were grown, as the paper does.
    refine_seconds
        Time limit for that instead; the release then depends on the speed of the machine.
    block_size
        Above that many records a coarse Mondrian cut makes blocks, and each is solved by itself; 0 for no blocks.
    strata
        Quasi-identifying columns in whose values all records of a class agree; None: classes may mix any.
    blind
        Make classes without a look at who has which sensitive value, in small blocks and by their size alone. Whoever
        runs the algorithm again then learns far less of single people, which may cost loss (decision record
        55). No difference where no model looks at sensitive values. Not with `strata`.

    Raises
    ------
    PolicyError
        With every option that is unknown or out of range.

    Notes
    -----
    *Guarantee.* Every class satisfies every model of the problem. A class of k records that does not satisfy the other
    models goes on growing, by the nearest records with sensitive values that it has too little of. Records left over
    join the class that loses least and still satisfies the models; where there is none, classes are merged. With
    k-anonymity alone and without refinement every class has k records, but for those that take in the fewer than k left
    over.

    *Complexity.* One search for every record that is taken. Searches go down a tree of the distinct records and leave
    out branches that are too far; the result is that of looking at every record. O(q n) memory.

    *Sources.* J.-W. Byun, A. Kamra, E. Bertino, N. Li, "Efficient k-anonymization using clustering techniques",
    DASFAA 2007. Departures: ``"densest"`` and the two other losses are ours; equal records go together.
    Of equally near records the first in the tree is taken, which owes nothing to the order of the input.
    """

    name: ClassVar[str] = "k-member"

    seeds: _Seeds = "densest"
    loss: Loss = "ncp"
    ranks: Annotated[float, Limit(0, 1)] = 0.0
    refine: Annotated[int, Limit(0)] = ROUNDS
    refine_seconds: Annotated[float, Limit(0, unit="seconds")] | None = None
    block_size: BlockSize = 50_000
    strata: Names | None = None
    blind: bool = False

    def part_solver(self, problem: Problem) -> Callable[[FeasibleProblem], Partition]:
        """Return what solves every part in its share of the time: as many at a time as there are threads."""
        if self.refine_seconds is None:
            return self.solve_part
        return partial(self.solve_part, record_seconds=self.refine_seconds * problem.threads / problem.table.height)

    def solve_part(self, start: FeasibleProblem, record_seconds: float = math.inf) -> Partition:
        """Partition all records of a problem, in one piece; a time limit is at most so much for each record."""
        records = collapse_records(start, DISTANCES[self.loss], self.ranks)
        classes = Classes(*records.completed(*self.classes(records)))
        seconds = self.refine_seconds
        if seconds is not None:
            seconds = min(seconds, record_seconds * start.problem.table.height)
        better, notes = refine_classes(records, classes, RefinementLimit(self.refine, seconds))
        return records.partition(better.class_of, better.count, notes)

    def classes(self, records: DistinctRecords) -> tuple[NDArray[np.int32], int]:
        """Return the class of each of the records' rows, int32 (n,), −1 for those left over; and how many there are."""
        k = records.start.smallest
        first, seeds = 0, np.zeros(0, dtype=np.int64)
        if self.seeds == "densest":
            seeds = np.argsort(neighbours_of(records, k - 1, k).reach, kind="stable")
        else:
            first = int(permutation(len(records.weights), records.start.problem.seed)[0])
        return grown_classes(records, seeds, first)


def grown_classes(records: DistinctRecords, seeds: NDArray[np.int64], first: int) -> tuple[NDArray[np.int32], int]:
    """Grow classes greedily from `seeds`, or the furthest from the last; int32 (n,), −1 for those left over."""
    shares, count, left = grow_classes(
        records.codes, records.values, records.weights, seeds, first, records.start.smallest, records.start.ruled,
        records.tree, records.loss, records.start.rules.arrays,
    )  # fmt: skip
    owners = np.concatenate([shares[:, 0], np.arange(len(left))])
    classes = np.concatenate([shares[:, 1], np.full(len(left), -1)])
    numbers = np.concatenate([shares[:, 2], left])
    order = np.argsort(owners, kind="stable")
    return np.repeat(classes[order], numbers[order]).astype(np.int32), int(count)


_Centroid = Literal["ancestor", "mode"]

_UNLIMITED = 2**62
_OKA_STEP = 2048


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
    blind
        Make classes without a look at who has which sensitive value, in small blocks and by their size alone. Whoever
        runs the algorithm again then learns far less of single people, which may cost loss (decision record
        55). No difference where no model looks at sensitive values. Not with `strata`.

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

    *Sources.* J.-L. Lin, M.-C. Wei, "An efficient clustering method for k-anonymization", PAIS 2008. Departures:
    distances closer to each other than a thousand millionth of the domain
    count as equal, and of equally near clusters the first is taken, of equally far records the first in an order of
    values; the order of the input decides nothing. Models beyond k-anonymity, missing values and blocks are ours.
    """

    name: ClassVar[str] = "oka"

    centroid: _Centroid = "ancestor"
    block_size: BlockSize = 40_000
    strata: Names | None = None
    blind: bool = False

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
    """Return the class of each row, the number of its seed, of k records; by :class:`HeightDistance`.

    `pool_order`: in which those that are given up look for another cluster.
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
    for start in range(0, len(rows), _OKA_STEP):
        some = rows[start : start + _OKA_STEP]
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


_Interval = Literal["widen", "midpoint", "nearest", "mean"]
_Ties = Literal["all", "first"]

_INTERVALS = {"widen": WIDEN, "midpoint": MIDPOINT, "nearest": NEAREST, "mean": MEAN}
"""Name of an interval rule → the kernels' number for it."""

_CAAT_STEP = 200
"""Classes that are made between two reports of progress."""


@dataclass(frozen=True)
class CAAT(Partwise):
    """Move the nearest records into a class until it has k; start the next with the record furthest from it.

    Parameters
    ----------
    interval
        How far a number x is from a class that publishes the interval [a..b], in shares of the domain. ``"widen"``: the
        mean of what the record and the class would each lose, as with hierarchies. ``"midpoint"``, ``"mean"``: the
        distance from the middle of the interval, or from the mean of the class. ``"nearest"``: the distance from the
        nearer end, 0 inside.
    ties
        ``"first"``: of records that are equally near, one at a time joins; so classes have fewer than 2 k records,
        which is what the paper promises. ``"all"``: all of them join at once, which is what its text says, and breaks
        that promise where many records are equally near.
    frozen
        Whether the fewer than k records left over are compared with the classes as they were closed, or as they have
        become by those who joined before.
    block_size
        Records that are clustered at once at most; larger tables are cut into blocks. None: no blocks.
    strata
        Quasi-identifying columns in whose values all records of a class agree; None: classes may mix any.
    blind
        Make classes without a look at who has which sensitive value, in small blocks and by their size alone. Whoever
        runs the algorithm again then learns far less of single people, which may cost loss (decision record
        55). No difference where no model looks at sensitive values. Not with `strata`.

    Raises
    ------
    PolicyError
        With every unknown option.

    Notes
    -----
    *Guarantee.* Every class satisfies every model of the problem: a class is closed once it has k records and satisfies
    them. Records left over join the nearest class; where it does not satisfy the models then, it is merged with others.
    With k-anonymity alone, classes have k to 2 k - 1 records unless all ties join at once.

    *Complexity.* A search for all nearest records at a time, and one for every class, down a tree of the distinct
    records; branches that are too far are left out, and the result is that of looking at every record. O(q n) memory.

    *Sources.* Jiang Huowen, "Clustering-anonymity method for data-publishing privacy preservation", 2014.
    *Departures.* The paper leaves open how far a number is from an interval, what becomes of ties between
    records that are furthest, and whether leftovers change the classes. Here the first record in an order by values
    decides, which owes nothing to the order of the input. An attribute without a hierarchy that is not numeric has one
    of two levels: values, and ``*``. A missing number is the whole domain away from others. Attributes count by their
    weight. Distances that differ by less than 2**-32 are equal.
    """

    name: ClassVar[str] = "caat"

    interval: _Interval = "widen"
    ties: _Ties = "first"
    frozen: bool = False
    block_size: BlockSize | None = 50_000
    strata: Names | None = None
    blind: bool = False

    def solve_part(self, start: FeasibleProblem) -> Partition:
        """Partition all records of a problem, in one piece."""
        records = collapse_records(start, HeightDistance())
        row = int(permutation(records.height, start.problem.seed)[0])
        clustering = caat_classes(records, int(records.record_of[row]), self.interval, self.ties, frozen=self.frozen)
        return records.partition(*records.completed(clustering.class_of, clustering.count))


@dataclass(frozen=True, eq=False, repr=False)
class _CaatClasses:
    """Classes of rows, int32 (n,), −1 for all where none could be closed; how many; and distances `looked` at."""

    class_of: NDArray[np.int32]
    count: int
    looked: int


def caat_classes(
    records: DistinctRecords, first: int, interval: _Interval, ties: _Ties, *, frozen: bool
) -> _CaatClasses:
    """Cluster records by height; classes have k and satisfied the rules before those left over joined.

    See :class:`CAAT`.
    """
    start, rule, k = records.start, _INTERVALS[interval], records.start.smallest
    rules = start.rules.arrays
    growth = begin_caat(records.weights, first, k, records.tree, records.loss, rules)
    while not growth.numbers[ENDED]:
        grow_from_far(
            records.codes, records.values, k, start.ruled, rule, ties == "first", _CAAT_STEP, records.tree,
            records.loss, rules, growth,
        )  # fmt: skip
        start.problem.progress("clustering", records.height - int(growth.numbers[LEFT]), records.height)
    join_nearest(records.codes, records.record_of, rule, frozen, records.loss, growth)
    start.problem.progress("clustering", records.height, records.height)
    return _CaatClasses(growth.class_of, int(growth.numbers[CLASSES]), int(growth.numbers[LOOKED]))


_Direction = Literal["bottom-up", "top-down"]

_RECODING_STEP = 1024


@dataclass(frozen=True)
class UtilityRecoding(Partwise):
    """Form classes that lose little: small ones join the nearest, or large ones are halved around two far records.

    Parameters
    ----------
    direction
        ``"bottom-up"``: every record is a class; one of fewer than k, drawn at random, joins the class with which it
        loses least, and what has 2 k records or more is cut. ``"top-down"``: all records are a class; classes are
        halved around two records far apart, and those that end up with fewer than k are helped by others.
    block_size
        Tables of more records are cut into blocks of at most so many, which are solved by themselves; 0 for no
        blocks.
    strata
        Quasi-identifying columns in whose values all records of a class agree; None: classes may mix any.
    blind
        Make classes without a look at who has which sensitive value, in small blocks and by their size alone. Whoever
        runs the algorithm again then learns far less of single people, which may cost loss (decision record
        55). No difference where no model looks at sensitive values. Not with `strata`.

    Raises
    ------
    PolicyError
        With every bad option.

    Notes
    -----
    *Guarantee.* Every class satisfies every model of the problem. With k-anonymity alone classes made bottom-up have
    at most 2 k − 1 records. Other models come last: a class that breaks one is merged with the class that makes the
    loss grow least, the smallest first.

    *Loss.* The normalized certainty penalty (NCP), weighted by attribute, of every record of a class.

    *Bottom-up.* A cut takes k records off, the lower end of the two that lose most together and those around it, as
    long as 2 k are there. Cost O(q n c) for c classes that are left on the average, most of it cut short, and O(q n k)
    for the cuts: quadratic in the records of a block.

    *Top-down.* From a random record to the furthest, from there to the furthest, six times at most; the other records,
    in random order, join the end whose loss they raise less. Cost O(q n log n) while halves are about equal, O(q n²)
    when records are split off one by one; then O(q n k) for every class below k in the worst case. Such a class takes
    the missing records from a class that can spare them, or merges, whatever raises the loss less.

    *Sources.* J. Xu, W. Wang, J. Pei, X. Wang, B. Shi, A. W.-C. Fu, "Utility-based anonymization using local
    recoding", KDD 2006. Departures: losses closer to each other than a thousand millionth of a domain count as
    equal, and the class with the first record in an order of values is taken then, whatever the order of the input. A
    class of equal records is not halved: its halves would publish the same. Models beyond k-anonymity, missing values
    and blocks are ours.
    """

    name: ClassVar[str] = "utility-recoding"

    direction: _Direction = "bottom-up"
    block_size: BlockSize = 40_000
    strata: Names | None = None
    blind: bool = False

    def solve_part(self, start: FeasibleProblem) -> Partition:
        """Partition all records of a problem, in one piece."""
        records = collapse_records(start, PenaltyDistance())
        size = min(start.least_size, records.height)
        order = permutation(records.height, start.problem.seed)
        classes = bottom_up_classes if self.direction == "bottom-up" else top_down_classes
        class_of, count = _numbered(classes(records, size, order))
        return records.partition(*records.completed(class_of, count))


def bottom_up_classes(records: DistinctRecords, k: int, picks: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the lowest row of each row's class; `picks`: the order in which rows name the class that joins another."""
    record_of = records.record_of
    classes = single_rows(records.codes, record_of, records.loss)
    least, largest = boxes_of(records.codes, record_of)
    for low in range(0, len(picks), _RECODING_STEP):
        some = picks[low : low + _RECODING_STEP]
        join_undersized(records.codes, record_of, some, k, least, largest, records.loss, classes)
        _say(records, min(low + _RECODING_STEP, len(picks)))
    return classes.class_of


def top_down_classes(records: DistinctRecords, k: int, order: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the lowest row of each row's class; `order`: in which rows choose sides."""
    record_of = records.record_of
    rows, starts = halved(records.codes, record_of, order, k, records.loss)
    classes = listed(records.codes, record_of, rows, starts, records.loss)
    for low in range(0, len(rows), _RECODING_STEP):
        high = min(low + _RECODING_STEP, len(rows))
        help_undersized(records.codes, record_of, low, high, k, records.loss, classes)
        _say(records, high)
    return classes.class_of


def _say(records: DistinctRecords, done: int) -> None:
    records.start.problem.progress("clustering", done, records.height)


def _numbered(lowest: NDArray[np.int32]) -> tuple[NDArray[np.int32], int]:
    """Return classes numbered from 0, given the lowest row of each row's class."""
    found, class_of = np.unique(lowest, return_inverse=True)
    return class_of.astype(np.int32), len(found)

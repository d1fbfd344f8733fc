"""CAAT: classes of nearest records, each started far away from the one before (Jiang 2014)."""

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
    gaps_to_class,
    grow_classes,
    join_nearest,
)
from sfumato.options import Names
from sfumato.randomness import permutation

_Interval = Literal["widen", "midpoint", "nearest", "mean"]
_Ties = Literal["all", "first"]

_INTERVALS = {"widen": WIDEN, "midpoint": MIDPOINT, "nearest": NEAREST, "mean": MEAN}
"""Name of an interval rule → the kernels' number for it."""

_STEP = 200
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

    *Sources.* Jiang 2014. The paper leaves open how far a number is from an interval, what becomes of ties between
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

    def solve_part(self, start: FeasibleProblem) -> Partition:
        """Partition all records of a problem, in one piece."""
        records = collapse_records(start, HeightDistance())
        row = int(permutation(records.height, start.problem.seed)[0])
        clustering = caat_classes(records, int(records.record_of[row]), self.interval, self.ties, frozen=self.frozen)
        return records.partition(*records.completed(clustering.class_of, clustering.count))


@dataclass(frozen=True, eq=False, repr=False)
class _CaatClasses:
    """What CAAT makes of distinct records.

    `class_of`, int32 (n,): class of each of the records' rows; −1 for all where no class could be closed. `count`: how
    many classes there are. `looked`: distances that were computed, and bounds on them.
    """

    class_of: NDArray[np.int32]
    count: int
    looked: int


def caat_classes(
    records: DistinctRecords, first: int, interval: _Interval, ties: _Ties, *, frozen: bool
) -> _CaatClasses:
    """Cluster records; classes have k of them, and satisfied the rules before those left over joined.

    `records`: made with :class:`~sfumato.anonymizers.clustering.distances.HeightDistance`. `first`: the distinct record
    that starts the first class. `interval`, `ties`, `frozen`: see :class:`CAAT`.
    """
    start, rule, k = records.start, _INTERVALS[interval], records.start.smallest
    rules = start.rules.arrays
    growth = begin_caat(records.weights, first, k, records.tree, records.loss, rules)
    while not growth.numbers[ENDED]:
        grow_classes(
            records.codes, records.values, k, start.ruled, rule, ties == "first", _STEP, records.tree, records.loss,
            rules, growth,
        )  # fmt: skip
        start.problem.progress("clustering", records.height - int(growth.numbers[LEFT]), records.height)
    join_nearest(records.codes, records.record_of, rule, frozen, records.loss, growth)
    start.problem.progress("clustering", records.height, records.height)
    return _CaatClasses(growth.class_of, int(growth.numbers[CLASSES]), int(growth.numbers[LOOKED]))


def distances_to_class(
    records: DistinctRecords, others: NDArray[np.int64], members: NDArray[np.int64], interval: _Interval = "widen"
) -> NDArray[np.float64]:
    """Return the distances of records to a class; a class of one record gives the distances of two records.

    * `records`: made with :class:`~sfumato.anonymizers.clustering.distances.HeightDistance`.
    * `others`, int64 (o,): distinct records.
    * `members`: int64: distinct records of the class, at least one; one record may occur several times.
    * `interval`: see :class:`CAAT`.

    Returns: float64 (o,): the mean over the attributes by weight, between 0 and 1.
    """
    gaps = gaps_to_class(records.codes, members, others, _INTERVALS[interval], records.loss)
    means: NDArray[np.float64] = gaps / records.loss.tops.sum()
    return means

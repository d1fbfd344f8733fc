"""Utility-based local recoding, bottom-up and top-down (Xu, Wang, Pei, Wang, Shi and Fu, KDD 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.distances import PenaltyDistance
from sfumato.anonymizers.clustering.distinct import DistinctRecords, collapse_records
from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.anonymizers.parts import BlockSize, Partwise
from sfumato.classes.partition import Partition
from sfumato.kernels.clustering.utility_recoding import (
    boxes_of,
    halved,
    help_undersized,
    join_undersized,
    listed,
    single_rows,
)
from sfumato.options import Names
from sfumato.randomness import permutation

_Direction = Literal["bottom-up", "top-down"]

_STEP = 1024


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

    *Sources.* Xu et al. 2006. Departures: losses closer to each other than a thousand millionth of a domain count as
    equal, and the class with the first record in an order of values is taken then, whatever the order of the input. A
    class of equal records is not halved: its halves would publish the same. Models beyond k-anonymity, missing values
    and blocks are ours.
    """

    name: ClassVar[str] = "utility-recoding"

    direction: _Direction = "bottom-up"
    block_size: BlockSize = 40_000
    strata: Names | None = None

    def solve_part(self, start: FeasibleProblem) -> Partition:
        """Partition all records of a problem, in one piece."""
        records = collapse_records(start, PenaltyDistance())
        size = min(start.least_size, records.height)
        order = permutation(records.height, start.problem.seed)
        classes = bottom_up_classes if self.direction == "bottom-up" else top_down_classes
        class_of, count = _numbered(classes(records, size, order))
        return records.partition(*records.completed(class_of, count))


def bottom_up_classes(records: DistinctRecords, k: int, picks: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the lowest row of the class of each of the records' rows, int32 (n,).

    `records`: with :class:`~sfumato.anonymizers.clustering.distances.PenaltyDistance`. `k`: records of a class at
    least. `picks`, int64 (n,): all rows, in the order in which they name the class that joins another one.
    """
    record_of = records.record_of
    classes = single_rows(records.codes, record_of, records.loss)
    least, largest = boxes_of(records.codes, record_of)
    for low in range(0, len(picks), _STEP):
        some = picks[low : low + _STEP]
        join_undersized(records.codes, record_of, some, k, least, largest, records.loss, classes)
        _say(records, min(low + _STEP, len(picks)))
    return classes.class_of


def top_down_classes(records: DistinctRecords, k: int, order: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the lowest row of the class of each of the records' rows, int32 (n,).

    `records`, `k`: see :func:`bottom_up_classes`. `order`, int64 (n,): all rows, in the order in which they choose
    sides.
    """
    record_of = records.record_of
    rows, starts = halved(records.codes, record_of, order, k, records.loss)
    classes = listed(records.codes, record_of, rows, starts, records.loss)
    for low in range(0, len(rows), _STEP):
        high = min(low + _STEP, len(rows))
        help_undersized(records.codes, record_of, low, high, k, records.loss, classes)
        _say(records, high)
    return classes.class_of


def _say(records: DistinctRecords, done: int) -> None:
    records.start.problem.progress("clustering", done, records.height)


def _numbered(lowest: NDArray[np.int32]) -> tuple[NDArray[np.int32], int]:
    """Return classes numbered from 0, given the lowest row of each row's class."""
    found, class_of = np.unique(lowest, return_inverse=True)
    return class_of.astype(np.int32), len(found)

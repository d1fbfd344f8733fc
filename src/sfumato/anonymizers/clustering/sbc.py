"""SBC: similarity-based clustering, for tables without hierarchies (Sarrafi Aghdam 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.similarity import (
    ChainRule,
    Normalize,
    SimilarityTable,
    Sort,
    similarity_table,
)
from sfumato.anonymizers.distances import DISTANCES
from sfumato.anonymizers.distinct import distinct_of
from sfumato.anonymizers.feasibility import Feasible, feasible
from sfumato.anonymizers.protocol import Problem
from sfumato.anonymizers.selection import least_loss
from sfumato.classes.partition import Partition
from sfumato.classes.statistics import class_statistics
from sfumato.errors import PolicyError, raise_all
from sfumato.figures import counted
from sfumato.kernels.boxes import class_boxes
from sfumato.kernels.similarity import Progressed, grow_similar
from sfumato.table.encoding import EncodedTable

Remainder = Literal["last", "nearest", "suppress"]

STEP = 500
"""Classes that are made between two reports of progress."""


@dataclass(frozen=True)
class SBC:
    """Take the first record left and the nearest others as a class, measured by how frequent values are together.

    Numbers are as far apart as their difference over the range of the table. Categories need no hierarchy: the values
    of an attribute are ordered by how close their frequency is to that of the first record's value, and the place in
    this order is the distance. Frequencies are counted among the records that are left, and that agree with the first
    record in the attribute before; attributes follow each other by rising number of values.

    Parameters
    ----------
    chain
        Which records frequencies are counted among. ``"previous"``: those with the first record's value in the
        attribute before, and where there are fewer than k of them, also those with the next most similar values.
        ``"all"``: the same with all attributes before together, the nearest combinations of values first.
    remainder
        What becomes of the fewer than k records at the end. ``"last"``: they join the last class. ``"nearest"``: each
        joins the class whose information loss grows least. ``"suppress"``: they are suppressed where the limit allows
        it, together with the smallest class, as fewer than k suppressed records would point at somebody; else
        ``"last"``.
    sort
        Which record is the first. ``"values"``: sorted by categories, by rising number of values, then by numbers.
        ``"random"``: a random order.
    normalize
        How distances are added up. ``"sum"``: every attribute counts the same. ``"by-type"``: all categories together
        count as much as all numbers together.

    Raises
    ------
    PolicyError
        With every unknown option.

    Notes
    -----
    *Guarantee.* Every class satisfies every model of the problem. With k-anonymity alone, every class has k records,
    the last one at most 2 k - 1. A class of k records that does not satisfy the other models takes in further nearest
    records until it does. Records left over in the end which no class can be made of join the class that loses least
    and still satisfies the models; where there is none, classes are merged.

    *Complexity.* One search in a tree of prefixes for every class, which leaves out what is too far and finds the same
    records as looking at all; O(V log V) for the distances of V categorical values. O(q n) memory.

    *Sources.* M. R. Sarrafi Aghdam, "Achieving high data utility k-anonymization using similarity-based clustering
    model", thesis, 2017; chapter 3. It leaves open what it sorts by, which rows are merged of more than two, and what
    becomes of ties; the choices here are: as above; by similarity; in the order of the values, records in their order.
    The input's order is never used. A missing value is a value; a missing number is as far as can be from all others.
    Hierarchies are left aside while clustering. Distances that differ by less than 2**-32 are equal.
    """

    name: ClassVar[str] = "sbc"
    decides_regions: ClassVar[bool] = False

    chain: ChainRule = "previous"
    remainder: Remainder = "last"
    sort: Sort = "values"
    normalize: Normalize = "sum"

    def __post_init__(self) -> None:
        """Check the options."""
        raise_all(PolicyError, _unknown_words(self))

    def solve(self, problem: Problem) -> Partition:
        """Partition the records.

        Raises
        ------
        UnsatisfiableError
            When not even all records together satisfy the models, and leaving some of the most frequent sensitive
            values out within the suppression limit does not change that.
        """
        solutions = [self._solve(start) for start in feasible(problem)]
        return solutions[0] if len(solutions) == 1 else least_loss(problem.table, solutions)

    def _solve(self, start: Feasible) -> Partition:
        table = start.problem.table
        rows = np.arange(table.height) if start.kept is None else np.flatnonzero(start.kept)
        laid = similarity_table(
            table, rows, start.smallest, chain=self.chain, sort=self.sort, normalize=self.normalize,
            seed=start.problem.seed,
        )  # fmt: skip
        class_at, count = similar_classes(start, laid)
        class_of = np.full(table.height, -1, dtype=np.int32)
        class_of[laid.order] = class_at
        left = laid.order[class_at < 0]
        notes = (f"{counted(len(left), 'record')} left over after {count:,} classes.",) if len(left) else ()
        if self.remainder == "suppress" and len(left):
            suppressed = _suppressed(start, class_of, count)
            if suppressed is not None:
                return Partition(*suppressed, notes=notes)
        if self.remainder != "nearest" and len(left) < start.smallest:
            class_of[left] = count - 1
        if (class_of[rows] >= 0).all() and not start.ruled:
            return Partition(class_of, count, notes=notes)
        records = distinct_of(start, DISTANCES["ncp"])
        return records.partition(*records.completed(class_of[records.rows], count), notes=notes)


def similar_classes(start: Feasible, laid: SimilarityTable) -> tuple[NDArray[np.int32], int]:
    """Make classes until no more can be made.

    Returns
    -------
    class_at : numpy.ndarray
        int32 (n,): class of the record at each place of ``laid.order``, −1 for those left over.
    count : int
    """
    done = Progressed(np.full(len(laid.order), -1, np.int32), np.zeros(1, np.int64), np.zeros(1, np.int64))
    values = start.rules.codes[laid.order]
    report, height = start.problem.progress, len(laid.order)
    report("clustering", 0, height)
    while grow_similar(
        STEP, laid.tree, laid.measure, laid.chain, values, start.ruled, start.rules.arrays, done
    ):  # fmt: skip
        report("clustering", height - int(laid.tree.alive[0]), height)
    report("clustering", height, height)
    return done.class_at, int(done.count[0])


def _suppressed(start: Feasible, class_of: NDArray[np.int32], count: int) -> tuple[NDArray[np.int32], int] | None:
    """Suppress the records without a class, and the smallest classes until they are enough; None where it may not be.

    Models that compare with the whole table see another one then, so every class is judged anew.
    """
    problem = start.problem
    gone = int(np.count_nonzero(class_of < 0))
    sizes = np.bincount(class_of[class_of >= 0], minlength=count)
    order = _smallest_first(class_of, sizes, problem.table)
    further = int(np.searchsorted(np.cumsum(sizes[order]), start.smallest - gone)) + 1 if gone < start.smallest else 0
    if further >= count or gone + int(sizes[order[:further]].sum()) > problem.suppression_limit:
        return None
    kept = np.ones(count + 1, dtype=np.bool_)
    kept[order[:further]] = kept[-1] = False
    number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    remaining = number[class_of]
    statistics = class_statistics(
        remaining, count - further, problem.table.sensitive_codes, problem.table.sensitive
    )  # fmt: skip
    holding = all(bool(model.holds(statistics).all()) for model in problem.models)
    return (remaining, count - further) if holding else None


def _smallest_first(class_of: NDArray[np.int32], sizes: NDArray[np.int64], table: EncodedTable) -> NDArray[np.int64]:
    lows, highs = class_boxes(class_of, table.codes, len(sizes))
    order: NDArray[np.int64] = np.lexsort((*highs.T[::-1], *lows.T[::-1], sizes))
    return order


def _unknown_words(options: SBC) -> list[str]:
    allowed = {
        "chain": ("previous", "all"),
        "remainder": ("last", "nearest", "suppress"),
        "sort": ("values", "random"),
        "normalize": ("sum", "by-type"),
    }
    return [
        f"sbc: {field} must be one of {', '.join(words)}"
        for field, words in allowed.items()
        if getattr(options, field) not in words
    ]

"""SBC: similarity-based clustering, for tables without hierarchies (Sarrafi Aghdam 2017)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.distances import DISTANCES
from sfumato.anonymizers.clustering.distinct import distinct_of
from sfumato.anonymizers.clustering.similarity import (
    ChainRule,
    Normalize,
    SimilarityTable,
    Sort,
    similarity_table,
)
from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.anonymizers.partwise import BlockSize, Partwise
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition, class_sizes
from sfumato.classes.people import statistics_of
from sfumato.errors import PolicyError, raise_all
from sfumato.kernels.boxes import class_boxes
from sfumato.kernels.clustering.similarity import Progressed, grow_similar, nearest_classes
from sfumato.numbers import counted
from sfumato.options import ListOfNames, Names
from sfumato.table.encoding import EncodedTable

Remainder = Literal["last", "nearest", "suppress"]

STEP = 500
"""Classes that are made between two reports of progress."""


@dataclass(frozen=True)
class SBC(Partwise):
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
        joins the class whose first record is nearest, as it was measured when the class was made. ``"suppress"``: they
        are suppressed where the limit allows it, together with the smallest class, as fewer than k suppressed records
        would point at somebody; else ``"last"``.
    sort
        Which record is the first. ``"values"``: sorted by categories, by rising number of values, then by numbers.
        ``"random"``: a random order.
    sort_by
        Attributes to sort by before all others, where `sort` is ``"values"``.
    normalize
        How distances are added up. ``"sum"``: every attribute counts the same. ``"by-type"``: all categories together
        count as much as all numbers together.
    block_size
        Above that many records a coarse Mondrian cut makes blocks, and each is solved by itself; None for no blocks.
    strata
        Quasi-identifying columns in whose values all records of a class agree; None: classes may mix any.

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

    chain: ChainRule = "previous"
    remainder: Remainder = "last"
    sort: Sort = "values"
    sort_by: Annotated[tuple[str, ...], ListOfNames(0)] = ()
    normalize: Normalize = "sum"
    block_size: BlockSize | None = None
    strata: Names | None = None

    def _mistakes(self) -> Iterator[str]:
        if self.sort_by and self.sort == "random":
            yield "sbc: sort_by has no say where sort is random; leave one of them out"

    def part_solver(self, problem: Problem) -> Callable[[FeasibleProblem], Partition]:
        """Return what solves every part of a problem.

        Raises
        ------
        PolicyError
            When attributes to sort by are not there.
        """
        known = {attribute.name for attribute in problem.table.attributes}
        unknown = [name for name in self.sort_by if name not in known]
        raise_all(
            PolicyError, (f"sbc: sort_by names {name!r}, which is no quasi-identifying column" for name in unknown)
        )
        return self.solve_part

    def solve_part(self, start: FeasibleProblem) -> Partition:
        """Partition all records of a problem, in one piece."""
        table = start.problem.table
        rows = np.arange(table.height) if start.kept is None else np.flatnonzero(start.kept)
        laid = similarity_table(
            table, rows, start.smallest, chain=self.chain, sort=self.sort, sort_by=self.sort_by,
            normalize=self.normalize, sensitive=start.rules.codes if start.ruled else None, seed=start.problem.seed,
        )  # fmt: skip
        class_at, count = similar_classes(start, laid.copy())
        left = np.flatnonzero(class_at < 0)
        notes = (_left_over(len(left)),) if len(left) else ()
        if self.remainder == "suppress" and len(left) and start.kept is None:
            suppressed = _suppressed(start, _in_rows(start, laid, class_at), count)
            if suppressed is not None:
                return Partition(*suppressed, notes=notes)
        placed = class_at.copy()
        if 0 < len(left) < start.smallest:
            placed[left] = nearest_class(laid, class_at, left, count) if self.remainder == "nearest" else count - 1
        if not start.ruled and start.kept is None:
            return Partition(_in_rows(start, laid, placed), count, notes=notes)
        return _repaired(start, [_in_rows(start, laid, each) for each in (placed, class_at)], count, notes)


def similar_classes(start: FeasibleProblem, laid: SimilarityTable) -> tuple[NDArray[np.int32], int]:
    """Make classes until no more can be made; their records leave `laid`.

    Returns
    -------
    class_at : numpy.ndarray
        int32 (n,): class of the record at each place of ``laid.order``, −1 for those left over.
    count : int
    """
    done = _nothing_done(laid)
    values = start.rules.codes[laid.order]
    report = start.problem.progress
    report("clustering", 0, laid.height)
    while grow_similar(STEP, laid.tree, laid.measure, laid.chain, values, start.ruled, start.rules.arrays, done):
        report("clustering", laid.height - int(laid.tree.alive[0]), laid.height)
    report("clustering", laid.height, laid.height)
    return done.class_at, int(done.classes[0])


def nearest_class(
    laid: SimilarityTable, class_at: NDArray[np.int32], left: NDArray[np.int64], count: int
) -> NDArray[np.int32]:
    """Find the class whose first record is nearest to each record left over, measured as when the class was made.

    Parameters
    ----------
    laid
        As before the first class.
    class_at, count
        From :func:`similar_classes`.
    left
        int64 (r,): places.

    Returns
    -------
    numpy.ndarray
        int32 (r,).
    """
    members = np.argsort(class_at, kind="stable")[len(left) :]
    starts = np.searchsorted(class_at[members], np.arange(count + 1)).astype(np.int64)
    again = laid.copy()
    found: NDArray[np.int32] = nearest_classes(
        members, starts, left, again.tree, again.measure, again.chain, _nothing_done(again)
    )
    return found


def _nothing_done(laid: SimilarityTable) -> Progressed:
    return Progressed(np.full(laid.height, -1, np.int32), np.zeros(1, np.int64), np.zeros(1, np.int64))


def _in_rows(start: FeasibleProblem, laid: SimilarityTable, class_at: NDArray[np.int32]) -> NDArray[np.int32]:
    """Class of each row of the table; −1 also for those that are not kept."""
    class_of = np.full(start.problem.table.height, -1, dtype=np.int32)
    class_of[laid.order] = class_at
    return class_of


def _repaired(
    start: FeasibleProblem, choices: Sequence[NDArray[np.int32]], count: int, notes: tuple[str, ...]
) -> Partition:
    """Return the first choice that needs no merging of classes, or else the last one after it.

    Records without a class join the one that loses least and still satisfies the models.
    """
    records = distinct_of(start, DISTANCES["ncp"])
    for class_of in choices:
        completed, remaining = records.completed(class_of[records.rows], count)
        if remaining == count:
            break
    return records.partition(completed, remaining, notes=notes)


def _suppressed(
    start: FeasibleProblem, class_of: NDArray[np.int32], count: int
) -> tuple[NDArray[np.int32], int] | None:
    """Suppress the records without a class, and the smallest classes until they are enough; None where it may not be.

    Models that compare with the whole table see another one then, so every class is judged anew.
    """
    problem = start.problem
    gone = int(np.count_nonzero(class_of < 0))
    sizes = class_sizes(class_of, count)
    order = _smallest_first(class_of, sizes, problem.table)
    further = int(np.searchsorted(np.cumsum(sizes[order]), start.smallest - gone)) + 1 if gone < start.smallest else 0
    if further >= count or gone + int(sizes[order[:further]].sum()) > problem.suppression_limit:
        return None
    kept = np.ones(count + 1, dtype=np.bool_)
    kept[order[:further]] = kept[-1] = False
    number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    remaining = number[class_of]
    statistics = statistics_of(problem.table, remaining, count - further)
    holding = all(bool(model.holds(statistics).all()) for model in problem.models)
    return (remaining, count - further) if holding else None


def _smallest_first(class_of: NDArray[np.int32], sizes: NDArray[np.int64], table: EncodedTable) -> NDArray[np.int64]:
    lows, highs = class_boxes(class_of, table.codes, len(sizes))
    order: NDArray[np.int64] = np.lexsort((*highs.T[::-1], *lows.T[::-1], sizes))
    return order


def _left_over(records: int) -> str:
    return f"{counted(records, 'record')} left over in the end, which no class could be made of."

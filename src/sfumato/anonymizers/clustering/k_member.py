"""k-member clustering: greedy classes of the records that cost least (Byun, Kamra, Bertino, Li, DASFAA 2007)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.distances import DISTANCES, Loss
from sfumato.anonymizers.clustering.distinct import DistinctRecords, collapse_records, neighbours_of
from sfumato.anonymizers.clustering.refinement import ROUNDS, Classes, RefinementLimit, refine_classes
from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.anonymizers.parts import BlockSize, Partwise
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.kernels.clustering.greedy import grow_classes
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

    *Sources.* Byun et al. 2007. Departures: ``"densest"`` and the two other losses are ours; equal records go together.
    Of equally near records the first in the tree is taken, which owes nothing to the order of the input.
    """

    name: ClassVar[str] = "k-member"

    seeds: _Seeds = "densest"
    loss: Loss = "ncp"
    refine: Annotated[int, Limit(0)] = ROUNDS
    refine_seconds: Annotated[float, Limit(0, unit="seconds")] | None = None
    block_size: BlockSize = 50_000
    strata: Names | None = None

    def part_solver(self, problem: Problem) -> Callable[[FeasibleProblem], Partition]:
        """Return what solves every part in its share of the time: as many at a time as there are threads."""
        if self.refine_seconds is None:
            return self.solve_part
        return partial(self.solve_part, record_seconds=self.refine_seconds * problem.threads / problem.table.height)

    def solve_part(self, start: FeasibleProblem, record_seconds: float = math.inf) -> Partition:
        """Partition all records of a problem, in one piece; a time limit is at most so much for each record."""
        records = collapse_records(start, DISTANCES[self.loss])
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
    """Grow classes greedily.

    `records`: whom to put into classes. `seeds`: int64: distinct records in the order in which they start classes;
    empty for the furthest from the last. `first`: the distinct record that counts as the last one before there is any.
    Returns `class_of`, int32 (n,): class of each of the records' rows, −1 for those left over.
    """
    shares, count, left = grow_classes(
        records.codes, records.values, records.weights, seeds, first, records.start.smallest, records.start.ruled,
        records.tree, records.loss, records.start.rules.arrays,
    )  # fmt: skip
    owners = np.concatenate([shares[:, 0], np.arange(len(left))])
    classes = np.concatenate([shares[:, 1], np.full(len(left), -1)])
    numbers = np.concatenate([shares[:, 2], left])
    order = np.argsort(owners, kind="stable")
    return np.repeat(classes[order], numbers[order]).astype(np.int32), int(count)

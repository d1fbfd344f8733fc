"""KACA: classes with too few records join the nearest ones along hierarchies (Li, Wong, Fu, Pei, DaWaK 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.distinct import DistinctRecords, WeightedHierarchyDistance, collapse_records
from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.anonymizers.parts import BlockSize, Partwise
from sfumato.classes.partition import Partition
from sfumato.kernels.clustering.kaca import (
    LOOKED,
    SMALL,
    STEPS,
    begin_kaca,
    number_classes,
    settle_small,
)
from sfumato.kernels.clustering.record_tree import plant
from sfumato.options import Limit, Names
from sfumato.table.encoding import EncodedAttribute

_Weights = Literal["uniform", "height"]

_STEP = 500
"""Groups that are taken up between two reports of progress."""


@dataclass(frozen=True)
class KACA(Partwise):
    """Start with equal records as classes; while one has too few, join it with the nearest, or with a part of that.

    The distance of two classes is what all their records together are generalized by when they come to share a record:
    the steps from what they published before up to the common ancestors, over those from a value up to the root.

    Parameters
    ----------
    weights
        How much a step of a hierarchy counts. ``"uniform"``: all the same. ``"height"``: the step that ends on depth j
        counts ``1 / j**beta``, 1 being the root's depth, so that steps near the root cost more.
    beta
        At least 0; the paper has 1 and above. Only for ``weights="height"``.
    stub
        Whether a class with too few records takes only as many as it needs, if the rest of the nearest class has enough
        without them; else it always takes all.
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
    *Guarantee.* Every class satisfies every model of the problem: a class is too small until it has k records and
    satisfies them.

    *Complexity.* One search for each class that is taken up, down a tree of the distinct records; branches that are too
    far are left out, and the result is that of looking at every class. There are fewer than twice as many searches as
    distinct records. O(q n) memory.

    *Sources.* J. Li, R. C.-W. Wong, A. W.-C. Fu, J. Pei, "Achieving k-anonymity by clustering in attribute hierarchical
    structures", DaWaK 2006. *Departures.* The small class to take up next is drawn at random. Of equally near classes
    the one with the first record is taken, and a stub is made of the first records, in an order by values that owes
    nothing to the order of the input. As in the paper, a class whose generalized record comes to equal that of another
    merges with it, even with the rest of the class that it just took a stub of: the stub is undone then. Departures:
    numbers without a hierarchy are intervals, which cost their width over the domain's (the NCP); other attributes
    without one have two levels, values and ``*``. A missing number is the whole domain away from others. Attributes
    count by their weight. Classes publish what covers their records, which may be less than what they once shared with
    the records of a stub. Distances that differ by less than 2**-26 are equal.
    """

    name: ClassVar[str] = "kaca"

    weights: _Weights = "uniform"
    beta: Annotated[float, Limit(0, 50)] = 1.0
    stub: bool = True
    block_size: BlockSize | None = 50_000
    strata: Names | None = None
    blind: bool = False

    @property
    def distance(self) -> WeightedHierarchyDistance:
        """What each step of a hierarchy costs."""
        return WeightedHierarchyDistance(self.beta if self.weights == "height" else 0.0)

    def solve_part(self, start: FeasibleProblem) -> Partition:
        """Partition all records of a problem, in one piece."""
        records = collapse_records(start, self.distance)
        clustering = kaca_classes(records, stub=self.stub)
        return records.partition(*records.completed(clustering.class_of, clustering.count), _notes(start))


@dataclass(frozen=True, eq=False, repr=False)
class _KacaClasses:
    """Classes of rows, int32 (n,), and how many; `picks`: their first rows, in order; distances `looked` at."""

    class_of: NDArray[np.int32]
    count: int
    picks: NDArray[np.int64]
    looked: int


def kaca_classes(records: DistinctRecords, *, stub: bool) -> _KacaClasses:
    """Cluster records by weighted hierarchical distance so that every class satisfies the rules; see :class:`KACA`."""
    start, k, loss = records.start, records.start.smallest, records.loss
    rules, problem = start.rules.arrays, start.problem
    vectors, vector_of = _vectors(records)
    tree = plant(vectors, loss)
    place = np.empty(len(vectors), dtype=np.int64)
    place[tree.order] = np.arange(len(vectors))
    groups = begin_kaca(
        vectors[tree.order], records.values, records.weights, place[vector_of], k, start.ruled, tree, loss, rules
    )
    draws = np.random.default_rng(problem.seed).random(2 * len(vectors))
    picks = np.zeros(len(draws), dtype=np.int64)
    steps = _steps(problem.table.attributes, records.occurring)
    small, done = int(groups.numbers[SMALL]), -1
    while done < groups.numbers[STEPS]:
        done = int(groups.numbers[STEPS])
        settle_small(
            records.values, draws, steps, k, start.ruled, stub, _STEP, picks, tree, loss, rules, groups
        )  # fmt: skip
        problem.progress("clustering", small - int(groups.numbers[SMALL]), small)
    class_of = np.zeros(records.height, dtype=np.int32)
    count = int(number_classes(groups, class_of))
    return _KacaClasses(class_of, count, picks[:done], int(groups.numbers[LOOKED]))


def _vectors(records: DistinctRecords) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int64]]:
    """Return the different vectors of quasi-identifying codes, and which one each distinct record has."""
    # Records with equal vectors stand together.
    new = np.append(True, np.any(records.codes[1:] != records.codes[:-1], axis=1))
    return np.ascontiguousarray(records.codes[new]), np.cumsum(new) - 1


def _steps(attributes: tuple[EncodedAttribute, ...], occurring: tuple[NDArray[np.int64], ...]) -> NDArray[np.int64]:
    """Return the level of the common ancestor of each code and the next, int64; unused for numbers."""
    return np.concatenate(
        [np.zeros(0, dtype=np.int64), *(_climbs(*pair) for pair in zip(attributes, occurring, strict=True))]
    )


def _climbs(attribute: EncodedAttribute, codes: NDArray[np.int64]) -> NDArray[np.int64]:
    hierarchy = attribute.hierarchy
    climbs = np.ones(len(codes), dtype=np.int64)
    if hierarchy is not None:
        # Only the root covers the missing value.
        climbs[:] = max(hierarchy.height, 1)
        known = codes[codes < attribute.size]
        climbs[: max(len(known) - 1, 0)] = hierarchy.common_ancestor(known[:-1], known[1:])
    return climbs


def _notes(start: FeasibleProblem) -> tuple[str, ...]:
    bare = [repr(attribute.name) for attribute in start.problem.table.attributes if attribute.is_numeric]
    if not bare:
        return ()
    return (f"No hierarchy for {', '.join(bare)}: KACA weighed intervals by their width instead of levels.",)

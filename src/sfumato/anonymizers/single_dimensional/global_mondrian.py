"""Global Mondrian: greedy cuts that go across the whole table (LeFevre, DeWitt, Ramakrishnan, ICDE 2006)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from sfumato.anonymizers.feasibility import FeasibleProblem, feasible
from sfumato.anonymizers.protocol import ModelsApart, Problem
from sfumato.anonymizers.single_dimensional.search import (
    CutGrid,
    best_solution,
    grid_of,
    partition_of,
    with_suppression,
)
from sfumato.classes.partition import Partition
from sfumato.kernels.global_cuts.global_cuts import BEST, FALLBACK, MEDIAN
from sfumato.numbers import counted
from sfumato.options import Checked

_SplitRule = Literal["median", "median+fallback", "anywhere"]
_AttributeChoice = Literal["least-loss", "widest"]

_PLACES = {"median": MEDIAN, "median+fallback": FALLBACK, "anywhere": BEST}


@dataclass(frozen=True)
class GlobalMondrian(Checked):
    """Cut the values of one attribute for the whole table, then again, until no cut is allowable.

    Every attribute is cut into ranges of values, the same for all records; the classes are the non-empty combinations
    of ranges. Mondrian, in contrast, cuts every part by itself.

    Parameters
    ----------
    split_rule
        Where a range is cut. ``"median"``: values up to the lower median go left (the paper's rule).
        ``"median+fallback"``: the cut below the median is also tried, and the allowable one that is closer to half is
        made. ``"anywhere"``: every place is weighed, and the allowable one that lowers the loss most is taken.
    attribute_choice
        Which range of which attribute is cut. ``"least-loss"``: the one whose allowable cut lowers the loss of the
        table most. ``"widest"``: the one with the largest width, normalized by the domain's (the paper's rule);
        equally wide ones in declared order of the attributes, low values first.

    Raises
    ------
    PolicyError
        With every option that is unknown.

    Notes
    -----
    *What is published.* Numbers and dates: the interval of the range, its ends being values of the data, taken from the
    whole column. Attributes with a hierarchy: a node; it is cut into all its children at once, so that every range is
    published as one node. Categories without a hierarchy: the set of the values in the range, ordered by falling
    frequency, or ``*`` for all. The missing value becomes a range of its own when the whole domain is cut.

    *Guarantee.* Every class satisfies every model of the problem: a cut is allowable when all classes do that it
    leaves. This needs models that are monotone under merging, as all models of the library are. Equal values of an
    attribute are published equally. Without suppression no cut of the split rule is allowable in the end.

    *Suppression.* Where the limit allows it, a search that may also suppress the records of classes which break a model
    is made beside the one that may not, and what loses less in the end is taken; a suppressed record is charged as
    ``*`` in all attributes. There, what a cut saves is divided by 1 plus 64 times the share of records it suppresses.

    *Complexity.* O(q n + m · weighed ranges of a record) for m distinct records: a cut touches the records of its range
    alone, and ranges that cannot be the next are not weighed. Memory O(q n).

    *Sources.* LeFevre et al. 2006, single-dimensional partitioning, which they define without a greedy algorithm of its
    own. Departures: ``"least-loss"``, ``"anywhere"``, the fallback and suppression are ours; every model counts, not k
    alone; widths of attributes with a hierarchy or without order are numbers of values.
    """

    name: ClassVar[str] = "global-mondrian"
    decides_regions: ClassVar[bool] = True
    people_apart: ClassVar[ModelsApart] = "merging models"
    order_free: ClassVar[bool] = True
    shares_nobody: ClassVar[bool] = True

    split_rule: _SplitRule = "median+fallback"
    attribute_choice: _AttributeChoice = "least-loss"

    def solve(self, problem: Problem) -> Partition:
        """Partition the records.

        Raises
        ------
        UnsatisfiableError
            When not even all records together satisfy the models, and leaving some of the most frequent sensitive
            values out within the suppression limit does not change that.
        """
        return best_solution(problem, (found for start in feasible(problem) for found in self._solutions(start)))

    def _solutions(self, start: FeasibleProblem) -> Iterator[Partition]:
        grid = grid_of(start, start.problem.table.attributes)
        return with_suppression(start, lambda limit: self._solve(grid, limit))

    def _solve(self, grid: CutGrid, limit: int) -> Partition:
        widest = self.attribute_choice == "widest"
        found = grid.search(grid.cutting(place=_PLACES[self.split_rule], widest=widest), limit)
        return partition_of(grid, found, [f"Global Mondrian made {counted(found.cuts, 'cut')} across the whole table."])

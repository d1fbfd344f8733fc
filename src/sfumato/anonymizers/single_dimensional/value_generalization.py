"""Value generalization: top-down specialization (Fung, Wang, Yu, ICDE 2005) and its bottom-up counterpart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from sfumato.anonymizers.domain_levels import two_level_notes
from sfumato.anonymizers.feasibility import FeasibleProblem, feasible
from sfumato.anonymizers.protocol import ModelsApart, Problem
from sfumato.anonymizers.single_dimensional.search import (
    CutGrid,
    TableCut,
    best_of,
    grid_of,
    partition_of,
    with_suppression,
    with_two_levels,
)
from sfumato.anonymizers.single_dimensional.subtree_climb import climb
from sfumato.classes.partition import Partition
from sfumato.kernels.global_cuts.global_cuts import BEST
from sfumato.numbers import counted
from sfumato.options import Checked
from sfumato.table.encoding import EncodedAttribute

Direction = Literal["top-down", "bottom-up"]


@dataclass(frozen=True)
class ValueGeneralization(Checked):
    """Generalize the values of each attribute by subtrees of its hierarchy, the same way in the whole table.

    A subtree may be generalized while its sibling is not; full-domain generalization climbs with all of a level.

    Parameters
    ----------
    direction
        ``"top-down"``: start with ``*`` everywhere and replace one node at a time by its children, the one that saves
        most loss per lost anonymity, as long as every class satisfies the models. ``"bottom-up"``: start with the
        original values and replace all children of a node by the node, where that costs least loss per gained
        anonymity, until every class satisfies the models; what can be specialized again then is, as top-down does.

    Raises
    ------
    PolicyError
        When the direction is unknown.

    Notes
    -----
    *What is published.* A node of the hierarchy for all values below it. Numbers and dates without a hierarchy grow
    intervals of their own, each cut in two where that saves most; the ends are values of the data, taken from the whole
    column. Categories without a hierarchy are published as they are or as ``*``, all of them. The missing value is a
    child of ``*``.

    *Guarantee.* Every class satisfies every model of the problem, which must be monotone under merging, as all models
    of the library are. Equal values of an attribute are published equally. Without suppression no further
    specialization is allowable in the end.

    *Suppression.* Where the limit allows it, a search that may also suppress the records of classes which break a model
    is made beside the one that may not, and what loses less in the end is taken; a suppressed record is charged as
    ``*`` in all attributes. Anonymity that a specialization loses then is the share of the records that it suppresses.

    *Complexity.* O(q n + m · weighed nodes of a record) for m distinct records: a specialization touches the records
    below its node alone, and nodes that cannot be the next are not weighed. Memory O(q n).

    *Sources.* B. C. M. Fung, K. Wang and P. S. Yu, "Top-down specialization for information and privacy preservation",
    ICDE 2005; K. Wang, P. S. Yu and S. Chakraborty, "Bottom-up generalization", ICDM 2004. Departures: both score by
    the information gain about a class attribute, we by the loss (NCP), for whatever the table is used; every model
    counts, not k alone; gained anonymity is the number of classes that break a model and vanish, plus 1, as the
    smallest class hardly ever grows by one generalization; records may be suppressed; only the best allowable place of
    an interval is scored, whereas Fung takes the best place and gives the interval up when it is not allowable;
    bottom-up ends with specializations, and starts numbers from at most 256 intervals.
    """

    name: ClassVar[str] = "value-generalization"
    decides_regions: ClassVar[bool] = True
    people_apart: ClassVar[ModelsApart] = "merging models"
    order_free: ClassVar[bool] = True
    shares_nobody: ClassVar[bool] = True

    direction: Direction = "top-down"

    def solve(self, problem: Problem) -> Partition:
        """Partition the records.

        Raises
        ------
        UnsatisfiableError
            When not even all records together satisfy the models, and leaving some of the most frequent sensitive
            values out within the suppression limit does not change that.
        """
        return best_of(problem, (found for start in feasible(problem) for found in self._solutions(start)))

    def _solutions(self, start: FeasibleProblem) -> Iterator[Partition]:
        attributes = start.problem.table.attributes
        grid = grid_of(start, [with_two_levels(attribute) for attribute in attributes])
        return with_suppression(start, lambda limit: self._solve(grid, limit, _made_hierarchies(attributes)))

    def _solve(self, grid: CutGrid, limit: int, notes: tuple[str, ...]) -> Partition:
        begun: TableCut | None = climb(grid, limit) if self.direction == "bottom-up" else None
        found = grid.search(grid.cutting(place=BEST, per_anonymity=not limit), limit, begun)
        merges = begun.cuts if begun is not None else 0
        steps = [counted(merges, "generalization")] if begun is not None else []
        steps.append(counted(found.cuts - merges, "specialization"))
        return partition_of(grid, found, [f"Value generalization made {', then '.join(steps)}.", *notes])


def _made_hierarchies(attributes: tuple[EncodedAttribute, ...]) -> tuple[str, ...]:
    return two_level_notes(
        attribute
        for attribute in attributes
        if attribute.hierarchy is None and not attribute.is_numeric and attribute.size > 1
    )

"""Global Mondrian: greedy cuts that go across the whole table (LeFevre, DeWitt, Ramakrishnan, ICDE 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from sfumato.anonymizers.feasibility import Feasible, feasible
from sfumato.anonymizers.protocol import Problem
from sfumato.anonymizers.selection import least_loss
from sfumato.anonymizers.single_dimensional import Grid, grid_of, partition_of, settled
from sfumato.classes.partition import Partition
from sfumato.errors import PolicyError, raise_all
from sfumato.kernels.global_cuts import BEST, FALLBACK, MEDIAN

SplitRule = Literal["median", "median+fallback", "anywhere"]
AttributeChoice = Literal["least-loss", "widest"]

_PLACES = {"median": MEDIAN, "median+fallback": FALLBACK, "anywhere": BEST}


@dataclass(frozen=True)
class GlobalMondrian:
    """Cut the domain of one attribute after the other, for the whole table, until no cut is allowable.
    """

    name: ClassVar[str] = "global-mondrian"
    decides_regions: ClassVar[bool] = True

    split_rule: SplitRule = "median+fallback"
    attribute_choice: AttributeChoice = "least-loss"

    def solve(self, problem: Problem) -> Partition:
        """Cut the table."""
        solutions = [found for start in feasible(problem) for found in self._solutions(start)]
        return solutions[0] if len(solutions) == 1 else least_loss(problem.table, solutions)

    def _solutions(self, start: Feasible) -> list[Partition]:
        grid = grid_of(start, start.problem.table.attributes)
        solutions = [self._solve(grid, 0)]
        if start.kept is None and start.problem.suppression_limit:
            found = settled(self._solve(grid, start.problem.suppression_limit), start.problem)
            solutions += [] if found is None else [found]
        return solutions

    def _solve(self, grid: Grid, limit: int) -> Partition:
        cutting = grid.cutting(
            limit=limit, place=_PLACES[self.split_rule], widest=self.attribute_choice == "widest"
        )
        cut = grid.search(cutting, limit)
        return partition_of(grid.start, cut, [f"{cut.cuts} cuts"])

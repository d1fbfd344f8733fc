"""Value generalization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from sfumato.anonymizers.feasibility import Feasible, feasible
from sfumato.anonymizers.protocol import Problem
from sfumato.anonymizers.selection import least_loss
from sfumato.anonymizers.single_dimensional import Grid, grid_of, partition_of, settled, with_two_levels
from sfumato.classes.partition import Partition
from sfumato.kernels.global_cuts import BEST

Direction = Literal["top-down", "bottom-up"]


@dataclass(frozen=True)
class ValueGeneralization:
    """x."""

    name: ClassVar[str] = "value-generalization"
    decides_regions: ClassVar[bool] = True

    direction: Direction = "top-down"

    def solve(self, problem: Problem) -> Partition:
        """Cut the table."""
        solutions = [found for start in feasible(problem) for found in self._solutions(start)]
        return solutions[0] if len(solutions) == 1 else least_loss(problem.table, solutions)

    def _solutions(self, start: Feasible) -> list[Partition]:
        grid = grid_of(start, [with_two_levels(attribute) for attribute in start.problem.table.attributes])
        solutions = [self._solve(grid, 0)]
        if start.kept is None and start.problem.suppression_limit:
            found = settled(self._solve(grid, start.problem.suppression_limit), start.problem)
            solutions += [] if found is None else [found]
        return solutions

    def _solve(self, grid: Grid, limit: int) -> Partition:
        cutting = grid.cutting(limit=limit, place=BEST, per_anonymity=True)
        cut = grid.search(cutting, limit)
        return partition_of(grid.start, cut, [f"{cut.cuts} cuts"])

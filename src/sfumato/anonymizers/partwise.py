"""The base of algorithms that solve one part of a table at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, ClassVar, final

from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.anonymizers.parts import solve_in_parts
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.options import Checked, Limit
from sfumato.parallel import as_done

BlockSize = Annotated[int, Limit(2, besides=0, meaning="no blocks")]
"""Records of a block at most. (Options use 0 for no blocks: policy files know no None.)"""


class Partwise(Checked):
    """Base of dataclasses that are :class:`~sfumato.anonymizers.protocol.SolvesParts`; they write `solve_part`."""

    name: ClassVar[str]
    decides_regions: ClassVar[bool] = False
    block_size: int | None
    strata: tuple[str, ...] | None = None
    """Columns in whose values all records of a class agree."""

    @final
    def solve(self, problem: Problem) -> Partition:
        """Partition the records: large tables in parts, which are spread over the threads of the problem.

        Raises
        ------
        UnsatisfiableError
            When not even all records together satisfy the models, and leaving some of the most frequent sensitive
            values out within the suppression limit does not change that.
        PolicyError
            When an option does not fit the columns.
        """
        return solve_in_parts(self, problem, partial(as_done, threads=problem.threads))

    def part_solver(self, problem: Problem) -> Callable[[FeasibleProblem], Partition]:
        """Return what solves every part of a problem."""
        return self.solve_part

    def solve_part(self, start: FeasibleProblem) -> Partition:
        """Partition all records of a problem, in one piece."""
        raise NotImplementedError

"""The base of algorithms that measure records as points: every part of a table lies in the space of the whole."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.numeric_records import NumericRecords, numeric_records
from sfumato.anonymizers.clustering.numeric_space import Categories, NumericSpace, numeric_space
from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.anonymizers.partwise import Partwise
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.table.encoding import EncodedTable


class NumericPartwise(Partwise):
    """Base of dataclasses that make classes of points; they write `classes`."""

    categories: Categories

    def part_solver(self, problem: Problem) -> Callable[[FeasibleProblem], Partition]:
        """Return what solves every part of a problem, in the space of the whole table.

        Raises
        ------
        PolicyError
            When columns hold categories that are refused, or too many for one-hot coordinates.
        """
        return partial(self.solve_part, space=self.space(problem.table))

    def solve_part(self, start: FeasibleProblem, space: NumericSpace | None = None) -> Partition:
        """Partition all records of a problem, in one piece; without `space`, in that of its table."""
        records = numeric_records(start, space or self.space(start.problem.table))
        return records.partition(*self.classes(records), records.space.notes)

    def classes(self, records: NumericRecords) -> tuple[NDArray[np.int32], int]:
        """Return the class of each record, int32 (n,), and how many there are; all satisfy the rules."""
        raise NotImplementedError

    def space(self, table: EncodedTable) -> NumericSpace:
        """Return the coordinates of every value of a table: z-scores."""
        return numeric_space(table, "zscore", self.categories, name=self.name)

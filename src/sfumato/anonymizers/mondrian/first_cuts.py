"""Strict Mondrian in parts: the first cuts are made here, and what lies below them is solved wherever parts are.

Cuts above a range decide nothing inside of it (:meth:`~sfumato.anonymizers.mondrian.mondrian.Mondrian.solve_part`), so
that the solution is that of the whole table, class by class.

Letters: n records, m distinct ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.blocks import Block, joined, part_of
from sfumato.anonymizers.feasibility import FeasibleProblem, feasible
from sfumato.anonymizers.mondrian.mondrian import MOST_RETRIED, Mondrian
from sfumato.anonymizers.parts import RunsParts
from sfumato.anonymizers.protocol import Problem
from sfumato.anonymizers.records import Records, records_of
from sfumato.anonymizers.selection import least_loss
from sfumato.anonymizers.space import space_of
from sfumato.classes.partition import Partition
from sfumato.kernels.mondrian.mondrian import partition_range


def solves_below(mondrian: Mondrian, problem: Problem) -> bool:
    """Tell whether the parts below first cuts can be solved by themselves."""
    if mondrian.mode != "strict" or mondrian.decides_regions or mondrian.widths == "region":
        return False
    # Smaller tables are solved several times where rules refuse cuts, and people are numbered anew in every part.
    return not mondrian.blind and problem.table.apart is None and problem.table.height > MOST_RETRIED


def solve_below_first_cuts(mondrian: Mondrian, problem: Problem, run: RunsParts, most: int) -> Partition:
    """Return the solution that ``mondrian.solve(problem)`` returns.

    Parameters
    ----------
    mondrian, problem
        Such that :func:`solves_below` holds.
    run
        What solves the parts.
    most
        Distinct records of a part, unless equal values or the models allow no cut of it.

    Raises
    ------
    UnsatisfiableError
        As :meth:`~sfumato.anonymizers.mondrian.mondrian.Mondrian.solve`.

    Notes
    -----
    The first cuts cost O(q m log(m / most)) and 40 bytes a distinct record.
    """
    solutions = [_solved(mondrian, start, run, most) for start in feasible(problem)]
    return solutions[0] if len(solutions) == 1 else least_loss(problem.table, solutions)


def _solved(mondrian: Mondrian, start: FeasibleProblem, run: RunsParts, most: int) -> Partition:
    height, progress = start.problem.table.height, start.problem.progress
    parts = first_parts(mondrian, start, most)
    blocks = [Block(rows, part_of(start, rows, number)) for number, rows in enumerate(parts)]
    solutions: dict[int, Partition] = {}
    for place, solution in run(mondrian.solve_part, [block.start for block in blocks]):
        solutions[place] = solution
        progress("partitioning", sum(map(len, (blocks[done].rows for done in solutions))), height)
    return joined(height, blocks, [solutions[place] for place in range(len(blocks))])


def first_parts(mondrian: Mondrian, start: FeasibleProblem, most: int) -> list[NDArray[np.int64]]:
    """Cut until no part has more than `most` distinct records, or no cut is left; int64 rows of every part."""
    table = start.problem.table
    records = records_of(table, start.rules, collapse=True, kept=start.kept)
    space, rules, options = space_of(table.attributes), start.rules.arrays, mondrian.cut_options(start.rules.arrays)
    starts, region = np.zeros(records.height, dtype=np.bool_), np.zeros((len(table.attributes), 2))
    waiting, firsts = [(0, records.height)], []
    while waiting:
        low, high = waiting.pop()
        parts: NDArray[np.int64] = np.empty((0, 2), dtype=np.int64)
        if high - low > most:
            parts, _ = partition_range(records.laid, low, high, region, 1, space, rules, options, starts)
        waiting += [(int(first), int(stop)) for first, stop in parts]
        firsts += [] if len(parts) else [low]
    return _rows_of(records, np.sort(firsts))


def _rows_of(records: Records, firsts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    part_at = np.zeros(records.height, dtype=np.int32)
    part_at[firsts[1:]] = 1
    part = records.spread(np.cumsum(part_at, dtype=np.int32))
    return np.split(np.argsort(part, kind="stable"), np.cumsum(np.bincount(part, minlength=len(firsts)))[:-1])

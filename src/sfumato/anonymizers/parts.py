"""Large tables in parts: cut into blocks, have an algorithm solve each, join the solutions, and say what that cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from sfumato.anonymizers.block_cost import block_cost
from sfumato.anonymizers.blocks import Block, blocks_of, joined
from sfumato.anonymizers.feasibility import FeasibleProblem, feasible
from sfumato.anonymizers.protocol import Problem, Progress, SolvesParts, silent
from sfumato.anonymizers.selection import least_loss
from sfumato.anonymizers.strata import strata_of
from sfumato.classes.partition import Partition
from sfumato.metrics import normalized_certainty_penalty
from sfumato.numbers import figure
from sfumato.recoding import TIGHT, recode

LARGE = 100_000
"""Records in one piece from which on a run says first that it may take long."""


class RunsParts(Protocol):
    """Whoever solves parts: on threads, one after the other, in other processes, on other machines."""

    def __call__(
        self, solve: Callable[[FeasibleProblem], Partition], parts: Sequence[FeasibleProblem]
    ) -> Iterable[tuple[int, Partition]]:
        """Solve every part, in any order; return each solution with the place of its part."""
        ...


def solve_in_parts(solver: SolvesParts, problem: Problem, run: RunsParts) -> Partition:
    """Solve a problem at once while it has at most `block_size` records, else block by block.

    Blocks come from Mondrian cuts that are only made when both sides satisfy every model and have at least half of
    `block_size` records; what strict cuts leave too large because of equal values is halved by relaxed ones. Every
    block is then a problem of its own, with the rules of the whole one.

    Where the solver names `strata`, each of these is solved by itself, in blocks where it is large.

    Parameters
    ----------
    solver
        The algorithm, which knows nothing of blocks and strata.
    problem
        Models, records, limit. Inside a block ``threads`` is 1, nothing more may be suppressed and no progress is
        reported.
    run
        What solves the blocks. Neither where it does so nor the order changes the result.

    Returns
    -------
    Partition
        Where blocks were made its notes say how many, and estimate what they cost: a few pairs of neighbouring blocks
        are solved as one, and what is saved by that is extrapolated to all cuts (with few blocks, one of them is cut
        once more instead). A block stays larger than `block_size` where no cut of it leaves two sides that satisfy the
        models.

    Raises
    ------
    UnsatisfiableError
        When not even all records as one class satisfy the models, see
        :func:`~sfumato.anonymizers.feasibility.feasible`; for strata, see
        :func:`~sfumato.anonymizers.strata.strata_of`.
    PolicyError
        When an option does not fit the columns.

    Notes
    -----
    The cut costs O(q n log(n / block_size)).
    """
    # No part of the protocol: an anonymizer of somebody else's that knows no strata solves parts as before.
    names = getattr(solver, "strata", None)
    if names:
        return _solved_in_strata(solver, problem, names, run)
    solve = solver.part_solver(problem)
    solutions = [_solved(start, solver.block_size, solve, run) for start in feasible(problem)]
    return solutions[0] if len(solutions) == 1 else least_loss(problem.table, solutions)


def _solved(
    start: FeasibleProblem, block_size: int | None, solve: Callable[[FeasibleProblem], Partition], run: RunsParts
) -> Partition:
    height = start.problem.table.height
    blocks = blocks_of(start, block_size) if block_size and height > block_size else []
    if len(blocks) < 2:
        if height >= LARGE:
            start.problem.progress(f"clustering {height:,} records in one piece, which can take long", 0, height)
        return solve(start)

    def each_solved(some: Sequence[Block], progress: Progress = silent) -> list[Partition]:
        return _in_order(run(solve, [block.start for block in some]), some, progress)

    solutions = each_solved(blocks, start.problem.progress)
    whole = joined(height, blocks, solutions)
    total = normalized_certainty_penalty(recode(start.problem.table, whole, TIGHT, threads=start.problem.threads))
    note = _note(blocks, block_cost(start, blocks, solutions, each_solved), total)
    return replace(whole, notes=(note, *_common_notes(solutions)))


def _solved_in_strata(solver: SolvesParts, problem: Problem, names: Sequence[str], run: RunsParts) -> Partition:
    strata = strata_of(problem, names)
    blocks = strata.cut(solver.block_size)
    parts = run(solver.part_solver(strata.problem), [block.start for block in blocks])
    solutions = _in_order(parts, blocks, problem.progress)
    whole = strata.put_back(joined(len(strata.rows), blocks, solutions), problem.table.height)
    return replace(whole, notes=(strata.note(blocks, problem.table.height), *_common_notes(solutions)))


def _in_order(solved: Iterable[tuple[int, Partition]], blocks: Sequence[Block], progress: Progress) -> list[Partition]:
    """Gather the solutions of blocks as they come, and say how many records are done."""
    solutions: dict[int, Partition] = {}
    done, total = 0, sum(len(block.rows) for block in blocks)
    for place, solution in solved:
        solutions[place] = solution
        done += len(blocks[place].rows)
        progress("clustering", done, total)
    return [solutions[place] for place in range(len(blocks))]


def _common_notes(solutions: Sequence[Partition]) -> tuple[str, ...]:
    """Return what every block says."""
    return tuple(note for note in solutions[0].notes if all(note in solution.notes for solution in solutions))


def _note(blocks: Sequence[Block], cost: float | None, total: float) -> str:
    """Tell of the blocks, and of the loss that they cost of the `total`."""
    sizes = sorted(len(block.rows) for block in blocks)
    made = (
        f"The table was cut into {len(blocks):,} blocks of {sizes[0]:,} to {sizes[-1]:,} records, and each was solved "
        "by itself"
    )
    if cost is None:
        return f"{made}; what that cost in loss cannot be estimated, since blocks cannot be cut further."
    if cost <= 0.0:
        return f"{made}; as far as can be estimated, that did not raise the information loss."
    without = max(total - cost, 0.0)
    change = f"from an estimated {figure(without, 3)} to {figure(total, 3)}"
    return f"{made}; that raised the information loss, with tight ends, {change}."

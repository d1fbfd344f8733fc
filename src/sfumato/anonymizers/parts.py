"""Large tables in parts: cut into blocks, have an algorithm solve each, join the solutions, and say what that cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import FeasibleProblem, feasible
from sfumato.anonymizers.protocol import Problem, Progress, SolvesParts, silent
from sfumato.anonymizers.records import Records, records_of
from sfumato.anonymizers.selection import least_loss
from sfumato.anonymizers.space import space_of
from sfumato.classes.partition import Partition
from sfumato.kernels.mondrian.cuts import Options
from sfumato.kernels.mondrian.mondrian import partition_range
from sfumato.metrics import normalized_certainty_penalty
from sfumato.numbers import figure
from sfumato.randomness import permutation
from sfumato.recoding import TIGHT, recode

UNLIMITED = 2**62

MANY = 8
"""Blocks from which on two of them may be solved as one to estimate what cuts cost."""

MOST_TRIALS = 4
"""Pairs of blocks that are solved as one at most."""

LARGE = 100_000
"""Records in one piece from which on a run says first that it may take long."""

SMALL = 2_000
"""Records that are solved once more without anybody noticing."""

Item = TypeVar("Item")
EachSolved = Callable[["Sequence[Block]"], list[Partition]]


class Run(Protocol):
    """Whoever solves parts: on threads, one after the other, in other processes, on other machines."""

    def __call__(
        self, solve: Callable[[FeasibleProblem], Partition], parts: Sequence[FeasibleProblem]
    ) -> Iterable[tuple[int, Partition]]:
        """Solve every part, in any order; return each solution with the place of its part."""
        ...


def solve_in_parts(solver: SolvesParts, problem: Problem, run: Run) -> Partition:
    """Solve a problem at once while it has at most `block_size` records, else block by block.

    Blocks come from Mondrian cuts that are only made when both sides satisfy every model and have at least half of
    `block_size` records; what strict cuts leave too large because of equal values is halved by relaxed ones. Every
    block is then a problem of its own, with the rules of the whole one.

    Parameters
    ----------
    solver
        The algorithm, which knows nothing of blocks.
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
        :func:`~sfumato.anonymizers.feasibility.feasible`.
    PolicyError
        When an option does not fit the columns.

    Notes
    -----
    The cut costs O(q n log(n / block_size)).
    """
    solve = solver.part_solver(problem)
    solutions = [_solved(start, solver.block_size, solve, run) for start in feasible(problem)]
    return solutions[0] if len(solutions) == 1 else least_loss(problem.table, solutions)


@dataclass(frozen=True, eq=False, repr=False)
class Block:
    """A part of a table that is solved by itself.

    Attributes
    ----------
    rows : numpy.ndarray
        int64: its records in the whole table, in random order.
    start : Feasible
        Its problem.
    """

    rows: NDArray[np.int64]
    start: FeasibleProblem


def blocks_of(start: FeasibleProblem, block_size: int) -> list[Block]:
    """Cut a problem into blocks of at most `block_size` records where the models allow it."""
    parts = _cut(start, block_size)
    return [Block(rows, part_of(start, rows, number)) for number, rows in enumerate(parts)]


def _solved(
    start: FeasibleProblem, block_size: int | None, solve: Callable[[FeasibleProblem], Partition], run: Run
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
    whole = _joined(height, blocks, solutions)
    total = normalized_certainty_penalty(recode(start.problem.table, whole, TIGHT, threads=start.problem.threads))
    note = _note(blocks, _cost(start, blocks, solutions, each_solved), total)
    return replace(whole, notes=(note, *_common_notes(solutions)))


def _in_order(solved: Iterable[tuple[int, Partition]], blocks: Sequence[Block], progress: Progress) -> list[Partition]:
    """Gather the solutions of blocks as they come, and say how many records are done."""
    solutions: dict[int, Partition] = {}
    done, total = 0, sum(len(block.rows) for block in blocks)
    for place, solution in solved:
        solutions[place] = solution
        done += len(blocks[place].rows)
        progress("clustering", done, total)
    return [solutions[place] for place in range(len(blocks))]


def part_of(start: FeasibleProblem, rows: NDArray[np.int64], number: int) -> FeasibleProblem:
    """Return the problem of some records, int64 rows, with the rules of the whole one and a seed of its own."""
    problem, rules = start.problem, start.rules
    table = replace(problem.table, codes=problem.table.codes[rows], sensitive_codes=problem.table.sensitive_codes[rows])
    seed = None if problem.seed is None else problem.seed + number + 1
    part = replace(problem, table=table, suppression_limit=0, seed=seed, threads=1, progress=silent)
    kept = None if start.kept is None else start.kept[rows]
    return FeasibleProblem(part, replace(rules, codes=rules.codes[rows]), kept)


def _cut(start: FeasibleProblem, block_size: int) -> list[NDArray[np.int64]]:
    """Cut strictly, then halve what is still too large; int64 rows of every block."""
    table = start.problem.table
    # Halving depends on the order of equal records, and the input's order is nobody's business.
    order = permutation(table.height, start.problem.seed)
    records = records_of(table, start.rules, collapse=False, kept=start.kept, order=order)
    starts = np.zeros(table.height, dtype=np.bool_)
    # Sizes of sides are counted in the records that are kept.
    counted = int(records.weights.sum())
    cut = partial(_cut_range, start, records, starts, max(start.smallest, block_size // 2 * counted // table.height))
    cut(0, table.height, relaxed=False)
    for low, high in _ranges(starts):
        if high - low > block_size and start.kept is None:
            cut(low, high, relaxed=True)
    return [records.rows[low:high].astype(np.int64) for low, high in _ranges(starts)]


def _cut_range(
    start: FeasibleProblem,
    records: Records,
    starts: NDArray[np.bool_],
    smallest: int,
    low: int,
    high: int,
    *,
    relaxed: bool,
) -> None:
    options = Options(
        smallest=smallest, ruled=start.ruled, relaxed=relaxed, fallback=True, least_loss=not relaxed,
        everywhere=False, regions=False, by_tree=False,
    )  # fmt: skip
    table = start.problem.table
    partition_range(
        records.codes, records.words, records.weights, records.rows, low, high, np.zeros((len(table.attributes), 2)),
        UNLIMITED, space_of(table.attributes), start.rules.arrays, options, starts,
    )  # fmt: skip


def _ranges(starts: NDArray[np.bool_]) -> Iterable[tuple[int, int]]:
    return [(int(low), int(high)) for low, high in pairwise([*np.flatnonzero(starts), len(starts)])]


def _joined(height: int, blocks: Sequence[Block], solutions: Sequence[Partition]) -> Partition:
    """Join the solutions of all blocks, their classes numbered one after the other."""
    class_of = np.empty(height, dtype=np.int32)
    cover = np.empty(height, dtype=np.int32)
    count = 0
    for block, solution in zip(blocks, solutions, strict=True):
        assert solution.regions is None, "blocks are for anonymizers that leave the regions to the recoding"
        for whole, part in ((class_of, solution.class_of), (cover, solution.covered_by)):
            whole[block.rows] = np.where(part < 0, part, part + np.int32(count))
        count += solution.count
    covers = any(solution.cover is not None for solution in solutions)
    return Partition(class_of, count, cover if covers else None)


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


def _cost(
    start: FeasibleProblem, blocks: Sequence[Block], solutions: Sequence[Partition], each_solved: EachSolved
) -> float | None:
    """Estimate the loss that all cuts together have added, normalized NCP, from what the last ones added.

    A part of twice the size has 2^(1/q) times less border for each record, in q dimensions: cuts cost less by that
    factor with every level further up.
    """
    if len(blocks) >= MANY:
        tried = _neighbours_together(start, blocks, solutions, each_solved)
        nearest_level = 0
    else:
        tried = _cut_once_more(blocks, solutions, each_solved)
        nearest_level = 1
    if not tried:
        return None
    shrinking = 2.0 ** (-1.0 / len(start.problem.table.attributes))
    levels = np.arange(round(math.log2(len(blocks)))) + nearest_level
    added = sum(trial.added for trial in tried) / sum(trial.cuts for trial in tried)
    return float(added * np.sum(shrinking**levels))


@dataclass(frozen=True)
class _Trial:
    """What solving some records apart has added to their loss, times their number, and the cuts, times that."""

    added: float
    cuts: float


def _neighbours_together(
    start: FeasibleProblem, blocks: Sequence[Block], solutions: Sequence[Partition], each_solved: EachSolved
) -> list[_Trial]:
    """Solve some pairs of neighbouring blocks as one, those of middle size."""
    numbers = range(0, len(blocks) - 1, 2)
    chosen = _middle(numbers, [len(blocks[number].rows) + len(blocks[number + 1].rows) for number in numbers])
    together, apart = [], []
    for count, number in enumerate(chosen):
        parts = blocks[number : number + 2]
        rows = np.concatenate([block.rows for block in parts])
        together.append(Block(rows, part_of(start, rows, len(blocks) + count)))
        inner = np.split(np.arange(len(rows)), [len(parts[0].rows)])
        placed = [Block(places, block.start) for places, block in zip(inner, parts, strict=True)]
        apart.append(_joined(len(rows), placed, solutions[number : number + 2]))
    return [
        _Trial(_loss(both, cut) - _loss(both, whole), float(len(both.rows)))
        for both, cut, whole in zip(together, apart, each_solved(together), strict=True)
    ]


def _cut_once_more(blocks: Sequence[Block], solutions: Sequence[Partition], each_solved: EachSolved) -> list[_Trial]:
    """Cut blocks of middle size further: together, neighbouring blocks would be most of the table."""
    trials = []
    for number in _middle(range(len(blocks)), [len(block.rows) for block in blocks]):
        block = blocks[number]
        parts = blocks_of(block.start, max(2, len(block.rows) // 2))
        if len(parts) > 1:
            apart = _joined(len(block.rows), parts, each_solved(parts))
            cuts = math.log2(len(parts)) * len(block.rows)
            trials.append(_Trial(_loss(block, apart) - _loss(block, solutions[number]), cuts))
    return trials


def _middle(items: Sequence[Item], sizes: Sequence[int]) -> list[Item]:
    """Return a few items of middle size; more of them where they are small."""
    taken = min(MOST_TRIALS, len(items) if max(sizes) <= SMALL else max(1, len(items) // 8))
    first = (len(items) - taken) // 2
    return [items[place] for place in np.argsort(sizes, kind="stable")[first : first + taken]]


def _loss(block: Block, solution: Partition) -> float:
    """Loss of a block on the scale of the whole table, times its records."""
    return len(block.rows) * normalized_certainty_penalty(recode(block.start.problem.table, solution, TIGHT))

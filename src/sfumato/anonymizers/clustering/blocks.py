"""Large tables in blocks: a coarse Mondrian cut first, an algorithm inside each block, on several threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import Feasible, feasible
from sfumato.anonymizers.protocol import Problem, silent
from sfumato.anonymizers.records import Records, records_of
from sfumato.anonymizers.selection import least_loss
from sfumato.anonymizers.space import space_of
from sfumato.classes.partition import Partition
from sfumato.figures import percent
from sfumato.kernels.cuts import Options
from sfumato.kernels.mondrian import partition_range
from sfumato.metrics import normalized_certainty_penalty
from sfumato.parallel import each
from sfumato.recoding import recode
from sfumato.shuffle import permutation

SolveOne = Callable[[Feasible], Partition]
"""Partition all records of a problem in one piece, satisfying ``start.rules``, and end with ``start.partition``.

Models that compare with the whole table are to be judged by ``start.rules.arrays`` alone: in a block these still hold
the totals of the whole table, whatever ``start.problem.table`` has.
"""

UNLIMITED = 2**62

MOST_LOOKED_AT = 4
"""Blocks that are solved again, with a cut more, to estimate what cuts cost."""


def solve_in_blocks(
    problem: Problem, block_size: int | None, solve_one: SolveOne, *, may_leave_out: bool = True
) -> Partition:
    """Solve a problem at once while it has at most `block_size` records, else block by block.

    Blocks come from Mondrian cuts that are only made when both sides satisfy every model and have at least half of
    `block_size` records; what strict cuts leave too large because of equal values is halved by relaxed ones. Every
    block is then a problem of its own, with the rules of the whole one.

    Parameters
    ----------
    problem
        Models, records, limit; blocks are spread over its threads. Inside a block ``threads`` is 1, nothing more may be
        suppressed and no progress is reported.
    block_size
        Records of a block at most, 2 or more; 0 or None solves every table at once. (Options use 0: policy files know
        no None.)
    solve_one
        The algorithm. It must not depend on the order of records, may run on several threads at a time, and its class
        numbers must not depend on timing.
    may_leave_out
        Whether `solve_one` can deal with records that are not kept (see
        :class:`~sfumato.anonymizers.feasibility.Feasible`): it covers them without counting them.

    Returns
    -------
    Partition
        Where blocks were made its notes say how many, and estimate what they cost: a few blocks of middle size are cut
        once more, and what that adds to their loss is extrapolated to all cuts. A block stays larger than `block_size`
        where no cut of it leaves two sides that satisfy the models.

    Raises
    ------
    UnsatisfiableError
        When not even all records as one class satisfy the models, see
        :func:`~sfumato.anonymizers.feasibility.feasible`.

    Notes
    -----
    The cut costs O(q n log(n / block_size)). The result is the same on any number of threads.
    """
    starts = feasible(problem, may_leave_out=may_leave_out)
    solutions = [_solved(start, block_size, solve_one) for start in starts]
    return solutions[0] if len(solutions) == 1 else least_loss(problem.table, solutions)


def block_size_problems(name: str, block_size: Any) -> list[str]:
    """Say what is wrong with the option ``block_size`` of the anonymizer `name`; empty when nothing is."""
    whole = isinstance(block_size, int) and not isinstance(block_size, bool)
    if block_size is None or (whole and (block_size == 0 or block_size >= 2)):
        return []
    return [f"{name}: block_size must be a whole number, 2 or above, or 0 for no blocks"]


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
    start: Feasible


def blocks_of(start: Feasible, block_size: int) -> list[Block]:
    """Cut a problem into blocks of at most `block_size` records where the models allow it."""
    parts = _cut(start, block_size)
    return [Block(rows, _part_of(start, rows, number)) for number, rows in enumerate(parts)]


def _solved(start: Feasible, block_size: int | None, solve_one: SolveOne) -> Partition:
    height = start.problem.table.height
    if not block_size or height <= block_size:
        return solve_one(start)
    blocks = blocks_of(start, block_size)
    if len(blocks) == 1:
        return solve_one(start)
    done = _Count(start.problem, height)

    def solved(block: Block) -> Partition:
        solution = solve_one(block.start)
        done.add(len(block.rows))
        return solution

    solutions = each(solved, blocks, start.problem.threads)
    note = _note(blocks, solutions, block_size, solve_one)
    return replace(_joined(height, blocks, solutions), notes=(note, *_common_notes(solutions)))


class _Count:
    """Records done so far, for the progress of several threads."""

    def __init__(self, problem: Problem, total: int) -> None:
        self._problem, self._total, self._done, self._lock = problem, total, 0, Lock()

    def add(self, records: int) -> None:
        with self._lock:
            self._done += records
            self._problem.progress("clustering", self._done, self._total)


def _part_of(start: Feasible, rows: NDArray[np.int64], number: int) -> Feasible:
    problem, rules = start.problem, start.rules
    table = replace(problem.table, codes=problem.table.codes[rows], sensitive_codes=problem.table.sensitive_codes[rows])
    seed = None if problem.seed is None else problem.seed + number + 1
    part = replace(problem, table=table, suppression_limit=0, seed=seed, threads=1, progress=silent)
    kept = None if start.kept is None else start.kept[rows]
    return Feasible(part, replace(rules, codes=rules.codes[rows]), kept)


def _cut(start: Feasible, block_size: int) -> list[NDArray[np.int64]]:
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
    start: Feasible, records: Records, starts: NDArray[np.bool_], smallest: int, low: int, high: int, *, relaxed: bool
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


def _note(blocks: Sequence[Block], solutions: Sequence[Partition], block_size: int, solve_one: SolveOne) -> str:
    sizes = sorted(len(block.rows) for block in blocks)
    made = (
        f"The table was cut into {len(blocks):,} blocks of {sizes[0]:,} to {sizes[-1]:,} records, and each was solved "
        "by itself"
    )
    cost = _cost(blocks, solutions, block_size, solve_one)
    if cost is None:
        return f"{made}; what that cost in loss cannot be estimated, since blocks cannot be cut further."
    return f"{made}; that raised the information loss by an estimated {percent(cost, 2)}."


def _cost(
    blocks: Sequence[Block], solutions: Sequence[Partition], block_size: int, solve_one: SolveOne
) -> float | None:
    """Estimate which share of the loss all cuts together have added, from what one more cut adds to a few blocks.

    The blocks looked at are those of middle size. A part of twice the size has 2^(1/q) times less border for each
    record, in q dimensions: cuts cost less by that factor with every level further up.
    """
    by_size = sorted(range(len(blocks)), key=lambda number: (len(blocks[number].rows), number))
    looked_at = max(1, min(MOST_LOOKED_AT, len(blocks) // 4))
    first = (len(blocks) - looked_at) // 2
    before = after = 0.0
    cuts: list[float] = []
    for number in by_size[first : first + looked_at]:
        block = blocks[number]
        parts = blocks_of(block.start, max(2, min(block_size, len(block.rows)) // 2))
        if len(parts) > 1:
            again = _joined(len(block.rows), parts, [solve_one(part.start) for part in parts])
            before += _loss(block, solutions[number])
            after += _loss(block, again)
            cuts.append(math.log2(len(parts)))
    if not cuts:
        return None
    levels = math.log2(len(blocks))
    shrinking = 2.0 ** (-1.0 / len(blocks[0].start.problem.table.attributes))
    weight = (1.0 - shrinking**levels) / (1.0 - shrinking) / (sum(cuts) / len(cuts))
    return max(0.0, weight * (after / before - 1.0)) if before > 0 else 0.0


def _loss(block: Block, solution: Partition) -> float:
    """Loss of a block on the scale of the whole table, times its records."""
    return len(block.rows) * normalized_certainty_penalty(recode(block.start.problem.table, solution))

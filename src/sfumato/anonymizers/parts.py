"""Large tables in blocks: a coarse Mondrian cut first, an algorithm inside each block, on several threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from threading import Lock
from typing import Annotated, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import FeasibleProblem, feasible
from sfumato.anonymizers.protocol import Problem, silent
from sfumato.anonymizers.records import Records, records_of
from sfumato.anonymizers.selection import least_loss
from sfumato.anonymizers.space import space_of
from sfumato.classes.partition import Partition
from sfumato.kernels.mondrian.cuts import Options
from sfumato.kernels.mondrian.mondrian import partition_range
from sfumato.metrics import normalized_certainty_penalty
from sfumato.numbers import figure
from sfumato.options import Limit
from sfumato.parallel import each
from sfumato.randomness import permutation
from sfumato.recoding import TIGHT, recode

SolveOne = Callable[[FeasibleProblem], Partition]
BlockSize = Annotated[int, Limit(2, besides=0, meaning="no blocks")]
"""Partition all records of a problem in one piece, satisfying ``start.rules``, and end with ``start.partition``.

Models that compare with the whole table are to be judged by ``start.rules.arrays`` alone: in a block these still hold
the totals of the whole table, whatever ``start.problem.table`` has.
"""

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
        :class:`~sfumato.anonymizers.feasibility.FeasibleProblem`): it covers them without counting them.

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

    Notes
    -----
    The cut costs O(q n log(n / block_size)). The result is the same on any number of threads.
    """
    starts = feasible(problem, may_leave_out=may_leave_out)
    solutions = [_solved(start, block_size, solve_one) for start in starts]
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
    return [Block(rows, _part_of(start, rows, number)) for number, rows in enumerate(parts)]


def _solved(start: FeasibleProblem, block_size: int | None, solve_one: SolveOne) -> Partition:
    height = start.problem.table.height
    blocks = blocks_of(start, block_size) if block_size and height > block_size else []
    if len(blocks) < 2:
        if height >= LARGE:
            start.problem.progress(f"clustering {height:,} records in one piece, which can take long", 0, height)
        return solve_one(start)
    done = _Count(start.problem, height)

    def solved(block: Block) -> Partition:
        solution = solve_one(block.start)
        done.add(len(block.rows))
        return solution

    solutions = each(solved, blocks, start.problem.threads)
    whole = _joined(height, blocks, solutions)
    total = normalized_certainty_penalty(recode(start.problem.table, whole, TIGHT, threads=start.problem.threads))
    note = _note(blocks, _cost(start, blocks, solutions, solve_one), total)
    return replace(whole, notes=(note, *_common_notes(solutions)))


class _Count:
    """Records done so far, for the progress of several threads."""

    def __init__(self, problem: Problem, total: int) -> None:
        self._problem, self._total, self._done, self._lock = problem, total, 0, Lock()

    def add(self, records: int) -> None:
        with self._lock:
            self._done += records
            self._problem.progress("clustering", self._done, self._total)


def _part_of(start: FeasibleProblem, rows: NDArray[np.int64], number: int) -> FeasibleProblem:
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
        records.laid, low, high, np.zeros((len(table.attributes), 2)), UNLIMITED, space_of(table.attributes),
        start.rules.arrays, options, starts,
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
    start: FeasibleProblem, blocks: Sequence[Block], solutions: Sequence[Partition], solve_one: SolveOne
) -> float | None:
    """Estimate the loss that all cuts together have added, normalized NCP, from what the last ones added.

    A part of twice the size has 2^(1/q) times less border for each record, in q dimensions: cuts cost less by that
    factor with every level further up.
    """
    if len(blocks) >= MANY:
        tried = _neighbours_together(start, blocks, solutions, solve_one)
        nearest_level = 0
    else:
        tried = _cut_once_more(blocks, solutions, solve_one)
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
    start: FeasibleProblem, blocks: Sequence[Block], solutions: Sequence[Partition], solve_one: SolveOne
) -> list[_Trial]:
    """Solve some pairs of neighbouring blocks as one, those of middle size."""
    trials = []
    pairs = [(number, number + 1) for number in range(0, len(blocks) - 1, 2)]
    for number, pair in enumerate(
        _middle(pairs, [len(blocks[one].rows) + len(blocks[two].rows) for one, two in pairs])
    ):
        parts = [blocks[place] for place in pair]
        rows = np.concatenate([block.rows for block in parts])
        both = Block(rows, _part_of(start, rows, len(blocks) + number))
        inner = np.split(np.arange(len(rows)), [len(parts[0].rows)])
        placed = [Block(places, block.start) for places, block in zip(inner, parts, strict=True)]
        apart = _joined(len(rows), placed, [solutions[place] for place in pair])
        trials.append(_Trial(_loss(both, apart) - _loss(both, solve_one(both.start)), float(len(rows))))
    return trials


def _cut_once_more(blocks: Sequence[Block], solutions: Sequence[Partition], solve_one: SolveOne) -> list[_Trial]:
    """Cut blocks of middle size further: together, neighbouring blocks would be most of the table."""
    trials = []
    for number in _middle(range(len(blocks)), [len(block.rows) for block in blocks]):
        block = blocks[number]
        parts = blocks_of(block.start, max(2, len(block.rows) // 2))
        if len(parts) > 1:
            apart = _joined(len(block.rows), parts, [solve_one(part.start) for part in parts])
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

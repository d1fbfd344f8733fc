"""Blocks of a table: cut by a coarse Mondrian, each a problem of its own, and their solutions side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.anonymizers.protocol import silent
from sfumato.anonymizers.records import Records, records_of
from sfumato.anonymizers.space import space_of
from sfumato.classes.partition import Partition
from sfumato.kernels.mondrian.cuts import Options
from sfumato.kernels.mondrian.mondrian import partition_range
from sfumato.randomness import permutation

UNLIMITED = 2**62


@dataclass(frozen=True, eq=False, repr=False)
class Block:
    """A part of a table that is solved by itself.

    Attributes
    ----------
    rows : numpy.ndarray
        int64: its records in the whole table, in random order.
    start : FeasibleProblem
        Its problem.
    """

    rows: NDArray[np.int64]
    start: FeasibleProblem


def blocks_of(start: FeasibleProblem, block_size: int) -> list[Block]:
    """Cut a problem into blocks of at most `block_size` records where the models allow it."""
    parts = _cut(start, block_size)
    return [Block(rows, part_of(start, rows, number)) for number, rows in enumerate(parts)]


def joined(height: int, blocks: Sequence[Block], solutions: Sequence[Partition]) -> Partition:
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


def part_of(start: FeasibleProblem, rows: NDArray[np.int64], number: int) -> FeasibleProblem:
    """Return the problem of some records, int64 rows, with the rules of the whole one and a seed of its own."""
    problem, rules = start.problem, start.rules
    seed = None if problem.seed is None else problem.seed + number + 1
    part = replace(problem, table=problem.table.take(rows), suppression_limit=0, seed=seed, threads=1, progress=silent)
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

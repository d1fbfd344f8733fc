"""What cutting a table into blocks has cost, estimated from a few blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from sfumato.anonymizers.blocks import Block, blocks_of, joined, part_of
from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.classes.partition import Partition
from sfumato.metrics import normalized_certainty_penalty
from sfumato.recoding import TIGHT, recode

MANY = 8
"""Blocks from which on two of them may be solved as one to estimate what cuts cost."""

MOST_TRIALS = 4
"""Pairs of blocks that are solved as one at most."""

SMALL = 2_000
"""Records that are solved once more without anybody noticing."""

Item = TypeVar("Item")
EachSolved = Callable[[Sequence[Block]], list[Partition]]


def block_cost(
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
        apart.append(joined(len(rows), placed, solutions[number : number + 2]))
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
            apart = joined(len(block.rows), parts, each_solved(parts))
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

"""The default method: groups found by what making them proximate costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.ratings.blocks import STRICT, RatingBlock, block_of, blocks_of, group_numbers, rules_of
from sfumato.anonymizers.ratings.groups import ProximityGroups, groups_from
from sfumato.anonymizers.ratings.task import RatingTask
from sfumato.kernels.ratings.groups import improve_groups, merge_flat, near_records, start_groups
from sfumato.parallel import each

_BLOCK = 1024
"""Records that are searched together: within a block, every pair of records is compared."""

_FEWEST_NEAR = 16
_RATINGS_LOOKED_AT = 256.0
"""In each group that a record tries, about; it sets how many groups are tried."""

_PASSES = 12
_SHARE = 3.0  # of the worth of a group that its lacking everything costs


def grouped(task: RatingTask, weights: NDArray[np.int64]) -> ProximityGroups:
    """Put records into groups of at least k so that what the groups can keep is worth most.

    In each block of records that rated alike: groups are built around the records with most to lose, each time taking
    in the record with which the group keeps most; what is left joins where it costs least. Then records are swapped
    between groups and moved while that pays. With l > 0, first at a price for deviating too little; then groups that
    still do are merged with others, and swaps and moves go on among what deviates enough.

    Parameters
    ----------
    task
        What is asked.
    weights
        int64 (m,): what a rating of each issue counts.

    Returns
    -------
    Groups
        Where not even a whole block deviates enough, some do not satisfy the model yet.

    Notes
    -----
    Cost O(n · block · ratings of a record) at most.
    """
    parts = blocks_of(task, max(_BLOCK, 4 * task.model.k))
    allowed = _shares(task.may_leave, [len(part) for part in parts])
    told = _Told(task, len(parts))
    jobs = list(zip(parts, allowed, strict=True))
    found = each(lambda job: told(_of_block(task, *job, weights)), jobs, min(task.threads, len(jobs)))
    numbers = np.full(task.ratings.height, -1, dtype=np.int64)
    used = 0
    for part, groups in zip(parts, found, strict=True):
        numbers[part] = np.where(groups >= 0, groups + used, -1)
        used += int(groups.max()) + 1
    return groups_from(numbers)


class _Told:
    """Counts finished blocks for whoever watches."""

    def __init__(self, task: RatingTask, total: int) -> None:
        self.progress, self.total, self.done = task.progress, total, 0

    def __call__(self, found: NDArray[np.int64]) -> NDArray[np.int64]:
        self.done += 1
        self.progress("grouping records", self.done, self.total)
        return found


def _of_block(
    task: RatingTask, records: NDArray[np.int64], may_leave: int, weights: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the group of each record of a block; int64 (b,), −1 for those that are left out."""
    block = block_of(task, records, weights)
    free = rules_of(replace(task, model=replace(task.model, l=0)), 0)
    groups, sizes = start_groups(block.seeds, block.arrays, free)
    left_out = np.empty(may_leave, dtype=np.int32)
    near = near_records(_near(block, task.model.k), block.arrays, free)
    hidden = task.model.l > 0
    rules = rules_of(task, _penalty(block, task, len(groups)) if hidden else 0)
    if not hidden:
        improve_groups(groups, sizes, left_out, may_leave, near, _PASSES, block.arrays, rules)
    else:
        improve_groups(groups, sizes, left_out, 0, near, _PASSES // 2, block.arrays, rules)
        strict = rules_of(task, STRICT)
        merge_flat(groups, sizes, block.arrays, strict)
        improve_groups(groups, sizes, left_out, may_leave, near, _PASSES, block.arrays, strict)
    return group_numbers(groups, sizes, len(records))


def _penalty(block: RatingBlock, task: RatingTask, groups: int) -> float:
    """Return what lacking all deviation is held against: a multiple of what a group has, and so could keep."""
    columns, weights = block.arrays[1], block.arrays[3]
    worth = float(weights[columns].sum()) * task.ratings.scale.size / max(groups, 1)
    return _SHARE * max(worth, 1.0)


def _near(block: RatingBlock, k: int) -> int:
    """Return with the groups of how many others a record is tried: all in sparse ratings, few in dense ones."""
    _, columns, table, _, _ = block.arrays
    density = max(len(columns) / max(table.size, 1), 1e-6)
    return min(len(table), max(_FEWEST_NEAR, int(_RATINGS_LOOKED_AT / (k * density))))


def _shares(total: int, sizes: list[int]) -> list[int]:
    """Share out a number in proportion, without exceeding it."""
    whole = sum(sizes)
    bounds = np.floor(np.cumsum(sizes) * total / whole + 1e-9).astype(np.int64)
    return [int(share) for share in np.diff(bounds, prepend=0)]

"""Blocks of records that are alike, small enough to be searched for groups by themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.ratings.task import RatingTask
from sfumato.kernels.ratings.blocks import shared_weight
from sfumato.kernels.ratings.worth import dense_codes, rated_columns
from sfumato.published.checks.ratings.measures import NULLS

KEPT_WEIGHT = 1000
"""What a rating of an issue that is to stay counts against one of the others, while groups are searched for."""


STRICT = 1e15
"""A price that no worth makes up for."""


@dataclass(frozen=True, eq=False, repr=False)
class RatingBlock:
    """Some records as the kernels take them.

    Attributes
    ----------
    records : numpy.ndarray
        int64 (b,).
    arrays : tuple
        What :func:`~sfumato.kernels.ratings.worth.group_worth` calls a block.
    """

    records: NDArray[np.int64]
    arrays: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int16], NDArray[np.int64], NDArray[np.int16]]

    @property
    def seeds(self) -> NDArray[np.int64]:
        """The records from the one with most to lose to the one with least."""
        starts, columns, _, weights, _ = self.arrays
        return np.argsort(-_sums(weights[columns], starts), kind="stable")


def rules_of(task: RatingTask, penalty: float) -> tuple[int, int, int, bool, float, int, float, float, float]:
    """Return what the kernels call rules."""
    model, scale = task.model, task.ratings.scale
    nulls = (float(model.l), NULLS[model.nulls], scale.low, scale.step)
    return model.k, task.steps, scale.size, task.invent, *nulls, float(penalty)


def group_numbers(groups: NDArray[np.int32], sizes: NDArray[np.int64], records: int) -> NDArray[np.int64]:
    """Return the group of each record, int64 (records,), from the members of each group; −1 for records in none."""
    found = np.full(records, -1, dtype=np.int64)
    for group, size in enumerate(sizes.tolist()):
        found[groups[group, :size]] = group
    return found


def weights_of(task: RatingTask, favored: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what a rating of each issue counts; int64 (m,).

    favored : int64 (m,), how often an issue that is to stay was lost.
    """
    return np.where(task.kept, KEPT_WEIGHT * 10**favored, 1).astype(np.int64)


def block_of(task: RatingTask, records: NDArray[np.int64], weights: NDArray[np.int64]) -> RatingBlock:
    """Write the ratings of some records into a table, without issues of which no group could keep a rating."""
    ratings = task.ratings
    rated = np.concatenate([ratings.issues[ratings.starts[i] : ratings.starts[i + 1]] for i in records.tolist()])
    raters = np.bincount(rated, minlength=len(weights))
    needed = task.model.k // 2 + 1 if task.invent else task.model.k
    shown = (raters >= needed) & ~ratings.sensitive
    rows = (records, ratings.starts, ratings.issues, ratings.codes)
    table = dense_codes(*rows, _columns(shown), int(shown.sum()))
    hidden = dense_codes(*rows, _columns(ratings.sensitive), int(ratings.sensitive.sum()))
    return RatingBlock(records, (*rated_columns(table), table, weights[shown], hidden))


def blocks_of(task: RatingTask, size: int) -> list[NDArray[np.int64]]:
    """Split the records into blocks of at most `size` that have rated the same issues as far as may be.

    Halves are cut again and again by how much more a record shares with one of two others than with the other. Cost
    O(z log(n / size)).
    """
    ratings, finished = task.ratings, []
    pending = [np.arange(ratings.height)]
    weights = np.where(ratings.sensitive, 0.0, 1.0)
    rows = (ratings.starts, ratings.issues)
    while pending:
        records = pending.pop()
        if len(records) <= size:
            finished.append(records)
            continue
        parts = -(-len(records) // size)
        middle = len(records) * (parts // 2) // parts
        one = shared_weight(records[0], records, *rows, weights)
        far = records[np.argmin(one)]
        other = shared_weight(far, records, *rows, weights)
        far_from_that = shared_weight(records[np.argmin(other)], records, *rows, weights)
        order = np.argsort(other - far_from_that, kind="stable")
        pending.extend((records[order[middle:]], records[order[:middle]]))
    return finished


def _columns(chosen: NDArray[np.bool_]) -> NDArray[np.int32]:
    return np.where(chosen, np.cumsum(chosen) - 1, -1).astype(np.int32)


def _sums(values: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    summed = np.append(0, np.cumsum(values))
    found: NDArray[np.int64] = summed[starts[1:]] - summed[starts[:-1]]
    return found

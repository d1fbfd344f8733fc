"""The plan of the literature for making ratings anonymous: a baseline."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.ratings.blocks import STRICT, block_of, group_numbers, rules_of
from sfumato.anonymizers.ratings.groups import ChangedRatings, ProximityGroups, groups_from, unified
from sfumato.anonymizers.ratings.task import RatingTask
from sfumato.kernels.ratings.groups import merge_flat
from sfumato.kernels.ratings.patterns import greedy_cliques, merge_patterns
from sfumato.kernels.ratings.worth import dense_codes
from sfumato.published.checks.ratings.vectors import vectors_of
from sfumato.table.ratings.ratings import Ratings

MOST_CELLS = 2**31
"""Different sets of rated issues × issues that the plan takes: it counts the raters of each set and issue."""


def planned(task: RatingTask) -> tuple[ChangedRatings, ProximityGroups]:
    """Merge sets of rated issues by Hamming distance, then put records with the same set into cliques.

    Returns the ratings after the first step, which have the same rated issues in every set of at least k records, and
    the cliques, in which ratings are still to be brought into a window of ε. Issues that are not kept are dropped
    first, where some are to be kept. Records are never left out.

    Notes
    -----
    X. Sun, H. Wang, J. Li, J. Pei, "Publishing anonymous survey rating data", DMKD 2011, unifies the sets of rated
    issues and then forms cliques; the order and the ties are ours. Cost O(f² m / 64) for f sets, and O(b² m) for the
    b records of each set after merging.
    """
    merged = _one_pattern_each(task)
    changed = unified(merged.ratings, _patterns_merged(merged.ratings, task), task.ratings.scale.size - 1, task.invent)
    cliques = _cliques(changed.ratings, task)
    start = ChangedRatings(changed.ratings, _through(merged.sources, changed.sources))
    return start, _enlarged(replace(task, ratings=start.ratings), cliques) if task.model.l > 0 else cliques


def _one_pattern_each(task: RatingTask) -> ChangedRatings:
    """Drop what is not kept."""
    ratings = task.ratings
    stays = (task.kept | ratings.sensitive)[ratings.issues] if task.kept.any() else np.ones(len(ratings.issues), bool)
    starts = np.append(0, np.cumsum(stays))[ratings.starts].astype(np.int64)
    times = None if ratings.times is None else ratings.times.filter(stays)
    left = replace(ratings, starts=starts, issues=ratings.issues[stays], codes=ratings.codes[stays], times=times)
    return ChangedRatings(left, np.flatnonzero(stays))


def _patterns_merged(ratings: Ratings, task: RatingTask) -> ProximityGroups:
    vectors = vectors_of(ratings)
    _, first, patterns = np.unique(vectors.mask_of[vectors.vector_of], return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    merged = merge_patterns(
        rank[patterns], ratings.starts, ratings.issues, ratings.sensitive, task.model.k, task.invent
    )
    return groups_from(merged)


def _cliques(ratings: Ratings, task: RatingTask) -> ProximityGroups:
    vectors = vectors_of(ratings)
    masks = vectors.mask_of[vectors.vector_of]
    numbers = np.empty(ratings.height, dtype=np.int64)
    used = 0
    column_of = np.where(ratings.sensitive, -1, np.arange(len(ratings.names))).astype(np.int32)
    for records in _runs(masks):
        rated = _rated(ratings, records[0])
        columns = np.full(len(column_of), -1, dtype=np.int32)
        columns[rated] = np.arange(len(rated))
        columns[ratings.sensitive] = -1
        table = dense_codes(records, ratings.starts, ratings.issues, ratings.codes, columns, len(rated))
        cliques = greedy_cliques(table, task.model.k)
        numbers[records] = used + cliques
        used += int(cliques.max()) + 1
    return groups_from(numbers)


def _enlarged(task: RatingTask, cliques: ProximityGroups) -> ProximityGroups:
    """Merge cliques whose sensitive ratings deviate too little with those that cost least."""
    block = block_of(task, np.arange(task.ratings.height), np.ones(len(task.kept), dtype=np.int64))
    firsts, members = cliques.rows()
    sizes = np.diff(firsts)
    groups = np.zeros((len(sizes), len(members)), dtype=np.int32)
    for group, (first, size) in enumerate(zip(firsts.tolist(), sizes.tolist(), strict=False)):
        groups[group, :size] = members[first : first + size]
    merge_flat(groups, sizes, block.arrays, rules_of(task, STRICT))
    return groups_from(group_numbers(groups, sizes, task.ratings.height))


def _rated(ratings: Ratings, record: int) -> NDArray[np.int32]:
    rated = ratings.issues[ratings.starts[record] : ratings.starts[record + 1]]
    return rated[~ratings.sensitive[rated]]


def _runs(masks: NDArray[np.integer]) -> list[NDArray[np.int64]]:
    """Return the records of each mask, rising."""
    order = np.argsort(masks, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(masks[order])) + 1)


def _through(sources: NDArray[np.int64], later: NDArray[np.int64]) -> NDArray[np.int64]:
    """Follow ratings through two changes."""
    return np.where(later < 0, -1, np.append(sources, -1)[later])

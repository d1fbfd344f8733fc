"""From groups to ratings that satisfy the model: nothing is handed on before it has been decided."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.ratings.groups import ChangedRatings, ProximityGroups, groups_from, unified
from sfumato.anonymizers.ratings.task import RatingTask
from sfumato.published.checks.ratings.check import check_ratings
from sfumato.published.checks.ratings.satisfaction import Satisfaction
from sfumato.published.checks.ratings.vectors import vectors_of
from sfumato.table.ratings.ratings import Ratings


def settled(
    task: RatingTask, start: ChangedRatings | None, groups: ProximityGroups
) -> tuple[ChangedRatings, ProximityGroups, Satisfaction]:
    """Publish groups, decide, and change the groups around which the model does not hold until it holds.

    Records of one group may be proximate to some, but not all, of another. Groups that this harms, and those that they
    touch, publish equal ratings instead of ratings within a window; where that is not enough, a group is merged with
    the next. All records with equal ratings, which are tried last, are known to satisfy the model.

    Parameters
    ----------
    task
        What is asked.
    start
        Ratings that have been changed before; None for those of the task.
    groups
        What to begin with.

    Returns
    -------
    Changed, Groups, Satisfaction
        Ratings of all records (none of those left out), their groups, and the decision on the records that are
        published.
    """
    before = task.ratings if start is None else start.ratings
    while True:
        changed = unified(before, groups, task.steps, task.invent)
        shown = np.flatnonzero(groups.group_of >= 0)
        published = changed.ratings.take(shown)
        answer = check_ratings(published, task.model, threads=task.threads)
        if answer.holds:
            sources = changed.sources
            if start is not None:
                sources = np.where(sources < 0, -1, np.append(start.sources, -1)[sources])
            return ChangedRatings(changed.ratings, sources), groups, answer
        failing = shown[(answer.failures()["record"] - 1).to_numpy()]
        groups = _calmer(task, before, changed.ratings, groups, failing)


def _calmer(
    task: RatingTask, before: Ratings, after: Ratings, groups: ProximityGroups, failing: NDArray[np.int64]
) -> ProximityGroups:
    """Return groups that are nearer to satisfying the model around records where it fails."""
    harmed = np.unique(groups.group_of[failing])
    touching = np.unique(groups.group_of[_around(after, failing, task.steps)])
    for candidates in (harmed, touching):
        if not groups.is_equal[candidates].all():
            is_equal = groups.is_equal.copy()
            is_equal[candidates] = True
            return replace(groups, is_equal=is_equal)
    return _merged(groups, harmed)


def _merged(groups: ProximityGroups, harmed: NDArray[np.int64]) -> ProximityGroups:
    """Merge each of some groups with the next; with a single group, take in the records that were left out, too."""
    if groups.count == 1:
        return ProximityGroups(np.zeros_like(groups.group_of), np.ones(1, dtype=np.bool_))
    into = np.arange(groups.count)
    for group in harmed.tolist():
        following = group + 1 if group + 1 < groups.count else group - 1
        low, high = sorted((int(into[group]), int(into[following])))
        into[into == high] = low
    numbers = np.where(groups.group_of < 0, -1, into[groups.group_of])
    is_equal = np.zeros(groups.count, dtype=np.bool_)
    np.logical_or.at(is_equal, into, groups.is_equal)
    return groups_from(numbers, is_equal)


def _around(ratings: Ratings, records: NDArray[np.int64], steps: int) -> NDArray[np.int64]:
    """Return all records that are proximate to one of some, ε being smaller than r."""
    vectors = vectors_of(ratings)
    mask_of = vectors.mask_of[vectors.vector_of]
    found = np.zeros(ratings.height, dtype=np.bool_)
    for mask in np.unique(mask_of[records]).tolist():
        same = np.flatnonzero(mask_of == mask)
        codes = _codes(ratings, same)
        for row in np.flatnonzero(np.isin(same, records)):
            found[same[np.abs(codes - codes[row]).max(axis=1, initial=0) <= steps]] = True
    return np.flatnonzero(found)


def _codes(ratings: Ratings, records: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the non-sensitive codes of records that rated the same issues; int64 (records, issues of the mask)."""
    some = ratings.take(records)
    shown = ~some.sensitive[some.issues]
    return some.codes[shown].astype(np.int64).reshape(len(records), -1)

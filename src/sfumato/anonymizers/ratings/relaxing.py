"""Taking back changes that the model does not need."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.ratings.groups import ChangedRatings, ProximityGroups
from sfumato.anonymizers.ratings.task import RatingTask
from sfumato.kernels.ratings.relax import relax_codes
from sfumato.kernels.ratings.worth import MISSING
from sfumato.parallel import each
from sfumato.published.checks.ratings.check import check_ratings
from sfumato.published.checks.ratings.satisfaction import Satisfaction
from sfumato.published.checks.ratings.vectors import vectors_of

_CHUNK = 1024
_PASSES = 4


def relaxed(
    task: RatingTask, changed: ChangedRatings, groups: ProximityGroups, answer: Satisfaction
) -> tuple[ChangedRatings, ProximityGroups, Satisfaction]:
    """Bring ratings back towards what they were where every record still has k around it.

    The members of a group are proximate to each other, which is more than the model asks for: it wants k records around
    each, and those may belong to other groups. Where sensitive ratings must deviate, or groups are trimmed, other
    records around one can do harm, and nothing is taken back.

    Notes
    -----
    Cost O(n · 1,024 · issues of a record) at most, where many records rated the same issues; nothing in sparse ratings.
    """
    if task.model.l > 0 or task.model.group != "ball":
        return changed, groups, answer
    codes = changed.ratings.codes.copy()
    before = np.append(task.ratings.codes.astype(np.int16), np.int16(MISSING))[changed.sources]

    def relax(records: NDArray[np.int64]) -> None:
        places = _places(changed, records)
        now = codes[places].astype(np.int16)
        relax_codes(now, before[places], task.model.k, task.steps, _PASSES)
        codes[places] = now

    each(relax, _chunks(changed, groups, task.model.k), task.threads)
    found = ChangedRatings(replace(changed.ratings, codes=codes), changed.sources)
    shown = found.ratings.take(np.flatnonzero(groups.group_of >= 0))
    decided = check_ratings(shown, task.model, threads=task.threads)
    return (found, groups, decided) if decided.holds else (changed, groups, answer)


def _chunks(changed: ChangedRatings, groups: ProximityGroups, k: int) -> list[NDArray[np.int64]]:
    """Return records that rate the same issues, whole groups of them and not many at a time.

    Within a group everybody has k around, so that each chunk can be looked at by itself.
    """
    vectors = vectors_of(changed.ratings)
    mask_of = vectors.mask_of[vectors.vector_of]
    shown = np.flatnonzero(groups.group_of >= 0)
    order = shown[np.lexsort((groups.group_of[shown], mask_of[shown]))]
    # A chunk ends where a mask ends, or with the group that fills it.
    firsts = np.flatnonzero(np.diff(groups.group_of[order], prepend=-1) | np.diff(mask_of[order], prepend=-1)).tolist()
    chunks, first = [], 0
    for start in [*firsts[1:], len(order)]:
        ends = start == len(order) or mask_of[order[start]] != mask_of[order[first]]
        if ends or start - first >= _CHUNK:
            if start - first > k:
                chunks.append(order[first:start])
            first = start
    return chunks


def _places(changed: ChangedRatings, records: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the non-sensitive ratings of records stand that rate the same issues; int64 (records, issues)."""
    ratings = changed.ratings
    places = ratings.places(records)
    return places[~ratings.sensitive[ratings.issues[places]]].reshape(len(records), -1)

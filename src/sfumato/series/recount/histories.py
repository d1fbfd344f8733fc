"""What all releases of a series together leave to people whose classes are known: the steward's recount."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.series.recount.joined import steps_of
from sfumato.series.recount.pair import PairRecount, recount_pair
from sfumato.series.recount.released import Places, Released, runs

Numbers = NDArray[np.int64]


class Followed(NamedTuple):
    """Where everybody is, and what was left to them on the way.

    Attributes
    ----------
    history_of, class_of : numpy.ndarray
        Integers (n,): people with one history, and their class; −1 for who is not published.
    left : Places
        Rows that remain to each history.
    """

    history_of: Numbers
    class_of: NDArray[np.int32]
    left: Places


def follow_all(
    releases: Sequence[Released],
    classes: NDArray[np.int32],
    newest: PairRecount | None = None,
    *,
    as_they_went: bool = False,
) -> Followed:
    """Follow everybody from the first release to the last one.

    Parameters
    ----------
    releases
        At least one.
    classes
        int32 (n, releases): the class of everybody in each, −1 for who was not published.
    newest
        The recount of the last two releases, where it is at hand.
    as_they_went
        Rows go only where somebody really went; see :mod:`sfumato.series.recount.joined`.
    """
    now = Followed(classes[:, 0].astype(np.int64), classes[:, 0], releases[0].places)
    for number in range(1, len(releases)):
        known = newest if number == len(releases) - 1 else None
        steps = steps_of(classes[:, number - 1], classes[:, number]) if as_they_went else None
        now = follow(now, known or recount_pair(releases[number - 1], releases[number], steps), classes[:, number])
    return now


def follow(before: Followed, step: PairRecount, class_of: NDArray[np.int32]) -> Followed:
    """Follow everybody from the last release into the candidate.

    Of a history of classes, value for value, no more rows remain than of any step of it.
    """
    old = before.history_of >= 0
    width = int(class_of.max(initial=0)) + 1
    keys = np.where(old, before.history_of + 1, 0) * width + class_of
    keys = np.where(class_of >= 0, keys, -1)
    ways, first, history_of = np.unique(keys, return_index=True, return_inverse=True)
    missing = int(len(ways) > 0 and ways[0] < 0)
    first = first[missing:]
    pair_keys = step.newer * (int(step.older.max(initial=0)) + 1) + step.older
    wanted = class_of[first].astype(np.int64) * (int(step.older.max(initial=0)) + 1) + before.class_of[first]
    pair = np.searchsorted(pair_keys, wanted)
    came = np.flatnonzero(~old[first])
    stayed = np.flatnonzero(old[first])
    history = before.history_of[first[stayed]]
    owner, place = runs(before.left.starts[history], np.diff(before.left.starts)[history])
    at = step.both.find(pair[stayed][owner], before.left.value_of[place])
    rows = np.minimum(before.left.rows[place], step.both.rows[at]) * (at >= 0)
    new_owner, new_place = _of_classes(step.new, class_of[first[came]].astype(np.int64))
    left = _sorted_places(
        np.append(stayed[owner], came[new_owner]), np.append(before.left.value_of[place], step.new.value_of[new_place]),
        np.append(rows, step.new.rows[new_place]), len(first),
    )  # fmt: skip
    return Followed(history_of - missing, class_of, left)


def _of_classes(places: Places, classes: Numbers) -> tuple[Numbers, Numbers]:
    return runs(places.starts[classes], np.diff(places.starts)[classes])


def _sorted_places(owner: Numbers, value: Numbers, rows: Numbers, count: int) -> Places:
    order = np.lexsort((value, owner))
    order = order[rows[order] > 0]
    return Places(owner[order], value[order], rows[order], count)

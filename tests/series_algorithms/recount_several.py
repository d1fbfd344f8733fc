"""The recount of several releases: every pair, and what a person's whole history leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.series.recount import PairRecount, Places, Released, recount_pair, row_runs

Numbers = NDArray[np.int64]

MOST_HISTORIES = 16
"""Histories that are followed, for each class of the last release."""


@dataclass(frozen=True, eq=False, repr=False)
class Histories:
    """What a whole history leaves: a way from class to class, from the release with which somebody came to the last.

    Letters: h histories.

    Attributes
    ----------
    came : numpy.ndarray
        int64 (h,): the release with which the history starts, from 0.
    class_of : numpy.ndarray
        int64 (h,): the class of the last release where it ends.
    left : Places
        Rows that remain, by value; its classes are the h histories. Those of which nothing remains are of nobody.
    """

    came: Numbers
    class_of: Numbers
    left: Places

    @property
    def least(self) -> int | None:
        """The fewest rows that remain of a history of which any do."""
        rows = np.bincount(self.left.class_of, weights=self.left.rows, minlength=self.left.count).astype(np.int64)
        return int(rows[rows > 0].min()) if (rows > 0).any() else None


@dataclass(frozen=True, eq=False, repr=False)
class SeriesRecount:
    """What all releases of a series together leave.

    Attributes
    ----------
    pairs : dict of (int, int) to PairRecount
        Each two releases, numbered from 0, the older first.
    histories : Histories or None
        None: there are more than :data:`MOST_HISTORIES` for each class, as classes overlap anyhow; then nothing but
        pairs is promised.
    """

    pairs: dict[tuple[int, int], PairRecount]
    histories: Histories | None

    @property
    def least(self) -> int | None:
        """The fewest rows that remain to anybody, from two releases or from the whole history."""
        found = [each.least for each in self.pairs.values()] + [self.histories.least if self.histories else None]
        return min((rows for rows in found if rows is not None), default=None)

    @property
    def nested(self) -> bool:
        """Whether every class of a release meets at most one of the release before it."""
        return all(found.nested for (older, newer), found in self.pairs.items() if newer == older + 1)


def recount_series(releases: Sequence[Released], *, last_only: bool = False, came: int | None = None) -> SeriesRecount:
    """Recount several releases of one table, in their order.

    Parameters
    ----------
    releases
        Oldest first; at least one.
    last_only
        Recount only the pairs that the last release is in, and its neighbours: the earlier ones were recounted before.
    came
        The attribute that says in which releases the people of a class came, numbered from 0, where there is one. Fewer
        histories are then followed: those of the right classes.

    Raises
    ------
    InputError
        When two releases do not belong together.

    Notes
    -----
    *Guarantee.* Pairs as in :func:`~sfumato.series.recount.recount_pair`. A history leaves at most the least
    that any of its pairs leaves of each value; that is what is counted. In nested releases exactly that remains, as the
    rows that remain can stand in all classes of the history at once (tested against all worlds); elsewhere it may be
    less, which the pairs then do not show either.

    *Source.* Fung et al. 2008 call attacks that combine releases *optimal micro attacks*.
    """
    last = len(releases) - 1
    wanted = [
        (older, newer)
        for newer in range(len(releases))
        for older in range(newer)
        if not last_only or newer in (last, older + 1)
    ]
    pairs = {(older, newer): recount_pair(releases[older], releases[newer]) for older, newer in wanted}
    return SeriesRecount(pairs, _followed(releases, [pairs[at, at + 1] for at in range(last)], came))


def _followed(releases: Sequence[Released], steps: Sequence[PairRecount], came: int | None) -> Histories | None:
    """Follow all histories from release to release."""
    now: Histories | None = first_histories(releases[0])
    for number, step in enumerate(steps, start=1):
        now = now and continued(now, step, releases[number], number, came)
    return now


def first_histories(release: Released) -> Histories:
    """Return the histories of a first release: its classes."""
    return _begun(release.places, 0)


def continued(
    now: Histories, step: PairRecount, newer: Released, number: int, came: int | None = None
) -> Histories | None:
    """Follow histories into one more release; None if there are then too many.

    Parameters
    ----------
    now
        Up to the older release of `step`.
    step
        The recount of that release and the newer one.
    newer, number
        The newer release, and its number from 0.
    came
        See :func:`recount_series`.
    """
    found = _different(_together(_onward(now, step, newer, came), _begun(step.new, number)))
    return found if len(found.came) <= MOST_HISTORIES * max(1, newer.boxes.count) else None


def _begun(places: Places, number: int) -> Histories:
    classes, class_of = np.unique(places.class_of, return_inverse=True)
    left = Places(class_of.astype(np.int64), places.value_of, places.rows, len(classes))
    return Histories(np.full(len(classes), number), classes, left)


def _onward(now: Histories, step: PairRecount, newer: Released, came: int | None) -> Histories:
    """Continue every history into each class that its last one meets."""
    order = np.argsort(step.older, kind="stable")
    starts = np.searchsorted(step.older[order], now.class_of)
    ends = np.searchsorted(step.older[order], now.class_of, side="right")
    history, at = row_runs(starts, ends - starts)
    pair = order[at]
    if came is not None:
        began, box = now.came[history], newer.boxes
        fits = (box.low[step.newer[pair], came] <= began) & (began <= box.high[step.newer[pair], came])
        history, pair = history[fits], pair[fits]
    row, place = row_runs(now.left.starts[history], np.diff(now.left.starts)[history])
    other = step.both.find(pair[row], now.left.value_of[place])
    stays = other >= 0
    rows = np.minimum(now.left.rows[place[stays]], step.both.rows[other[stays]])
    left = Places(row[stays], now.left.value_of[place[stays]], rows, len(history))
    return Histories(now.came[history], step.newer[pair], left)


def _different(all_of_them: Histories) -> Histories:
    """Keep one of the histories that start and end alike and leave the same rows; those that leave none are dropped."""
    came, class_of, left = all_of_them.came, all_of_them.class_of, all_of_them.left
    lengths = np.diff(left.starts)
    width = int(class_of.max(initial=0)) + 1
    number = np.unique((came * width + class_of) * (lengths.max(initial=0) + 1) + lengths, return_inverse=True)[1]
    most = int(left.rows.max(initial=0)) + 1
    for depth in range(int(lengths.max(initial=0))):
        place = left.starts[:-1][lengths > depth] + depth
        cells = np.zeros(len(came), dtype=np.int64)
        cells[lengths > depth] = 1 + np.unique(left.value_of[place] * most + left.rows[place], return_inverse=True)[1]
        number = np.unique(number * (len(place) + 2) + cells, return_inverse=True)[1]
    kept = np.unique(number, return_index=True)[1]
    kept = np.sort(kept[lengths[kept] > 0])
    owner, place = row_runs(left.starts[kept], lengths[kept])
    return Histories(came[kept], class_of[kept], Places(owner, left.value_of[place], left.rows[place], len(kept)))


def _together(older: Histories, newer: Histories) -> Histories:
    first, second = older.left, newer.left
    left = Places(
        np.concatenate([first.class_of, second.class_of + first.count]),
        np.concatenate([first.value_of, second.value_of]), np.concatenate([first.rows, second.rows]),
        first.count + second.count,
    )  # fmt: skip
    return Histories(np.concatenate([older.came, newer.came]), np.concatenate([older.class_of, newer.class_of]), left)
